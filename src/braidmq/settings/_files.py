"""How many files settings let a node have open, and who gets them where the system allows fewer.

The log comes first: a client that is refused comes again, a log without a file for its next segment cannot go on.
"""

import resource
from typing import Final, NamedTuple

from braidmq.settings._structs import Settings

OTHER_FILES: Final = 128
"""The database, the journal, the loop's own, and what libraries hold."""


class FilesNeeded(NamedTuple):
    """The most descriptors that settings can take."""

    log: int
    clients: int
    """One for each connection, over all listeners that are turned on."""

    @property
    def in_all(self) -> int:
        return self.log + self.clients + OTHER_FILES


class FileShares(NamedTuple):
    """How many descriptors the log may take, and connections."""

    log: int
    clients: int


def files_needed(settings: Settings) -> FilesNeeded:
    sections = (settings.http, settings.kafka, settings.rocketmq, settings.rocketmq_grpc)
    return FilesNeeded(
        log=settings.log.open_files_max, clients=sum(section.connections_max for section in sections if section.listen)
    )


def shared_files(needed: FilesNeeded, allowed: float) -> FileShares:
    """All that are needed where so many are allowed. Else the log has as many as it needs, but for a quarter: clients
    are to come in, too."""
    left = max(0, int(min(allowed, needed.in_all)) - OTHER_FILES)
    log = min(needed.log, left - left // 4)
    return FileShares(log, min(needed.clients, left - log))


def file_limits() -> tuple[float, float]:
    """The soft and the hard limit of this process; infinite where there is none."""
    soft, hard = (
        float("inf") if limit == resource.RLIM_INFINITY else limit
        for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    return soft, hard
