"""One log in a world where anything may happen at any time, and a simple model that knows what must come of it.

A round is a life: the log is opened, random things are done to it (appends of every kind, syncs, flushes and
checkpoints that are begun, run and finished as separate steps, retention, compaction, topics that come and go), until
the power fails, the process is killed, or it is closed. Then it is opened again and everything that was promised is
looked for.
"""

import contextlib
import random
from collections.abc import Callable
from typing import Literal, NamedTuple
from uuid import UUID

from braidmq.log import Appended, AppendResult, GroupOffset
from braidmq.log._policy import Policy
from braidmq.log._producers import Producers
from braidmq.log._retention import free_offset
from braidmq.log.embedded._checkpoint import Checkpoint, begin_checkpoint, begin_edit, finish_checkpoint
from braidmq.log.embedded._compaction import begin_compaction, finish_compaction, give_up
from braidmq.log.embedded._engine import Engine
from braidmq.log.embedded._flush import FlushJob
from braidmq.log.embedded._frames import FrameFormat
from braidmq.log.embedded._lock import read_salt
from braidmq.log.embedded._manifest import PartitionEdit, TopicDeleted, TopicEdit
from braidmq.log.embedded._options import LogOptions
from braidmq.log.embedded._partition import PartitionLog
from braidmq.log.embedded._reader import Got, LoadIndex, build_index, read_steps
from braidmq.log.embedded._recovery import recover
from braidmq.log.embedded._retention import apply_retention
from braidmq.log.embedded._turn import SyncJob
from braidmq.model import BraidError
from braidmq.records import Batch, Marker, Record, batches_in, build_batch, build_marker, parse_batch, read_records
from simulator.disk import Crashed, SimulatedDisk

Flush = Literal["commit", "interval"]
PREFIX_BYTES = 16
RESERVE_BYTES = 40_000


class Expected:
    """What the model knows of one partition."""

    def __init__(self) -> None:
        self.submitted: dict[int, bytes] = {}
        """By the offset that was given: what followed the first 16 bytes, in the life that gave it."""
        self.ends: dict[int, int] = {}
        self.kept_end = 0
        """All below was acknowledged or seen, and must come back."""
        self.start = 0
        """An acknowledged start; the true one is not before it."""
        self.synced_end = 0
        """All below was synced by a checkpoint that ended well, and must come back whatever was promised."""
        self.compacted = False
        self.records: dict[int, Written] = {}
        """Of a partition that may be compacted, by offset: a batch may come back with some of its records."""


class Written(NamedTuple):
    """A record as it was sent."""

    key: bytes | None
    value: bytes | None
    is_transactional: bool


