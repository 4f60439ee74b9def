"""Which partitions a receiver is served from, and in which order: those of its topic in turn, and with them the one by
which messages come back to its group."""

from typing import Protocol
from uuid import UUID

from braidmq.core.cursors._parts import Part, Readers, own_retry_name, parts_of, watched_numbers
from braidmq.core.cursors._words import Ask
from braidmq.log import Log
from braidmq.model import Topic, TopicKind
from braidmq.model.errors import UnknownPartition


class Topics(Protocol):
    """What exists; see `store.Catalog`."""

    def topic(self, instance: str, name: str) -> Topic | None: ...


class Reach:
    """Remembers whose turn it was."""

    def __init__(self, topics: Topics, log: Log, readers: Readers | None) -> None:
        self._topics = topics
        self._log = log
        self._readers = readers
        self._turns: dict[tuple[str, UUID], int] = {}

    def in_turn(self, ask: Ask) -> list[Part]:
        """The partitions that a receiver may have messages of, another one first each time; in a topic of priorities
        what came back, and then always the highest. Raises UnknownPartition."""
        parts = self.parts(ask)
        if len(parts) == 1:
            return parts
        if ask.topic.kind is TopicKind.PRIORITY:
            return parts[::-1]
        key = (ask.group, ask.topic.id)
        first = self._turns[key] = (self._turns.get(key, -1) + 1) % len(parts)
        return parts[first:] + parts[:first]

    def parts(self, ask: Ask) -> list[Part]:
        """The same in no particular order. Raises UnknownPartition."""
        return parts_of(ask, self._retry_topic(ask))

    def watched(self, ask: Ask) -> tuple[int, ...]:
        """Where something may come that this receiver may have."""
        return watched_numbers(ask.topic, self._retry_topic(ask))

    def numbers(self, group: str, topic: Topic) -> tuple[int, ...]:
        """The partitions that receivers of the topic may be given messages of."""
        return watched_numbers(topic, self._topics.topic(topic.instance, own_retry_name(group)))

    def parts_to_be(self, ask: Ask) -> list[Part] | None:
        """As `parts`; None while a topic by which messages come back is being made, which is in the catalog a moment
        before it is in the log. Raises UnknownPartition."""
        topic = self._wanted_retry_topic(ask)
        return parts_of(ask, topic) if topic is None or self._is_in_log(topic) else None

    def _retry_topic(self, ask: Ask) -> Topic | None:
        """The topic by which messages come back to the group, where this receiver is to have its share of them."""
        topic = self._wanted_retry_topic(ask)
        return topic if topic is not None and self._is_in_log(topic) else None

    def _wanted_retry_topic(self, ask: Ask) -> Topic | None:
        name = own_retry_name(ask.group)
        if not ask.with_retries or ask.topic.name == name:
            return None
        if self._readers is not None and self._readers.reads(ask.group, name):
            return None
        topic = self._topics.topic(ask.topic.instance, name)
        return None if topic is None or topic.deleting else topic

    def _is_in_log(self, topic: Topic) -> bool:
        try:
            self._log.bounds(topic.partition_numbers[-1])
        except UnknownPartition:
            return False
        return True
