"""A crash tears the last writes, a disk flips bits: after every such fault the log opens and serves only the truth.

A small log is made step by step and is cut off while it is open. Then, for every byte that was written since the last
checkpoint, a copy is cut there, flipped there, or zeroed from there on; and each copy is opened. One copy of a batch is
hit at a time, in the journal or in a segment; where the other is whole, the batch must be served.

The last frames of the journal are special: when nothing behind them says that they had reached the disk, a damaged
frame cannot be told from one that was torn before it was acknowledged. There, and only there, batches may end early.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

import pytest

from braidmq.log.embedded import LogOptions
from braidmq.log.embedded import _journal as journal
from braidmq.log.embedded._frames import HEADER_BYTES, PAGE_BYTES, Frame
from braidmq.model import BraidError
from braidmq.records import Batch
from faults.log.bare import BareLog, Served
from faults.log.batches import body, of_producer, plain
from faults.log.disks import MemoryDisk, MemoryFile

Flush = Literal["commit", "interval"]
Fault = Literal["cut", "flip", "zero"]
Places = Iterable[tuple[str, int]]
"""File and byte."""

PARTITIONS = (1, 2, 3)
SEGMENT_BYTES = 450
CASES: list[tuple[Flush, Fault]] = [(f, t) for f in ("commit", "interval") for t in ("cut", "flip", "zero")]
ONE_BATCH_BYTES = 1
"""A read gives at least one batch; asked for so little, it gives no more."""
GO_ON_STEP = 7
"""After every so many faults the log is also written to and crashes again."""
PADDING_STEP = 509
"""Of the zeroes that fill a page, the quick tests hit every so many; the slow ones hit all."""


class Written(NamedTuple):
    """A batch that was acknowledged."""

    base_offset: int
    last_offset: int
    body: bytes


class JournalFrame(NamedTuple):
    """A frame of the journal as it was before the fault."""

    file: str
    frame: Frame
    entries: list[journal.Entry]

    @property
    def end(self) -> int:
        return self.frame.position + HEADER_BYTES + self.frame.size


class Crashed:
    """A log that was cut off, and all that it had acknowledged."""

    def __init__(self, flush: Flush, turns: int) -> None:
        self.options = LogOptions(flush=flush, journal_file_bytes=3 * PAGE_BYTES, reserve_bytes=0)
        self.log = BareLog(MemoryDisk(), self.options)
        self.written: dict[int, list[Written]] = {number: [] for number in PARTITIONS}
        self.log.create(PARTITIONS, SEGMENT_BYTES)
        self._write(turns)
        self.log.commit_offset("group", 1, 1)
        self.log.checkpoint()
        self.covered = {name: len(content) for name, content in self.log.disk.files.items()}
        self._write(turns)
        self.log.delete_records(2, 1)
        self.log.flush()
        self._write(turns)
        self.log.commit_offset("group", 1, 2)
        self._write(turns)
        self.files = self.log.disk.picture()
        self.flushed = {
            number: max(segment.end_offset for segment in partition.segments) - 1
            for number, partition in self.log.engine.partitions.items()
        }
        """The last offset of each partition that is in a segment's file."""
        self.frames = [frame for frame in self.whole_frames(self.files) if self._is_needed(frame)]

    def _write(self, turns: int) -> None:
        for turn in range(turns):
            self._append((PARTITIONS[turn % 3],))
            self._append(PARTITIONS)

    def _append(self, numbers: tuple[int, ...]) -> None:
        batches = [(number, self._next_batch(number)) for number in numbers]
        for (number, batch), appended in zip(batches, self.log.append(batches), strict=True):
            self.written[number].append(Written(appended.base_offset, appended.last_offset, body(batch)))

    def _next_batch(self, number: int) -> Batch:
        """Partition 1 takes plain batches of two records, the others batches of a producer."""
        count = len(self.written[number])
        text = f"partition {number} batch {count}"
        return plain(text, records=2) if number == 1 else of_producer(text, number, count)

    def _is_needed(self, frame: JournalFrame) -> bool:
        return frame.frame.sequence >= self.log.engine.journal.floor

    def whole_frames(self, files: dict[str, bytes]) -> list[JournalFrame]:
        found = []
        for name in sorted(files):
            if name.startswith("journal/"):
                file = MemoryFile(bytearray(files[name]))
                for frame in self.log.engine.format.find(file, 0):
                    entries = list(journal.decode_entries(frame.payload(file)))
                    found.append(JournalFrame(name, frame, entries))
        return sorted(found, key=lambda frame: frame.frame.sequence)

    def damaged(self, name: str, fault: Fault, position: int) -> dict[str, bytes]:
        """The files with one fault in them."""
        content = self.files[name]
        if fault == "cut":
            hit = content[:position]
        elif fault == "flip":
            hit = content[:position] + bytes([content[position] ^ 1 << position % 8]) + content[position + 1 :]
        else:
            hit = content[:position] + bytes(len(content) - position)
        return {**self.files, name: hit}

    # Where to hit.

    def journal_places(self, *, every_byte: bool) -> Iterator[tuple[str, int]]:
        """Every byte of every frame that is needed; of the padding behind them some, or all."""
        for frame in self.frames:
            for position in range(frame.frame.position, frame.frame.next_position):
                if every_byte or position < frame.end or position % PADDING_STEP == 0:
                    yield frame.file, position

    def segment_places(self) -> Iterator[tuple[str, int]]:
        for name, content in self.files.items():
            if name.startswith("segments/") and name.endswith(".log"):
                for position in range(self.covered.get(name, 0), len(content)):
                    yield name, position

    # What must hold.

    def check_served(self, log: BareLog) -> dict[int, Served]:
        """Whatever is served is what was acknowledged at that offset."""
        served = {number: log.serve(number, bytes_max=ONE_BATCH_BYTES) for number in PARTITIONS}
        for number, partition in served.items():
            known = {written.base_offset: written.body for written in self.written[number]}
            for batch in partition.batches:
                assert known[batch.base_offset] == body(batch)
            assert partition.end <= self.written[number][-1].last_offset + 1
        return served

    def check_goes_on(self, log: BareLog) -> None:
        """New batches get the next offsets and, after one more crash, are there with all that was served before."""
        before = {number: log.serve(number, bytes_max=ONE_BATCH_BYTES) for number in PARTITIONS}
        added = log.append([(number, plain(f"later {number}")) for number in PARTITIONS])
        again = BareLog(MemoryDisk(log.disk.picture()), self.options)
        for number, appended in zip(PARTITIONS, added, strict=True):
            after = again.serve(number, bytes_max=ONE_BATCH_BYTES)
            bodies = [body(batch) for batch in before[number].batches]
            assert appended.base_offset == before[number].end
            assert after.refused == before[number].refused
            assert [body(batch) for batch in after.batches] == [*bodies, body(plain(f"later {number}"))]


