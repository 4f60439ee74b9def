"""What tests of the query index share: topics without a store, and messages that can be found."""

import asyncio
from collections.abc import Callable
from uuid import UUID, uuid4

from braidmq.core.query import IndexLimits, Query
from braidmq.core.query._indexer import Indexer
from braidmq.log import Appended
from braidmq.log.embedded import Disk
from braidmq.log.memory import MemoryLog
from braidmq.model import Message, Partition, Topic
from braidmq.records import batch_messages
from braidmq.store import Change, TopicChanged

SMALL = IndexLimits(range_entries=64, share=1.0)


class Topics:
    """As much of the catalog as a query asks for."""

    def __init__(self, log: MemoryLog) -> None:
        self.log = log
        self.by_id: dict[UUID, Topic] = {}
        self.callbacks: dict[object, Callable[[Change], None]] = {}
        self.next_number = 1

    async def create(self, name: str, partitions: int = 1) -> Topic:
        numbers = tuple(range(self.next_number, self.next_number + partitions))
        self.next_number += partitions
        topic = Topic(id=uuid4(), name=name, partition_numbers=numbers)
        self.by_id[topic.id] = topic
        self._tell(None, topic)
        await self.log.create_topic(topic)
        return topic

    async def delete(self, topic: Topic) -> None:
        del self.by_id[topic.id]
        await self.log.delete_topic(topic.id)
        self._tell(topic, None)

    def _tell(self, old: Topic | None, new: Topic | None) -> None:
        for callback in list(self.callbacks.values()):
            callback(TopicChanged(revision=1, old=old, new=new))

    def topics(self) -> list[Topic]:
        return list(self.by_id.values())

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        return self.by_id.get(topic_id)

    def partition_by_number(self, number: int) -> Partition | None:
        return next((each for topic in self.topics() for each in topic.partitions if each.number == number), None)

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        handle = object()
        self.callbacks[handle] = callback

        def unsubscribe() -> None:
            self.callbacks.pop(handle, None)

        return unsubscribe


async def started(topics: Topics, disk: Disk, limits: IndexLimits = SMALL) -> Query:
    query = Query(topics.log, topics, disk, limits)
    await query.start()
    return query


def indexer_of(query: Query) -> Indexer:
    assert query._indexer is not None
    return query._indexer


async def crash(query: Query) -> None:
    """End it without a word. Threads end before this returns: those of a process that is gone do nothing more."""
    indexer = indexer_of(query)
    indexer.index.keep_open = lambda: None  # type: ignore[method-assign]  # nothing is kept that it did not keep before
    if indexer._task is not None:
        indexer._closing = True
        indexer._wake.set()
        indexer._hurry.set()
        await asyncio.wait({indexer._task})
        indexer._task.exception()  # looked at, so that nobody is told of it again
    indexer.index.close()
    query._unsubscribe()


async def publish(log: MemoryLog, number: int, *messages: Message) -> int:
    """One batch; the offset of its first message."""
    (result,) = await log.append([(number, batch_messages(messages))])
    assert isinstance(result, Appended)
    return result.base_offset


def numbered(at: int, count: int = 20) -> list[Message]:
    """Messages with an id of their own each, and a key for every tenth."""
    return [
        Message.create(b"%d" % n, id=f"id-{n}", keys=[f"key-{n % 10}", f"own-{n}"], born_ms=1000 + n)
        for n in range(at, at + count)
    ]
