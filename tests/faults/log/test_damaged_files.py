"""A log was closed in good order, and later a bit flips on the disk: in a segment, in an index, in the manifest.

A reader gets the right bytes or is told which file is damaged at which byte; never anything else. Other partitions do
not notice.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.model.errors import DamagedLog
from braidmq.records import BATCH_HEADER_BYTES, parse_batch
from faults.log.bare import BareLog, Served
from faults.log.batches import body, plain
from faults.log.disks import MemoryDisk

OPTIONS = LogOptions(reserve_bytes=0)
HURT, SOUND = 1, 2
BATCHES = 9
SEALED = "segments/0000001-00000000000000000000-0000.log"
INDEX = SEALED.replace(".log", ".index")
EPOCH_BYTES = range(12, 16)
LARGE_BYTES = 40_000
"""Batches so large that the sparse index has several marks."""


class ClosedLog:
    """A log of two partitions, each with sealed segments, closed cleanly."""

    def __init__(self, size_bytes: int = 0, segment_bytes: int = 350) -> None:
        self.log = BareLog(MemoryDisk(), OPTIONS)
        self.bodies: list[bytes] = []
        self.log.create((HURT, SOUND), segment_bytes)
        for count in range(BATCHES):
            batch = plain(f"batch {count}", size_bytes=size_bytes)
            self.log.append([(HURT, batch), (SOUND, batch)])
            self.bodies.append(body(batch))
        self.log.commit_offset("group", HURT, 5)
        self.log.checkpoint(clean=True)
        self.files = self.log.disk.picture()

    def flipped(self, name: str, position: int) -> BareLog:
        content = bytearray(self.files[name])
        content[position] ^= 1 << position % 8
        return BareLog(MemoryDisk({**self.files, name: bytes(content)}), OPTIONS)

    def check(self, served: Served) -> None:
        """What is served is right, and what is not served is refused."""
        assert (served.start, served.end) == (0, BATCHES)
        for batch in served.batches:
            assert body(batch) == self.bodies[batch.base_offset]
        refused = {offset for one in served.refused for offset in range(one.first_offset, one.end_offset)}
        assert {batch.base_offset for batch in served.batches} | refused == set(range(BATCHES))

    def is_whole(self, log: BareLog) -> bool:
        """Whether nothing is missing: batches and group offsets."""
        if set(log.engine.partitions) != {HURT, SOUND} or log.group_offset("group", HURT) != 5:
            return False
        for number in (HURT, SOUND):
            self.check_whole(log.serve(number))
        return True

    def check_whole(self, served: Served) -> None:
        self.check(served)
        assert not served.refused


def batch_starts(content: bytes) -> Iterator[tuple[int, int]]:
    """Begin and end of every batch of a segment."""
    position = 0
    while position < len(content):
        size = parse_batch(content, position).size_bytes
        yield position, position + size
        position += size


def check_flip_is_refused(closed: ClosedLog, begin: int, position: int) -> None:
    log = closed.flipped(SEALED, position)
    served = log.serve(HURT, bytes_max=1)
    closed.check(served)
    assert served.refused, f"a flip at byte {position} went unnoticed"
    assert {one.path for one in served.refused} == {SEALED}
    # Where a length was hit, batches behind it cannot be found; they are refused by where the search ended.
    assert served.refused[0].position == begin
    closed.check_whole(log.serve(SOUND))


def test_a_flipped_byte_in_a_sealed_segment_is_served_to_nobody() -> None:
    closed = ClosedLog()
    for begin, end in batch_starts(closed.files[SEALED]):
        for position in range(begin + EPOCH_BYTES.start, end):
            if position - begin not in EPOCH_BYTES:
                check_flip_is_refused(closed, begin, position)


def test_a_flipped_base_offset_or_length_is_refused_and_not_taken_for_the_end() -> None:
    closed = ClosedLog()
    for begin, _ in batch_starts(closed.files[SEALED]):
        for position in range(begin, begin + EPOCH_BYTES.start):
            check_flip_is_refused(closed, begin, position)


def test_a_flipped_leader_epoch_is_served_to_nobody() -> None:
    closed = ClosedLog()
    for position in EPOCH_BYTES:
        closed.check(closed.flipped(SEALED, position).serve(HURT))


def test_batches_before_the_damage_are_served_by_a_read_that_would_run_into_it() -> None:
    closed = ClosedLog(segment_bytes=1 << 20)
    _, (begin, _), *_ = batch_starts(closed.files[SEALED])
    log = closed.flipped(SEALED, begin + BATCH_HEADER_BYTES + 5)
    assert [batch.base_offset for batch in log.read(HURT, 0)] == [0]
    with pytest.raises(DamagedLog) as refused:
        log.read(HURT, 1)
    assert (refused.value.path, refused.value.position, refused.value.offset) == (SEALED, begin, 1)
    assert log.read(HURT, 2)[0].base_offset == 2


async def test_a_missing_segment_is_refused_by_its_name_and_the_others_are_served(tmp_path: Path) -> None:
    for name, content in ClosedLog().files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / SEALED).unlink()
    # A clean start trusts the manifest and looks at no segment: the reader finds out.
    log = await EmbeddedLog.open(tmp_path, OPTIONS)
    try:
        assert log.recovery.clean
        assert (await log.read(SOUND, 0, 1)).data
        assert (await log.read(HURT, BATCHES - 1, 1)).data
        with pytest.raises(DamagedLog) as refused:
            await log.read(HURT, 0, 1)
        assert refused.value.path == str(tmp_path / SEALED)
    finally:
        await log.close()


def test_a_flipped_byte_in_an_index_changes_nothing_that_readers_get() -> None:
    closed = ClosedLog(LARGE_BYTES, segment_bytes=6 * LARGE_BYTES)
    assert closed.files[INDEX], "the sealed segment has an index file"
    for position in range(len(closed.files[INDEX])):
        log = closed.flipped(INDEX, position)
        for offset in (3, 0, 5, 8):
            assert body(log.read(HURT, offset, bytes_max=1)[0]) == closed.bodies[offset]


def test_an_index_that_is_cut_or_gone_is_made_again() -> None:
    closed = ClosedLog(LARGE_BYTES, segment_bytes=6 * LARGE_BYTES)
    whole = closed.files[INDEX]
    for size in range(len(whole)):
        log = BareLog(MemoryDisk({**closed.files, INDEX: whole[:size]}), OPTIONS)
        assert body(log.read(HURT, 4, bytes_max=1)[0]) == closed.bodies[4]
    without = {name: content for name, content in closed.files.items() if name != INDEX}
    closed.check_whole(BareLog(MemoryDisk(without), OPTIONS).serve(HURT))


def test_a_flipped_byte_in_the_manifest_is_named_or_costs_nothing() -> None:
    closed = ClosedLog()
    (name,) = (name for name in closed.files if name.startswith("manifest/"))
    # Of the zeroes that fill each page, some are enough.
    for position in [
        place for place in range(len(closed.files[name])) if closed.files[name][place] or place % 101 == 0
    ]:
        named = False
        try:
            log = closed.flipped(name, position)
        except DamagedLog as error:
            named = (error.path, error.position) == (name, 0)
        else:
            named = any(damage.path == name for damage in log.recovery.damage)
        assert named or closed.is_whole(log), f"byte {position} cost something, and nothing was said"


@pytest.mark.parametrize("position", range(12))
def test_a_flipped_byte_of_the_identity_is_named(position: int) -> None:
    with pytest.raises(DamagedLog) as refused:
        ClosedLog().flipped("identity", position)
    assert refused.value.path == "identity"
