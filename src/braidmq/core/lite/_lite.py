"""The service: sending to lite topics, subscribing to them, and receiving from all that one subscribes to.

A receiver asks its topic, and is given messages of the lite topics that it reads at that moment, of each in order: no
further one while one of them is with a receiver of the group. Each lite topic is a place of its own to the group, so
that its progress, its retries and its dead letters are those of any topic.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from braidmq.core.cursors import Ask, Cursors, Delivered, wait_for_news
from braidmq.core.groups import Groups
from braidmq.core.lite._positions import Position, PositionKind, offset_at
from braidmq.core.lite._scope import Scope
from braidmq.core.lite._subscriptions import OnTaken, Reader, Subscriptions
from braidmq.core.lite._topics import LiteTopics
from braidmq.core.lite._words import LiteLimits
from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.publish import Published, Publisher
from braidmq.core.timing import Clock
from braidmq.core.topics import Topics
from braidmq.log import GroupOffset, Log
from braidmq.logger import get_logger
from braidmq.model import DEFAULT_INSTANCE, Group, Message, Topic, TopicKind
from braidmq.model.errors import InvalidGroup, UnknownPartition, WrongMessageKind
from braidmq.model.group_settings import LITE_BIND_TOPIC, is_lite_exclusive, lite_quota
from braidmq.model.names import LiteName, lite_topic_name
from braidmq.store import Catalog

LOOKED_AT: Final = 64
"""How many lite topics are looked at before others have their turn."""

_logger = get_logger(__name__)


class Lite:
    """Made by the node; `start` begins to look after lite topics whose time is over."""

    def __init__(
        self,
        catalog: Catalog,
        topics: Topics,
        log: Log,
        publisher: Publisher,
        cursors: Cursors,
        groups: Groups,
        clock: Clock,
        *,
        limits: LiteLimits | None = None,
        check_interval_s: float = 60.0,
    ) -> None:
        self.limits = limits or LiteLimits()
        self._catalog = catalog
        self._log = log
        self._publisher = publisher
        self._cursors = cursors
        self._groups = groups
        self._clock = clock
        self._check_interval_s = check_interval_s
        self._subscriptions = Subscriptions(self._spoil)
        self._scopes: dict[str, Scope] = {}
        self.topics = LiteTopics(catalog, topics, log, self.limits, self._changed)
        self._gone = 0
        self._tending: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._tending = asyncio.create_task(self._tend_always(), name="lite topics")

    async def close(self) -> None:
        self.topics.close()
        if self._tending is not None:
            self._tending.cancel()
            await asyncio.wait((self._tending,))

    # Sending.

    async def send(self, parent: Topic, lite: str, message: Message) -> Published:
        """Kept when this returns; the lite topic is made where there is none. Raises InvalidLiteTopic,
        WrongMessageKind, TooManyLiteTopics, what `Publisher.publish` raises, and the errors of log and store."""
        async with self.topics.used(parent, lite) as topic:
            return await self._publisher.published(topic, (message,), partition=0)

    # Subscribing.

    def quota(self, group: str) -> int:
        """How many lite topics a reader of the group may subscribe to."""
        return lite_quota(self._group(group).settings, self.limits.subscriptions_max)

    async def add(self, reader: Reader, names: Sequence[str], on_taken: OnTaken, at: Position | None = None) -> None:
        """The reader reads these, too; from the position on where one is given. `on_taken` tells it of one that another
        takes over. Raises InvalidLiteTopic, InvalidGroup, InvalidRequest, WrongMessageKind, UnknownTopic,
        TooManyLiteSubscriptions, and the log's errors."""
        checked, quota = self._checked(reader, names), self.quota(reader.group)
        if at is not None and at.kind is not PositionKind.LAST:
            for name in self._subscriptions.missing(reader, checked, quota):
                await self._move(reader, name, at)
        is_exclusive = is_lite_exclusive(self._group(reader.group).settings)
        self._subscriptions.add(reader, checked, on_taken, quota=quota, is_exclusive=is_exclusive)

    def remove(self, reader: Reader, names: Sequence[str], on_taken: OnTaken) -> None:
        """The reader reads these no more. Raises what `add` does."""
        self._subscriptions.remove(reader, self._checked(reader, names), on_taken)

    def replace(self, reader: Reader, names: Sequence[str], on_taken: OnTaken) -> None:
        """The reader reads these and no others. Raises what `add` does."""
        is_exclusive = is_lite_exclusive(self._group(reader.group).settings)
        checked = self._checked(reader, names)
        quota = self.quota(reader.group)
        self._subscriptions.replace(reader, checked, on_taken, quota=quota, is_exclusive=is_exclusive)

    def forget(self, client: str) -> None:
        """The client is gone, and reads nothing."""
        self._subscriptions.forget(client)
        if (scope := self._scopes.pop(client, None)) is not None:
            scope.renew(())

    def _checked(self, reader: Reader, names: Sequence[str]) -> Sequence[str]:
        bound = self._group(reader.group).settings.get(LITE_BIND_TOPIC, reader.parent)
        if bound != reader.parent:
            raise InvalidGroup(
                f"the group {reader.group!r} reads lite topics of {bound!r}, and not of {reader.parent!r}",
                fix=f"Take another group, or change {LITE_BIND_TOPIC} of this one.",
            )
        for name in names:
            lite_topic_name(reader.parent, name)
        return names

    def _group(self, name: str) -> Group:
        return self._catalog.group(DEFAULT_INSTANCE, name) or Group(name=name)

    async def _move(self, reader: Reader, name: str, at: Position) -> None:
        """Let the group go on there; in a lite topic that does not exist yet there is nothing to pass over."""
        topic = self.topics.find(reader.parent, name)
        if topic is None:
            return
        number = topic.partition_numbers[0]
        committed = self._groups.offsets(reader.group).get(number)
        offset = await offset_at(self._log, number, None if committed is None else committed.offset, at)
        if offset is not None:
            moved = {number: GroupOffset(offset)}
            await self._groups.commit(reader.group, None, moved, client=reader.client, is_progress=False)

    # Receiving.

    async def receive(self, ask: Ask, *, wait_s: float = 0.0) -> list[Delivered]:
        """As `Cursors.receive`, of the lite topics that the client reads under the topic that it asks. Raises
        WrongMessageKind for a topic without lite topics, InvalidRequest for one that the client is not bound to, and
        what `Cursors.receive` raises."""
        if ask.topic.kind is not TopicKind.LITE:
            raise WrongMessageKind(f"topic {ask.topic.name} has no lite topics")
        self._subscriptions.check(_reader(ask))
        if again := self._cursors.again(ask):
            return again
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        scope = self._scope(ask)
        while True:
            scope.news.clear()
            if scope.is_stale:
                self._renew(scope, ask)
            batch = await self._look(scope, ask)
            left_s = deadline - loop.time()
            if batch or left_s <= 0:
                return batch
            await wait_for_news(scope.news, min(left_s, scope.due_s))

    def _scope(self, ask: Ask) -> Scope:
        scope = self._scopes.get(ask.client)
        if scope is not None and scope.group == ask.group:
            return scope
        if scope is not None:
            scope.renew(())  # it hears of nothing any more
        scope = self._scopes[ask.client] = Scope(self._cursors, ask.group)
        return scope

    def _renew(self, scope: Scope, ask: Ask) -> None:
        names = self._subscriptions.names(_reader(ask))
        topics = [self.topics.find(ask.topic.name, name) for name in names]
        scope.renew([topic for topic in topics if topic is not None])
        scope.is_stale = any(self.topics.is_coming(ask.topic.name, name) for name in names)

    async def _look(self, scope: Scope, ask: Ask) -> list[Delivered]:
        """Messages, where there are some: not all lite topics are asked, but those that may have one, a few at a
        time."""
        while numbers := scope.take(LOOKED_AT):
            asks = [
                replace(ask, topic=scope.topics[number], is_ordered=True, is_single_file=True) for number in numbers
            ]
            try:
                batch = await self._cursors.receive_any(asks)
            except UnknownPartition:
                self._spoil(ask.client)  # one of them has just gone
                return []
            except BaseException:  # whoever gave up has not looked at them
                scope.put_back(numbers, (), is_full=True)
                raise
            if batch:
                scope.put_back(numbers, batch, is_full=_is_full(ask, batch))
                return batch
            await asyncio.sleep(0)
        return []

    def _spoil(self, client: str) -> None:
        """What the client reads has changed; it looks again."""
        if (scope := self._scopes.get(client)) is not None:
            scope.spoil()

    # Looking at.

    def readers(self, parent: str, lite: str) -> list[Reader]:
        """Who reads a lite topic at this node, whether it exists or not."""
        return self._subscriptions.readers(parent, lite)

    def subscribed(self, parent: str) -> list[tuple[str, Reader]]:
        """Every lite topic of a topic that somebody reads at this node, with each of its readers."""
        return self._subscriptions.under(parent)

    # Looking after.

    async def tend(self, now_ms: int) -> int:
        """Take away what has expired by this time; how many went."""
        gone = await self.topics.tend(now_ms)
        self._gone += gone
        return gone

    async def _tend_always(self) -> None:
        while True:
            await _passed(self.topics.orphaned, self._check_interval_s)
            try:
                await self.tend(self._clock.now_ms())
            except Exception:  # told to the operator; what did not go is there for the next look
                _logger.exception("lite topics could not be looked after")

    def _changed(self, name: LiteName) -> None:
        self._subscriptions.tell(name.parent, name.lite)

    def metrics(self) -> Iterator[Metric]:
        """How many there are."""
        yield Metric("braid_lite_topics", MetricKind.GAUGE, "Lite topics.", len(self.topics))
        gone = "Lite topics that expired, or went with their topic."
        yield Metric("braid_lite_topics_gone", MetricKind.COUNTER, gone, self._gone)
        count = len(self._subscriptions)
        yield Metric("braid_lite_subscriptions", MetricKind.GAUGE, "Lite topics that readers subscribe to.", count)


def _reader(ask: Ask) -> Reader:
    return Reader(client=ask.client, group=ask.group, parent=ask.topic.name)


def _is_full(ask: Ask, batch: Sequence[Delivered]) -> bool:
    """Whether more may be there than was given."""
    size_bytes = sum(len(delivered.record.value or b"") for delivered in batch)
    return len(batch) >= ask.count_max or size_bytes >= ask.bytes_max


async def _passed(event: asyncio.Event, timeout_s: float) -> None:
    """When the event is set, or the time is over."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
