"""Reading, written as steps that never wait: a generator asks for bytes or for an index and is sent what it asked for.

So one description serves three drivers: the event loop takes what is in the page cache at once, a thread fetches the
rest from the disk, and the simulator does both on a disk of its own.

Where a read begins is found by a hint (a reader goes on where it stopped) or by the sparse index; where it ends is a
mark of the index, so that nothing inside has to be looked at. Bytes that this process did not write itself, or that
came from the disk, are walked batch by batch and checked. What is wrong is reported with its place, and never stepped
over.
"""

import itertools
from collections.abc import Generator
from typing import NamedTuple

from braidmq.log._port import Fetched, TimedOffset
from braidmq.log._times import first_not_older, latest_of
from braidmq.log.embedded._disk import Disk, File
from braidmq.log.embedded._index import NO_TIME, SparseIndex, load_index
from braidmq.log.embedded._manifest import Damage
from braidmq.log.embedded._partition import PartitionLog, Place
from braidmq.log.embedded._segment import GLANCE, READ_AHEAD_BYTES, Segment, check_batch, scan_headers
from braidmq.log.embedded._tail import tail_buffers
from braidmq.model.errors import DamagedLog, OffsetOutOfRange
from braidmq.records import BATCH_HEADER_BYTES, BATCH_OVERHEAD_BYTES, batches_in

NOTHING = Fetched(b"")
LOOK_BYTES = 64 * 1024
TIME_SCAN_BYTES = 256 * 1024
MAGIC = 2


class ReadBytes(NamedTuple):
    """Asks for bytes of a segment; the answer is `Got`."""

    segment: Segment
    size: int
    position: int


class Got(NamedTuple):
    data: bytes
    from_disk: bool


class LoadIndex(NamedTuple):
    """Asks for the marks that a segment has on disk only; the answer is a SparseIndex."""

    segment: Segment
    up_to: int


Request = ReadBytes | LoadIndex
Answer = Got | SparseIndex


class EndMark(NamedTuple):
    """How much to read from a place to end where a batch ends, and the offset behind it."""

    size: int
    next_offset: int


def _end_mark(segment: Segment, position: int, bytes_max: int, limit: int) -> EndMark | None:
    """Where a read may end without looking at what is read: at a mark, in bytes that need no check."""
    index = segment.index
    if index is None or position < segment.unchecked_bytes:
        return None
    mark = index.last_mark_within(position, min(bytes_max, segment.size_bytes - position))
    if mark is None or index.offsets[mark] > limit:
        return None
    return EndMark(index.positions[mark] - position, index.offsets[mark])


def read_on(partition: PartitionLog, offset: int, bytes_max: int, tick: int) -> Fetched | None:
    """The shortest way, for a reader that goes on where it stopped: one look-up, one read. None where it does not."""
    hint = partition.hints.get(offset) if partition.hints else None
    if hint is None or hint.segment.file is None or partition.damage:
        return None
    segment, position = hint
    mark = _end_mark(segment, position, bytes_max, partition.visible_offset)
    if mark is None:
        return None
    segment.touched = tick
    data = hint.segment.file.read_now(mark.size, position)
    if data is None or len(data) != mark.size:
        return None
    partition.remember_place(mark.next_offset, segment, position + mark.size)
    return Fetched(data)


def tail_on(partition: PartitionLog, offset: int, bytes_max: int, *, committed: bool) -> Fetched | None:
    """The shortest way to what came just now, which is still in memory. None where it is not, or cannot be read."""
    if not partition.tail or offset < partition.tail[0].base_offset or partition.damage:
        return None
    start, stable, end = partition.bounds()
    limit = stable if committed else end
    return _from_tail(partition, offset, bytes_max, limit, committed) if start <= offset < limit else None


def read_steps(
    disk: Disk, partition: PartitionLog, offset: int, bytes_max: int, committed: bool
) -> Generator[Request, Answer, Fetched]:
    """The steps of `Log.read`."""
    start, stable, end = partition.bounds()
    if not start <= offset <= end:
        raise OffsetOutOfRange(f"offset {offset} is outside of {start} to {end}", start_offset=start, end_offset=end)
    limit = stable if committed else end
    first_offset = offset
    hint = partition.hints.get(offset) if partition.hints else None
    while offset < limit:
        if partition.damage and (damage := damage_at(partition, offset)) is not None:
            raise damaged(damage.path, damage.position, offset, "acknowledged batches are missing")
        if partition.tail and offset >= partition.tail[0].base_offset:
            return _from_tail(partition, offset, bytes_max, limit, committed)
        if hint is not None:
            segment, position = hint
            hint = None
        else:
            segment = partition.segments[partition.segment_at(offset)]
            found = yield from _find(disk, partition, segment, offset)
            position = segment.size_bytes if found is None else found
        if position >= segment.size_bytes:
            # A reader at the end of a segment, or compaction left a gap there.
            if (following := _next_base(partition, segment)) is None:
                return NOTHING
            offset = max(offset, following)
            continue
        data, next_offset, next_position = yield from _whole_batches(
            disk, partition, Place(segment, position), offset, bytes_max, limit
        )
        if next_offset is None:
            return NOTHING
        partition.remember_place(next_offset, segment, next_position)
        if partition.tail and next_offset == partition.tail[0].base_offset:
            more, next_offset = _tail_bytes(partition, next_offset, bytes_max - len(data), limit, at_least=0)
            data = b"".join((data, more)) if more else data
        return _fetched(partition, data, first_offset, next_offset, committed)
    return NOTHING


