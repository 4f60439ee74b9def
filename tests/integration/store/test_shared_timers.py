"""Several nodes on one database deliver delayed messages together."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

from msgspec.structs import replace

from braidmq.core.admission import Admissions
from braidmq.core.delivery import Delivery
from braidmq.core.timers import Timers
from braidmq.core.timing import LoopClock
from braidmq.log.memory import MemoryLog
from braidmq.model import Message, Timer, Topic
from braidmq.records import messages_of, parse_batch
from braidmq.store import Store, TimerRows

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]
MESSAGES = 1000


class OneTopic:
    """All that these nodes know."""

    topic = Topic(id=uuid4(), name="orders", partition_numbers=(1,))

    def topic_by_id(self, _: object) -> Topic:
        return self.topic


async def messages_in(log: MemoryLog) -> list[str | None]:
    data = bytes((await log.read(1, 0, 1 << 30)).data)
    ids: list[str | None] = []
    while data:
        batch = parse_batch(data)
        ids += [message.id for message in messages_of(batch)]
        data = data[batch.size_bytes :]
    return ids


async def test_each_message_is_delivered_once_by_one_of_them(postgres_url: str, eventually: Eventually) -> None:
    log, topics, clock = MemoryLog(), OneTopic(), LoopClock()
    await log.create_topic(topics.topic)
    stores = [await Store.open(postgres_url) for _ in range(3)]
    delivery = Delivery(topics, log, Admissions(), clock.now_ms)
    nodes = [Timers(TimerRows(store), delivery, clock, owner=f"node-{n}") for n, store in enumerate(stores)]
    due_ms = clock.now_ms() + 30_000
    ids = [f"m{number}" for number in range(MESSAGES)]
    adding = (nodes[0].add(topics.topic, Message.create(b"x", id=each), due_ms) for each in ids)
    await asyncio.gather(*adding)
    rows = TimerRows(stores[0])
    await rows.revise([timer.id for timer in await nodes[0].page(limit=MESSAGES)], _due_now)
    await asyncio.gather(*(node.start() for node in nodes))
    await eventually(lambda: log.bounds(1).end >= MESSAGES)
    for node in nodes:
        await node.close()
    assert sorted(map(str, await messages_in(log))) == sorted(ids)
    assert await nodes[0].page() == []
    for store in stores:
        await store.close()


def _due_now(timer: Timer) -> Timer:
    return replace(timer, wake_ms=0)
