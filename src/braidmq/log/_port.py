"""The port: what every log promises, whoever keeps the bytes.

A log is a set of partitions, each known by the small number that the catalog gave it. A partition is a sequence of
record batches; the log never looks at the records inside, except to find a time, to compact and to read a
transaction's marker.

Promises, held by one contract suite over all adapters:
- an append that was answered is kept, and seen by readers from then on (how durably is the adapter's `flush`);
- an append that was refused left nothing behind;
- offsets are given without gaps, and readers never see an offset go back;
- a reader gets whole batches, the first one holding the offset it asked for, or an error that names the damage: never
  a hole.

Calls that can be answered from memory are plain functions, because they run for every request; all others are
coroutines.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from braidmq.model import BraidError, Topic
from braidmq.records import Batch


class Appended(NamedTuple):
    """Where a batch went. `duplicate` says that an idempotent producer had sent it before, and where it went then."""

    base_offset: int
    last_offset: int
    append_ms: int
    start_offset: int
    duplicate: bool = False


AppendResult = Appended | BraidError
"""One entry's fate: the entries of one call succeed or fail each for itself."""


class Bounds(NamedTuple):
    """Offsets of a partition: the first kept, the first that an open transaction may still change, the next to be
    written."""

    start: int
    stable: int
    end: int


class AbortedTransaction(NamedTuple):
    """Records of this producer from this offset up to its abort marker are to be skipped by committed readers."""

    producer_id: int
    first_offset: int


class Fetched(NamedTuple):
    """Whole batches as they lie in the log; empty at the end of the partition."""

    data: bytes | memoryview
    aborted: tuple[AbortedTransaction, ...] = ()


class TimedOffset(NamedTuple):
    """A record's place and its own time."""

    offset: int
    timestamp_ms: int


class ProducerState(NamedTuple):
    """What a partition knows of a producer. `transaction_offset` is where its open transaction began, or -1."""

    producer_id: int
    epoch: int
    last_sequence: int
    """-1 when it has sent nothing in this epoch."""
    transaction_offset: int
    seen_ms: int


class GroupOffset(NamedTuple):
    """How far a group has come in one partition."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1
    committed_ms: int = -1


class Room(NamedTuple):
    """How much the place of a log can hold, and how much of that is free; -1 where nobody can say."""

    total_bytes: int
    free_bytes: int


class Watch(Protocol):
    """A standing wish to hear of new data; ends with `cancel`."""

    def cancel(self) -> None: ...


class Log(Protocol):
    """See the module's opening for the promises. `number` is a partition's number in the catalog."""

    def append(self, entries: Sequence[tuple[int, Batch]]) -> "asyncio.Future[list[AppendResult]]":
        """Store one checked batch for each (number, batch); the answers come in the same order, when all are kept.

        An answer may be: UnknownPartition, OutOfOrderSequence, InvalidProducerEpoch, InvalidTransactionState,
        StorageFull, TooManyFiles, StorageFailed, LogClosed.
        """
        ...

    def append_then(self, entries: Sequence[tuple[int, Batch]], answer: Callable[[list[AppendResult]], None]) -> None:
        """As `append`, told by a call as soon as the answers are there, which may be before this returns. It comes from
        inside the log: it may not raise, nor append."""
        ...

    def bounds(self, number: int) -> Bounds:
        """Raises UnknownPartition."""
        ...

    def size_bytes(self, number: int) -> int:
        """How much the partition's messages take up where they are kept. Raises UnknownPartition."""
        ...

    async def room(self) -> Room:
        """Of the place where this log keeps its messages."""
        ...

    def read_now(self, number: int, offset: int, bytes_max: int, *, committed: bool = False) -> Fetched | None:
        """As `read`, but None where that would have to wait for the disk."""
        ...

    async def read(self, number: int, offset: int, bytes_max: int, *, committed: bool = False) -> Fetched:
        """Whole batches from the one that holds `offset`, at most `bytes_max` but at least one; empty at the end.

        With `committed`, nothing behind the stable offset, and the transactions to skip. Raises UnknownPartition,
        OffsetOutOfRange, DamagedLog, TooManyFiles.
        """
        ...

    async def offset_for_time(self, number: int, timestamp_ms: int) -> TimedOffset | None:
        """The first record that is not older than the time; exact inside a batch; None when all are older."""
        ...

    async def latest_record(self, number: int) -> TimedOffset | None:
        """The record with the latest time, the first of them where several have it; None when there is none."""
        ...

    def producers(self, number: int) -> Sequence[ProducerState]:
        """The producers that the partition remembers. Raises UnknownPartition."""
        ...

    def watch(self, numbers: Iterable[int], on_data: Callable[[int], None]) -> Watch:
        """Call `on_data(number)` whenever a partition's readers have more to read, until the watch is cancelled; and
        once when the partition is deleted."""
        ...

    async def wait(self, positions: Mapping[int, int], timeout_s: float) -> bool:
        """Whether one of the partitions had data at its position, or was deleted, before the time was over."""
        ...

    async def create_topic(self, topic: Topic) -> None:
        """Make room for the topic's partitions. Doing it again changes nothing."""
        ...

    async def expand_topic(self, topic: Topic) -> None:
        """Add the partitions that the topic has and the log has not."""
        ...

    async def configure_topic(self, topic: Topic) -> None:
        """Take the topic's retention and settings as they are now."""
        ...

    async def delete_topic(self, topic_id: UUID) -> None:
        """Remove the topic and all that it holds. Doing it again changes nothing."""
        ...

    async def delete_records(self, number: int, before_offset: int) -> int:
        """Forget what lies before the offset; the new start offset. Raises OffsetOutOfRange behind the end, and
        NotArchived where the topic's archive is required and does not hold all of it."""
        ...

    def held_bytes(self) -> Mapping[int, int]:
        """How much the last maintenance would have given up, by partition, if the archive had held it."""
        ...

    async def maintain(self) -> None:
        """Apply retention and compaction now; adapters also do it by themselves from time to time."""
        ...

    async def commit_offsets(self, group: str, offsets: Mapping[int, GroupOffset]) -> None:
        """Keep how far the group has come; kept as durably as an append."""
        ...

    def fetch_offsets(self, group: str) -> Mapping[int, GroupOffset]:
        """All that the group has committed, by partition number; empty for a group that has not."""
        ...

    async def delete_offsets(self, group: str, numbers: Iterable[int] | None = None) -> None:
        """Forget the group's offsets, all of them unless told which."""
        ...

    def groups_with_offsets(self) -> Iterable[str]:
        """The names of all groups that have committed something."""
        ...

    async def close(self) -> None:
        """Finish what was begun, make everything durable, and let go of the files."""
        ...
