"""Rows of halves in two places: those of the last seconds in a partition of the log, those that stay in the store.

Nearly all halves end within a moment. A row in and out of a database is most of what such a half would cost; two
records in a log that is written anyway are hardly anything. So a half is a record first, and its end another. What has
not ended after a while is moved to the store, many rows at a time, where it can be claimed, listed and searched for.

To everybody else the room is just `Rows`: what `add` and `delete` say is durable when they return, and whatever needs a
row in the store waits until it is there.

    open ---end noted---> gone
      \\---move begun---> moving ---in the store, and noted---> a row like any other

A half that is being moved belongs to the store for good, whatever the move meets: it goes on until it is done. Nothing
is decided about it before the note is durable, because a start takes every half without an end or a note for one that
may be missing in the store, and adds it there; a row that is there already is left as it is.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from braidmq.core.deferral import RETRY_MS, Rows
from braidmq.core.timing import Clock, Deadline
from braidmq.log import Appended, AppendResult, Log, first_readable
from braidmq.logger import get_logger
from braidmq.model import NEVER_MS, PARTITION_NUMBER_MAX, BraidError, Half, Topic
from braidmq.model.errors import DamagedLog, InvalidBatch, StoreFailed
from braidmq.model.topic_settings import ARCHIVE, SEGMENT_BYTES
from braidmq.records import Packed, Record, batch_packed, batches_in, read_records, record_content
from braidmq.store import Page

HALVES_TOPIC: Final = Topic(
    id=UUID("3d0d2a52-7d5c-4b67-8c55-6f1d0c9e77a1"),
    name="__braid.halves",
    partition_numbers=(PARTITION_NUMBER_MAX + 1,),
    retention_ms=-1,
    settings={ARCHIVE.name: "off", SEGMENT_BYTES.name: str(16 << 20)},
)
"""Where halves wait on a node whose log is its own. No client can name it: it is in no catalog, and its number is none
that a catalog gives."""
STAY_MS: Final = 2_000
"""How long a half may be here before it is moved."""
BYTES_MAX: Final = 32 << 20
"""When halves take up more, those that have been here longest are moved."""
HELD_MAX: Final = 4 * BYTES_MAX
"""When halves take up more, because the store does not take them, no others are taken in."""
LOT_ROWS: Final = 512
BATCH_BYTES: Final = 1 << 20
READ_BYTES: Final = 1 << 20
TRIM_RECORDS: Final = 4_096
"""So many records that nobody needs are worth a note that they can go."""

OnNoted = Callable[[BraidError | None], None]

_encode = msgspec.msgpack.Encoder().encode
_ID_BYTES: Final = 16

_logger = get_logger(__name__)


class _Written(msgspec.Struct, array_like=True):
    """A half as it stands in a record; its id is the record's key."""

    topic_id: bytes
    instance: str
    topic: str
    partition: int
    group: str
    message_id: str
    prepared_ms: int
    immunity_ms: int
    wake_ms: int
    content: bytes


_decoder = msgspec.msgpack.Decoder(_Written)


class _Note(NamedTuple):
    """Records of this turn that are told of together: halves, or the end of some."""

    contents: list[bytes]
    halves: Sequence[Half]
    ended: Sequence[UUID]
    on_noted: OnNoted


