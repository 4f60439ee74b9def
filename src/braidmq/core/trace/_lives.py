"""A message's whole life on one timeline, by its id or by its key: what the node noted, what the log and the index
know, and what clients themselves have told.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Protocol
from uuid import UUID

from braidmq.core.trace._timeline import Stored, Timelines, in_order
from braidmq.model import DEFAULT_INSTANCE, Message, Topic, TraceEvent
from braidmq.model.names import DEAD_LETTER_TOPIC_PREFIX, RETRY_TOPIC_PREFIX

_OF_GROUPS: Final = (RETRY_TOPIC_PREFIX, DEAD_LETTER_TOPIC_PREFIX)
MESSAGES_MAX: Final = 32
"""How many messages of one key are told of, and how many copies of one message."""


class Query(Protocol):
    """Where messages are found; see `core.query.Query`."""

    async def by_id(self, topic: Topic, id: str, limit: int = MESSAGES_MAX) -> list[Message]: ...

    async def by_key(self, topic: Topic, key: str, *, limit: int = MESSAGES_MAX) -> list[Message]: ...


class Catalog(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def topics(self) -> list[Topic]: ...

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...


class Witness(Protocol):
    """Somebody else who knows of messages: a protocol whose clients tell what they do."""

    async def events(self, message_id: str) -> Sequence[TraceEvent]: ...


class Lives:
    """Tells the lives of messages."""

    def __init__(self, timelines: Timelines, query: Query, catalog: Catalog) -> None:
        self._timelines = timelines
        self._query = query
        self._catalog = catalog
        self._witnesses: list[Witness] = []

    def hear(self, witness: Witness) -> None:
        """Ask this witness, too."""
        self._witnesses.append(witness)

    async def by_id(
        self, message_id: str, *, topic: Topic | None = None, instance: str = DEFAULT_INSTANCE
    ) -> list[TraceEvent]:
        """All that is known of a message of the instance, or of that of the topic, in order. Without a topic it is
        looked for in all of the instance. Raises IndexOff, StoreFailed."""
        instance = instance if topic is None else topic.instance
        topics = self._within(instance) if topic is None else self._around(topic)
        places = [
            Stored(each.id, message.partition, message.offset)
            for each in topics
            for message in await self._query.by_id(each, message_id)
        ]
        events = self._of_instance(await self._timelines.timeline(message_id, places), instance)
        if instance == DEFAULT_INSTANCE:  # whose clients the witnesses are
            for witness in self._witnesses:
                events += await witness.events(message_id)
        return in_order(events)

    async def by_key(self, topic: Topic, key: str) -> dict[str, list[TraceEvent]]:
        """The lives of the messages with this key, by their ids, the newest first. Raises IndexOff, StoreFailed."""
        found = await self._query.by_key(topic, key, limit=MESSAGES_MAX)
        ids = dict.fromkeys([message.id for message in found if message.id] + await self._timelines.ids(key))
        lives = {each: await self.by_id(each, topic=topic) for each in list(ids)[:MESSAGES_MAX]}
        return {each: events for each, events in lives.items() if events}

    def _within(self, instance: str) -> list[Topic]:
        return [each for each in self._catalog.topics() if each.instance == instance]

    def _around(self, topic: Topic) -> Iterable[Topic]:
        """The topic, and those of groups of its instance, where copies of its messages may lie."""
        others = self._within(topic.instance)
        return [topic, *(each for each in others if each.name.startswith(_OF_GROUPS) and each.id != topic.id)]

    def _of_instance(self, events: Sequence[TraceEvent], instance: str) -> list[TraceEvent]:
        """Without what happened in topics of other instances. What names no topic that is there is told where the
        message is known; where it is known nowhere, in the default instance."""
        places = [self._instance(event) for event in events]
        if instance not in places and (instance != DEFAULT_INSTANCE or any(places)):
            return []
        return [event for event, place in zip(events, places, strict=True) if place in (None, instance)]

    def _instance(self, event: TraceEvent) -> str | None:
        topic = None if event.topic_id is None else self._catalog.topic_by_id(event.topic_id)
        return None if topic is None else topic.instance
