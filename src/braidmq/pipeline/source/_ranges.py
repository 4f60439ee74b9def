"""What is to be read: ranges of offsets, cut and packed into the tasks of Spark."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pyspark.sql.datasource import InputPartition

from braidmq.model import BraidError
from braidmq.pipeline.errors import DataLost
from braidmq.pipeline.source._cluster import Cluster, Place
from braidmq.pipeline.source._options import EARLIEST, LATEST, Bound, Offsets, Options


class Range(NamedTuple):
    """The offsets of one partition from `first` up to before `end`. `lost` of them, from the first on, are known to be
    gone. `compacted` says that there may be offsets without a message."""

    place: Place
    first: int
    end: int
    lost: int = 0
    compacted: bool = False


class Task(InputPartition):
    """The ranges that one task reads, and the filter that it asks the server to read them through."""

    def __init__(self, ranges: Sequence[Range], through: str = "") -> None:
        super().__init__(None)
        self.ranges = list(ranges)
        self.through = through


def tasks(ranges: Iterable[Range], rows_per_task: int, through: str = "") -> list[Task]:
    """Large ranges in even cuts, small ones together, with at most so many offsets in a task."""
    packed: list[Task] = []
    open_ranges: list[Range] = []
    open_rows = 0
    for piece in (piece for each in ranges for piece in _cuts(each, rows_per_task)):
        rows = piece.end - piece.first
        if open_ranges and open_rows + rows > rows_per_task:
            packed.append(Task(open_ranges, through))
            open_ranges, open_rows = [], 0
        open_ranges.append(piece)
        open_rows += rows
    return [*packed, Task(open_ranges, through)] if open_ranges else packed


def _cuts(whole: Range, rows: int) -> list[Range]:
    size = whole.end - whole.first
    count = -(-size // rows)
    edges = [whole.first + size * number // count for number in range(count + 1)]
    pairs = itertools.pairwise(edges)
    gone = whole.first + whole.lost
    return [whole._replace(first=first, end=end, lost=max(0, min(gone, end) - first)) for first, end in pairs]


def existing(cluster: Cluster, options: Options) -> list[Place]:
    """All partitions that the options name, now."""
    if options.pattern is None:
        topics = cluster.partitions(options.topics)
    else:
        matching = re.compile(options.pattern)
        topics = {topic: each for topic, each in cluster.partitions(None).items() if matching.fullmatch(topic)}
    return [Place(topic, partition) for topic in sorted(topics) for partition in topics[topic]]


def resolved(cluster: Cluster, places: Sequence[Place], bound: Bound, *, otherwise: int) -> dict[Place, int]:
    """The offset that the bound means in each partition. A time later than all messages is the end; a partition that
    a list of offsets leaves out is `otherwise` (EARLIEST or LATEST)."""
    wanted = _asked(places, bound, otherwise)
    asked = {place: value for place, value in wanted.items() if isinstance(bound, int) or value < 0}
    found = cluster.offsets(asked)
    too_late = [place for place, offset in found.items() if offset < 0]
    found |= cluster.offsets(dict.fromkeys(too_late, LATEST))
    return {place: found.get(place, value) for place, value in wanted.items()}


def _asked(places: Sequence[Place], bound: Bound, otherwise: int) -> dict[Place, int]:
    match bound:
        case "earliest":
            return dict.fromkeys(places, EARLIEST)
        case "latest":
            return dict.fromkeys(places, LATEST)
        case int():
            return dict.fromkeys(places, bound)
        case _:
            return {place: bound.get(place.topic, {}).get(str(place.partition), otherwise) for place in places}


def checked(
    cluster: Cluster, wanted: Mapping[Place, tuple[int, int]], options: Options, *, compacted: bool
) -> list[Range]:
    """Ranges of what is there. What is gone, or never was, is an error, unless data loss is allowed."""
    wanted = {place: bounds for place, bounds in wanted.items() if bounds[0] != bounds[1]}
    starts = cluster.offsets(dict.fromkeys(wanted, EARLIEST))
    ends = cluster.offsets(dict.fromkeys(wanted, LATEST))
    policies = cluster.settings((place.topic for place in wanted), "cleanup.policy") if compacted and wanted else {}
    ranges = []
    for place, (first, end) in wanted.items():
        start, last = starts[place], ends[place]
        if start < 0:
            lost(options, f"{place} does not exist any more; offsets {first} to {end - 1} were not read")
            continue
        if end < first or end > last:
            lost(options, f"{place} ends at {last}, but {first} to {end - 1} were to be read: was it made anew?")
            first, end = (start if first > min(end, last) else first), min(end, last)
        if first < start:
            lost(options, f"{place} begins at {start}; the offsets {first} to {min(start, end) - 1} are gone")
        if first < end:
            gone = max(0, min(start, end) - first)
            ranges.append(Range(place, first, end, gone, "compact" in policies.get(place.topic, "")))
    return ranges


def lost(options: Options, what: str, error: type[BraidError] = DataLost) -> None:
    """Raises DataLost, or another error, unless data loss is allowed."""
    if options.fail_on_data_loss:
        raise error(f"{what}. To go on without them, set failOnDataLoss to false")


def as_offsets(offsets: Mapping[Place, int]) -> Offsets:
    found: Offsets = {}
    for place, offset in sorted(offsets.items()):
        found.setdefault(place.topic, {})[str(place.partition)] = offset
    return found


def from_offsets(offsets: Offsets) -> dict[Place, int]:
    return {
        Place(topic, int(partition)): offset
        for topic, partitions in offsets.items()
        for partition, offset in partitions.items()
    }
