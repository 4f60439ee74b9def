"""How many files a node may have open. The system's usual soft limit is far below what it grants when asked."""

import resource

from braidmq.settings import Settings

_OTHER_FILES = 128
"""The database, the journal, the loop's own, and what libraries hold."""


def files_needed(settings: Settings) -> int:
    """The most descriptors that these settings can take."""
    return settings.log.open_files_max + settings.http.connections_max + _OTHER_FILES


def file_limits() -> tuple[float, float]:
    """The soft and the hard limit; infinite where there is none."""
    soft, hard = (
        float("inf") if limit == resource.RLIM_INFINITY else limit
        for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    return soft, hard


def raise_file_limit(needed: int) -> bool:
    """Ask for as many as needed, or else as many as there are; whether that is enough."""
    soft, hard = file_limits()
    if soft < needed:
        _, granted = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(min(needed, hard)), granted))
    return hard >= needed
