"""The limit on open files. The system's usual soft limit is far below what it grants when asked."""

import resource
from typing import Final

from braidmq.model.finding import Finding, fail, ok, warn
from braidmq.settings import Settings, file_limits, files_needed, shared_files

_CHECK: Final = "file limits"
CLIENTS_MANY: Final = 10_000
"""A start says nothing of limits that leave room for so many clients, however many more the settings would take."""


def raise_file_limit(needed: int) -> float:
    """Ask for as many as needed, or else as many as there are; how many are allowed then."""
    soft, hard = file_limits()
    if soft >= needed:
        return soft
    wanted = int(min(needed, hard))
    _, granted = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, granted))
    except (OSError, ValueError):  # some systems grant less than they say
        return soft
    return wanted


def judge_file_limit(settings: Settings, allowed: float) -> Finding:
    """Whether so many files are enough, what becomes of a node that may not open more, and how to let it."""
    needed = files_needed(settings)
    shares = shared_files(needed, allowed)
    found = f"{allowed:.0f} open files allowed, {needed.in_all} needed"
    if allowed >= needed.in_all:
        return ok(_CHECK, found)
    raising = f"set LimitNOFILE={needed.in_all} in the unit, or nofile in /etc/security/limits.conf"
    refusing = f"{found} for all clients that the settings let in: more than {shares.clients} are refused"
    if shares.log >= needed.log:
        return warn(_CHECK, refusing, f"{raising}; or lower connections_max of the listeners")
    return fail(
        _CHECK,
        f"{refusing}, and the log opens and closes its files again and again (at most {shares.log} at a time)",
        f"{raising}; or lower log.open_files_max",
    )


def is_worth_a_word(settings: Settings, allowed: float) -> bool:
    """Whether operators are to hear at every start how few files are allowed."""
    needed = files_needed(settings)
    shares = shared_files(needed, allowed)
    return shares.log < needed.log or shares.clients < min(needed.clients, CLIENTS_MANY)