def _fetched(
    partition: PartitionLog, data: bytes | memoryview, first_offset: int, next_offset: int, committed: bool
) -> Fetched:
    if committed and partition.producers is not None:
        return Fetched(data, partition.producers.aborted_between(first_offset, next_offset))
    return Fetched(data)


def _from_tail(partition: PartitionLog, offset: int, bytes_max: int, limit: int, committed: bool) -> Fetched:
    """What is not in the segment's file yet is read from memory."""
    data, next_offset = _tail_bytes(partition, offset, bytes_max, limit, at_least=1)
    return _fetched(partition, data, offset, next_offset, committed) if data else NOTHING


def _tail_bytes(
    partition: PartitionLog, offset: int, bytes_max: int, limit: int, *, at_least: int
) -> tuple[bytes, int]:
    """Whole batches of the tail from the one that holds the offset, and the offset behind them."""
    tail = partition.tail
    first = partition.tail_batch_at(offset)
    size_bytes, count = 0, 0
    for batch in itertools.islice(tail, first, None):
        if batch.base_offset >= limit or (count >= at_least and size_bytes + batch.size_bytes > bytes_max):
            break
        size_bytes += batch.size_bytes
        count += 1
    after = first + count
    next_offset = tail[after].base_offset if after < len(tail) else partition.end_offset
    return b"".join(tail_buffers(tail[first:after])), next_offset if count else offset


def _next_base(partition: PartitionLog, segment: Segment) -> int | None:
    """Where the batches behind this segment begin."""
    for later in partition.segments[partition.segment_at(segment.base_offset) + 1 :]:
        if later.size_bytes:
            return later.base_offset
    return partition.tail[0].base_offset if partition.tail else None


def _find(disk: Disk, partition: PartitionLog, segment: Segment, offset: int) -> Generator[Request, Answer, int | None]:
    """Where the first batch begins that reaches the offset; None when the segment has none."""
    position, expected_offset = yield from _nearest_mark(segment, offset)
    may_have_gaps = segment.generation > 0 or bool(partition.damage)
    window, window_at = b"", position
    while position < segment.size_bytes:
        within = position - window_at
        if within + BATCH_HEADER_BYTES > len(window):
            got = yield ReadBytes(segment, min(LOOK_BYTES, segment.size_bytes - position), position)
            assert isinstance(got, Got)
            window, window_at, within = got.data, position, 0
        if (size := _step(window, within, position, segment)) is None:
            raise damaged(disk.describe(segment.name), position, offset, "there is no batch at this place")
        base_offset, _, _, delta, _ = GLANCE.unpack_from(window, within)
        if base_offset != expected_offset and not (may_have_gaps and base_offset > expected_offset):
            reason = f"the batch says offset {base_offset} where {expected_offset} is expected"
            raise damaged(disk.describe(segment.name), position, expected_offset, reason)
        if base_offset + delta >= offset:
            return position
        position, expected_offset = position + size, base_offset + delta + 1
    return None


def _nearest_mark(segment: Segment, offset: int) -> Generator[Request, Answer, tuple[int, int]]:
    """A place to begin looking, and the offset that lies there."""
    beginning = (0, segment.base_offset)
    if not segment.size_bytes or offset <= segment.base_offset or segment.is_short:
        return beginning
    index = segment.index
    if index is None or (index.covers_from > 0 and index.mark_for_offset(offset) is None):
        up_to = segment.size_bytes if index is None else index.covers_from
        loaded = yield LoadIndex(segment, up_to)
        assert isinstance(loaded, SparseIndex)
        index = adopt_index(segment, loaded, up_to)
    return index.mark_for_offset(offset) or beginning


