"""Which offsets of which partitions a table holds: ranges as they come with a batch, and their sum.

A range is what a task has read, also where no visible record was in it: markers of transactions, aborted records and
what compaction took away are gaps with a cause. So that `to - from = records + gaps` holds for each, and the end of one
is the beginning of the next.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Final

import msgspec

from braidmq.pipeline.tables._errors import CoverageBroken

TopicPartition = tuple[str, int]
Interval = tuple[int, int]

RANGE_OFFSET: Final = -1
RANGE_PROTOCOL: Final = "range"
"""A row with this offset and protocol is no message: its value is the JSON of a Range."""


class Range(msgspec.Struct, frozen=True, rename={"start": "from", "end": "to"}):
    """Offsets `start` to `end` (exclusive) of one partition: `records` of them are rows, the others are in `gaps`."""

    topic: str
    partition: int
    start: int
    end: int
    records: int
    gaps: tuple[tuple[int, int, str], ...] = ()

    @property
    def of(self) -> TopicPartition:
        return self.topic, self.partition

    @property
    def unexplained(self) -> int:
        """How many offsets are neither a record nor in a gap; 0 in a sound range."""
        return self.end - self.start - self.records - sum(end - start for start, end, _ in self.gaps)


def decode_range(value: bytes) -> Range:
    return msgspec.json.decode(value, type=Range)


def joined(ranges: Iterable[Range]) -> list[Range]:
    """The ranges of one batch with the pieces of a partition put together. Raises CoverageBroken where two overlap."""
    result: list[Range] = []
    for piece in sorted(ranges, key=lambda item: (item.topic, item.partition, item.start, item.end)):
        if piece.start == piece.end:
            continue
        last = result[-1] if result and result[-1].of == piece.of else None
        if last is not None and piece.start < last.end:
            raise CoverageBroken(
                f"two tasks of one batch read {piece.topic}-{piece.partition}: {last.start} to {last.end}, "
                f"and {piece.start} to {piece.end}"
            )
        if last is not None and piece.start == last.end:
            gaps = last.gaps + piece.gaps
            result[-1] = Range(last.topic, last.partition, last.start, piece.end, last.records + piece.records, gaps)
        else:
            result.append(piece)
    return result


class Covered:
    """All that a table holds of its sources, as sorted intervals that do not touch. Mostly one for each partition."""

    def __init__(self, intervals: Mapping[TopicPartition, Iterable[Interval]] | None = None) -> None:
        self.intervals: dict[TopicPartition, tuple[Interval, ...]] = {
            of: tuple((start, end) for start, end in found) for of, found in (intervals or {}).items()
        }

    def holds(self, piece: Range) -> bool:
        return any(start <= piece.start and piece.end <= end for start, end in self.intervals.get(piece.of, ()))

    def overlaps(self, piece: Range) -> bool:
        return any(start < piece.end and piece.start < end for start, end in self.intervals.get(piece.of, ()))

    def end(self, of: TopicPartition) -> int | None:
        found = self.intervals.get(of)
        return found[-1][1] if found else None

    def ends(self) -> dict[TopicPartition, int]:
        return {of: found[-1][1] for of, found in self.intervals.items() if found}

    def add(self, piece: Range) -> None:
        found = sorted([*self.intervals.get(piece.of, ()), (piece.start, piece.end)])
        result = found[:1]
        for start, end in found[1:]:
            if start <= result[-1][1]:
                result[-1] = result[-1][0], max(end, result[-1][1])
            else:
                result.append((start, end))
        self.intervals[piece.of] = tuple(result)

    def without(self, topics: Container[str]) -> "Covered":
        """All but what is of these topics."""
        return Covered({of: found for of, found in self.intervals.items() if of[0] not in topics})

    def to_plain(self) -> dict[str, dict[str, list[list[int]]]]:
        """As it lies in a commit: topic, partition, intervals."""
        result: dict[str, dict[str, list[list[int]]]] = {}
        for (topic, partition), found in sorted(self.intervals.items()):
            result.setdefault(topic, {})[str(partition)] = [[start, end] for start, end in found]
        return result

    @classmethod
    def from_plain(cls, plain: Mapping[str, Mapping[str, list[list[int]]]]) -> "Covered":
        return cls(
            {
                (topic, int(partition)): [(start, end) for start, end in found]
                for topic, partitions in plain.items()
                for partition, found in partitions.items()
            }
        )

    def offsets(self) -> dict[str, dict[str, int]]:
        """Where reading goes on: topic, partition, next offset. The form of a stream's starting offsets."""
        result: dict[str, dict[str, int]] = {}
        for (topic, partition), end in sorted(self.ends().items()):
            result.setdefault(topic, {})[str(partition)] = end
        return result


def continue_coverage(covered: Covered, ranges: Iterable[Range], *, holes: bool) -> bool:
    """Adds a batch to what is covered, and says whether it was new. A batch that is there already as a whole is not.

    Raises CoverageBroken for a batch that is there in part, and, unless `holes` are allowed, for one that leaves out
    offsets: then the checkpoint that it was planned from is not this table's.
    """
    pieces = list(ranges)
    present = [piece for piece in pieces if covered.holds(piece)]
    if pieces and len(present) == len(pieces):
        return False
    for piece in pieces:
        if covered.overlaps(piece):
            raise CoverageBroken(
                f"{piece.topic}-{piece.partition}: the table has a part of the offsets {piece.start} to {piece.end}; "
                "start the job anew, so that it resumes from the table"
            )
        end = covered.end(piece.of)
        if not holes and end is not None and piece.start != end:
            raise CoverageBroken(
                f"{piece.topic}-{piece.partition}: the table ends at {end}, and the batch begins at {piece.start}; "
                "start the job anew, so that it resumes from the table"
            )
    for piece in pieces:
        covered.add(piece)
    return True
