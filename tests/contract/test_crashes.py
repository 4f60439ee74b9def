"""The embedded log against a model of lists, through crashes: whatever happened, what was answered is there.

A crash is a copy of the folder at one moment, with appends under way; the copy is opened and compared. An append that
was not answered may be there or not, but only whole, in order, and behind all that was answered.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import UUID

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from braidmq.log import Appended, Fetched, GroupOffset
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.model import Topic
from braidmq.records import Batch, Codec, Marker, Record, build_batch, build_marker
from contract.crashing import GatedDisk
from contract.harness import Clock, stored_batches
from contract.model import Model, ModelPartition

T = TypeVar("T")

PICK = st.integers(0, 1 << 20)
PRODUCERS = st.integers(1, 3)
Pairs = list[tuple[bytes | None, bytes | None]]

KEYS = st.sampled_from([None, b"a", b"b", b"c"])
VALUES = st.one_of(st.none(), st.binary(max_size=20), st.just(b"x" * 3000))
RECORDS = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4)
POLICIES: dict[str, dict[str, Any]] = {
    "kept": {"retention_ms": -1},
    "limited": {"retention_ms": -1, "retention_bytes": 4000},
    "short": {"retention_ms": 10_000},
    "compacted": {"retention_ms": -1, "settings": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"}},
}


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.home = Path(tempfile.mkdtemp(prefix="braid-crash-"))
        self.lives = 0
        self.clock = Clock()
        self.model = Model()

    @initialize(
        flush=st.sampled_from(["commit", "interval"]),
        segment_bytes=st.sampled_from([1, 300, 5000, 1 << 20]),
        journal_file_bytes=st.sampled_from([1, 8192, 1 << 20]),
    )
    def begin(self, flush: Literal["commit", "interval"], segment_bytes: int, journal_file_bytes: int) -> None:
        self.options = LogOptions(
            flush=flush,
            segment_bytes=segment_bytes,
            journal_file_bytes=journal_file_bytes,
            reserve_bytes=64 * 1024,
            open_files_max=5,
        )
        self.open()

    @property
    def folder(self) -> Path:
        return self.home / f"life-{self.lives}"

    def open(self) -> None:
        self.disk = GatedDisk(self.folder)
        self.log = self.run(EmbeddedLog.open(self.folder, self.options, clock=self.clock, disk=self.disk))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        async def limited() -> T:
            async with asyncio.timeout(30):
                return await work

        return self.runner.run(limited())

    def choose(self, pick: int) -> ModelPartition:
        numbers = sorted(self.model.partitions)
        return self.model.partitions[numbers[pick % len(numbers)]]

    def has_partitions(self) -> bool:
        return bool(self.model.partitions)

    # Topics.

    @precondition(lambda self: len(self.model.topics) < 4)
    @rule(partitions=st.integers(1, 3), policy=st.sampled_from(sorted(POLICIES)))
    def create_topic(self, partitions: int, policy: str) -> None:
        numbers = tuple(range(self.model.next_number, self.model.next_number + partitions))
        self.model.next_number += partitions
        topic = Topic(id=UUID(int=numbers[0]), name=policy, partition_numbers=numbers, **POLICIES[policy])
        self.run(self.log.create_topic(topic))
        self.model.add(topic)

    @precondition(has_partitions)
    @rule(pick=PICK)
    def expand_topic(self, pick: int) -> None:
        topic = self.choose(pick).topic
        number = self.model.next_number
        self.model.next_number += 1
        topic = msgspec.structs.replace(topic, partition_numbers=(*topic.partition_numbers, number))
        self.run(self.log.expand_topic(topic))
        self.model.add(topic)

    @precondition(lambda self: len(self.model.topics) > 2)
    @rule(pick=PICK)
    def delete_topic(self, pick: int) -> None:
        topic = self.choose(pick).topic
        self.run(self.log.delete_topic(topic.id))
        self.model.drop(topic)

    # Appending.

    def batch(self, records: Pairs, codec: Codec, **sent: Any) -> Batch:
        self.clock.now_ms += 1
        listed = [Record(delta, self.clock.now_ms, key, value) for delta, (key, value) in enumerate(records)]
        return build_batch(listed, codec=codec, **sent)

    def of_producer(self, partition: ModelPartition, id: int, records: Pairs) -> Batch:
        producer = partition.producer(id)
        return self.batch(
            records,
            Codec.NONE,
            producer_id=id,
            producer_epoch=0,
            base_sequence=producer.next_sequence,
            transactional=producer.opened_at >= 0,
        )

    def send(self, partition: ModelPartition, batch: Batch, kind: Marker | None = None) -> None:
        self.run(self.append_all([(partition, batch, kind)]))

    async def append_all(self, sends: list[tuple[ModelPartition, Batch, Marker | None]]) -> None:
        futures = [self.log.append([(partition.number, batch)]) for partition, batch, _ in sends]
        for future, (partition, batch, kind) in zip(futures, sends, strict=True):
            (result,) = await future
            entry = partition.take(batch, kind)
            assert isinstance(result, Appended), result
            assert (result.base_offset, result.last_offset) == (entry.base_offset, entry.last_offset)

    @precondition(has_partitions)
    @rule(sends=st.lists(st.tuples(PICK, RECORDS, st.sampled_from(Codec)), min_size=1, max_size=6))
    def append(self, sends: list[tuple[int, Pairs, Codec]]) -> None:
        self.run(
            self.append_all([(self.choose(pick), self.batch(records, codec), None) for pick, records, codec in sends])
        )

    @precondition(has_partitions)
    @rule(pick=PICK, id=PRODUCERS, records=RECORDS)
    def append_idempotently(self, pick: int, id: int, records: Pairs) -> None:
        partition = self.choose(pick)
        self.send(partition, self.of_producer(partition, id, records))

    @precondition(has_partitions)
    @rule(pick=PICK, id=PRODUCERS)
    def append_again(self, pick: int, id: int) -> None:
        partition = self.choose(pick)
        last = partition.producer(id).last
        if last is not None:
            (result,) = self.run(_answers(self.log, partition.number, last.batch))
            assert isinstance(result, Appended)
            assert (result.base_offset, result.last_offset, result.duplicate) == (
                last.base_offset,
                last.last_offset,
                True,
            )

    @precondition(has_partitions)
    @rule(pick=PICK, id=PRODUCERS, records=RECORDS)
    def append_in_transaction(self, pick: int, id: int, records: Pairs) -> None:
        partition = self.choose(pick)
        sequence = partition.producer(id).next_sequence
        batch = self.batch(
            records, Codec.NONE, producer_id=id, producer_epoch=0, base_sequence=sequence, transactional=True
        )
        self.send(partition, batch)

    @precondition(has_partitions)
    @rule(pick=PICK, id=PRODUCERS, kind=st.sampled_from(Marker))
    def end_transaction(self, pick: int, id: int, kind: Marker) -> None:
        partition = self.choose(pick)
        marker = build_marker(kind, producer_id=id, producer_epoch=0, timestamp_ms=self.clock.now_ms)
        self.send(partition, marker, kind)

    # Reading.

    async def all_batches(self, number: int, offset: int) -> list[Batch]:
        found: list[Batch] = []
        while got := stored_batches(await self.log.read(number, offset, 2000)):
            assert got[0].last_offset >= offset
            found += got
            offset = got[-1].last_offset + 1
        return found

    @precondition(has_partitions)
    @rule(pick=PICK, at=PICK, bytes_max=st.sampled_from([0, 500, 1 << 20]), committed=st.booleans())
    def read(self, pick: int, at: int, bytes_max: int, committed: bool) -> None:
        partition = self.choose(pick)
        offset = partition.start + at % (partition.end - partition.start + 1)
        fetched: Fetched = self.run(self.log.read(partition.number, offset, bytes_max, committed=committed))
        limit = partition.stable if committed else partition.end
        got = stored_batches(fetched)
        if not partition.is_thinned:
            assert bool(got) == (offset < limit)
        assert len(fetched.data) <= bytes_max or len(got) == 1
        assert all(offset <= batch.last_offset and batch.base_offset < limit for batch in got)
        if committed and got:
            self._check_aborted(partition, fetched, offset, got[-1].last_offset + 1)

    def _check_aborted(self, partition: ModelPartition, fetched: Fetched, offset: int, next_offset: int) -> None:
        expected = {
            (producer_id, first)
            for producer_id, first, marker in partition.aborted
            if marker >= offset and first < next_offset
        }
        told = {(aborted.producer_id, aborted.first_offset) for aborted in fetched.aborted}
        assert told <= expected if partition.is_thinned else told == expected

    # Forgetting.

    @precondition(has_partitions)
    @rule(pick=PICK, at=PICK)
    def delete_records(self, pick: int, at: int) -> None:
        partition = self.choose(pick)
        offset = at % (partition.end + 1)
        partition.start = max(partition.start, offset)
        assert self.run(self.log.delete_records(partition.number, offset)) == partition.start

    @rule(later_ms=st.integers(0, 8000))
    def maintain(self, later_ms: int) -> None:
        self.clock.now_ms += later_ms
        self.run(self.log.maintain())
        for partition in self.model.partitions.values():
            self._take_over_start(partition)
            partition.is_thinned = partition.is_thinned or partition.topic.name == "compacted"
        self.check_everything()

    def _take_over_start(self, partition: ModelPartition) -> None:
        """Retention works by segments: only that nothing young or needed was given up is the same for all sizes."""
        start = self.log.bounds(partition.number).start
        assert start >= partition.start
        gone = [entry for entry in partition.entries if partition.start <= entry.base_offset < start]
        if partition.topic.name == "short":
            assert all(entry.batch.max_timestamp < self.clock.now_ms - 10_000 for entry in gone)
        elif partition.topic.name == "limited":
            left_bytes = sum(entry.batch.size_bytes for entry in partition.entries if entry.base_offset >= start)
            assert not gone or left_bytes >= 4000
        else:
            assert not gone
        partition.start = start

    # Groups.

    @precondition(has_partitions)
    @rule(group=st.sampled_from(["g", "h"]), pick=PICK, offset=st.integers(0, 100), metadata=st.text(max_size=5))
    def commit_offset(self, group: str, pick: int, offset: int, metadata: str) -> None:
        number = self.choose(pick).number
        committed = GroupOffset(offset, metadata, 1, self.clock.now_ms)
        self.run(self.log.commit_offsets(group, {number: committed}))
        self.model.groups.setdefault(group, {})[number] = committed

    @rule(group=st.sampled_from(["g", "h"]))
    def delete_offsets(self, group: str) -> None:
        self.run(self.log.delete_offsets(group))
        self.model.groups.pop(group, None)

    # Ends and beginnings.

    @rule()
    def reopen(self) -> None:
        self.run(self.log.close())
        self.open()
        assert not self.log.recovery.damage
        self.check_everything()

    @rule(sends=st.lists(st.tuples(PICK, RECORDS), max_size=5), turns=st.integers(0, 8))
    def crash(self, sends: list[tuple[int, Pairs]], turns: int) -> None:
        unsure = [(self.choose(pick), self.batch(records, Codec.NONE)) for pick, records in sends if self.model.topics]
        answered = self.run(self._die(unsure, turns))
        self.lives += 1
        self.open()
        assert not self.log.recovery.damage
        self._take_over_unsure(unsure, answered)
        self.check_everything()

    async def _die(self, unsure: list[tuple[ModelPartition, Batch]], turns: int) -> int:
        """Append, let the loop turn a few times, and take a picture; how many appends were answered before it."""
        futures = [self.log.append([(partition.number, batch)]) for partition, batch in unsure]
        for _ in range(turns):
            await asyncio.sleep(0)
        answered = sum(future.done() for future in futures)
        self.disk.copy_to(self.home / f"life-{self.lives + 1}")
        await self.log.close()
        shutil.rmtree(self.folder)
        return answered

    def _take_over_unsure(self, unsure: list[tuple[ModelPartition, Batch]], answered: int) -> None:
        for at, (partition, batch) in enumerate(unsure):
            end = self.log.bounds(partition.number).end
            if at < answered or partition.end < end:
                partition.take(batch)

    def check_everything(self) -> None:
        for partition in self.model.partitions.values():
            partition.check_content(self.run(self.all_batches(partition.number, partition.start)), partition.start)

    @invariant()
    def has_the_bounds_and_offsets_of_the_model(self) -> None:
        if not hasattr(self, "log"):
            return
        for partition in self.model.partitions.values():
            assert self.log.bounds(partition.number) == (partition.start, partition.stable, partition.end)
        assert set(self.log.groups_with_offsets()) == set(self.model.groups)
        for group, offsets in self.model.groups.items():
            assert self.log.fetch_offsets(group) == offsets

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.run(self.log.close())
        self.runner.close()
        shutil.rmtree(self.home)


async def _answers(log: EmbeddedLog, number: int, batch: Batch) -> list[Any]:
    return await log.append([(number, batch)])


class LongLogMachine(LogMachine):
    """The same for longer."""


QUICK = settings(max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LogMachine.TestCase.settings = QUICK
LongLogMachine.TestCase.settings = settings(QUICK, max_examples=300, stateful_step_count=60)

TestLogHoldsWhatItsModelHolds = LogMachine.TestCase
TestLogHoldsWhatItsModelHoldsForLong = pytest.mark.timeout(600)(pytest.mark.slow(LongLogMachine.TestCase))
