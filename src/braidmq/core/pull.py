"""Reading messages from an offset on, through a filter, with waiting. Hot path of consumers that keep offsets.

Whole batches come out of the log; readers want some of their messages. What was opened is kept for a moment, because
readers take a batch in pieces, and several groups read the same. Records of open and aborted transactions are not seen,
but by readers who want them (not `committed`).

A reader that waits is woken by messages that it wants, not by any others; what it looked through in vain is not looked
through again, and it learns how far that was.
"""

import asyncio
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple, Protocol

from braidmq.core.filters import Everything, Filter
from braidmq.log import Bounds, Fetched, Log
from braidmq.model import BraidError
from braidmq.model.errors import InvalidBatch, OffsetOutOfRange
from braidmq.records import Batch, Marker, Record, batches_in, read_marker, read_records

FIRST_READ_BYTES: Final = 48 << 10
READ_BYTES: Final = 128 << 10
"""How much is taken from the log at a time: at first about what most readers want, then more."""
LOOKED_AT_BYTES_MAX: Final = 8 << 20
"""How much one call goes through without finding enough, before its reader is told how far it came."""
OPENED_BYTES_MAX: Final = 32 << 20
OPENED_WORTH: Final = 8
"""A batch with fewer records than this is opened again rather than kept."""
RECORD_BYTES: Final = 120
"""About what a message weighs beside its content."""

_OFFSET: Final = attrgetter("offset")


class Pulled(NamedTuple):
    """Messages, and where to go on."""

    records: Sequence[Record]
    next_offset: int
    bounds: Bounds


class Search(Protocol):
    """One reading: what it stands at, and how it goes on."""

    @property
    def offset(self) -> int: ...

    @property
    def read_bytes(self) -> int:
        """How much to take from the log next."""
        ...

    def is_wanting(self, end: int) -> bool:
        """Whether more is wanted of what lies before the end."""
        ...

    def take(self, fetched: Fetched) -> bool:
        """Look through batches; whether to go on behind them."""
        ...


class Puller:
    """The way out of topics, for readers by offset."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._opened: OrderedDict[tuple[int, int], tuple[Sequence[Record], int]] = OrderedDict()
        self._opened_bytes = 0

    def pull_now(
        self, number: int, offset: int, chosen: Filter, *, count_max: int, bytes_max: int, committed: bool = True
    ) -> Pulled | None:
        """What is there from the offset on; None where that would have to wait for the disk.

        Raises UnknownPartition, OffsetOutOfRange, DamagedLog.
        """
        search = _Search(self, number, offset, chosen, count_max, bytes_max)
        bounds = self.search_now(number, search, committed=committed)
        return None if bounds is None else Pulled(search.found, search.offset, bounds)

    def search_now(self, number: int, search: Search, *, committed: bool = True) -> Bounds | None:
        """Let somebody else look through what is there from the search's offset on; None where that would have to wait
        for the disk. Raises what `pull_now` raises."""
        bounds = self._bounds(number, search.offset)
        while search.is_wanting(bounds.stable if committed else bounds.end):
            fetched = self._log.read_now(number, search.offset, search.read_bytes, committed=committed)
            if fetched is None:
                return None
            if not search.take(fetched):
                break
        return bounds

    async def pull(
        self,
        number: int,
        offset: int,
        chosen: Filter,
        *,
        count_max: int,
        bytes_max: int,
        wait_s: float = 0.0,
        committed: bool = True,
    ) -> Pulled:
        """The same, reading from the disk where needed, and waiting so long for the first message that is wanted."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        while True:
            pulled = await self._look(number, offset, chosen, count_max, bytes_max, committed=committed)
            offset = pulled.next_offset
            left_s = deadline - loop.time()
            if pulled.records or left_s <= 0:
                return pulled
            if offset >= self._log.bounds(number).stable:
                await self._arrival(number, offset, left_s)
            else:
                await asyncio.sleep(0)  # there is more to look through; others have their turn before

    async def arrival(self, number: int, offset: int, chosen: Filter, *, wait_s: float) -> int:
        """Wait so long for the first message that is wanted; where it is, or how far was looked in vain. Who wants
        everything is told of whatever comes, unread."""
        if isinstance(chosen, Everything):
            if self._bounds(number, offset).stable <= offset:
                await self._arrival(number, offset, wait_s)
            return offset
        pulled = await self.pull(number, offset, chosen, count_max=1, bytes_max=1, wait_s=wait_s)
        return pulled.records[0].offset if pulled.records else pulled.next_offset

    async def _look(
        self, number: int, offset: int, chosen: Filter, count_max: int, bytes_max: int, *, committed: bool
    ) -> Pulled:
        bounds = self._bounds(number, offset)
        search = _Search(self, number, offset, chosen, count_max, bytes_max)
        while search.is_wanting(bounds.stable if committed else bounds.end):
            if not search.take(await self._log.read(number, search.offset, search.read_bytes, committed=committed)):
                break
        return Pulled(search.found, search.offset, bounds)

    async def _arrival(self, number: int, offset: int, timeout_s: float) -> None:
        """Until there is something at the offset, or the time is over, or the partition is gone."""
        arrived = asyncio.get_running_loop().create_future()

        def on_data(_: int) -> None:
            if not arrived.done():
                arrived.set_result(None)

        watch = self._log.watch((number,), on_data)
        try:
            while self._log.bounds(number).stable <= offset and timeout_s > 0:
                began = asyncio.get_running_loop().time()
                await asyncio.wait((arrived,), timeout=timeout_s)
                if not arrived.done():
                    return
                timeout_s -= asyncio.get_running_loop().time() - began
                arrived = asyncio.get_running_loop().create_future()
        finally:
            watch.cancel()

    def _bounds(self, number: int, offset: int) -> Bounds:
        bounds = self._log.bounds(number)
        if not bounds.start <= offset <= bounds.end:
            raise OffsetOutOfRange(f"offset {offset} is not within {bounds.start} to {bounds.end}")
        return bounds

    def open(self, number: int, batch: Batch) -> Sequence[Record]:
        """The records of a batch; a batch that its producer broke has none that anybody could read."""
        key = number, batch.base_offset
        if (known := self._opened.get(key)) is not None:
            self._opened.move_to_end(key)
            return known[0]
        try:
            records = read_records(batch)
        except InvalidBatch:
            return ()
        if len(records) >= OPENED_WORTH:
            self._remember(key, records, _opened_bytes(batch, records))
        return records

    def _remember(self, key: tuple[int, int], records: Sequence[Record], size_bytes: int) -> None:
        self._opened[key] = records, size_bytes
        self._opened_bytes += size_bytes
        while self._opened_bytes > OPENED_BYTES_MAX:
            _, (_, gone_bytes) = self._opened.popitem(last=False)
            self._opened_bytes -= gone_bytes


