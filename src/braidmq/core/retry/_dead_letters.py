"""Dead letters: looked at, replayed and deleted.

A group's dead letters are the messages of one topic, and stay there until the topic's retention or `delete` takes
them; replaying one appends it anew, elsewhere. Listing and replaying both go through the topic in pages. A page says
where the next begins, and where all of it ends: what dies again while it is being replayed is not replayed in a circle.
Whoever lost the answer to a page asks for the same one again; that page, and no other, is then appended twice.
"""

import enum
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from msgspec.structs import replace

from braidmq.core.delivery import Delivered, Delivery, Parcel, pack
from braidmq.core.lookup import message_at
from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.retry._retries import OwnTopics, attempts_of, own_topic
from braidmq.log import Log
from braidmq.model import (
    ATTEMPT_HEADER,
    DEAD_ID_HEADER,
    DEAD_TOPIC_HEADER,
    DEFAULT_INSTANCE,
    ORIGIN_ID_HEADER,
    REPLAY_HEADER,
    RETRY_TOPIC_HEADER,
    BraidError,
    Message,
    Topic,
    dead_letter_topic_name,
    retry_topic_name,
)
from braidmq.model.errors import OffsetOutOfRange, UnknownMessage, UnknownPartition, UnknownTopic
from braidmq.records import batches_in, messages_of

READ_BYTES: Final = 1 << 20
SCAN_BYTES: Final = 8 << 20
"""How much of the topic one page looks at, and so how much a page can hold."""
PAGE_MAX: Final = 1_000


