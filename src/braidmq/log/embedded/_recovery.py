"""Opening: from what lies on disk to a log that can go on.

After a clean stop the manifest says it all, and nothing else is read. Otherwise, for each partition: the segments are
read on from where the manifest last saw them, as far as batches are whole and follow each other; the rest is cut; then
the journal gives what the segments lack. Only what is behind the last checkpoint is read, so the time this takes does
not depend on how much is stored.

What an acknowledged batch needs to come back is one whole copy, in its segment or in the journal. Where there is none,
the range of offsets is recorded as damage: readers are refused there, and everything else goes on.
"""

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

import msgspec

from braidmq.log._port import GroupOffset
from braidmq.log._producers import Producers
from braidmq.log.embedded import _journal as journal
from braidmq.log.embedded import _manifest as manifest
from braidmq.log.embedded._checkpoint import begin_checkpoint, finish_checkpoint
from braidmq.log.embedded._engine import Engine
from braidmq.log.embedded._frames import HEADER_BYTES
from braidmq.log.embedded._manifest import Damage, JournalEdit, Picture
from braidmq.log.embedded._partition import PartitionLog
from braidmq.log.embedded._reader import index_reaches
from braidmq.log.embedded._segment import (
    FOLDER,
    Segment,
    SegmentName,
    StoredBatch,
    parse_segment_name,
    scan,
    segment_name,
)
from braidmq.log.embedded._tail import TailBatch, tail_buffers
from braidmq.model.errors import InvalidBatch
from braidmq.records import Batch, parse_batch

_offsets_decoder = msgspec.msgpack.Decoder(tuple[str, dict[int, GroupOffset | None]])


class Recovery(NamedTuple):
    """What opening the log had to do."""

    clean: bool
    replayed_frames: int
    cut_bytes: int
    damage: list[Damage]


def recover(engine: Engine) -> Recovery:
    """Bring the engine to where it can take appends. Raises OSError, DamagedLog."""
    _sync_folders(engine)
    picture = engine.manifest.load()
    engine.restore(picture)
    files = journal.open_files(engine.disk, promises=engine.options.flush == "commit")
    if picture.clean:
        sequence = picture.journal_sequence
        recovery = Recovery(True, 0, 0, [])
    else:
        sequence, recovery = _repair(engine, picture, files)
    engine.journal.start(files, sequence)
    engine.shown_sequence = sequence
    _open_for_use(engine, sequence)
    return recovery


def _sync_folders(engine: Engine) -> None:
    """A process that was killed may have left files whose names only memory knows; we are about to rely on them."""
    for folder in (manifest.FOLDER, journal.FOLDER, FOLDER):
        engine.disk.names(folder)
        engine.disk.sync_folder(folder)
    engine.disk.sync_folder("")


def _open_for_use(engine: Engine, sequence: int) -> None:
    """Write down that the log is in use: from here on only a clean close makes it clean again. Files that were removed
    must be gone for good by then, or their batches would come back behind new ones."""
    if engine.manifest.wants_rewrite or engine.has_unsaved():
        checkpoint = begin_checkpoint(engine)
        checkpoint.run()
        finish_checkpoint(engine, checkpoint, None)
        engine.files.close_all()
    else:
        if engine.folder_dirty:
            engine.disk.sync_folder(FOLDER)
            engine.folder_dirty = False
        engine.manifest.append([JournalEdit(sequence, clean=False)])
    if not engine.health.make_reserve():
        engine.health.note_full()


def _repair(engine: Engine, picture: Picture, files: list[journal.JournalFile]) -> tuple[int, Recovery]:
    for file in files:
        file.file.drop_cache()
    promised = {number: partition.end_offset for number, partition in engine.partitions.items()}
    cut_bytes = _read_tails(engine, keep_unknown=bool(picture.damage))
    frames, last = journal.frames_behind(engine.format, files, picture.journal_sequence)
    sequence = frames[-1].sequence if frames else picture.journal_sequence
    strays = journal.stray_frames(engine.format, files, last, sequence)
    for frame in frames:
        _replay(engine, frame)
    damage = [*picture.damage, *_replay_strays(engine, last, strays, sequence)]
    for number, end_offset in promised.items():
        _note_missing_end(engine, engine.partitions[number], end_offset)
    for partition in engine.partitions.values():
        _reach_start(engine, partition)
        partition.visible_offset = partition.end_offset
        damage += partition.damage
    # Strays that were not replayed must never be taken for frames of the life that begins now.
    sequence = strays[-1].sequence if strays else sequence
    return sequence, Recovery(False, len(frames), cut_bytes, damage)


def _reach_start(engine: Engine, partition: PartitionLog) -> None:
    """Where nothing was promised, the start may be known while the batches up to it are lost: it goes on from there."""
    if partition.end_offset < partition.start_offset:
        for segment in partition.segments:
            engine.doom(segment)
        partition.segments = []
        partition.end_offset = partition.start_offset
        partition.dirty = True


