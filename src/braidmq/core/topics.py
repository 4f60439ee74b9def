"""Topics as users see them: made, grown, changed and deleted in catalog and log together.

The catalog decides. A topic is in the catalog before it is in the log, and its deletion is begun there before data
goes: a node that stopped in between finishes at its next start.
"""

from collections.abc import Mapping

from braidmq.log import Log
from braidmq.model import DEFAULT_INSTANCE, DEFAULT_RETENTION_MS, Topic, TopicKind
from braidmq.model.errors import AlreadyExists, UnknownTopic
from braidmq.store import Catalog


class Topics:
    """The topics of one node. `partitions` is how many a topic gets when nobody says."""

    def __init__(self, catalog: Catalog, log: Log, *, partitions: int, auto_create: bool) -> None:
        self._catalog = catalog
        self._log = log
        self.partitions = partitions
        self.auto_create = auto_create

    async def ensure(self, name: str, *, instance: str = DEFAULT_INSTANCE) -> Topic:
        """The topic of this name, made now if the settings allow it. Raises UnknownTopic, InvalidName."""
        if (topic := self._catalog.topic(instance, name)) is not None:
            return topic
        if not self.auto_create:
            raise UnknownTopic(
                f"there is no topic {name!r}, and topics are not made by being used (topics.auto_create)"
            )
        try:
            return await self.create(name, partitions=self.partitions, instance=instance)
        except AlreadyExists:
            # Another client asked at the same time; the log has its partitions a moment after the catalog.
            if (topic := self._catalog.topic(instance, name)) is None:
                raise
            await self._log.create_topic(topic)
            return topic

    async def create(
        self,
        name: str,
        *,
        partitions: int,
        instance: str = DEFAULT_INSTANCE,
        kind: TopicKind = TopicKind.MIXED,
        retention_ms: int = DEFAULT_RETENTION_MS,
        retention_bytes: int = -1,
        settings: Mapping[str, str] | None = None,
    ) -> Topic:
        """Ready for messages when this returns. Raises InvalidName, InvalidPartitions, InvalidSetting,
        AlreadyExists."""
        topic = await self._catalog.create_topic(
            name,
            partitions=partitions,
            instance=instance,
            kind=kind,
            retention_ms=retention_ms,
            retention_bytes=retention_bytes,
            settings=settings,
        )
        await self._log.create_topic(topic)
        return topic

    async def expand(self, topic: Topic, partitions: int) -> Topic:
        """Grow to this number of partitions. Raises UnknownTopic, InvalidPartitions."""
        grown = await self._catalog.expand_topic(topic.id, partitions)
        await self._log.expand_topic(grown)
        return grown

    async def delete(self, topic: Topic) -> None:
        """The name is free at once; the data goes. Raises UnknownTopic."""
        await self._catalog.begin_topic_deletion(topic.id)
        await self._log.delete_topic(topic.id)
        await self._catalog.finish_topic_deletion(topic.id)