class WaitingRoom:
    """Made over the rows of the store and a partition of the log that is the room's alone. `open` it first."""

    def __init__(self, rows: Rows[Half], log: Log, number: int, clock: Clock, *, stay_ms: int = STAY_MS) -> None:
        self._rows = rows
        self._log = log
        self._number = number
        self._clock = clock
        self._stay_ms = stay_ms
        self._open: dict[UUID, Half] = {}
        """In the order in which they came, as the others."""
        self._moving: dict[UUID, Half] = {}
        self._offsets: dict[UUID, int] = {}
        """Where the records lie of all that is needed here: open, moving, or ended and not noted."""
        self._bytes = 0
        """Of those that are open."""
        self._moving_bytes = 0
        self._turn: list[_Note] = []
        self._trimmed = 0
        self._move: asyncio.Task[bool] | None = None
        self._closing = False
        self._due = Deadline(clock, self._tick)

    # A life.

    async def open(self) -> None:
        """Take over what the last life left: it goes to the store. Raises StoreFailed, and what reading the log may."""
        self._moving = await self._left()
        self._moving_bytes = sum(half.size_bytes for half in self._moving.values())
        await self._move_all()
        await self._trim(self._log.bounds(self._number).end)

    async def close(self) -> None:
        """Everything is in the store, or is found by the next start."""
        self._closing = True
        self._due.cancel()
        try:
            await self._settle([*self._open, *self._moving])
            await self._trim(self._log.bounds(self._number).end)
        except BraidError as error:
            _logger.warning("halves_wait_in_the_log", count=len(self._offsets), reason=error.message)
        if self._move is not None:
            await asyncio.wait([self._move])

    async def _left(self) -> dict[UUID, Half]:
        """Halves in the log without an end."""
        left: dict[UUID, Half] = {}
        offset, _, end = self._log.bounds(self._number)
        while offset < end:
            try:
                fetched = await self._log.read(self._number, offset, READ_BYTES)
            except DamagedLog as error:
                _logger.error("half messages cannot be read any more", reason=error.message)
                offset = await first_readable(self._log, self._number, offset, end)
                continue
            for batch in batches_in(fetched.data):
                offset = batch.last_offset + 1
                for record in read_records(batch):
                    if record.key is not None:
                        half = _read(record)
                        left[half.id] = half
                    else:
                        for each in _ids(record.value or b""):
                            left.pop(each, None)
        return left

    async def _add_missing(self, halves: Sequence[Half]) -> None:
        for first in range(0, len(halves), LOT_ROWS):
            lot = halves[first : first + LOT_ROWS]
            there = {row.id for row in await self._rows.revise([half.id for half in lot], lambda row: row)}
            missing = [self._rows.add(half) for half in lot if half.id not in there]
            for failure in await asyncio.gather(*missing, return_exceptions=True):
                if failure is not None:
                    raise failure

    # Notes: hot path.

    def keep(self, halves: Sequence[Half], on_noted: OnNoted) -> None:
        """Take halves in; told when they are durable, or why they are not here."""
        if self._bytes + self._moving_bytes > HELD_MAX:
            refusal = StoreFailed("too many half messages wait for the store; send it again later")
            asyncio.get_running_loop().call_soon(on_noted, refusal)
            return
        self._note(_Note([_written(half) for half in halves], halves, (), on_noted))

    def end(self, ids: Sequence[UUID], on_noted: OnNoted) -> None:
        """Open halves have ended; told when that is durable. Where it cannot be noted they are open again."""
        ended = [self._open.pop(each) for each in ids]
        for half in ended:
            self._bytes -= half.size_bytes

        def noted(error: BraidError | None) -> None:
            if error is not None:
                for half in ended:
                    self._open[half.id] = half
                    self._bytes += half.size_bytes
            on_noted(error)

        self._note_end(ids, noted)

    def _note_end(self, ids: Sequence[UUID], on_noted: OnNoted) -> None:
        content = record_content(None, b"".join([each.bytes for each in ids]))
        self._note(_Note([content], (), ids, on_noted))

    def _note(self, note: _Note) -> None:
        if not self._turn:
            asyncio.get_running_loop().call_soon(self._append)
        self._turn.append(note)

    def _append(self) -> None:
        """All that has come in this turn, in order."""
        turn, self._turn = self._turn, []
        now_ms = self._clock.now_ms()
        lots: list[list[_Note]] = []
        left_bytes = 0
        for note in turn:
            if left_bytes <= 0:
                lots.append([])
                left_bytes = BATCH_BYTES
            lots[-1].append(note)
            left_bytes -= sum(map(len, note.contents))
        entries = [
            (self._number, batch_packed([Packed(note.contents, [now_ms] * len(note.contents)) for note in lot]))
            for lot in lots
        ]
        self._log.append(entries).add_done_callback(lambda done: self._noted(lots, done.result()))

    def _noted(self, lots: Sequence[Sequence[_Note]], results: Sequence[AppendResult]) -> None:
        for lot, result in zip(lots, results, strict=True):
            if not isinstance(result, Appended):
                for note in lot:
                    note.on_noted(result)
                continue
            offset = result.base_offset
            for note in lot:
                for place, half in enumerate(note.halves, offset):
                    self._open[half.id] = half
                    self._offsets[half.id] = place
                    self._bytes += half.size_bytes
                for each in note.ended:
                    self._offsets.pop(each, None)
                offset += len(note.contents)
                note.on_noted(None)
        if not self._due.is_set and not self._closing:
            self._due.set(self._stay_ms)

    # Moving to the store.

    def _tick(self) -> None:
        if self._closing:
            return
        old_ms = self._clock.now_ms() - self._stay_ms
        too_much = self._bytes - BYTES_MAX
        for half in list(self._open.values()):
            if half.prepared_ms > old_ms and too_much <= 0:
                break
            too_much -= half.size_bytes
            self._begin_moving(half)
        if self._moving:
            self._moved()
        elif self._open or self._trimmed < self._first_needed:
            self._due.set(self._stay_ms / 2)

    def _begin_moving(self, half: Half) -> None:
        del self._open[half.id]
        self._bytes -= half.size_bytes
        self._moving[half.id] = half
        self._moving_bytes += half.size_bytes

    async def _go_on_moving(self) -> bool:
        """One lot after the other, until none is left; whether it came so far. What failed is tried again."""
        pause_ms: float = RETRY_MS
        try:
            await self._move_all()
            if self._first_needed - self._trimmed >= TRIM_RECORDS:
                await self._trim(self._first_needed)
            pause_ms = self._stay_ms / 2
        except BraidError as error:
            _logger.warning("halves_wait_in_the_log", count=len(self._offsets), reason=error.message)
            return False
        finally:
            self._move = None
            if not self._closing:
                self._due.set(pause_ms)
        return True

    async def _move_all(self) -> None:
        while self._moving:
            lot = list(self._moving.values())[:LOT_ROWS]
            await self._add_missing(lot)
            await self._tell_moved([half.id for half in lot])

    async def _tell_moved(self, ids: Sequence[UUID]) -> None:
        noted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._note_end(ids, _teller(noted))
        await noted
        for each in ids:
            self._moving_bytes -= self._moving.pop(each).size_bytes

    async def _settle(self, ids: Iterable[UUID]) -> None:
        """Wait until these are in the store, as far as they are here. Raises StoreFailed."""
        ids = list(ids)
        for each in ids:
            if (half := self._open.get(each)) is not None:
                self._begin_moving(half)
        while not self._moving.keys().isdisjoint(ids):
            if not await asyncio.shield(self._moved()):
                raise StoreFailed("halves could not be brought to the store; it is tried again")

    def _moved(self) -> "asyncio.Task[bool]":
        if self._move is None:
            self._move = asyncio.create_task(self._go_on_moving(), name="halves-moving")
        return self._move

    @property
    def _first_needed(self) -> int:
        return next(iter(self._offsets.values()), self._log.bounds(self._number).end)

    async def _trim(self, offset: int) -> None:
        """Nobody needs what lies before the offset."""
        await self._log.delete_records(self._number, offset)
        self._trimmed = offset

    # Rows.

    async def add(self, row: Half) -> None:
        noted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.keep((row,), _teller(noted))
        await noted

    async def delete(self, ids: Iterable[UUID]) -> None:
        wanted = set(ids)
        noted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if here := [each for each in wanted if each in self._open]:
            self.end(here, _teller(noted))
            wanted.difference_update(here)
        else:
            noted.set_result(None)
        if wanted:
            await self._settle(each for each in wanted if each in self._moving)
            await self._rows.delete(wanted)
        try:
            await noted
        except StoreFailed:
            raise
        except BraidError as error:
            raise StoreFailed(f"the end of a half could not be noted: {error.message}") from error

    async def next_wake_ms(self) -> int:
        return min(await self._rows.next_wake_ms(), self._next_wake_ms)

    @property
    def _next_wake_ms(self) -> int:
        here = (half.wake_ms for halves in (self._open, self._moving) for half in halves.values())
        return min(here, default=NEVER_MS)

    async def claim(
        self,
        now_ms: int,
        change: Callable[[Half], Half | None],
        *,
        rows_max: int,
        bytes_max: int,
        for_others: bool = False,
        without: Sequence[UUID] = (),
    ) -> tuple[list[Half], int]:
        due = [half.id for halves in (self._open, self._moving) for half in halves.values() if half.wake_ms <= now_ms]
        await self._settle(due)
        claimed, next_ms = await self._rows.claim(
            now_ms, change, rows_max=rows_max, bytes_max=bytes_max, for_others=for_others, without=without
        )
        return claimed, min(next_ms, self._next_wake_ms)

    async def revise(self, ids: Iterable[UUID], change: Callable[[Half], Half | None]) -> list[Half]:
        wanted = list(ids)
        await self._settle([each for each in wanted if each in self._offsets])
        return await self._rows.revise(wanted, change)

    async def wake_claims(self, owner: str, now_ms: int, lease_ms: int) -> None:
        await self._rows.wake_claims(owner, now_ms, lease_ms)

    async def find(self, id: UUID) -> Half | None:
        return self._open.get(id) or self._moving.get(id) or await self._rows.find(id)

    async def page(self, page: Page) -> list[Half]:
        await self._settle([*self._open, *self._moving])
        return await self._rows.page(page)

    async def latest_id(self) -> UUID | None:
        known = [*self._open, *self._moving]
        if (stored := await self._rows.latest_id()) is not None:
            known.append(stored)
        return max(known, default=None)