def _note_missing_end(engine: Engine, partition: PartitionLog, end_offset: int) -> None:
    """Synced batches that neither the segment nor the journal has any more."""
    if partition.end_offset < end_offset:
        segment = partition.segments[-1]
        path = engine.disk.describe(segment.name)
        _add_damage(partition, Damage(partition.end_offset, end_offset, path, segment.size_bytes))
        partition.end_offset = segment.end_offset = end_offset


# The segments.


def _read_tails(engine: Engine, *, keep_unknown: bool) -> int:
    """Read every partition on from its last checkpoint; the bytes that had to be cut off."""
    by_number: dict[int, list[SegmentName]] = {}
    for name in engine.disk.names(FOLDER):
        if (parsed := parse_segment_name(name)) is not None:
            by_number.setdefault(parsed.number, []).append(parsed)
    cut_bytes = 0
    for number, names in by_number.items():
        partition = engine.partitions.get(number)
        if partition is not None:
            cut_bytes += _read_tail(engine, partition, sorted(names), keep_unknown=keep_unknown)
        elif not keep_unknown:
            _remove(engine, names)
    for partition in engine.partitions.values():
        _note_missing_files(engine, partition, by_number.get(partition.number, ()))
    return cut_bytes


def _read_tail(engine: Engine, partition: PartitionLog, names: list[SegmentName], *, keep_unknown: bool) -> int:
    known = {(segment.base_offset, segment.generation) for segment in partition.segments}
    cut_bytes = 0
    if partition.segments and (partition.segments[-1].base_offset, partition.segments[-1].generation) in {
        (name.base_offset, name.generation) for name in names
    }:
        cut_bytes += _scan_segment(engine, partition, partition.segments[-1])
    superfluous = []
    for name in names:
        if (name.base_offset, name.generation) in known:
            continue
        if name.generation == 0 and name.base_offset == partition.end_offset:
            segment = Segment(partition.number, name.base_offset, created_ms=engine.now_ms())
            if partition.segments and not partition.segments[-1].size_bytes:
                partition.segments.pop()
            partition.segments.append(segment)
            cut_bytes += _scan_segment(engine, partition, segment)
        else:
            superfluous.append(name)
    if not keep_unknown:
        _remove(engine, superfluous)
    return cut_bytes


def _remove(engine: Engine, names: Iterable[SegmentName]) -> None:
    """Files that nothing refers to: of deleted topics, of dropped segments, of a compaction that did not finish."""
    for name in names:
        path = segment_name(*name)
        engine.disk.remove(path)
        engine.disk.remove(path.removesuffix(".log") + ".index")
    engine.folder_dirty = True


def _scan_segment(engine: Engine, partition: PartitionLog, segment: Segment) -> int:
    """Take over what is whole behind the segment's known size, and cut the rest."""
    file = engine.files.open(segment)
    file.drop_cache(segment.size_bytes)
    size = file.size()
    if size < segment.size_bytes:
        # Synced bytes are gone. The journal may have some of them; what it has not is found when it is replayed.
        _rewind(partition, segment)
    _trim_index(engine, segment)
    for found in scan(file, segment.size_bytes, size, partition.end_offset, gaps=False):
        if isinstance(found, StoredBatch):
            _take_batch(engine, partition, segment, found.batch)
    cut_bytes = size - segment.size_bytes
    if cut_bytes > 0:
        file.truncate(segment.size_bytes)
        segment.dirty = partition.dirty = True
    segment.unchecked_bytes = segment.size_bytes
    return max(0, cut_bytes)


def _rewind(partition: PartitionLog, segment: Segment) -> None:
    segment.size_bytes = segment.next_mark_at = 0
    segment.dirty = partition.dirty = True
    partition.end_offset = segment.end_offset = segment.base_offset
    segment.latest_ms = -1


def _trim_index(engine: Engine, segment: Segment) -> None:
    """Marks behind the known size may speak of bytes that are no longer there. Nothing is made anew here, because that
    would mean to read the segment; the marks are found again by the first who looks for them."""
    if index_reaches(engine.disk, segment, segment.size_bytes):
        engine.disk.remove(segment.index_name)


def _take_batch(engine: Engine, partition: PartitionLog, segment: Segment, batch: Batch) -> None:
    """Count a batch that lies at the segment's end."""
    if batch.producer_id >= 0:
        if partition.producers is None:
            partition.producers = Producers()
        partition.producers.find_again(batch, engine.now_ms())
    segment.note_batch(batch, batch.base_offset, segment.size_bytes)
    segment.size_bytes += batch.size_bytes
    partition.end_offset = segment.end_offset = batch.last_offset + 1
    segment.dirty = partition.dirty = True


def _note_missing_files(engine: Engine, partition: PartitionLog, names: Iterable[SegmentName]) -> None:
    present = {(name.base_offset, name.generation) for name in names}
    for segment in partition.segments:
        if segment.size_bytes and (segment.base_offset, segment.generation) not in present:
            path = engine.disk.describe(segment.name)
            _add_damage(partition, Damage(segment.base_offset, segment.end_offset, path, 0))