class World:
    def __init__(self, seed: int, flush: Flush) -> None:
        self.seed = seed
        self.flush: Flush = flush
        self.chance = random.Random(seed)
        self.clock_ms = 1_000_000
        self.disk = SimulatedDisk(self.chance)
        self.expected: dict[int, Expected] = {}
        self.topics: dict[UUID, list[int]] = {}
        self.next_number = 0
        self.offsets: dict[str, dict[int, int]] = {}
        self.offsets_tried: dict[str, set[tuple[int, int]]] = {}
        self.sequences: dict[tuple[int, int], int] = {}
        self.failed = False
        self.rounds = 0
        self._open()

    # A life.

    def _open(self) -> None:
        self.syncs: list[SyncJob] = []
        self.syncs_over: list[tuple[SyncJob, OSError | None]] = []
        """Begun, and those that have run but of which the engine has not heard."""
        self.flush_job: FlushJob | None = None
        self.checkpoint: Checkpoint | None = None
        options = LogOptions(
            flush=self.flush,
            segment_bytes=self.chance.choice([600, 2000, 20000]),
            journal_file_bytes=self.chance.choice([4096, 16384]),
            open_files_max=self.chance.choice([2, 100]),
            reserve_bytes=RESERVE_BYTES,
        )
        frames = FrameFormat(read_salt(self.disk, self.chance.randbytes))
        engine = Engine(self.disk, frames, options, lambda: self.clock_ms)
        engine.due_bytes = engine.direct_bytes = self.chance.choice([1, 700, 5000])
        engine.manifest.rewrite_at_bytes = self.chance.choice([1, 20000])
        self.recovery = recover(engine)
        self.engine = engine

    def live(self, steps: int) -> None:
        """Random things, then an end of one kind or another, and what must be true after it."""
        self.rounds += 1
        actions: list[tuple[int, Callable[[], None]]] = [
            (30, self.append),
            (14, self.engine_commit),
            (10, self.run_sync),
            (10, self.finish_sync),
            (5, self.flush_step),
            (4, self.checkpoint_step),
            (4, self.commit_offsets),
            (2, self.delete_records),
            (2, self.retain),
            (2, self.compact),
            (2, self.change_topics),
            (6, self.read_somewhere),
            (3, self.close_files),
            (2, self.prepare_spare),
        ]
        if not self.topics:
            self.create_topic()
        weights = [weight for weight, _ in actions]
        end = self.chance.choice(["power", "power", "kill", "clean", "crash", "crash", "fail"])
        fills_up = self.chance.random() < 0.25
        if end == "crash":
            self.disk.steps_left = self.chance.randint(0, 60)
        try:
            for step in range(steps):
                if end == "fail" and step == steps // 2:
                    self.disk.syncs_fail = True
                    self.disk.syncs_fail_once = self.chance.random() < 0.5
                if fills_up and step in (steps // 4, 3 * steps // 4):
                    self.disk.fill_up(self.chance.randint(0, 9000) if step == steps // 4 else None)
                self.clock_ms += self.chance.randint(0, 50)
                self.chance.choices(actions, weights)[0][1]()
                self.check_step()
            if end == "clean":
                self.close_clean()
        except Crashed:
            end = "power"
        self.end(end)

    def end(self, how: str) -> None:
        """The life ends; the disk decides what is left; the next life begins; promises are checked."""
        # What a sync dropped is gone, whether the power fails with it or only the node is started again.
        has_failed = how == "fail"
        power = how in ("power", "crash") or (has_failed and self.chance.random() < 0.5)
        if power:
            self.disk.lose_power()
        else:
            self.disk.lose_process()
        self._open_again(self.disk.lose_power if power else self.disk.lose_process)
        self.check(all_kept=self.flush == "commit" or not (power or has_failed))

    def check_step(self) -> None:
        """What holds between any two steps of a life."""
        engine = self.engine
        if engine.failure is not None:
            return
        untold = any(error is not None for _, error in self.syncs_over)
        assert untold or not self.disk.failed_syncs, "a sync failed, and the log goes on"
        tails_bytes = 0
        for partition in engine.partitions.values():
            in_hand_bytes = partition.pending.size_bytes if partition.pending is not None else 0
            tails_bytes += partition.tail_bytes - in_hand_bytes
        assert engine.tail_bytes == tails_bytes, f"{engine.tail_bytes} bytes are counted, {tails_bytes} are in tails"
        assert all(engine.partitions.get(each.number) is each for each in engine.ready), "a deleted partition is due"

    def _open_again(self, lose: Callable[[], None]) -> None:
        """Recovery itself may be cut off, more than once."""
        for _ in range(self.chance.choice([0, 0, 0, 1, 2])):
            self.disk.steps_left = self.chance.randint(0, 25)
            with contextlib.suppress(Crashed):
                self._open()
            lose()
        self.disk.steps_left = None
        self._open()

    # What can be done to a log.

    def some_partition(self) -> int | None:
        numbers = [number for numbers in self.topics.values() for number in numbers]
        return self.chance.choice(numbers) if numbers else None

    def append(self) -> None:
        if self.engine.tail_bytes >= self.engine.tail_bytes_max:
            # Writers wait for a flush here.
            return
        entries: list[tuple[int, Batch]] = []
        for _ in range(self.chance.randint(1, 4)):
            number = self.some_partition()
            if number is not None:
                entries.append((number, self.make_batch(number)))

        def answer(results: list[AppendResult]) -> None:
            for (number, batch), result in zip(entries, results, strict=True):
                self.answered(number, batch, result)

        before = {number: self.engine.partitions[number].end_offset for number, _ in entries}
        self.engine.append(entries, answer)
        for number, batch in entries:
            self.note_submitted(number, batch, before)

    def note_submitted(self, number: int, batch: Batch, before: dict[int, int]) -> None:
        """The engine gave offsets in order; a refused or duplicate batch got none."""
        partition = self.engine.partitions[number]
        expected = self.expected[number]
        base = before[number]
        tail = {item.base_offset: item for item in partition.tail}
        if base in tail and bytes(tail[base].data)[PREFIX_BYTES:] == bytes(batch.data)[PREFIX_BYTES:]:
            expected.submitted[base] = bytes(batch.data)[PREFIX_BYTES:]
            expected.ends[base] = base + batch.last_offset_delta + 1
            before[number] = expected.ends[base]
            if partition.policy.compact:
                self.note_records(expected, base, batch)

    def note_records(self, expected: Expected, base: int, batch: Batch) -> None:
        stale = base
        while expected.records.pop(stale, None) is not None:
            stale += 1  # of a turn that was refused
        if not batch.is_control:
            for record in read_records(batch):
                written = Written(record.key, record.value, batch.is_transactional)
                expected.records[base + record.offset - batch.base_offset] = written

    def make_batch(self, number: int) -> Batch:
        count = self.chance.randint(1, 3)
        keys = [b"a", b"b", b"c", None]
        records = [
            Record(
                at, self.clock_ms + at, self.chance.choice(keys), self.chance.randbytes(self.chance.choice([5, 400]))
            )
            for at in range(count)
        ]
        kind = self.chance.random()
        if kind < 0.5:
            return build_batch(records)
        producer_id = self.chance.randint(1, 3) if kind < 0.75 else self.chance.randint(11, 12)
        key = (number, producer_id)
        sequence = self.sequences.get(key, 0)
        if producer_id > 10 and self.chance.random() < 0.3:
            marker = self.chance.choice([Marker.ABORT, Marker.COMMIT])
            return build_marker(marker, producer_id=producer_id, producer_epoch=0, timestamp_ms=self.clock_ms)
        self.sequences[key] = sequence + count
        return build_batch(
            records, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=producer_id > 10
        )

    def answered(self, number: int, batch: Batch, result: AppendResult) -> None:
        if isinstance(result, Appended):
            expected = self.expected.get(number)
            if expected is not None:
                expected.kept_end = max(expected.kept_end, result.last_offset + 1)
            return
        assert isinstance(result, BraidError)
        if batch.producer_id > 0 and not batch.is_control:
            # Somebody lost count; the next batch of this producer begins where the partition says.
            self.resume_sequence(number, batch.producer_id)

    def resume_sequence(self, number: int, producer_id: int) -> None:
        partition = self.engine.partitions.get(number)
        producer = partition.producers.by_id.get(producer_id) if partition and partition.producers else None
        last = producer.sent[-1].last_sequence if producer and producer.sent else -1
        self.sequences[number, producer_id] = last + 1

    def engine_commit(self) -> None:
        self.engine.commit_turn()

    def run_sync(self) -> None:
        """Begin one, or run one of those that were begun: they may end in any order."""
        if self.flush != "commit":
            return
        if (not self.syncs or self.chance.random() < 0.5) and (begun := self.engine.begin_sync()) is not None:
            self.syncs.append(begun)
        elif self.syncs:
            job, error = self.syncs.pop(self.chance.randrange(len(self.syncs))), None
            try:
                job.run()
            except OSError as failed:
                error = failed
            self.syncs_over.append((job, error))

    def finish_sync(self) -> None:
        if self.syncs_over:
            job, error = self.syncs_over.pop(self.chance.randrange(len(self.syncs_over)))
            self.engine.synced(job, error)

    def flush_step(self) -> None:
        if self.engine.failure:
            return
        if self.flush_job is None:
            self.flush_everything = self.chance.random() < 0.4
            self.flush_job = self.engine.begin_flush(everything=self.flush_everything)
            return
        job, self.flush_job = self.flush_job, None
        job.run()
        self.engine.finish_flush(job)
        if self.flush == "interval" and self.flush_everything:
            self.engine.release_flushed(job)

    def checkpoint_step(self) -> None:
        if self.engine.failure:
            return
        if self.checkpoint is None:
            if self.flush_job is None:
                self.engine.commit_turn()
                if self.engine.flush_now():
                    self.checkpoint = begin_checkpoint(self.engine)
            return
        self.run_checkpoint(self.checkpoint)
        self.checkpoint = None

    def run_checkpoint(self, checkpoint: Checkpoint) -> bool:
        error: OSError | None = None
        try:
            checkpoint.run()
        except OSError as failed:
            error = failed
        finish_checkpoint(self.engine, checkpoint, error)
        if error is None:
            self.note_synced(checkpoint)
        return error is None

    def note_synced(self, checkpoint: Checkpoint) -> None:
        for edit in checkpoint.edits:
            if isinstance(edit, PartitionEdit) and (expected := self.expected.get(edit.snapshot.number)) is not None:
                expected.synced_end = max(expected.synced_end, edit.snapshot.end_offset)

    def commit_offsets(self) -> None:
        group = self.chance.choice(["g1", "g2"])
        number = self.some_partition()
        if number is None:
            return
        offset = self.chance.randint(0, 1000)
        self.offsets_tried.setdefault(group, set()).add((number, offset))

        def done(error: BraidError | None) -> None:
            if error is None:
                self.offsets.setdefault(group, {})[number] = offset

        self.engine.note_offsets(group, {number: GroupOffset(offset)}, done)

    def delete_records(self) -> None:
        number = self.some_partition()
        if number is None:
            return
        partition = self.engine.partitions[number]
        start = self.chance.randint(partition.start_offset, partition.visible_offset)
        if start > free_offset(partition.policy, self.engine.groups, number):
            return

        def done(error: BraidError | None) -> None:
            if error is None and number in self.expected:
                self.expected[number].start = max(self.expected[number].start, start)

        if start > partition.start_offset:
            self.engine.note_start(partition, start, done)

    def retain(self) -> None:
        if self.checkpoint is None and self.flush_job is None:
            before = {number: partition.start_offset for number, partition in self.engine.partitions.items()}
            apply_retention(self.engine)
            for number, partition in self.engine.partitions.items():
                free = free_offset(partition.policy, self.engine.groups, number)
                assert partition.start_offset <= max(before[number], free), f"{number} did not wait"

    def compact(self) -> None:
        for partition in [p for p in self.engine.partitions.values() if p.number in self.expected]:
            if partition.policy.compact and not self.engine.failure and self.flush_job is None:
                job = begin_compaction(self.engine, partition)
                if job is not None:
                    try:
                        job.run()
                    except OSError as error:
                        give_up(self.engine, job, error)
                        return
                    self.expected[partition.number].compacted = True
                    finish_compaction(self.engine, partition, job)

    def change_topics(self) -> None:
        if self.checkpoint is not None or self.engine.failure:
            return
        choice = self.chance.random()
        if choice < 0.5 and len(self.topics) < 4:
            self.create_topic()
        elif choice < 0.75 and self.topics:
            self.expand_topic(self.chance.choice(list(self.topics)))
        elif len(self.topics) > 1:
            self.delete_topic(self.chance.choice(list(self.topics)))

    def create_topic(self) -> None:
        topic_id = UUID(bytes=self.chance.randbytes(16))
        self.save_topic(topic_id, self.chance.randint(1, 3), [])

    def expand_topic(self, topic_id: UUID) -> None:
        self.save_topic(topic_id, 1, self.topics[topic_id])

    def save_topic(self, topic_id: UUID, count: int, numbers: list[int]) -> None:
        added = list(range(self.next_number, self.next_number + count))
        self.next_number += count
        known = self.engine.topics.get(topic_id)
        policy = (
            self.engine.partitions[known[0]].policy
            if known
            else Policy(
                retention_ms=self.chance.choice([-1, -1, 400]),
                segment_bytes=self.chance.choice([600, 3000]),
                compact=self.chance.random() < 0.3,
                delete=True,
                dirty_ratio=self.chance.choice([0.0, 0.0, 0.5]),
                lag_min_ms=self.chance.choice([0, 0, 200]),
                lag_max_ms=self.chance.choice([500, 1 << 62]),
                waits_for=self.chance.choice(["", "", "g1"]),
            )
        )
        edit = TopicEdit(topic_id, [*numbers, *added], policy)
        if self.run_checkpoint(begin_edit(self.engine, [edit])):
            self.engine.add_partitions(topic_id, [*numbers, *added], policy)
            self.topics[topic_id] = [*numbers, *added]
            for number in added:
                self.expected[number] = Expected()

    def delete_topic(self, topic_id: UUID) -> None:
        if self.chance.random() < 0.5:
            self.engine.commit_turn()
        numbers = self.topics.pop(topic_id)
        for number in numbers:
            del self.expected[number]
            for offsets in self.offsets.values():
                offsets.pop(number, None)
        if self.run_checkpoint(begin_edit(self.engine, [TopicDeleted(topic_id)])):
            self.engine.drop_topic(topic_id)

    def prepare_spare(self) -> None:
        if self.engine.failure is None and (spare := self.engine.begin_spare()) is not None:
            spare.run()
            self.engine.finish_spare(spare)

    def close_files(self) -> None:
        self.engine.files.tick += self.chance.randint(0, 3)
        self.engine.files.close_idle(2)

    def close_clean(self) -> None:
        """As EmbeddedLog.close does it."""
        if self.checkpoint is not None:
            self.checkpoint_step()
        if self.flush_job is not None:
            self.flush_step()
        self.engine.commit_turn()
        while self.engine.has_unsynced and not self.engine.failure:
            self.run_sync()
            self.finish_sync()
        if not self.engine.failure and self.engine.flush_now():
            self.run_checkpoint(begin_checkpoint(self.engine, clean=True))

    # What must be true.

    def read_somewhere(self) -> None:
        number = self.some_partition()
        if number is None:
            return
        partition = self.engine.partitions[number]
        offset = self.chance.randint(partition.start_offset, partition.visible_offset)
        data = self.read(partition, offset, self.chance.choice([1, 500, 100_000]))
        assert bool(data) or offset >= self.next_batch(number, offset), f"nothing at {offset} of {number}"
        seen_end = self.compare(number, data, offset)
        expected = self.expected[number]
        expected.kept_end = max(expected.kept_end, seen_end)

    def next_batch(self, number: int, offset: int) -> int:
        """Where readers may find nothing: the end, or (compacted away) anywhere."""
        partition = self.engine.partitions[number]
        return offset if self.expected[number].compacted else partition.visible_offset

    def read(self, partition: PartitionLog, offset: int, bytes_max: int) -> bytes:
        steps = read_steps(self.disk, partition, offset, bytes_max, committed=False)
        try:
            request = next(steps)
            while True:
                file = self.engine.files.open(request.segment)
                if isinstance(request, LoadIndex):
                    request = steps.send(build_index(self.disk, file, request))
                else:
                    cold = self.chance.random() < 0.3
                    request = steps.send(Got(file.read(request.size, request.position), from_disk=cold))
        except StopIteration as stop:
            return bytes(stop.value.data)

    def compare(self, number: int, data: bytes, offset: int) -> int:
        """Every batch is one that was submitted for this place, unchanged; the offset behind the last."""
        expected = self.expected[number]
        position, end = 0, offset
        while position < len(data):
            batch = parse_batch(data, position)
            assert batch.matches_checksum(), f"a corrupt batch was served at {batch.base_offset} of {number}"
            if expected.compacted:
                self.compare_records(number, batch)
            else:
                known = expected.submitted.get(batch.base_offset)
                assert known is not None, f"nobody wrote {batch.base_offset} of {number}"
                assert known == bytes(batch.data)[PREFIX_BYTES:], (
                    f"{batch.base_offset} of {number} is not what was written"
                )
                if position:
                    assert batch.base_offset == end, f"a hole before {batch.base_offset} of {number}"
            position += batch.size_bytes
            end = batch.last_offset + 1
        return end

    def compare_records(self, number: int, batch: Batch) -> None:
        """What compaction left of a batch is as it was sent."""
        if batch.is_control:
            return
        known = self.expected[number].records
        for record in read_records(batch):
            assert known.get(record.offset) == (record.key, record.value, batch.is_transactional), (
                f"{record.offset} of {number} is not what was written"
            )

    def check_newest(self, partition: PartitionLog, data: bytes) -> None:
        """Of every key the last record is served, and all that have none. Those of transactions may have gone, or have
        made others go."""
        served = {record.offset for batch in batches_in(data) if not batch.is_control for record in read_records(batch)}
        newest: dict[bytes | None, int] = {}
        for offset, written in sorted(self.expected[partition.number].records.items()):
            if not partition.start_offset <= offset < partition.visible_offset:
                continue
            if written.is_transactional:
                newest.pop(written.key, None)
            elif written.key is None:
                assert offset in served, f"{offset} of {partition.number}, without a key, is gone"
            else:
                newest[written.key] = offset
        gone = {key: offset for key, offset in newest.items() if offset not in served}
        assert not gone, f"the last records of {partition.number} are gone: {gone}"

    def check(self, *, all_kept: bool) -> None:
        assert not self.recovery.damage, f"nothing was damaged: {self.recovery.damage}"
        # A change of topics that was never answered may or may not have happened.
        surviving = set(self.engine.topics)
        assert set(self.topics) <= surviving, "a topic is gone"
        for topic_id, numbers in self.topics.items():
            assert list(self.engine.topics[topic_id])[: len(numbers)] == numbers, "partitions are gone"
        for numbers in self.topics.values():
            for number in numbers:
                self.check_partition(number, all_kept=all_kept)
        self.check_offsets(all_kept=all_kept)
        self.forget_unanswered()

    def check_partition(self, number: int, *, all_kept: bool) -> None:
        partition = self.engine.partitions[number]
        expected = self.expected[number]
        if all_kept:
            assert partition.end_offset >= expected.kept_end, (
                f"partition {number} ends at {partition.end_offset}, {expected.kept_end} was promised"
            )
            assert partition.start_offset >= expected.start, f"partition {number} began at {expected.start}"
        assert partition.end_offset >= expected.synced_end, (
            f"partition {number} ends at {partition.end_offset}, and was synced up to {expected.synced_end}"
        )
        if group := partition.policy.waits_for:
            seen = [offset for at, offset in self.offsets_tried.get(group, ()) if at == number]
            assert partition.start_offset <= max([expected.start, *seen]), f"partition {number} did not wait"
        offset = partition.start_offset
        batches = []
        while offset < partition.visible_offset:
            data = self.read(partition, offset, 100_000)
            if not data:
                assert expected.compacted, f"nothing to read at {offset} of {number}, before {partition.visible_offset}"
                break
            end = self.compare(number, data, offset)
            batches.append(data)
            assert end > offset
            offset = end
        if not expected.compacted:
            assert offset == max(partition.visible_offset, partition.start_offset)
        self.check_producers(partition, b"".join(batches))
        if expected.compacted:
            self.check_newest(partition, b"".join(batches))
        # Whatever opens is synced before it is used.
        expected.kept_end = expected.synced_end = partition.visible_offset
        expected.start = partition.start_offset
        for base in [base for base in expected.submitted if base >= partition.end_offset]:
            del expected.submitted[base]
        for offset in [offset for offset in expected.records if offset >= partition.end_offset]:
            del expected.records[offset]

    def check_producers(self, partition: PartitionLog, data: bytes) -> None:
        """What the partition remembers of its producers is what its batches say."""
        if partition.start_offset > 0 or self.expected[partition.number].compacted:
            return
        rebuilt = Producers()
        position = 0
        while position < len(data):
            batch = parse_batch(data, position)
            if batch.producer_id >= 0:
                rebuilt.store(batch, batch.base_offset, 0)
            position += batch.size_bytes
        kept = partition.producers or Producers()
        assert {
            producer_id: ([sent[:4] for sent in producer.sent], producer.epoch, producer.transaction_offset)
            for producer_id, producer in kept.by_id.items()
        } == {
            producer_id: ([sent[:4] for sent in producer.sent], producer.epoch, producer.transaction_offset)
            for producer_id, producer in rebuilt.by_id.items()
        }, f"producers of {partition.number}"
        assert kept.aborted == rebuilt.aborted, f"aborted transactions of {partition.number}"

    def check_offsets(self, *, all_kept: bool) -> None:
        for group, offsets in self.offsets.items():
            kept = self.engine.groups.get(group, {})
            for number, offset in offsets.items():
                if all_kept:
                    assert number in kept, f"the offset of {group} in {number} is gone"
                    allowed = {tried for tried in self.offsets_tried[group] if tried[0] == number}
                    assert kept[number].offset == offset or (number, kept[number].offset) in allowed

    def forget_unanswered(self) -> None:
        """The new life goes on from what it found."""
        self.offsets = {
            group: {number: kept.offset for number, kept in offsets.items() if number in self.expected}
            for group, offsets in self.engine.groups.items()
        }
        self.offsets_tried = {
            group: {(number, offset) for number, offset in offsets.items()} for group, offsets in self.offsets.items()
        }
        known = {number for numbers in self.topics.values() for number in numbers}
        for topic_id in [each for each in self.engine.topics if each not in self.topics]:
            # Made or deleted without an answer: ours to delete now.
            self.run_checkpoint(begin_edit(self.engine, [TopicDeleted(topic_id)]))
            self.engine.drop_topic(topic_id)
        for topic_id, numbers in self.topics.items():
            for number in self.engine.topics[topic_id]:
                if number not in known:
                    numbers.append(number)
                    self.expected.setdefault(number, Expected())
        self.expected = {number: e for number, e in self.expected.items() if number in self.engine.partitions}
        for number, producer_id in list(self.sequences):
            self.resume_sequence(number, producer_id)
