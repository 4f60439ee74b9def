"""Sending back: a message that was delivered in vain is given to its group again, later and later, and at last no more.

One idea: the next attempt is a copy of the message in a topic of the group's own, so that no other group sees it and
the partition that it came from goes on. Until its time the copy is a timer. It is kept, or in its topic, before whoever
sent it back is answered; one who was not answered and sends it back again makes a second copy, with the same id.

What a message says about its attempts counts only in the group's own retry topic, where we wrote it: from every other
topic, another group's dead letters among them, it begins anew.
"""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from msgspec.structs import replace

from braidmq.core.lookup import message_at
from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.timers import Timers
from braidmq.core.timing import Clock
from braidmq.core.trace import UNTRACED, Tracer
from braidmq.log import Log
from braidmq.model import (
    ATTEMPT_HEADER,
    DEAD_ID_HEADER,
    DEAD_TOPIC_HEADER,
    DEFAULT_INSTANCE,
    ID_HEADER,
    ORIGIN_ID_HEADER,
    RETRY_TOPIC_HEADER,
    Group,
    Message,
    Partition,
    Topic,
    TraceKind,
    dead_letter_topic_name,
    retry_topic_name,
)
from braidmq.model.errors import UnknownPartition
from braidmq.model.group_settings import retry_steps_ms
from braidmq.model.numbers import whole_number
from braidmq.model.topic_settings import MAX_MESSAGE_BYTES

OWN_TOPIC_SETTINGS: Final = {MAX_MESSAGE_BYTES.name: str(2**31 - 1)}
"""What its own topic took must not be refused by the topics of a group, where it has some headers more."""


class Catalog(Protocol):
    """What exists; see `store.Catalog`."""

    def partition_by_number(self, number: int) -> Partition | None: ...

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...

    def group(self, instance: str, name: str) -> Group | None: ...


class OwnTopics(Protocol):
    """Who makes topics that are needed; see `core.topics.Topics`."""

    async def ensure_own(
        self, name: str, *, partitions: int | None, instance: str, settings: Mapping[str, str]
    ) -> Topic: ...


class SentBack(NamedTuple):
    """What became of a message that was sent back."""

    attempt: int
    """How often it was delivered in vain by now."""
    dead: bool
    topic: str
    """Where it comes to: the group's retry topic, or its dead letters."""
    message_id: str


