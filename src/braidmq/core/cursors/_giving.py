"""Giving messages to a receiver: first what came back, then what is new. Hot path."""

import asyncio
from typing import Final, Protocol

from braidmq.core.cursors._cursor import Cursor, OpenMessage
from braidmq.core.cursors._ears import Ears
from braidmq.core.cursors._figures import Tally
from braidmq.core.cursors._keeping import Keeping, Kept, Place
from braidmq.core.cursors._parts import Part, found_in
from braidmq.core.cursors._seals import Seals
from braidmq.core.cursors._shelf import Shelf
from braidmq.core.cursors._words import Ask, CursorLimits, Delivered
from braidmq.core.filters import Everything
from braidmq.core.pull import Puller
from braidmq.core.trace import Tracer
from braidmq.model import DEFAULT_INSTANCE, Group, TraceKind
from braidmq.model.errors import OffsetOutOfRange
from braidmq.records import Record

NAMED_TOGETHER: Final = 1_000
"""How many messages that the last life has left are read in one go."""
AHEAD_BYTES: Final = 48 << 10
"""How much is read with a message that comes again, of what lies behind it and comes again, too."""


class Groups(Protocol):
    """Which groups there are; see `store.Catalog`."""

    def group(self, instance: str, name: str) -> Group | None: ...


class Home(Protocol):
    """Who is told what becomes of messages that cannot be given; see `Cursors`."""

    def now_ms(self) -> int: ...

    def begin_burial(self, place: Place, kept: Kept, message: OpenMessage) -> None: ...

    def lose(self, place: Place, kept: Kept, message: OpenMessage) -> None: ...


class Bag:
    """What one receiver is given."""

    __slots__ = ("bytes_left", "delivered", "room")

    def __init__(self, ask: Ask) -> None:
        self.room = ask.count_max
        self.bytes_left = ask.bytes_max
        self.delivered: list[Delivered] = []

    @property
    def is_full(self) -> bool:
        return self.room <= 0 or self.bytes_left <= 0

    def put(self, delivered: Delivered) -> None:
        self.delivered.append(delivered)
        self.room -= 1
        self.bytes_left -= len(delivered.record.value or b"")


