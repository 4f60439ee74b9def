"""A log in memory, for tests: ours, and those of users. It keeps the port's promises for as long as it is open.

A partition is a list of batches, and everything is done by looking at the list. A batch is a segment of its own: where
other logs give up or compact whole segments and leave the last one alone, this one does so with batches.
"""

import asyncio
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple
from uuid import UUID

from braidmq.log._policy import Policy, policy_of
from braidmq.log._port import Appended, AppendResult, Bounds, Fetched, GroupOffset, ProducerState, Room, TimedOffset
from braidmq.log._producers import Producers
from braidmq.log._retention import GroupsOffsets, Piece, check_free, expired_and_held, free_offset
from braidmq.log._survivors import Survivors, is_compaction_due, may_be_compacted
from braidmq.log._times import first_not_older, latest_of
from braidmq.log._watches import PartitionWatch, wait_for_data, wake
from braidmq.model import BraidError, Topic
from braidmq.model.errors import LogClosed, OffsetOutOfRange, UnknownPartition
from braidmq.records import PREFIX_BYTES, Batch, batch_prefix, parse_batch

LEADER_EPOCH = 0
PRODUCER_EXPIRY_MS = 24 * 60 * 60 * 1000


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class StoredBatch(NamedTuple):
    """A batch with its offsets in it, and when it came."""

    batch: Batch
    append_ms: int

    @property
    def latest_ms(self) -> int:
        """The time that retention goes by; batches without times of their own are as old as their coming."""
        return self.batch.max_timestamp if self.batch.max_timestamp >= 0 else self.append_ms


class MemoryPartition:
    """One partition."""

    def __init__(self, number: int, policy: Policy) -> None:
        self.number = number
        self.policy = policy
        self.start_offset = 0
        self.end_offset = 0
        self.batches: list[StoredBatch] = []
        self.producers = Producers()
        self.compacted_offset = 0
        self.watchers: PartitionWatch | dict[PartitionWatch, None] | None = None

    def bounds(self) -> Bounds:
        stable = self.producers.stable_offset(self.end_offset)
        return Bounds(self.start_offset, max(stable, self.start_offset), self.end_offset)

    def append(self, batch: Batch, append_ms: int) -> AppendResult:
        if batch.producer_id >= 0:
            sent = None if batch.is_control else self.producers.find_duplicate(batch)
            if sent is not None:
                return Appended(sent.base_offset, sent.last_offset, sent.append_ms, self.start_offset, duplicate=True)
            try:
                self.producers.check(batch)
            except BraidError as refusal:
                return refusal
            self.producers.store(batch, self.end_offset, append_ms)
        data = batch_prefix(self.end_offset, batch.length, LEADER_EPOCH) + bytes(batch.data)[PREFIX_BYTES:]
        stored = parse_batch(data)
        self.batches.append(StoredBatch(stored, append_ms))
        self.end_offset = stored.last_offset + 1
        return Appended(stored.base_offset, stored.last_offset, append_ms, self.start_offset)

    def read(self, offset: int, bytes_max: int, *, committed: bool) -> Fetched:
        start, stable, end = self.bounds()
        if not start <= offset <= end:
            raise OffsetOutOfRange(
                f"offset {offset} is outside of {start} to {end}", start_offset=start, end_offset=end
            )
        taken = self._batches_from(offset, bytes_max, stable if committed else end)
        if not taken:
            return Fetched(b"")
        data = b"".join(batch.data for batch in taken)
        if not committed:
            return Fetched(data)
        return Fetched(data, self.producers.aborted_between(offset, taken[-1].last_offset + 1))

    def _batches_from(self, offset: int, bytes_max: int, limit: int) -> list[Batch]:
        taken: list[Batch] = []
        size_bytes = 0
        for batch, _ in self.batches[bisect_left(self.batches, offset, key=_last_offset) :]:
            size_bytes += batch.size_bytes
            if batch.base_offset >= limit or (taken and size_bytes > bytes_max):
                break
            taken.append(batch)
        return taken

    def offset_for_time(self, timestamp_ms: int) -> TimedOffset | None:
        for batch, _ in self.batches:
            if (found := first_not_older(batch, timestamp_ms, self.start_offset)) is not None:
                return found
        return None

    def latest_record(self) -> TimedOffset | None:
        latest: TimedOffset | None = None
        for batch, _ in self.batches:
            latest = latest_of(batch, self.start_offset, latest)
        return latest

    def forget_before(self, offset: int) -> None:
        self.start_offset = max(self.start_offset, offset)
        del self.batches[: bisect_left(self.batches, self.start_offset, key=_last_offset)]

    def apply_retention(self, now_ms: int, groups: GroupsOffsets) -> int:
        """How much stays only because it is waited for."""
        ends = [*(stored.batch.base_offset for stored in self.batches[1:]), self.end_offset]
        pieces = [
            Piece(stored.batch.size_bytes, stored.latest_ms, end_offset=end)
            for stored, end in zip(self.batches, ends[: len(self.batches)], strict=True)
        ]
        free = free_offset(self.policy, groups, self.number)
        gone, held_bytes = expired_and_held(self.policy, pieces, now_ms, free)
        if gone:
            left = self.batches[gone:]
            self.forget_before(left[0].batch.base_offset if left else self.end_offset)
        self.producers.forget(max(self.start_offset, self.compacted_offset), now_ms - PRODUCER_EXPIRY_MS)
        return held_bytes

    def compact(self, now_ms: int, groups: GroupsOffsets) -> None:
        sealed = self._compactable(now_ms, free_offset(self.policy, groups, self.number))
        new = [stored for stored in sealed if stored.batch.last_offset >= self.compacted_offset]
        since_ms = new[0].append_ms if new else now_ms
        if not is_compaction_due(self.policy, _size_bytes(new), _size_bytes(sealed), since_ms, now_ms):
            return
        survivors = Survivors(self.policy, self.producers.aborted, self.compacted_offset, now_ms)
        for stored in new:
            survivors.learn(stored.batch)
        judged = [(survivors.kept(stored.batch), stored.append_ms) for stored in sealed]
        self.compacted_offset = sealed[-1].batch.last_offset + 1
        self.batches[: len(sealed)] = [StoredBatch(batch, at_ms) for batch, at_ms in judged if batch is not None]

    def _compactable(self, now_ms: int, free: int) -> list[StoredBatch]:
        stable = min(self.bounds().stable, free)
        sealed = [stored for stored in self.batches[:-1] if stored.batch.last_offset < stable]
        return list(takewhile(lambda stored: may_be_compacted(self.policy, stored.latest_ms, now_ms), sealed))