class Catalog(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def topic(self, instance: str, name: str) -> Topic | None: ...


class Place(NamedTuple):
    """Where a dead letter lies in the group's dead-letter topic; which has one partition, unless somebody grew it."""

    partition: int
    offset: int


class Cursor(NamedTuple):
    """Where a page begins, and by partition where the listing ends."""

    next: Place
    ends: tuple[int, ...]


class DeadFilter(NamedTuple):
    """Which dead letters: all that agree with everything that is said."""

    topic: str | None = None
    """Where they came from."""
    key: str | None = None
    id: str | None = None
    """Their own id, or that of the message that they were at first."""
    from_ms: int | None = None
    until_ms: int | None = None
    """When they died: from this time on, and before that."""

    def matches(self, letter: "DeadLetter") -> bool:
        return (
            self.topic in (None, letter.topic)
            and self.id in (None, letter.message.id, letter.origin_id)
            and (self.key is None or self.key in letter.message.keys)
            and (self.from_ms is None or letter.died_ms >= self.from_ms)
            and (self.until_ms is None or letter.died_ms < self.until_ms)
        )


class DeadLetter(NamedTuple):
    """A message that its group could not work on."""

    place: Place
    message: Message
    topic: str
    """Where it came from."""
    origin_id: str
    attempts: int
    died_ms: int


class DeadPage(NamedTuple):
    """Some dead letters, perhaps none, and where to go on; None at the end."""

    letters: list[DeadLetter]
    next: Cursor | None


class ReplayTo(enum.Enum):
    """Who is given a dead letter again."""

    GROUP = "group"
    """Its group alone, as if for the first time."""
    TOPIC = "topic"
    """Everybody who reads the topic that it came from."""


class Replayed(NamedTuple):
    """What became of one dead letter: where it is now, or why it is nowhere but where it was."""

    place: Place
    message_id: str
    topic: str
    fate: Delivered | BraidError


class ReplayPage(NamedTuple):
    """What became of some dead letters, and where to go on; None at the end."""

    replayed: list[Replayed]
    next: Cursor | None


class DeadLetters:
    """The dead letters of all groups."""

    def __init__(self, catalog: Catalog, topics: OwnTopics, log: Log, delivery: Delivery) -> None:
        self._catalog = catalog
        self._topics = topics
        self._log = log
        self._delivery = delivery
        self._counts = dict.fromkeys(_COUNTERS, 0)

    async def page(
        self,
        group: str,
        *,
        chosen: DeadFilter | None = None,
        after: Cursor | None = None,
        limit: int = 100,
        instance: str = DEFAULT_INSTANCE,
    ) -> DeadPage:
        """The group's dead letters, the oldest first. A page may hold few or none although there are more: its reading
        is bounded. Raises InvalidName, DamagedLog."""
        topic = self._catalog.topic(instance, dead_letter_topic_name(group))
        if topic is None:
            return DeadPage([], None)
        chosen = chosen or DeadFilter()
        limit = min(max(limit, 1), PAGE_MAX)
        cursor = self._within(topic, after) if after else await self._enter(topic, 0, self._ends(topic), chosen)
        letters: list[DeadLetter] = []
        left_bytes = SCAN_BYTES
        while cursor is not None and left_bytes > 0 and len(letters) < limit:
            found, following, size_bytes = await self._scan(topic, cursor, chosen)
            left_bytes -= size_bytes
            for letter in found:
                if len(letters) == limit:
                    following = cursor._replace(next=letter.place)
                    break
                if chosen.matches(letter):
                    letters.append(letter)
            cursor = following
        return DeadPage(letters, cursor)

    async def replay(
        self,
        group: str,
        *,
        chosen: DeadFilter | None = None,
        to: ReplayTo = ReplayTo.GROUP,
        after: Cursor | None = None,
        limit: int = 100,
        instance: str = DEFAULT_INSTANCE,
    ) -> ReplayPage:
        """Append a page of dead letters anew, all in one append; the letters stay. Raises what `page` does."""
        page = await self.page(group, chosen=chosen, after=after, limit=limit, instance=instance)
        return ReplayPage(await self._append(instance, group, page.letters, to), page.next)

    async def replay_some(
        self,
        group: str,
        places: Sequence[Place],
        *,
        to: ReplayTo = ReplayTo.GROUP,
        instance: str = DEFAULT_INSTANCE,
    ) -> list[Replayed]:
        """Append these dead letters anew, in one append. One that is not there has UnknownMessage for its fate. Raises
        InvalidName, UnknownTopic for a group without dead letters, DamagedLog."""
        letters = await self.some(group, places, instance=instance)
        found = [each for each in letters.values() if isinstance(each, DeadLetter)]
        done = {each.place: each for each in await self._append(instance, group, found, to)}
        return [
            Replayed(place, "", "", each) if isinstance(each, UnknownMessage) else done[place]
            for place, each in letters.items()
        ]

    async def some(
        self, group: str, places: Sequence[Place], *, instance: str = DEFAULT_INSTANCE
    ) -> dict[Place, DeadLetter | UnknownMessage]:
        """The dead letters at these places. Raises what `replay_some` raises."""
        topic = self._topic(instance, group)
        letters: dict[Place, DeadLetter | UnknownMessage] = {}
        for place in dict.fromkeys(places):
            try:
                letters[place] = _letter(place.partition, await self._message(topic, place))
            except (UnknownMessage, UnknownPartition, OffsetOutOfRange) as error:
                letters[place] = UnknownMessage(error.message)
        return letters

    async def delete(self, group: str, last: Place, *, instance: str = DEFAULT_INSTANCE) -> int:
        """Forget the dead letters of a partition up to this one, with it; how many offsets that were. Raises
        InvalidName, UnknownTopic for a group without dead letters, UnknownPartition, OffsetOutOfRange."""
        number = _number(self._topic(instance, group), last.partition)
        before = self._log.bounds(number).start
        gone = max(0, await self._log.delete_records(number, last.offset + 1) - before)
        self._counts["deleted"] += gone
        return gone

    def metrics(self) -> Iterator[Metric]:
        """What became of dead letters on this node."""
        for name, text in _COUNTERS.items():
            yield Metric(f"braid_dead_letters_{name}", MetricKind.COUNTER, text, self._counts[name])

    # Reading.

    def _topic(self, instance: str, group: str) -> Topic:
        topic = self._catalog.topic(instance, dead_letter_topic_name(group))
        if topic is None:
            raise UnknownTopic(f"the group {group!r} has no dead letters")
        return topic

    def _ends(self, topic: Topic) -> tuple[int, ...]:
        return tuple(self._log.bounds(number).end for number in topic.partition_numbers)

    def _within(self, topic: Topic, cursor: Cursor) -> Cursor | None:
        """The cursor as far as the topic has what it speaks of."""
        ends = tuple(min(pair) for pair in zip(cursor.ends, self._ends(topic), strict=False))
        return cursor._replace(ends=ends) if 0 <= cursor.next.partition < len(ends) else None

    async def _enter(self, topic: Topic, partition: int, ends: tuple[int, ...], chosen: DeadFilter) -> Cursor | None:
        """Where the first letter of a partition can be that is not too old; behind the last partition, nowhere."""
        if partition >= len(ends):
            return None
        number = topic.partition_numbers[partition]
        offset = self._log.bounds(number).start
        if chosen.from_ms is not None:
            found = await self._log.offset_for_time(number, chosen.from_ms)
            offset = ends[partition] if found is None else found.offset
        return Cursor(Place(partition, offset), ends)

    async def _scan(
        self, topic: Topic, cursor: Cursor, chosen: DeadFilter
    ) -> tuple[list[DeadLetter], Cursor | None, int]:
        """The next letters, wanted or not; where to go on; and how much was read."""
        (partition, offset), end = cursor.next, cursor.ends[cursor.next.partition]
        number = topic.partition_numbers[partition]
        offset = max(offset, self._log.bounds(number).start)
        data = (await self._log.read(number, offset, READ_BYTES)).data if offset < end else b""
        letters: list[DeadLetter] = []
        for batch in batches_in(data):
            messages = () if batch.is_control else messages_of(batch, topic.name, partition)
            letters += [_letter(partition, each) for each in messages if offset <= each.offset < end]
            cursor = cursor._replace(next=Place(partition, batch.last_offset + 1))
        if data and cursor.next.offset < end:
            return letters, cursor, len(data)
        return letters, await self._enter(topic, partition + 1, cursor.ends, chosen), len(data)

    async def _message(self, topic: Topic, place: Place) -> Message:
        message = await message_at(self._log, _number(topic, place.partition), place.offset)
        return replace(message, topic=topic.name, partition=place.partition)

    # Replaying.

    async def _append(self, instance: str, group: str, letters: Sequence[DeadLetter], to: ReplayTo) -> list[Replayed]:
        targets = [await self._target(instance, group, letter, to) for letter in letters]
        parcels = [
            Parcel(target.id, -1, pack(_revived(letter, to)))
            for letter, target in zip(letters, targets, strict=True)
            if target is not None
        ]
        fates = iter(await self._delivery.deliver(parcels))
        replayed: list[Replayed] = []
        for letter, target in zip(letters, targets, strict=True):
            fate = _gone(letter) if target is None else next(fates)
            name = letter.topic if target is None else target.name
            replayed.append(Replayed(letter.place, letter.message.id or "", name, fate))
            self._counts["replayed" if isinstance(fate, Delivered) else "refused"] += 1
        return replayed

    async def _target(self, instance: str, group: str, letter: DeadLetter, to: ReplayTo) -> Topic | None:
        if to is ReplayTo.TOPIC:
            return self._catalog.topic(instance, letter.topic)
        return await own_topic(self._topics, instance, retry_topic_name(group))


_COUNTERS: Final = {
    "replayed": "Dead letters that were appended anew.",
    "refused": "Dead letters whose replay was refused, because their topic is gone or did not take them.",
    "deleted": "Dead letters that were deleted by operators.",
}


def _number(topic: Topic, partition: int) -> int:
    if not 0 <= partition < len(topic.partition_numbers):
        raise UnknownPartition(f"the topic {topic.name!r} has no partition {partition}")
    return topic.partition_numbers[partition]


def _letter(partition: int, message: Message) -> DeadLetter:
    properties = message.properties
    return DeadLetter(
        place=Place(partition, message.offset),
        message=message,
        topic=properties.get(DEAD_TOPIC_HEADER, ""),
        origin_id=properties.get(DEAD_ID_HEADER, ""),
        attempts=attempts_of(message),
        died_ms=message.born_ms,
    )


def _revived(letter: DeadLetter, to: ReplayTo) -> Message:
    """As it was before its first attempt, and with a word of where it comes from."""
    return letter.message.with_headers(
        {
            ATTEMPT_HEADER: None,
            DEAD_TOPIC_HEADER: None,
            DEAD_ID_HEADER: None,
            RETRY_TOPIC_HEADER: letter.topic if to is ReplayTo.GROUP else None,
            ORIGIN_ID_HEADER: letter.origin_id,
            REPLAY_HEADER: f"{letter.message.topic} {letter.place.partition} {letter.place.offset}",
        }
    )


def _gone(letter: DeadLetter) -> UnknownTopic:
    return UnknownTopic(f"there is no topic {letter.topic!r} any more" if letter.topic else "it came from no topic")
