"""What may become of a half, step by step. Plain functions: the store runs them inside its transactions.

    prepared --commit--> committing --appended--> committed --a while later--> forgotten
        \\---roll back-----------------------> rolled back --a while later--> forgotten

An end is decided once, in the database, before anything is appended. So a half is never both committed and rolled
back, whoever asks for what and whatever is killed when.
"""

from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from braidmq.core.deferral import LEASE_MS
from braidmq.model import NEVER_MS, Half, HalfState
from braidmq.model.errors import EndTooLate, HalfEndedOtherwise, UnknownHalf

UNHEARD_MAX_MS = 10 * 60 * 1000
"""The longest pause before producers of a group are looked for again."""


class HalfLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How patient we are with producers."""

    immunity_ms: int = 6_000
    """How long a producer is not asked."""
    check_interval_ms: int = 30_000
    checks_max: int = 15
    unheard_max_ms: int = 24 * 60 * 60 * 1000
    """How long a half waits for a producer of its group to come back."""
    remember_ms: int = 10 * 60 * 1000
    """How long the end of a half is known, for those who say it again."""


def check_word(half: Half, now_ms: int, *, group: str | None, asked: bool) -> None:
    """Whether the producer may still speak. Raises UnknownHalf, EndTooLate."""
    if group is not None and group != half.group:
        raise UnknownHalf("no half message of this group is known under this handle")
    is_open = half.state is HalfState.PREPARED
    if is_open and not asked and 0 <= half.immunity_ms < now_ms - half.prepared_ms:
        raise EndTooLate


def may_speak(half: Half, now_ms: int, *, group: str, asked: bool) -> bool:
    """Whether `check_word` has nothing against the producer of a half that is open."""
    return group == half.group and (asked or half.immunity_ms < 0 or half.immunity_ms >= now_ms - half.prepared_ms)


def decided(half: Half, now_ms: int, limits: HalfLimits, *, commit: bool, owner: str) -> Half:
    """The end. One that was decided so before stays as it is. Raises HalfEndedOtherwise."""
    if half.state is HalfState.PREPARED:
        if commit:
            return replace(half, state=HalfState.COMMITTING, owner=owner, wake_ms=now_ms + LEASE_MS, parked="")
        return _ended(half, HalfState.ROLLED_BACK, now_ms, limits)
    if half.state.is_commit is not commit:
        raise HalfEndedOtherwise(f"the half message was {'rolled back' if commit else 'committed'} before")
    return half


def appended(half: Half, now_ms: int, limits: HalfLimits) -> Half:
    """The message is in its topic."""
    return _ended(half, HalfState.COMMITTED, now_ms, limits)


def _ended(half: Half, state: HalfState, now_ms: int, limits: HalfLimits) -> Half:
    return replace(half, state=state, content=b"", owner="", parked="", wake_ms=now_ms + limits.remember_ms)


def claimed(half: Half, now_ms: int, limits: HalfLimits, *, owner: str, live: Collection[str]) -> Half | None:
    """A half whose time has come: to be asked for, to be appended, to be parked, or to be forgotten."""
    if half.state is HalfState.PREPARED:
        return _checked(half, now_ms, limits, is_heard=half.group in live)
    if half.state is HalfState.COMMITTING:
        return replace(half, owner=owner, wake_ms=now_ms + LEASE_MS, attempts=half.attempts + 1)
    return None


def _checked(half: Half, now_ms: int, limits: HalfLimits, *, is_heard: bool) -> Half:
    if half.checks >= limits.checks_max:
        return replace(half, wake_ms=NEVER_MS, parked=f"its producers were asked {half.checks} times without an answer")
    if is_heard:
        return replace(half, checks=half.checks + 1, wake_ms=now_ms + limits.check_interval_ms)
    age_ms = now_ms - half.prepared_ms
    if age_ms >= limits.unheard_max_ms:
        return replace(half, wake_ms=NEVER_MS, parked="no producer of its group came back")
    return replace(half, wake_ms=now_ms + max(limits.check_interval_ms, min(age_ms // 2, UNHEARD_MAX_MS)))