def _is_new(result: AppendResult) -> bool:
    return isinstance(result, Appended) and not result.duplicate


def _last_offset(stored: StoredBatch) -> int:
    return stored.batch.last_offset


def _size_bytes(batches: Iterable[StoredBatch]) -> int:
    return sum(stored.batch.size_bytes for stored in batches)


class MemoryLog:
    """Implements the port `Log`. Needs nothing to be opened; `clock` gives the time in milliseconds."""

    def __init__(self, clock: Callable[[], int] = now_ms) -> None:
        self._now_ms = clock
        self._topics: dict[UUID, tuple[int, ...]] = {}
        self._partitions: dict[int, MemoryPartition] = {}
        self._groups: dict[str, dict[int, GroupOffset]] = {}
        self._held_bytes: dict[int, int] = {}
        self._closed = False

    def _check_open(self) -> None:
        if self._closed:
            raise LogClosed()

    def _partition(self, number: int) -> MemoryPartition:
        self._check_open()
        partition = self._partitions.get(number)
        if partition is None:
            raise UnknownPartition(f"there is no partition number {number}")
        return partition

    # Appending and reading.

    def append(self, entries: Sequence[tuple[int, Batch]]) -> "asyncio.Future[list[AppendResult]]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[AppendResult]] = loop.create_future()
        results = [self._append(number, batch) for number, batch in entries]
        future.set_result(results)
        grown = {number for (number, _), result in zip(entries, results, strict=True) if _is_new(result)}
        # Watchers hear of it when the caller has its answer, as with every other log.
        loop.call_soon(self._tell, grown)
        return future

    def append_then(self, entries: Sequence[tuple[int, Batch]], answer: Callable[[list[AppendResult]], None]) -> None:
        self.append(entries).add_done_callback(lambda future: answer(future.result()))

    def _append(self, number: int, batch: Batch) -> AppendResult:
        try:
            return self._partition(number).append(batch, self._now_ms())
        except BraidError as refusal:
            return refusal

    def _tell(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            partition = self._partitions.get(number)
            if partition is not None:
                wake(partition, number)

    def bounds(self, number: int) -> Bounds:
        return self._partition(number).bounds()

    def size_bytes(self, number: int) -> int:
        return _size_bytes(self._partition(number).batches)

    async def room(self) -> Room:
        return Room(-1, -1)

    def read_now(self, number: int, offset: int, bytes_max: int, *, committed: bool = False) -> Fetched:
        return self._partition(number).read(offset, bytes_max, committed=committed)

    async def read(self, number: int, offset: int, bytes_max: int, *, committed: bool = False) -> Fetched:
        return self.read_now(number, offset, bytes_max, committed=committed)

    async def offset_for_time(self, number: int, timestamp_ms: int) -> TimedOffset | None:
        return self._partition(number).offset_for_time(timestamp_ms)

    async def latest_record(self, number: int) -> TimedOffset | None:
        return self._partition(number).latest_record()

    def producers(self, number: int) -> Sequence[ProducerState]:
        return self._partition(number).producers.states()

    def watch(self, numbers: Iterable[int], on_data: Callable[[int], None]) -> PartitionWatch:
        known = [self._partition(number).number for number in numbers]
        return PartitionWatch(self._partitions, known, on_data)

    async def wait(self, positions: Mapping[int, int], timeout_s: float) -> bool:
        return await wait_for_data(self, positions, timeout_s)

    # Topics.

    async def create_topic(self, topic: Topic) -> None:
        self._save_topic(topic)

    async def expand_topic(self, topic: Topic) -> None:
        self._save_topic(topic)

    async def configure_topic(self, topic: Topic) -> None:
        self._save_topic(topic)

    def _save_topic(self, topic: Topic) -> None:
        self._check_open()
        policy = policy_of(topic)
        for number in topic.partition_numbers:
            self._partitions.setdefault(number, MemoryPartition(number, policy)).policy = policy
        self._topics[topic.id] = topic.partition_numbers

    async def delete_topic(self, topic_id: UUID) -> None:
        self._check_open()
        for number in self._topics.pop(topic_id, ()):
            wake(self._partitions.pop(number), number)
            for group in list(self._groups):
                self._forget_offsets(group, [number])

    async def delete_records(self, number: int, before_offset: int) -> int:
        partition = self._partition(number)
        start, _, end = partition.bounds()
        if before_offset > end:
            raise OffsetOutOfRange(
                f"offset {before_offset} is behind the end, {end}", start_offset=start, end_offset=end
            )
        if before_offset > start:
            check_free(partition.policy, self._groups, number, before_offset)
        partition.forget_before(before_offset)
        return partition.start_offset

    async def maintain(self) -> None:
        self._check_open()
        now_ms = self._now_ms()
        held = {number: each.apply_retention(now_ms, self._groups) for number, each in self._partitions.items()}
        self._held_bytes = {number: size_bytes for number, size_bytes in held.items() if size_bytes}
        for partition in self._partitions.values():
            if partition.policy.compact:
                partition.compact(now_ms, self._groups)

    def held_bytes(self) -> Mapping[int, int]:
        return self._held_bytes

    # Group offsets.

    async def commit_offsets(self, group: str, offsets: Mapping[int, GroupOffset]) -> None:
        self._check_open()
        if offsets:
            self._groups.setdefault(group, {}).update(offsets)

    def fetch_offsets(self, group: str) -> Mapping[int, GroupOffset]:
        self._check_open()
        return dict(self._groups.get(group, {}))

    async def delete_offsets(self, group: str, numbers: Iterable[int] | None = None) -> None:
        self._check_open()
        self._forget_offsets(group, list(self._groups.get(group, {})) if numbers is None else numbers)

    def _forget_offsets(self, group: str, numbers: Iterable[int]) -> None:
        offsets = self._groups.get(group, {})
        for number in numbers:
            offsets.pop(number, None)
        if not offsets:
            self._groups.pop(group, None)

    def groups_with_offsets(self) -> Iterable[str]:
        self._check_open()
        return list(self._groups)

    async def close(self) -> None:
        self._closed = True
