"""Retention: whole segments go when they are too old or too much. The start of the partition moves behind them."""

from braidmq.log._policy import UNLIMITED
from braidmq.log.embedded._engine import Engine
from braidmq.log.embedded._partition import PartitionLog
from braidmq.log.embedded._segment import Segment


def apply_retention(engine: Engine) -> None:
    """Give up what no policy keeps; the files go with the next checkpoint."""
    now_ms = engine.now_ms()
    for partition in engine.partitions.values():
        if partition.policy.delete and partition.segments:
            _apply(engine, partition, now_ms)
        if partition.producers is not None:
            partition.producers.forget(partition.start_offset, now_ms - engine.options.producer_expiry_ms)


def _apply(engine: Engine, partition: PartitionLog, now_ms: int) -> None:
    policy = partition.policy
    kept_from = 0
    if policy.retention_ms != UNLIMITED:
        while kept_from < len(partition.segments) and _expired(
            partition, partition.segments[kept_from], now_ms - policy.retention_ms
        ):
            kept_from += 1
    if policy.retention_bytes != UNLIMITED:
        size = sum(segment.size_bytes for segment in partition.segments[kept_from:])
        while kept_from < len(partition.segments) - 1:
            size -= partition.segments[kept_from].size_bytes
            if size < policy.retention_bytes:
                break
            kept_from += 1
    if kept_from == len(partition.segments):
        # Even what is still growing is too old: it ends here, and an empty one takes its place.
        partition.segments.append(Segment(partition.number, partition.end_offset, created_ms=now_ms))
    if kept_from:
        engine.apply_start(partition, partition.segments[kept_from].base_offset)


def _expired(partition: PartitionLog, segment: Segment, before_ms: int) -> bool:
    """Only what readers can see may go: a batch that is not acknowledged yet is not old."""
    latest_ms = segment.latest_ms if segment.latest_ms >= 0 else segment.created_ms
    is_visible = segment.end_offset <= partition.visible_offset and partition.pending is None
    return segment.size_bytes > 0 and is_visible and latest_ms < before_ms
