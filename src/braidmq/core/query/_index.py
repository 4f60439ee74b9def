"""What is indexed of each partition: files, holes between them, and the open range that follows the log.

Files say by their names what they cover. Where one is missing or turns out to be damaged there is a hole, which is
filled by reading that part of the log again.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from braidmq.core.query._ranges import (
    FOLDER,
    OPEN_NAME,
    DamagedRange,
    OpenRange,
    RangeFile,
    RangeName,
    pack_open,
    replace_file,
    unpack_open,
)
from braidmq.log import Log, Watch
from braidmq.log.embedded import Disk
from braidmq.logger import get_logger
from braidmq.model import Topic
from braidmq.model.errors import LogClosed, UnknownPartition

_logger = get_logger(__name__)


class IndexLimits(NamedTuple):
    """How much the index may take."""

    range_entries: int = 128 << 10
    """How many entries a full range has: most messages have two, an id and a key."""
    memory_bytes: int = 64 << 20
    """How large all open ranges together may be."""
    share: float = 0.2
    """Of the event loop's time, while nobody waits for the index."""
    keep_open_s: float = 60.0
    """How often open ranges are written down, so that a start after a crash has less to read."""


class TopicList(Protocol):
    """Who knows the topics; see `store.Catalog`."""

    def topics(self) -> list[Topic]: ...


class PartitionIndex:
    """What is known of one partition. Files, holes and tip together cover all offsets from the first on.

    Most of many partitions have neither files nor holes; so these are tuples, which cost nothing while they are empty.
    """

    __slots__ = ("files", "holes", "number", "tip")

    def __init__(self, number: int, tip: OpenRange) -> None:
        self.number = number
        self.files: tuple[RangeFile, ...] = ()
        self.holes: tuple[OpenRange, ...] = ()
        self.tip = tip

    @property
    def indexed_to(self) -> int:
        """Everything before it can be found."""
        return min((hole.end for hole in self.holes), default=self.tip.end)

    @property
    def memory_bytes(self) -> int:
        return len(self.tip.entries) + sum(len(hole.entries) for hole in self.holes)

    def ranges(self) -> list[OpenRange]:
        """Those in memory, the newest first."""
        return [self.tip, *sorted(self.holes, key=lambda hole: hole.first, reverse=True)]

    def find_in_memory(self, wanted: bytes) -> list[int]:
        """Offsets of messages with this fingerprint."""
        return [offset for each in self.ranges() for offset in each.find(wanted)]

    def files_newest_first(self) -> list[RangeFile]:
        return sorted(self.files, key=lambda file: file.name.first, reverse=True)

    def seal(self, full: OpenRange, file: RangeFile) -> None:
        """A range is in a file now; another goes on behind it."""
        self.files += (file,)
        self.begin_anew(full, full.end)

    def begin_anew(self, old: OpenRange, at: int) -> None:
        """Instead of a range, one that begins at the offset; none, when that fills a hole."""
        if old is self.tip:
            self.tip = OpenRange(at)
            return
        others = tuple(hole for hole in self.holes if hole is not old)
        is_left = old.until is not None and at < old.until
        self.holes = (OpenRange(at, old.until), *others) if is_left else others

    def lose(self, file: RangeFile) -> None:
        """Where a file was, there is a hole."""
        self.files = tuple(each for each in self.files if each is not file)
        self.holes += (OpenRange(file.name.first, file.name.end),)


