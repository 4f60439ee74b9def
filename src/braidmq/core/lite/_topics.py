"""The topics behind lite topics: each is a topic of the catalog with one partition, made when it is first sent to.

A lite topic goes when its time without messages is over (`lite.topic.expiration` of its parent), or with its parent.
That is told from the log: when the last message came, so that a restart changes nothing. Whoever sends to one that is
going waits for its end and makes it anew, and none goes while something is being sent to it: what was answered as kept
is not taken away with what was old.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Final, NamedTuple

from braidmq.core.lite._words import LiteLimits
from braidmq.core.topics import Topics
from braidmq.log import Log
from braidmq.logger import get_logger
from braidmq.model import DEFAULT_INSTANCE, BraidError, Topic, TopicKind
from braidmq.model.errors import TooManyLiteTopics, UnknownTopic, WrongMessageKind
from braidmq.model.names import LiteName, lite_topic_name, read_lite_topic_name
from braidmq.model.topic_settings import (
    ALLOWS,
    LITE_EXPIRATION_MIN,
    PARTITIONS_READ,
    PARTITIONS_WRITE,
    ROCKETMQ,
    texts_of,
)
from braidmq.store import Catalog, Change, TopicChanged

OWN: Final = frozenset(
    setting.name for setting in (ALLOWS, LITE_EXPIRATION_MIN, PARTITIONS_READ, PARTITIONS_WRITE, ROCKETMQ)
)
"""What a topic says of itself, and not of its lite topics."""
TURN: Final = 100
"""After so many lite topics others have their turn."""

_logger = get_logger(__name__)


class _Seen(NamedTuple):
    """How far a lite topic went, and when its last message came."""

    end: int
    last_ms: int


class LiteTimes(NamedTuple):
    """When the last message of a lite topic came, None where it holds none; and when it goes if none follows, None
    where it stays."""

    last_ms: int | None
    ends_ms: int | None


class LiteTopics:
    """`on_change` is told of a lite topic that was made, or goes."""

    def __init__(
        self, catalog: Catalog, topics: Topics, log: Log, limits: LiteLimits, on_change: Callable[[LiteName], None]
    ) -> None:
        self._catalog = catalog
        self._topics = topics
        self._log = log
        self._limits = limits
        self._on_change = on_change
        self._by_parent: dict[str, set[str]] = {}
        self._making: Counter[str] = Counter()
        self._in_use: Counter[str] = Counter()
        self._going: dict[str, asyncio.Event] = {}
        """Those that are to go, by the names of their topics."""
        self._leaving: set[str] = set()
        """Those whose end is under way."""
        self._seen: dict[int, _Seen] = {}
        self.orphaned = asyncio.Event()
        """Set when a topic went and left lite topics behind."""
        for topic in catalog.topics():
            self._count(topic)
        self._unsubscribe = catalog.subscribe(self._heed)

    def close(self) -> None:
        self._unsubscribe()

    def __len__(self) -> int:
        return sum(map(len, self._by_parent.values()))

    def find(self, parent: str, lite: str) -> Topic | None:
        """The topic of a lite topic, once it is ready for messages. Raises InvalidLiteTopic."""
        return self._topics.find(lite_topic_name(parent, lite))

    def names(self, parent: str) -> list[str]:
        """The lite topics of a topic that are ready for messages."""
        return [lite for lite in self._by_parent.get(parent, ()) if self.find(parent, lite) is not None]

    def is_coming(self, parent: str, lite: str) -> bool:
        """Whether it is being made: it is in the catalog a moment before it can be read."""
        return lite in self._by_parent.get(parent, ()) and self.find(parent, lite) is None

    def owns(self, parent: Topic, number: int) -> bool:
        """Whether the partition is one of a lite topic of this topic."""
        partition = self._catalog.partition_by_number(number)
        topic = None if partition is None else self._catalog.topic_by_id(partition.topic_id)
        name = None if topic is None else read_lite_topic_name(topic.name)
        return name is not None and name.parent == parent.name

    @contextlib.asynccontextmanager
    async def used(self, parent: Topic, lite: str) -> AsyncIterator[Topic]:
        """The topic of a lite topic, made now where there is none; it stays while it is used. Raises InvalidLiteTopic,
        WrongMessageKind, TooManyLiteTopics, and the errors of log and store."""
        topic = await self._ensure(parent, lite)
        self._in_use[topic.name] += 1
        try:
            yield topic
        finally:
            self._in_use[topic.name] -= 1
            if not self._in_use[topic.name]:
                del self._in_use[topic.name]

    async def _ensure(self, parent: Topic, lite: str) -> Topic:
        if parent.kind is not TopicKind.LITE:
            raise WrongMessageKind(f"topic {parent.name} has no lite topics; make one of the kind lite for them")
        name = lite_topic_name(parent.name, lite)
        while (going := self._going.get(name)) is not None:
            await going.wait()
        topic = self._topics.find(name)
        return await self._make(parent, name) if topic is None else topic

    async def _make(self, parent: Topic, name: str) -> Topic:
        present = len(self._by_parent.get(parent.name, ())) + self._making[parent.name]
        if present >= self._limits.topics_max:
            raise TooManyLiteTopics(f"the topic {parent.name!r} has {present} lite topics (lite.topics_max)")
        self._making[parent.name] += 1
        try:
            return await self._topics.ensure_own(name, partitions=1, settings=_inherited(parent))
        finally:
            self._making[parent.name] -= 1

    # What exists.

    def _heed(self, change: Change) -> None:
        if not isinstance(change, TopicChanged):
            return
        topic = change.new or change.old
        if topic is None or topic.instance != DEFAULT_INSTANCE:
            return
        is_there = change.new is not None and not change.new.deleting
        if (name := read_lite_topic_name(topic.name)) is not None:
            self._note(topic, name, is_there=is_there)
        elif not is_there and topic.name in self._by_parent:
            for lite in self._by_parent[topic.name]:
                self._condemn(lite_topic_name(topic.name, lite))
            self.orphaned.set()

    def _count(self, topic: Topic) -> None:
        name = read_lite_topic_name(topic.name)
        if name is not None and topic.instance == DEFAULT_INSTANCE:
            self._by_parent.setdefault(name.parent, set()).add(name.lite)

    def _note(self, topic: Topic, name: LiteName, *, is_there: bool) -> None:
        if is_there:
            self._count(topic)
        elif self._catalog.topic(DEFAULT_INSTANCE, topic.name) is None:
            lites = self._by_parent.get(name.parent, set())
            lites.discard(name.lite)
            if not lites:
                self._by_parent.pop(name.parent, None)
            for number in topic.partition_numbers:
                self._seen.pop(number, None)
            if (going := self._going.pop(topic.name, None)) is not None:
                going.set()
        self._on_change(name)

    # Going.

    async def delete(self, topic: Topic) -> None:
        """It goes now, whatever its time; whoever sends to it from now on makes it anew. Raises UnknownTopic."""
        if not await self._remove(topic):
            raise UnknownTopic(f"the lite topic {topic.name!r} is gone already")

    async def times(self, topic: Topic, parent: Topic, now_ms: int) -> LiteTimes:
        """Of a lite topic of the parent. Raises UnknownPartition, and the log's errors."""
        number = topic.partition_numbers[0]
        seen, minutes = await self._last(number, now_ms), LITE_EXPIRATION_MIN.read(parent.settings)
        start, _, end = self._log.bounds(number)
        is_kept = minutes < 0 or parent.kind is not TopicKind.LITE
        return LiteTimes(
            last_ms=None if start == end else seen.last_ms, ends_ms=None if is_kept else seen.last_ms + minutes * 60_000
        )

    async def tend(self, now_ms: int) -> int:
        """Take away lite topics whose time is over or whose parent is gone, and give the others what their parents are
        set to; how many went. What fails is tried again the next time."""
        self.orphaned.clear()
        gone = 0
        for place, name in enumerate(self._all()):
            if place % TURN == 0:
                await asyncio.sleep(0)
            try:
                gone += await self._look_at(name, now_ms)
            except BraidError as error:
                _logger.warning("a lite topic could not be looked after", topic=name, reason=error.message)
        return gone

    def _all(self) -> Iterator[str]:
        for parent, lites in list(self._by_parent.items()):
            for lite in list(lites):
                yield lite_topic_name(parent, lite)

    async def _look_at(self, name: str, now_ms: int) -> bool:
        topic, called = self._topics.find(name), read_lite_topic_name(name)
        if topic is None or called is None:
            return False
        parent = self._topics.find(called.parent)
        if name in self._going or parent is None or await self._is_over(topic, parent, now_ms):
            return await self._remove(topic)
        wanted = _inherited(parent)
        if texts_of(topic) != wanted and parent.kind is TopicKind.LITE:
            await self._topics.configure(topic, lambda _: wanted)
        return False

    async def _is_over(self, topic: Topic, parent: Topic, now_ms: int) -> bool:
        minutes = LITE_EXPIRATION_MIN.read(parent.settings)
        if minutes < 0 or parent.kind is not TopicKind.LITE:
            return False
        seen = await self._last(topic.partition_numbers[0], now_ms)
        if now_ms - seen.last_ms < minutes * 60_000:
            return False
        return not self._in_use[topic.name] and self._log.bounds(topic.partition_numbers[0]).end == seen.end

    async def _last(self, number: int, now_ms: int) -> _Seen:
        """When the last message came; for one that holds none, when that was first seen. A time that is yet to come is
        now."""
        end = self._log.bounds(number).end
        seen = self._seen.get(number)
        if seen is None or seen.end != end:
            latest = await self._log.latest_record(number)
            last_ms = now_ms if latest is None else min(latest.timestamp_ms, now_ms)
            seen = self._seen[number] = _Seen(end, last_ms)
        return seen

    def _condemn(self, name: str) -> asyncio.Event:
        return self._going.setdefault(name, asyncio.Event())

    async def _remove(self, topic: Topic) -> bool:
        if topic.name in self._leaving:
            return False  # who began it ends it, and tells those who wait
        going = self._condemn(topic.name)
        self._leaving.add(topic.name)
        try:
            await self._topics.delete(topic)
        except UnknownTopic:
            return False  # somebody else has deleted it
        finally:
            self._leaving.discard(topic.name)
            self._going.pop(topic.name, None)
            going.set()
        _logger.info("a lite topic is gone", topic=topic.name)
        return True


def _inherited(parent: Topic) -> Mapping[str, str]:
    """What a lite topic has from its parent."""
    return {name: text for name, text in texts_of(parent).items() if name not in OWN}