def adopt_index(segment: Segment, loaded: SparseIndex, up_to: int) -> SparseIndex:
    """Join marks that were loaded for the part before `up_to` with those made in the meantime."""
    if segment.index is None:
        segment.index = loaded
    elif segment.index.covers_from == up_to:
        segment.index.prepend(loaded)
    return segment.index


def _step(window: bytes, within: int, position: int, segment: Segment) -> int | None:
    """The size of the batch at this place, or None if there can be none."""
    if within + BATCH_HEADER_BYTES > len(window):
        return None
    _, length, magic, delta, _ = GLANCE.unpack_from(window, within)
    size: int = length + BATCH_OVERHEAD_BYTES
    if magic != MAGIC or size < BATCH_HEADER_BYTES or delta < 0 or position + size > segment.size_bytes:
        return None
    return size


def _whole_batches(
    disk: Disk, partition: PartitionLog, place: Place, offset: int, bytes_max: int, limit: int
) -> Generator[Request, Answer, tuple[bytes | memoryview, int | None, int]]:
    """Bytes that end where a batch ends, the offset behind them, and where that lies."""
    segment, position = place
    mark = None if partition.damage else _end_mark(segment, position, bytes_max, limit)
    wanted = mark.size if mark else min(max(bytes_max, BATCH_HEADER_BYTES), segment.size_bytes - position)
    got = yield ReadBytes(segment, wanted, position)
    assert isinstance(got, Got)
    if got.from_disk:
        segment.unchecked_bytes = min(
            segment.size_bytes, max(segment.unchecked_bytes, position + wanted + READ_AHEAD_BYTES)
        )
    elif mark is not None:
        return got.data, mark.next_offset, position + wanted
    first_size = _step(got.data, 0, position, segment)
    if first_size is not None and first_size > len(got.data):
        got = yield ReadBytes(segment, first_size, position)
        assert isinstance(got, Got)
    return _walk(disk, segment, position, got.data, offset, limit)


def _walk(
    disk: Disk, segment: Segment, position: int, data: bytes, offset: int, limit: int
) -> tuple[bytes | memoryview, int | None, int]:
    """The whole batches at the beginning of the bytes that lie below the limit, each one checked where that is due."""
    within = 0
    next_offset: int | None = None
    while within + BATCH_HEADER_BYTES <= len(data):
        base_offset, length, _, delta, _ = GLANCE.unpack_from(data, within)
        if base_offset >= limit and (next_offset is not None or segment.generation > 0):
            break
        # Compaction may have left nothing before this segment; inside of it, nothing is missing.
        expected_offset = max(offset, segment.base_offset) if next_offset is None else next_offset
        fault = _fault(segment, position + within, data, within, expected_offset, is_next=next_offset is not None)
        if fault is not None:
            if next_offset is None:
                raise damaged(disk.describe(segment.name), position + within, base_offset, fault)
            break
        if within + length + BATCH_OVERHEAD_BYTES > len(data):
            break
        within += length + BATCH_OVERHEAD_BYTES
        next_offset = base_offset + delta + 1
    if next_offset is None and not data:
        raise damaged(disk.describe(segment.name), position, -1, "the file ends here, too early")
    return (data if within == len(data) else memoryview(data)[:within]), next_offset, position + within


def _fault(
    segment: Segment, position: int, data: bytes, within: int, expected_offset: int, *, is_next: bool
) -> str | None:
    """What is wrong with the batch at this place, if anything is. It holds the expected offset, or begins with it
    (`is_next`); in a compacted segment it may lie behind it."""
    size = _step(data, within, position, segment)
    if size is None:
        return "there is no batch at this place"
    base_offset, _, _, delta, _ = GLANCE.unpack_from(data, within)
    if base_offset + delta < expected_offset or (base_offset < expected_offset and is_next):
        return f"the batch says offset {base_offset} where {expected_offset} is expected"
    if base_offset > expected_offset and segment.generation == 0:
        # A range that is known to be lost ends a read just so: who asks for it is told.
        return f"the batch says offset {base_offset} where {expected_offset} is expected"
    if within + size <= len(data) and position < segment.unchecked_bytes:
        checked = check_batch(data, within, base_offset, gaps=True)
        return checked if isinstance(checked, str) else None
    return None


def damage_at(partition: PartitionLog, offset: int) -> Damage | None:
    for damage in partition.damage:
        if damage.first_offset <= offset < damage.end_offset:
            return damage
    return None


def damaged(path: str, position: int, offset: int, reason: str) -> DamagedLog:
    return DamagedLog(f"{path} is damaged at byte {position}: {reason}", path=path, position=position, offset=offset)


