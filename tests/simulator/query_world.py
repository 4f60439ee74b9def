"""A query index on a disk that forgets, above a log that does not."""

import asyncio
import contextlib
import random

from braidmq.core.query import IndexLimits, Query
from braidmq.log.memory import MemoryLog
from braidmq.model import Message, Topic
from query_support import Topics, crash, indexer_of, publish, started
from simulator.disk import Crashed, SimulatedDisk

LIMITS = IndexLimits(range_entries=24, memory_bytes=12 * 60, share=1.0, keep_open_s=0.01)
KEYS = 5
LIMIT_S = 20.0


class World:
    """Publishes, deletes, damages and stops; whoever asks must be answered as if nothing had happened."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.disk = SimulatedDisk(random.Random(seed + 1))
        self.topics = Topics(MemoryLog())
        self.messages: dict[tuple[int, int], Message] = {}
        """By place: what is in the log."""
        self.sent = 0
        self.answers = 0
        self.crashes = 0
        self.damages = 0

    async def make(self) -> None:
        for name in ("orders", "payments"):
            await self.topics.create(name, 2)

    async def go_through_a_life(self) -> None:
        if self.chance.random() < 0.8:
            self.disk.steps_left = self.chance.randint(0, 60)
        query: Query | None = None
        try:
            query = await started(self.topics, self.disk, LIMITS)
            for _ in range(self.chance.randint(1, 12)):
                await self._act(query)
            if self.chance.random() < 0.4:
                await query.close()
        except Crashed:
            self.crashes += 1
        finally:
            if query is not None:
                await crash(query)
        self._stop()

    async def _act(self, query: Query) -> None:
        act = self.chance.choice([self._publish, self._publish, self._delete, self._check])
        life = asyncio.create_task(act(query))
        task = indexer_of(query)._task
        assert task is not None
        async with asyncio.timeout(LIMIT_S):
            await asyncio.wait({life, task}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            life.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await life
            task.result()
        life.result()

    async def _publish(self, _query: Query) -> None:
        topic = self.chance.choice(self.topics.topics())
        number = self.chance.choice(topic.partition_numbers)
        messages = []
        for _ in range(self.chance.randint(1, 12)):
            self.sent += 1
            keys = [f"key-{self.chance.randrange(KEYS)}"]
            messages.append(Message.create(b"%d" % self.sent, id=f"id-{self.sent}", keys=keys, born_ms=self.sent))
        offset = await publish(self.topics.log, number, *messages)
        self.messages.update({(number, offset + at): message for at, message in enumerate(messages)})

    async def _delete(self, _query: Query) -> None:
        number = self.chance.choice(self.chance.choice(self.topics.topics()).partition_numbers)
        start, _, end = self.topics.log.bounds(number)
        before = self.chance.randint(start, end)
        await self.topics.log.delete_records(number, before)
        self.messages = {
            place: each for place, each in self.messages.items() if place[0] != number or place[1] >= before
        }

    async def _check(self, query: Query) -> None:
        topic = self.chance.choice(self.topics.topics())
        await self._check_ids(query, topic)
        key = f"key-{self.chance.randrange(KEYS)}"
        found = [message.id for message in await query.by_key(topic, key, limit=1000)]
        mine = [each for place, each in self.messages.items() if place[0] in topic.partition_numbers]
        wanted = sorted((each for each in mine if key in each.keys), key=lambda each: each.born_ms, reverse=True)
        assert found == [each.id for each in wanted], (topic.name, key)
        self.answers += 1

    async def _check_ids(self, query: Query, topic: Topic) -> None:
        for number in self.chance.sample(range(1, self.sent + 1), min(self.sent, 4)):
            places = [
                place
                for place, each in self.messages.items()
                if each.id == f"id-{number}" and place[0] in topic.partition_numbers
            ]
            found = await query.by_id(topic, f"id-{number}")
            assert [(topic.partition_numbers[each.partition], each.offset) for each in found] == places, number
            self.answers += 1

    def _stop(self) -> None:
        self.disk.steps_left = None
        if self.chance.random() < 0.5:
            self.disk.lose_power()
        else:
            self.disk.lose_process()
        if self.disk.names_now and self.chance.random() < 0.3:
            content = self.disk.names_now[self.chance.choice(sorted(self.disk.names_now))].content
            if content:
                self.damages += 1
                content[self.chance.randrange(len(content))] ^= 1 << self.chance.randrange(8)