class Retries:
    """Takes messages that were delivered in vain."""

    def __init__(
        self,
        catalog: Catalog,
        topics: OwnTopics,
        log: Log,
        timers: Timers,
        clock: Clock,
        *,
        tracer: Tracer = UNTRACED,
    ) -> None:
        self._catalog = catalog
        self._topics = topics
        self._log = log
        self._timers = timers
        self._clock = clock
        self._tracer = tracer
        self._under_way: dict[tuple[str, int, int], asyncio.Task[SentBack]] = {}
        self._counts = dict.fromkeys(_COUNTERS, 0)

    async def send_back(
        self,
        group: str,
        number: int,
        offset: int,
        *,
        delay_ms: int | None = None,
        attempts_max: int | None = None,
        attempts: int | None = None,
        origin_id: str = "",
    ) -> SentBack:
        """Let the group have the message at this place again: after the step of its policy, or after `delay_ms`. With
        a negative delay, and behind the last attempt, it goes to the dead letters. `attempts` is how often it was
        delivered in vain, this time with it, for those who count that themselves.

        Kept when this returns, and brought to its end when the caller has gone. Saying it again while it is under way
        is saying it once. Raises UnknownPartition, OffsetOutOfRange, UnknownMessage, InvalidName for a group that
        cannot have such topics, and the errors of log and store.
        """
        task = self._under_way.get((group, number, offset))
        if task is None:
            work = self._send_back(group, number, offset, delay_ms, attempts_max, attempts, origin_id)
            task = self._begin((group, number, offset), work)
        return await asyncio.shield(task)

    async def accept(
        self,
        group: str,
        message: Message,
        *,
        attempts: int,
        attempts_max: int | None = None,
        delay_ms: int | None = None,
        instance: str = DEFAULT_INSTANCE,
    ) -> SentBack:
        """As `send_back`, of a message that the consumer brings itself; `attempts` is how often it was delivered in
        vain, this time with it."""
        brought_ms = self._clock.now_ms()
        sent = await self._forward(instance, group, message, max(attempts, 0), delay_ms, attempts_max)
        self._counts["brought"] += 1
        if not sent.dead:
            topic = await self.retry_topic(group, instance=instance)
            self._tracer.note(
                TraceKind.RETRIED,
                sent.message_id,
                topic_id=topic.id,
                topic=topic.name,
                group=group,
                value=sent.attempt,
                at_ms=brought_ms,
                is_pressure=message.is_pressure,
            )
        return sent

    async def retry_topic(self, group: str, *, instance: str = DEFAULT_INSTANCE) -> Topic:
        """The topic that the group's messages come back by, made now if it is not there. Raises InvalidName."""
        return await own_topic(self._topics, instance, retry_topic_name(group))

    def steps_ms(self, instance: str, group: str) -> tuple[int, ...]:
        """How long messages of the group wait, from attempt to attempt."""
        found = self._catalog.group(instance, group)
        return retry_steps_ms({} if found is None else found.settings)

    async def close(self) -> None:
        """Finishes what is under way."""
        if self._under_way:
            await asyncio.wait(self._under_way.values())

    def metrics(self) -> Iterator[Metric]:
        """What was sent back on this node."""
        for name, text in _COUNTERS.items():
            yield Metric(f"braid_retries_{name}", MetricKind.COUNTER, text, self._counts[name])

    def _begin(self, place: tuple[str, int, int], work: Coroutine[Any, Any, SentBack]) -> "asyncio.Task[SentBack]":
        def ended(task: "asyncio.Task[SentBack]") -> None:
            del self._under_way[place]
            if not task.cancelled():
                task.exception()  # Its callers heard of it, or are gone and do not want to.

        task = self._under_way[place] = asyncio.create_task(work)
        task.add_done_callback(ended)
        return task

    async def _send_back(
        self,
        group: str,
        number: int,
        offset: int,
        delay_ms: int | None,
        attempts_max: int | None,
        counted: int | None,
        origin_id: str,
    ) -> SentBack:
        partition, topic = self._place_of(number)
        own_name = retry_topic_name(group)
        message = await message_at(self._log, number, offset)
        if topic.name == own_name:
            attempts = attempts_of(message)
        else:
            attempts = 0
            if message.id is None:  # the same whenever it is sent back, so that copies are known for what they are
                message = message.with_headers({ID_HEADER: origin_id or f"{number}-{offset}"})
            message = message.with_headers({RETRY_TOPIC_HEADER: topic.name, ORIGIN_ID_HEADER: origin_id or message.id})
        attempt = attempts + 1 if counted is None else counted
        begun_ms = self._clock.now_ms()
        sent = await self._forward(topic.instance, group, message, attempt, delay_ms, attempts_max)
        self._counts["sent_back"] += 1
        if not sent.dead:
            self._tracer.note(
                TraceKind.RETRIED,
                sent.message_id,
                topic_id=topic.id,
                topic=topic.name,
                partition=partition.index,
                offset=offset,
                group=group,
                value=sent.attempt,
                at_ms=begun_ms,
                is_pressure=message.is_pressure,
            )
        return sent

    async def _forward(
        self,
        instance: str,
        group: str,
        message: Message,
        attempt: int,
        delay_ms: int | None,
        attempts_max: int | None,
    ) -> SentBack:
        """Keep the next attempt, or the dead letter."""
        message = replace(message, topic="", partition=-1, offset=-1).with_headers({ATTEMPT_HEADER: str(attempt)})
        if attempt > self._attempts_max(instance, group, attempts_max) or (delay_ms is not None and delay_ms < 0):
            return await self._bury(instance, group, message, attempt)
        topic = await own_topic(self._topics, instance, retry_topic_name(group))
        if delay_ms is None:
            steps_ms = self.steps_ms(instance, group)
            delay_ms = steps_ms[min(max(attempt, 1), len(steps_ms)) - 1]
        due_ms = self._clock.now_ms() + min(delay_ms, self._timers.delay_max_ms)
        taken = await self._timers.add(topic, message, due_ms)
        return SentBack(attempt, dead=False, topic=topic.name, message_id=taken.message_id)

    async def _bury(self, instance: str, group: str, message: Message, attempt: int) -> SentBack:
        topic = await own_topic(self._topics, instance, dead_letter_topic_name(group))
        properties = message.properties
        origin = {
            DEAD_TOPIC_HEADER: properties.get(RETRY_TOPIC_HEADER, ""),
            DEAD_ID_HEADER: properties.get(ORIGIN_ID_HEADER) or message.id,
        }
        taken = await self._timers.add(topic, message.with_headers(origin), self._clock.now_ms())
        self._counts["dead"] += 1
        if taken.delivered is not None:
            self._tracer.note(
                TraceKind.DEAD_LETTERED,
                taken.message_id,
                topic_id=topic.id,
                topic=topic.name,
                partition=taken.delivered.partition,
                offset=taken.delivered.offset,
                group=group,
                value=attempt,
                is_pressure=message.is_pressure,
            )
        return SentBack(attempt, dead=True, topic=topic.name, message_id=taken.message_id)

    def _attempts_max(self, instance: str, group: str, wanted: int | None) -> int:
        """As asked; as the group says; or as groups are when nobody says."""
        if wanted is not None and wanted >= 0:
            return wanted
        return (self._catalog.group(instance, group) or Group(name=group)).attempts_max

    def _place_of(self, number: int) -> tuple[Partition, Topic]:
        partition = self._catalog.partition_by_number(number)
        topic = None if partition is None else self._catalog.topic_by_id(partition.topic_id)
        if partition is None or topic is None or topic.deleting:
            raise UnknownPartition(f"there is no partition number {number}")
        return partition, topic


_COUNTERS: Final = {
    "sent_back": "Messages that consumers sent back by their place.",
    "brought": "Messages that consumers brought back themselves.",
    "dead": "Messages that went to dead letters.",
}


async def own_topic(topics: OwnTopics, instance: str, name: str) -> Topic:
    """A group's own topic, made when it is needed first."""
    return await topics.ensure_own(name, partitions=1, instance=instance, settings=OWN_TOPIC_SETTINGS)


def attempts_of(message: Message) -> int:
    """How often the message was delivered in vain, as it says itself; 0 where it says nothing that can be read."""
    return whole_number(message.properties.get(ATTEMPT_HEADER, "")) or 0