def _teller(noted: "asyncio.Future[None]") -> OnNoted:
    def tell(error: BraidError | None) -> None:
        if noted.done():
            return
        if error is None:
            noted.set_result(None)
        else:
            noted.set_exception(error)

    return tell


def _written(half: Half) -> bytes:
    value = _encode(
        _Written(
            half.topic_id.bytes,
            half.instance,
            half.topic,
            half.partition,
            half.group,
            half.message_id,
            half.prepared_ms,
            half.immunity_ms,
            half.wake_ms,
            half.content,
        )
    )
    return record_content(half.id.bytes, value)


def _ids(text: bytes) -> list[UUID]:
    return [UUID(bytes=text[at : at + _ID_BYTES]) for at in range(0, len(text), _ID_BYTES)]


def _read(record: Record) -> Half:
    try:
        written = _decoder.decode(record.value or b"")
        half_id = UUID(bytes=record.key)
    except (msgspec.MsgspecError, ValueError) as error:
        raise InvalidBatch(f"a half at offset {record.offset} cannot be read: {error}") from error
    return Half(
        id=half_id,
        topic_id=UUID(bytes=written.topic_id),
        instance=written.instance,
        topic=written.topic,
        partition=written.partition,
        group=written.group,
        message_id=written.message_id,
        prepared_ms=written.prepared_ms,
        immunity_ms=written.immunity_ms,
        wake_ms=written.wake_ms,
        size_bytes=len(written.content),
        content=written.content,
    )