def offsets_of(batches: Iterable[Written | Batch]) -> set[int]:
    return {offset for batch in batches for offset in range(batch.base_offset, batch.last_offset + 1)}


def refused_offsets(served: Served) -> set[int]:
    return {offset for refused in served.refused for offset in range(refused.first_offset, refused.end_offset)}


class JournalVerdict:
    """What a fault in the journal may cost, worked out from the frames that are still whole."""

    def __init__(self, crashed: Crashed, files: dict[str, bytes]) -> None:
        whole = {frame.frame.sequence for frame in crashed.whole_frames(files)}
        self.lost = [frame for frame in crashed.frames if frame.frame.sequence not in whole]
        self.first_lost = min((frame.frame.sequence for frame in self.lost), default=1 << 62)
        durable = max((f.frame.durable for f in crashed.frames if f.frame.sequence in whole), default=0)
        self.is_known = durable >= self.first_lost
        """A whole frame says that the first lost one had been on disk."""
        self._crashed = crashed

    def offsets(self, number: int, frames: Iterable[JournalFrame]) -> set[int]:
        """Which offsets of a partition the frames hold."""
        index = PARTITIONS.index(number)
        return {
            offset
            for frame in frames
            for entry in frame.entries
            if entry.kind == journal.BATCHES and entry.partition == index
            for offset in range(entry.base_offset, entry.end_offset)
        }

    def check(self, number: int, served: Served) -> None:
        """Every acknowledged batch is served while it has one whole copy; else it is refused, and nothing else is."""
        kept = offsets_of(self._crashed.written[number]) - set(range(served.start))
        flushed = {offset for offset in kept if offset <= self._crashed.flushed[number]}
        before = [frame for frame in self._crashed.frames if frame.frame.sequence < self.first_lost]
        assert flushed | self.offsets(number, before) & kept <= offsets_of(served.batches)
        if self.is_known:
            lost = (self.offsets(number, self.lost) & kept) - flushed
            assert offsets_of(served.batches) & kept == kept - lost
            assert refused_offsets(served) == lost
        else:
            assert not served.refused