def _opened_bytes(batch: Batch, records: Sequence[Record]) -> int:
    """What an open batch takes up: one that was packed is larger than it was."""
    content_bytes = batch.size_bytes
    if batch.codec:
        content_bytes += sum(len(record.value or b"") for record in records)
    return content_bytes + RECORD_BYTES * len(records)


class _Search:
    """One reading: what was found so far, and where it stands."""

    __slots__ = (
        "_aborted",
        "_bytes_left",
        "_chosen",
        "_count_left",
        "_looked_at_bytes",
        "_number",
        "_puller",
        "found",
        "offset",
    )

    def __init__(
        self, puller: Puller, number: int, offset: int, chosen: Filter, count_max: int, bytes_max: int
    ) -> None:
        self._puller = puller
        self._number = number
        self._chosen = None if isinstance(chosen, Everything) else chosen
        self._count_left = count_max
        self._bytes_left = bytes_max
        self._looked_at_bytes = 0
        self._aborted: set[int] = set()
        self.found: list[Record] = []
        self.offset = offset

    @property
    def read_bytes(self) -> int:
        return READ_BYTES if self._looked_at_bytes else FIRST_READ_BYTES

    def is_wanting(self, end: int) -> bool:
        return (
            self._count_left > 0
            and self._bytes_left > 0
            and self.offset < end
            and self._looked_at_bytes < LOOKED_AT_BYTES_MAX
        )

    def take(self, fetched: Fetched) -> bool:
        """Look through batches; whether to go on behind them."""
        if not fetched.data:
            return False
        self._looked_at_bytes += len(fetched.data)
        for batch, is_visible in batches_of(fetched):
            if is_visible and not self._take_batch(batch):
                return False
            self.offset = batch.last_offset + 1
        return True

    def _take_batch(self, batch: Batch) -> bool:
        chosen, start = self._chosen, self.offset
        records = self._puller.open(self._number, batch)
        first = bisect_left(records, start, key=_OFFSET) if start > batch.base_offset else 0
        for at in range(first, len(records)):
            record = records[at]
            if record.offset < start or (chosen is not None and not chosen.matches(record)):
                continue
            size_bytes = len(record.value or b"")
            if self._count_left <= 0 or (self.found and size_bytes > self._bytes_left):
                self.offset = record.offset
                return False
            self.found.append(record)
            self._count_left -= 1
            self._bytes_left -= size_bytes
        return True


def batches_of(fetched: Fetched) -> Iterator[tuple[Batch, bool]]:
    """The batches that were read, and of each whether readers of committed messages see it: no markers, nothing of
    aborted transactions."""
    aborted = {(each.producer_id, each.first_offset) for each in fetched.aborted}
    for batch in batches_in(fetched.data):
        if batch.is_control:
            if aborted and _is_abort(batch):
                aborted -= set(sorted(_begun_before(aborted, batch))[:1])
            yield batch, False
        else:
            yield batch, not (batch.is_transactional and any(_begun_before(aborted, batch)))


def _begun_before(aborted: set[tuple[int, int]], batch: Batch) -> Iterator[tuple[int, int]]:
    """The aborted transactions of a batch's producer that had begun by then."""
    return (each for each in aborted if each[0] == batch.producer_id and each[1] <= batch.base_offset)


def _is_abort(batch: Batch) -> bool:
    try:
        return read_marker(batch) is Marker.ABORT
    except BraidError:
        return False