class Index:
    """All partitions. `on_data(number)` is called when a partition has more to be indexed."""

    def __init__(self, log: Log, topics: TopicList, disk: Disk, on_data: Callable[[int], None]) -> None:
        self._log = log
        self._topics = topics
        self._disk = disk
        self._on_data = on_data
        self._found: dict[int, list[RangeFile]] = {}
        self.partitions: dict[int, PartitionIndex] = {}
        self._watches: list[tuple[Sequence[int], Watch]] = []
        """With the partitions that each was for; one goes with the last of them."""
        self.damaged_files = 0
        self.open_bytes = 0
        """About what `memory_bytes` counts, without counting."""

    def load(self) -> None:
        """See what the last life left. Reads a folder, so it is for a thread; then `adopt` and `tidy`."""
        for text in self._disk.names(FOLDER):
            if (name := RangeName.parse(text)) is not None:
                file = self._disk.open(text)
                self._found.setdefault(name.number, []).append(RangeFile(self._disk, name, file.size()))
                file.close()
            elif text != OPEN_NAME:
                self._disk.remove(text)

    def adopt(self) -> bool:
        """Take up partitions that are new, and let go of those that are gone; False when it is to be tried again,
        because the catalog has a topic a moment before the log."""
        numbers = [number for topic in self._topics.topics() for number in topic.partition_numbers]
        new = [number for number in numbers if number not in self.partitions]
        for number in new:
            with contextlib.suppress(UnknownPartition, LogClosed):
                self._adopt(number)
        adopted = [number for number in new if number in self.partitions]
        if adopted:
            self._watches.append((adopted, self._log.watch(adopted, self._on_data)))
        if gone := self.partitions.keys() - set(numbers):
            self._let_go(gone)
        return len(adopted) == len(new)

    def _let_go(self, gone: Iterable[int]) -> None:
        for number in gone:
            partition = self.partitions.pop(number)
            self.open_bytes -= partition.memory_bytes
            self._remove(partition.files)
        left = self.partitions.keys()
        self._watches = [(numbers, watch) for numbers, watch in self._watches if not left.isdisjoint(numbers)]

    def close(self) -> None:
        """Hear no more of the log."""
        for _, watch in self._watches:
            watch.cancel()

    def _adopt(self, number: int) -> None:
        start, stable, _ = self._log.bounds(number)
        partition = PartitionIndex(number, OpenRange(start))
        at = start
        for file in sorted(self._found.pop(number, []), key=lambda each: (each.name.first, -each.name.end)):
            _, first, end = file.name
            overlaps = first < at and at != start
            # Behind the stable offset: a log that was not synced lost messages, and others come in their place.
            if overlaps or end <= start or end > stable:
                self._remove([file])
                continue
            if first > at:
                partition.holes += (OpenRange(at, first),)
            partition.files += (file,)
            at = end
        partition.tip = OpenRange(at)
        self.partitions[number] = partition
        self._on_data(number)

    def drop_strays(self) -> None:
        """Remove the files of partitions that are not there any more."""
        for files in self._found.values():
            self._remove(files)
        self._found.clear()

    def tidy(self) -> None:
        """Remove the files of messages that are gone."""
        for partition in self.partitions.values():
            start = self._start(partition.number)
            gone = [file for file in partition.files if file.name.end <= start]
            if gone:
                partition.files = tuple(file for file in partition.files if file.name.end > start)
                self._remove(gone)

    def lose(self, file: RangeFile, why: str) -> None:
        """A file cannot be used: what it covers is to be indexed again."""
        partition = self.partitions.get(file.name.number)
        if partition is None or file not in partition.files:
            return
        _logger.warning("a file of the query index is made again", file=self._disk.describe(file.name.text), why=why)
        self.damaged_files += 1
        partition.lose(file)
        self._on_data(partition.number)

    def _start(self, number: int) -> int:
        try:
            return self._log.bounds(number).start
        except (UnknownPartition, LogClosed):
            return 0

    def _remove(self, files: Iterable[RangeFile]) -> None:
        for file in files:
            self._disk.remove(file.name.text)

    # What is in memory, written down now and then.

    def keep_open(self) -> None:
        """For a thread, while nothing is taken in."""
        tips = [(each.number, each.tip) for each in self.partitions.values() if each.tip.end > each.tip.first]
        replace_file(self._disk, OPEN_NAME, pack_open(tips))

    def read_open(self) -> list[tuple[int, OpenRange]]:
        """What was kept; nothing, when that cannot be read. For a thread."""
        try:
            file = self._disk.open(OPEN_NAME)
        except FileNotFoundError:
            return []
        try:
            return list(unpack_open(file.read(file.size(), 0)))
        except DamagedRange as damage:
            _logger.warning("what the query index kept is read from the log again", why=str(damage))
            return []
        finally:
            file.close()

    def resume(self, kept: Iterable[tuple[int, OpenRange]]) -> None:
        """Go on with what was kept, where it still fits."""
        for number, each in kept:
            partition = self.partitions.get(number)
            if partition is None or each.end > self._log.bounds(number).stable or each.end < partition.tip.first:
                continue
            if each.first == partition.tip.first or (each.first < partition.tip.first and not partition.files):
                partition.tip = each
        self.open_bytes = self.memory_bytes()

    def memory_bytes(self) -> int:
        return sum(partition.memory_bytes for partition in self.partitions.values())

    def files(self) -> Iterator[RangeFile]:
        for partition in self.partitions.values():
            yield from partition.files