def _add_damage(partition: PartitionLog, damage: Damage) -> None:
    if damage not in partition.damage:
        partition.damage = (*partition.damage, damage)
        partition.dirty = True


# The journal.


def _replay(engine: Engine, frame: journal.JournalFrame) -> None:
    for entry in frame.entries():
        if entry.kind == journal.GROUP_OFFSETS:
            group, offsets = _offsets_decoder.decode(entry.payload)
            engine.apply_offsets(group, offsets)
            continue
        partition = _partition_of(engine, entry.topic_id, entry.partition)
        if partition is None:
            continue
        if entry.kind == journal.START_OFFSET:
            engine.apply_start(partition, entry.base_offset)
        elif entry.kind == journal.BATCHES and entry.end_offset > partition.end_offset:
            _replay_batches(engine, partition, entry, frame)


def _partition_of(engine: Engine, topic_id: UUID, index: int) -> PartitionLog | None:
    """None for a topic that was deleted since."""
    numbers = engine.topics.get(topic_id, ())
    return engine.partitions[numbers[index]] if 0 <= index < len(numbers) else None


def _replay_batches(engine: Engine, partition: PartitionLog, entry: journal.Entry, frame: journal.JournalFrame) -> None:
    if entry.base_offset > partition.end_offset:
        if not frame.frame.durable:
            # Nothing was promised to be on disk, and something before this is not: it ends there.
            return
        path = engine.disk.describe(frame.file.name)
        _add_damage(partition, Damage(partition.end_offset, entry.base_offset, path, frame.frame.position))
        partition.end_offset = entry.base_offset
    position, base_offset = 0, entry.base_offset
    while position < len(entry.payload):
        batch = parse_batch(entry.payload, position)
        position += batch.size_bytes
        if base_offset >= partition.end_offset:
            segment = _segment_for_replay(engine, partition)
            stored = b"".join(tail_buffers((TailBatch(base_offset, memoryview(batch.data), batch.size_bytes),)))
            engine.files.open(segment, create=True).write((stored,), segment.size_bytes, len(stored))
            _take_batch(engine, partition, segment, parse_batch(stored))
        base_offset += batch.last_offset_delta + 1


def _segment_for_replay(engine: Engine, partition: PartitionLog) -> Segment:
    if not partition.segments or partition.segments[-1].size_bytes >= partition.policy.segment_bytes:
        partition.segments.append(Segment(partition.number, partition.end_offset, created_ms=engine.now_ms()))
        engine.folder_dirty = True
    segment = partition.segments[-1]
    if not segment.size_bytes:
        engine.folder_dirty = True
    return segment


def _replay_strays(
    engine: Engine, last: journal.JournalFrame | None, strays: list[journal.JournalFrame], sequence: int
) -> list[Damage]:
    """Frames behind the first that cannot be read. If one of them says that it had been durable, it is damaged: what it
    alone held is recorded as lost, and the frames behind it count. Otherwise it was torn in the end, and neither it nor
    what was written behind it before the disk had answered was ever acknowledged."""
    if not any(stray.frame.durable > sequence for stray in strays):
        return []
    file, position = _place_of_damaged(last, strays)
    path = engine.disk.describe(file.name)
    for entry in _entries_of_damaged(file, position, strays):
        partition = _partition_of(engine, entry.topic_id, entry.partition)
        # What the segments still have, or never should have had, is no loss.
        if partition is not None and _is_plausible(entry, partition.end_offset):
            _add_damage(partition, Damage(entry.base_offset, entry.end_offset, path, position))
            partition.end_offset = entry.end_offset
    for stray in strays:
        _replay(engine, stray)
    return [Damage(-1, -1, path, position)]


def _place_of_damaged(
    last: journal.JournalFrame | None, strays: list[journal.JournalFrame]
) -> tuple[journal.JournalFile, int]:
    """Behind the last sound frame, or at the beginning of the file in which the next sound one lies."""
    following = strays[0]
    if last is None or (following.file is not last.file and following.frame.position > 0):
        return following.file, 0
    return last.file, last.frame.next_position


def _is_plausible(entry: journal.Entry, end_offset: int) -> bool:
    """Whether an entry of a damaged frame is what it seems: its batches, by their headers, are as many as it says."""
    if entry.kind != journal.BATCHES or entry.base_offset != end_offset:
        return False
    position, offset = 0, entry.base_offset
    try:
        while position < len(entry.payload):
            batch = parse_batch(entry.payload, position)
            position, offset = position + batch.size_bytes, offset + batch.last_offset_delta + 1
    except InvalidBatch:
        return False
    return offset == entry.end_offset


def _entries_of_damaged(
    file: journal.JournalFile, position: int, strays: list[journal.JournalFrame]
) -> list[journal.Entry]:
    """What a damaged frame says it held; the headers of its entries may well be sound."""
    following = [stray.frame.position for stray in strays if stray.file is file and stray.frame.position > position]
    end = min(following) if following else file.file.size()
    return list(journal.decode_entries(file.file.read(end - position - HEADER_BYTES, position + HEADER_BYTES)))
