"""One partition of the embedded log: its offsets, its segments, and what waits to be written in this turn."""

from bisect import bisect_right
from typing import NamedTuple

from braidmq.log._policy import Policy
from braidmq.log._port import Bounds
from braidmq.log._producers import Producers, ProducersBefore
from braidmq.log._watches import PartitionWatch
from braidmq.log.embedded._manifest import Damage, PartitionSnapshot, SegmentSnapshot
from braidmq.log.embedded._segment import Segment
from braidmq.log.embedded._tail import TailBatch

HINTS_MAX = 16


class Place(NamedTuple):
    """Where in its segments a partition has a batch."""

    segment: Segment
    position: int


class Pending:
    """What the turn in hand appends to one partition, and how the partition was before, should that fail."""

    __slots__ = (
        "end_before",
        "latest_before_ms",
        "producers_before",
        "size_bytes",
        "tail_before",
    )

    def __init__(self, end_offset: int, tail_length: int, latest_ms: int) -> None:
        self.end_before = end_offset
        self.tail_before = tail_length
        self.latest_before_ms = latest_ms
        self.size_bytes = 0
        self.producers_before: list[ProducersBefore] | None = None


class PartitionLog:
    """State of a partition. All of it is changed by one thread only."""

    __slots__ = (
        "compacted_offset",
        "damage",
        "dirty",
        "end_offset",
        "flushing",
        "hints",
        "index",
        "next_generation",
        "number",
        "pending",
        "policy",
        "producers",
        "segments",
        "start_offset",
        "tail",
        "tail_bytes",
        "topic_id",
        "visible_offset",
        "watchers",
    )

    def __init__(self, number: int, topic_id: bytes, index: int, policy: Policy) -> None:
        self.number = number
        self.topic_id = topic_id
        self.index = index
        self.policy = policy
        self.start_offset = 0
        self.end_offset = 0
        """The next offset to be given."""
        self.visible_offset = 0
        """What readers may see: all that was acknowledged."""
        self.segments: list[Segment] = []
        self.tail: list[TailBatch] = []
        """Batches that the last segment's file does not hold yet, in order."""
        self.tail_bytes = 0
        self.flushing = 0
        """How many batches of the tail are being written by another thread."""
        self.producers: Producers | None = None
        self.damage: tuple[Damage, ...] = ()
        self.compacted_offset = 0
        self.next_generation = 1
        self.dirty = False
        """Changed since the manifest was last written."""
        self.hints: dict[int, Place] | None = None
        """Where readers stopped: next offset -> place."""
        self.watchers: PartitionWatch | dict[PartitionWatch, None] | None = None
        self.pending: Pending | None = None

    def bounds(self) -> Bounds:
        visible = self.visible_offset
        stable = visible if self.producers is None else self.producers.stable_offset(visible)
        return Bounds(self.start_offset, max(stable, self.start_offset), visible)

    def segment_at(self, offset: int) -> int:
        """The number of the segment in which the offset lies, or would lie."""
        return max(0, bisect_right(self.segments, offset, key=_base_offset) - 1)

    def remember_place(self, offset: int, segment: Segment, position: int) -> None:
        hints = self.hints
        if hints is None:
            hints = self.hints = {}
        if len(hints) >= HINTS_MAX:
            del hints[next(iter(hints))]
        hints[offset] = Place(segment, position)

    def tail_batch_at(self, offset: int) -> int:
        """The number of the batch in the tail in which the offset lies."""
        return bisect_right(self.tail, offset, key=_base_offset) - 1

    def tail_written(self, count: int, size_bytes: int, end_offset: int) -> None:
        """The first batches of the tail are in the segment's file now."""
        if count == len(self.tail):
            self.tail = []
        else:
            del self.tail[:count]
        self.tail_bytes -= size_bytes
        segment = self.segments[-1]
        segment.size_bytes += size_bytes
        segment.end_offset = end_offset
        segment.dirty = self.dirty = True
        if self.pending is not None:
            self.pending.tail_before -= count

    def snapshot(self) -> PartitionSnapshot:
        """What the manifest is to say of this partition; call it between turns only."""
        producers = self.producers
        return PartitionSnapshot(
            self.number,
            self.start_offset,
            self.segments[-1].end_offset if self.segments else self.end_offset,
            [
                SegmentSnapshot(
                    segment.base_offset,
                    segment.generation,
                    segment.size_bytes,
                    segment.end_offset,
                    segment.latest_ms,
                    segment.created_ms,
                )
                for segment in self.segments
            ],
            dict(producers.by_id) if producers else {},
            list(producers.aborted) if producers else [],
            list(self.damage),
            self.compacted_offset,
            self.next_generation,
        )

    def restore(self, snapshot: PartitionSnapshot) -> None:
        self.start_offset = snapshot.start_offset
        self.end_offset = self.visible_offset = snapshot.end_offset
        self.damage = tuple(snapshot.damage)
        self.compacted_offset = snapshot.compacted_offset
        self.next_generation = snapshot.next_generation
        if snapshot.producers or snapshot.aborted:
            self.producers = Producers(dict(snapshot.producers), snapshot.aborted)
        self.segments = [
            Segment(
                self.number,
                kept.base_offset,
                kept.generation,
                end_offset=kept.end_offset,
                size_bytes=kept.size_bytes,
                latest_ms=kept.latest_ms,
                created_ms=kept.created_ms,
            )
            for kept in snapshot.segments
        ]


def _base_offset(item: Segment | TailBatch) -> int:
    return item.base_offset
