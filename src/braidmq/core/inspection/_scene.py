"""What checks look at."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from braidmq.core.members import Difference
from braidmq.core.samples import Sight
from braidmq.core.telemetry import LagSampler
from braidmq.log import Log
from braidmq.model import Half, Timer
from braidmq.store import Catalog, SampleRow


class Disk(NamedTuple):
    """What the log says of its disk."""

    group_commits: int
    sync_us_total: int
    journal_bytes: int
    journal_file_bytes: int
    damaged_ranges: int
    is_full: bool
    has_failed: bool


class Rows(Protocol):
    """Samples of a time; see `store.SampleRows`."""

    async def read(self, scope: str, from_ms: int, until_ms: int, limit: int) -> list[SampleRow]: ...


class Scene(NamedTuple):
    """The node at a moment, and whom to ask for more. Functions may be slow; fields are at hand."""

    sight: Sight
    catalog: Catalog
    log: Log
    lags: LagSampler
    differences: Sequence[Difference]
    disk: Disk
    held_bytes: Mapping[str, int]
    """By topic: what retention leaves alone because the archive does not hold it."""
    settings: Mapping[str, str]
    """As texts, without secrets."""
    clock_steps_ms: int
    """By how much the time of day has run away from the time that passed, since the last inspection."""
    samples: Rows
    parked_timers: Callable[[], Awaitable[Sequence[Timer]]]
    parked_halves: Callable[[], Awaitable[Sequence[Half]]]