def check_segment_fault(crashed: Crashed, fault: Fault, name: str, position: int) -> None:
    log = BareLog(MemoryDisk(crashed.damaged(name, fault, position)), crashed.options)
    for number, served in crashed.check_served(log).items():
        assert not served.refused
        if crashed.options.flush == "commit":
            assert served.end == crashed.written[number][-1].last_offset + 1
    if position % GO_ON_STEP == 0:
        crashed.check_goes_on(log)


def check_journal_fault(crashed: Crashed, fault: Fault, name: str, position: int) -> None:
    files = crashed.damaged(name, fault, position)
    verdict = JournalVerdict(crashed, files)
    log = BareLog(MemoryDisk(files), crashed.options)
    for number, served in crashed.check_served(log).items():
        if crashed.options.flush == "commit":
            verdict.check(number, served)
        else:
            assert not served.refused
            assert served.end > crashed.flushed[number]
    if verdict.is_known:
        assert any(damage.path.startswith("journal/") for damage in log.recovery.damage)
    if position % GO_ON_STEP == 0:
        crashed.check_goes_on(log)


def sweep(check: Callable[[Crashed, Fault, str, int], None], crashed: Crashed, fault: Fault, places: Places) -> None:
    """Try the fault at every place; the first few that broke a promise are told together, with what they broke."""
    broken = []
    for name, position in places:
        try:
            check(crashed, fault, name, position)
        except (AssertionError, BraidError) as error:
            broken.append(f"{fault} {name} at byte {position}: {type(error).__name__} {error}".splitlines()[0])
    assert not broken, f"{len(broken)} places: " + "; ".join(broken[:5])


BOTH_MODES_AND_ALL_FAULTS = pytest.mark.parametrize(
    ("flush", "fault"), [pytest.param(*case, id="-".join(case)) for case in CASES]
)


@BOTH_MODES_AND_ALL_FAULTS
def test_a_fault_in_a_segment_costs_nothing_that_the_journal_has(flush: Flush, fault: Fault) -> None:
    crashed = Crashed(flush, turns=1)
    sweep(check_segment_fault, crashed, fault, crashed.segment_places())


@BOTH_MODES_AND_ALL_FAULTS
def test_a_fault_in_the_journal_costs_nothing_that_a_segment_has_and_is_never_hidden(
    flush: Flush, fault: Fault
) -> None:
    crashed = Crashed(flush, turns=1)
    sweep(check_journal_fault, crashed, fault, crashed.journal_places(every_byte=False))


@pytest.mark.slow
@pytest.mark.timeout(900)
@BOTH_MODES_AND_ALL_FAULTS
def test_a_fault_at_any_byte_of_many_segments_is_survived(flush: Flush, fault: Fault) -> None:
    crashed = Crashed(flush, turns=4)
    sweep(check_segment_fault, crashed, fault, crashed.segment_places())


@pytest.mark.slow
@pytest.mark.timeout(900)
@BOTH_MODES_AND_ALL_FAULTS
def test_a_fault_at_any_byte_of_the_journal_is_survived(flush: Flush, fault: Fault) -> None:
    crashed = Crashed(flush, turns=1)
    sweep(check_journal_fault, crashed, fault, crashed.journal_places(every_byte=True))


def test_a_reader_is_not_led_over_a_lost_batch_by_a_read_that_began_before_it() -> None:
    crashed = Crashed("commit", turns=1)
    hit = next(frame for frame in crashed.frames if any(entry.base_offset == 2 for entry in frame.entries))
    log = BareLog(MemoryDisk(crashed.damaged(hit.file, "flip", hit.frame.position)), crashed.options)
    assert [refused[:2] for refused in log.serve(3, ONE_BATCH_BYTES).refused] == [(2, 3)]
    assert [batch.base_offset for batch in log.read(3, 0)] == [0, 1]


def test_a_refusal_names_the_file_and_the_byte_of_the_frame_that_was_hit() -> None:
    crashed = Crashed("commit", turns=1)
    for hit in crashed.frames[-3:-1]:
        log = BareLog(MemoryDisk(crashed.damaged(hit.file, "flip", hit.end - 1)), crashed.options)
        assert (hit.file, hit.frame.position) in [(damage.path, damage.position) for damage in log.recovery.damage]