class Giving:
    """Fills bags. What it needs belongs to the service that it is a part of."""

    def __init__(
        self,
        home: Home,
        groups: Groups,
        puller: Puller,
        shelf: Shelf,
        keeping: Keeping,
        ears: Ears,
        seals: Seals,
        tally: Tally,
        tracer: Tracer,
        limits: CursorLimits,
    ) -> None:
        self._home = home
        self._groups = groups
        self._puller = puller
        self._shelf = shelf
        self._keeping = keeping
        self._ears = ears
        self._seals = seals
        self._tally = tally
        self._tracer = tracer
        self._limits = limits

    async def collect(self, ask: Ask, part: Part, bag: Bag) -> None:
        """Put into the bag what the receiver may have of this part, the oldest first. Raises the log's errors."""
        place = Place(ask.group, part.number)
        kept = self._shelf.cursor(ask, part)
        cursor = kept.cursor
        if part.is_retry and not cursor.is_named:
            await self._name_origins(part, cursor)
        cursor.expire(self._home.now_ms())
        at_hand: dict[int, Record] = {}
        while True:
            await self._give_ready(ask, place, part, kept, bag, at_hand)
            if bag.is_full or kept.is_reading or self._shelf.is_full(ask.group):
                return
            found = await self._look_further(ask, place, part, kept, bag)
            if found is None:
                return
            at_hand = found

    async def _name_origins(self, part: Part, cursor: Cursor) -> None:
        """Of messages that the last life has left. There may be many, and others have their turn between."""
        at_hand: dict[int, Record] = {}
        for nth, message in enumerate(cursor.unnamed()):
            if nth % NAMED_TOGETHER == 0:
                at_hand = {}
                await asyncio.sleep(0)
            if message.origin:
                continue  # somebody else has asked meanwhile
            record = await self._record(part.number, message.offset, at_hand, NAMED_TOGETHER, committed=True)
            if record is not None:
                found = found_in(part, record, is_ordered=False)
                cursor.name(message, found.origin, found.earlier)
        cursor.is_named = True

    async def _give_ready(
        self, ask: Ask, place: Place, part: Part, kept: Kept, bag: Bag, at_hand: dict[int, Record]
    ) -> None:
        cursor = kept.cursor
        deliveries_max = self._deliveries_max(ask.group)
        while not bag.is_full and (first := cursor.take_ready(part.origin)) is not None:
            if first.earlier + first.attempts >= deliveries_max:
                self._home.begin_burial(place, kept, first)
                continue
            for message in cursor.together(first, bag.room):
                if message.earlier + message.attempts >= deliveries_max:
                    self._home.begin_burial(place, kept, message)
                    break
                await self._give(ask, place, part, kept, message, bag, at_hand)

    async def _give(
        self,
        ask: Ask,
        place: Place,
        part: Part,
        kept: Kept,
        message: OpenMessage,
        bag: Bag,
        at_hand: dict[int, Record],
    ) -> None:
        now_ms = self._home.now_ms()
        due_ms = now_ms + (self._limits.renewal_ms if ask.holder is not None else ask.invisible_ms)
        kept.cursor.give(message, due_ms, holder=ask.holder, renewed_until_ms=now_ms + self._limits.renewed_max_ms)
        self._keeping.changed(place, kept)
        record = at_hand.get(message.offset)
        if record is None:
            following = kept.cursor.first_ready(part.origin)
            are_near = following is not None and following - message.offset <= bag.room
            count_max = bag.room if are_near else 1
            record = await self._record(place.number, message.offset, at_hand, count_max, committed=ask.committed)
        if record is None:
            self._home.lose(place, kept, message)
            return
        receipt = self._seals.receipt(place.group, place.number, message.offset, message.serial)
        bag.put(Delivered(receipt, part.partition, record, message.earlier + message.attempts, part.topic.name))
        self._tally.delivered[kept.owner] += 1
        if message.attempts > 1:
            self._tally.redelivered[kept.owner] += 1
        elif part.is_retry:
            offset = message.offset
            self._tracer.note_range(TraceKind.DELIVERED, place.group, place.number, offset, offset + 1, ask.client)

    async def _look_further(self, ask: Ask, place: Place, part: Part, kept: Kept, bag: Bag) -> dict[int, Record] | None:
        """Open the next messages that the group wants; None when there is nothing new."""
        cursor, number = kept.cursor, place.number
        chosen, count_max, bytes_max = part.chosen, bag.room, bag.bytes_left
        pulled = self._puller.pull_now(
            number, cursor.next, chosen, count_max=count_max, bytes_max=bytes_max, committed=ask.committed
        )
        if pulled is None:
            kept.is_reading = True
            try:
                pulled = await self._puller.pull(
                    number, cursor.next, chosen, count_max=count_max, bytes_max=bytes_max, committed=ask.committed
                )
            finally:
                kept.is_reading = False
                self._ears.tell(place.group, ask.topic.id)  # who came meanwhile was given nothing
            if self._keeping.kept.get(place) is not kept:
                return None  # somebody has set the group elsewhere meanwhile
        if pulled.next_offset <= cursor.next:
            return None
        first = cursor.next
        cursor.look(
            pulled.next_offset,
            [
                found_in(part, record, is_ordered=ask.is_ordered, is_single_file=ask.is_single_file)
                for record in pulled.records
            ],
        )
        self._shelf.count_open(place.group, len(pulled.records))
        self._keeping.changed(place, kept)
        if pulled.records and not part.is_retry:
            self._tracer.note_range(TraceKind.DELIVERED, place.group, number, first, pulled.next_offset, ask.client)
        elif not pulled.records:
            await asyncio.sleep(0)  # there may be much that is not wanted; others have their turn between
        return {record.offset: record for record in pulled.records}

    async def _record(
        self, number: int, offset: int, at_hand: dict[int, Record], count_max: int, *, committed: bool
    ) -> Record | None:
        """One message of the log, None where it is gone; it and some that lie behind it are at hand from now on."""
        if offset in at_hand:
            return at_hand[offset]
        search = (number, offset, Everything())
        try:
            pulled = self._puller.pull_now(*search, count_max=count_max, bytes_max=AHEAD_BYTES, committed=committed)
            if pulled is None:
                pulled = await self._puller.pull(
                    *search, count_max=count_max, bytes_max=AHEAD_BYTES, committed=committed
                )
        except OffsetOutOfRange:
            return None
        at_hand.update((record.offset, record) for record in pulled.records)
        return at_hand.get(offset)

    def _deliveries_max(self, group: str) -> int:
        found = self._groups.group(DEFAULT_INSTANCE, group)
        return (found or Group(name=group)).attempts_max + 1
