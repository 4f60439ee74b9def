"""What can be chosen about an embedded log, and what it tells about itself."""

from typing import Literal, NamedTuple

import msgspec

from braidmq.log._policy import SEGMENT_BYTES
from braidmq.model.topic_settings import ARCHIVE

MIB = 1024 * 1024


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Choices for one node's log."""

    flush: Literal["commit", "interval"] = "commit"
    """`commit`: acknowledged means on disk. `interval`: acknowledged means in the page cache, synced soon after."""
    flush_interval_ms: int = 1000
    """How often written segments are synced when `flush` is `interval`."""
    segment_bytes: int = SEGMENT_BYTES
    """How large a segment grows unless its topic says otherwise."""
    journal_file_bytes: int = 32 * MIB
    """One file of the journal's ring; a checkpoint begins when one is full."""
    open_files_max: int = 2000
    """How many segments may be open at once."""
    idle_close_s: int = 10
    """Segments not used for so long are closed."""
    checkpoint_interval_s: int = 10
    """The longest time between a write and the sync of its segment, when `flush` is `commit`."""
    maintenance_interval_s: int = 60
    """How often retention and compaction are looked at."""
    reserve_bytes: int = 128 * MIB
    """Kept aside, so that there is room to delete when the disk is full."""
    producer_expiry_ms: int = 24 * 60 * 60 * 1000
    """Idempotent producers that were silent for so long are forgotten."""
    archive: str = ARCHIVE.default
    """Whether topics that say nothing about it are archived; see `braid.archive`."""


class LogStatistics(NamedTuple):
    """Plain counts since the log was opened, and how things are now."""

    appended_batches: int
    appended_bytes: int
    read_bytes: int
    group_commits: int
    sync_us_total: int
    journal_bytes: int
    partitions: int
    segments: int
    open_files: int
    damaged_ranges: int
    storage_full: bool
    failed: bool
