"""How the pipeline is: what its driver last said, in a file beside the tables, and what the tables themselves say."""

import enum
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

FILE: Final = "status.json"
SILENT_S: Final = 30.0
"""A driver writes every second; one that has not for so long does not run."""


class JobState(enum.StrEnum):
    """`IDLE` has nothing to work on now, and looks again. `UNSOUND` is an audit that was made and found something."""

    WAITING = "waiting"
    RUNNING = "running"
    IDLE = "idle"
    DONE = "done"
    UNSOUND = "unsound"
    FAILED = "failed"
    STOPPED = "stopped"


class JobStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One job."""

    name: str
    state: JobState = JobState.WAITING
    batch: int = -1
    rows: int = 0
    """That this driver has read in its last batches."""
    total: int = 0
    """How many there were to read when it began; 0 where that is not known."""
    rows_per_s: float = 0.0
    quarantined: int = 0
    """How many rows lie in its quarantine."""
    lost: int = 0
    """How many offsets this driver found to be gone before they were read."""
    detail: str = ""
    changed_ms: int = 0

    @property
    def said(self) -> str:
        """What there is to say of it, in a line."""
        parts = [self.detail]
        if self.quarantined:
            parts.append(f"{self.quarantined:,} in quarantine")
        if self.lost:
            parts.append(f"{self.lost:,} were gone before they were read")
        return "; ".join(part for part in parts if part)


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What a driver said, and when."""

    pid: int
    told_ms: int
    jobs: tuple[JobStatus, ...]

    @property
    def is_alive(self) -> bool:
        """Whether its driver runs."""
        ended = (JobState.STOPPED, JobState.DONE)
        is_heard = time.time() - self.told_ms / 1000 < SILENT_S
        return is_heard and any(job.state not in ended for job in self.jobs)


def write_status(root: str, jobs: Iterable[JobStatus]) -> None:
    """Whoever reads the file never sees half of it."""
    status = Status(pid=os.getpid(), told_ms=time.time_ns() // 1_000_000, jobs=tuple(jobs))
    part = Path(root) / f".{FILE}.{os.getpid()}"
    part.write_bytes(msgspec.json.encode(status))
    part.replace(Path(root) / FILE)


def read_status(root: str) -> Status | None:
    """None where no driver has ever run."""
    try:
        return msgspec.json.decode((Path(root) / FILE).read_bytes(), type=Status)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
