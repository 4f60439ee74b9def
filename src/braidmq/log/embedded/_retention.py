"""Retention: whole segments go when they are too old or too much. The start of the partition moves behind them."""

from braidmq.log._retention import Piece, expired_and_held, free_offset
from braidmq.log.embedded._engine import Engine
from braidmq.log.embedded._partition import PartitionLog
from braidmq.log.embedded._segment import Segment


def apply_retention(engine: Engine) -> None:
    """Give up what no policy keeps; the files go with the next checkpoint."""
    now_ms = engine.now_ms()
    engine.held_bytes = {}
    for partition in engine.partitions.values():
        if partition.segments:
            _apply(engine, partition, now_ms)
        if partition.producers is not None:
            # What was compacted holds nothing of an aborted transaction any more.
            gone_before = max(partition.start_offset, partition.compacted_offset)
            partition.producers.forget(gone_before, now_ms - engine.options.producer_expiry_ms)


def _apply(engine: Engine, partition: PartitionLog, now_ms: int) -> None:
    segments = partition.segments
    free = free_offset(partition.policy, engine.groups, partition.number)
    ends = [*(segment.base_offset for segment in segments[1:]), partition.end_offset]
    pieces = [_piece(partition, segment, end) for segment, end in zip(segments, ends, strict=True)]
    gone, held_bytes = expired_and_held(partition.policy, pieces, now_ms, free)
    if held_bytes:
        engine.held_bytes[partition.number] = held_bytes
    if gone == len(segments):
        # Even what is still growing is too old: it ends here, and an empty one takes its place.
        segments.append(Segment(partition.number, partition.end_offset, created_ms=now_ms))
    if gone:
        engine.apply_start(partition, segments[gone].base_offset)


def _piece(partition: PartitionLog, segment: Segment, end_offset: int) -> Piece:
    """Only what readers can see may go: a batch that is not acknowledged yet is not old."""
    latest_ms = segment.latest_ms if segment.latest_ms >= 0 else segment.created_ms
    is_growing = segment is partition.segments[-1] and (bool(partition.tail) or partition.pending is not None)
    is_settled = segment.size_bytes > 0 and segment.end_offset <= partition.visible_offset and not is_growing
    size_bytes = segment.size_bytes + (partition.tail_bytes if is_growing else 0)
    return Piece(size_bytes, latest_ms, is_settled, end_offset)