def time_steps(
    disk: Disk, partition: PartitionLog, timestamp_ms: int
) -> Generator[Request, Answer, TimedOffset | None]:
    """The steps of `Log.offset_for_time`."""
    for segment in list(partition.segments):
        if segment.latest_ms >= timestamp_ms:
            found = yield from _first_from(disk, partition, segment, timestamp_ms)
            if found is not None:
                return found
    return None


def _first_from(
    disk: Disk, partition: PartitionLog, segment: Segment, timestamp_ms: int
) -> Generator[Request, Answer, TimedOffset | None]:
    """The first record from this segment on that is not older."""
    offset = yield from _offset_before_time(segment, timestamp_ms)
    # The start may move on with every wait for the disk.
    while (offset := max(offset, partition.start_offset)) < partition.visible_offset:
        fetched = yield from read_steps(disk, partition, offset, TIME_SCAN_BYTES, committed=False)
        if not fetched.data:
            break
        found, offset = _first_not_older(fetched, timestamp_ms, partition.start_offset)
        if found is not None:
            return found
    return None


def latest_steps(disk: Disk, partition: PartitionLog) -> Generator[Request, Answer, TimedOffset | None]:
    """The steps of `Log.latest_record`.

    A segment knows its latest time, and the index leads to it. Where no record has it (it was deleted or compacted
    away, or cannot be seen yet) the segment is read through.
    """
    latest: TimedOffset | None = None
    for segment in sorted(partition.segments, key=_latest_ms, reverse=True):
        if latest is not None and latest.timestamp_ms >= segment.latest_ms:
            break
        found = yield from _first_from(disk, partition, segment, segment.latest_ms)
        if found is None:
            found = yield from _latest_within(disk, partition, segment)
        if found is not None and (latest is None or found.timestamp_ms > latest.timestamp_ms):
            latest = found
    return latest


def _latest_within(
    disk: Disk, partition: PartitionLog, segment: Segment
) -> Generator[Request, Answer, TimedOffset | None]:
    latest: TimedOffset | None = None
    offset = segment.base_offset
    end_offset = partition.visible_offset if segment is partition.segments[-1] else segment.end_offset
    while (offset := max(offset, partition.start_offset)) < min(end_offset, partition.visible_offset):
        fetched = yield from read_steps(disk, partition, offset, TIME_SCAN_BYTES, committed=False)
        if not fetched.data:
            break
        for batch in batches_in(fetched.data):
            latest = latest_of(batch, partition.start_offset, latest)
            offset = batch.last_offset + 1
    return latest


def _latest_ms(segment: Segment) -> int:
    return segment.latest_ms


def _offset_before_time(segment: Segment, timestamp_ms: int) -> Generator[Request, Answer, int]:
    if segment.is_short:
        return segment.base_offset
    index = segment.index
    if index is None or (index.covers_from > 0 and index.offset_for_time(timestamp_ms) is None):
        up_to = segment.size_bytes if index is None else index.covers_from
        loaded = yield LoadIndex(segment, up_to)
        assert isinstance(loaded, SparseIndex)
        index = adopt_index(segment, loaded, up_to)
    found = index.offset_for_time(timestamp_ms)
    return segment.base_offset if found is None else found


def _first_not_older(fetched: Fetched, timestamp_ms: int, start_offset: int) -> tuple[TimedOffset | None, int]:
    """The first record of the batches that is late enough, and the offset behind them."""
    next_offset = 0
    for batch in batches_in(fetched.data):
        if (found := first_not_older(batch, timestamp_ms, start_offset)) is not None:
            return found, batch.last_offset + 1
        next_offset = batch.last_offset + 1
    return None, next_offset


def build_index(disk: Disk, file: File, request: LoadIndex) -> SparseIndex:
    """The marks of a segment up to a position: from its index file as far as that is right, else from the segment."""
    segment = request.segment
    index = load_index(_index_bytes(disk, segment), segment.base_offset, request.up_to)
    index.truncate(request.up_to)
    position, latest_ms = 0, NO_TIME
    if len(index):
        position, latest_ms = index.positions[-1], index.times[-1]
    for base_offset, batch_position, max_timestamp in scan_headers(file, position, request.up_to):
        if batch_position >= index.next_position():
            index.add(base_offset, batch_position, latest_ms)
        latest_ms = max(latest_ms, max_timestamp)
    return index


def _index_bytes(disk: Disk, segment: Segment) -> bytes:
    try:
        file = disk.open(segment.index_name)
    except FileNotFoundError:
        return b""
    try:
        return file.read(file.size(), 0)
    finally:
        file.close()


def index_reaches(disk: Disk, segment: Segment, position: int) -> bool:
    """Whether the index file has anything to say of bytes at or behind the position, or makes no sense."""
    data = _index_bytes(disk, segment)
    return bool(data) and not len(load_index(data, segment.base_offset, position))
