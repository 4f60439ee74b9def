"""A small world of a group that cannot work on all that it is given, on a node that dies a lot.

Retries and timers are the real ones; what they work on is as in `deferred_world`. Members of the group read the topic
and the group's retry topic, each from where it has come, and send back what they cannot work on: after the step, at
once, or to the dead letters for good. One that was not answered sends the same back again. Where they have come is kept
only now and then, so that a death gives them some messages a second time, as it does in life.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from random import Random
from uuid import UUID, uuid4

from braidmq.core.admission import Admissions
from braidmq.core.delivery import Delivery
from braidmq.core.retry import Retries
from braidmq.core.timers import Timers
from braidmq.log import Appended
from braidmq.log.memory import MemoryLog
from braidmq.model import (
    ATTEMPT_HEADER,
    DEAD_ID_HEADER,
    DEAD_TOPIC_HEADER,
    ORIGIN_ID_HEADER,
    RETRY_TOPIC_HEADER,
    BraidError,
    Group,
    Message,
    Partition,
    Timer,
    Topic,
)
from braidmq.model.errors import StoreFailed
from braidmq.records import batch_messages, messages_of
from contract.harness import BEGAN_MS
from groups_support import FakeClock
from simulator.deferred_world import SimulatedRows
from simulator.transactions import LOOKING, Death, Moments, SimulatedLog

GROUP = Group(name="payers", attempts_max=3, settings={"retry.steps": "100ms 300ms 1s"})
STEPS_MS = (100, 300, 1_000)
ORDERS, RETRY, DEAD = 1, 2, 3
MEMBERS = 4
MOMENTS_MAX = 400
STEP_MAX_MS = 40


def _topic(name: str, number: int) -> Topic:
    return Topic(id=uuid4(), name=name, partition_numbers=(number,), retention_ms=-1)


class RetryWorld:
    """See the module's opening. It is the catalog, too."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.clock = FakeClock(BEGAN_MS)
        self.moments = Moments(self.random)
        self.rows: SimulatedRows[Timer] = SimulatedRows(self.moments, is_shared=seed % 2 == 1)
        self.topics = [_topic("orders", ORDERS), _topic("%RETRY%payers", RETRY), _topic("%DLQ%payers", DEAD)]
        self.log = SimulatedLog(self.moments, self.clock.now_ms)
        self.deaths = 0
        self.published: set[str] = set()
        """What producers were told is kept."""
        self.worked_on: set[str] = set()
        self.sent_back: Counter[tuple[str, int]] = Counter()
        """How often each message was begun to be sent back, by its id and the attempt that failed."""
        self.due_ms: dict[tuple[str, int], int] = {}
        """Before when an attempt must not come."""
        self._position: dict[int, int] = {ORDERS: 0, RETRY: 0}
        self._kept: dict[int, int] = dict(self._position)
        self._names = 0

    @classmethod
    async def make(cls, seed: int) -> "RetryWorld":
        # Deaths end tasks that nobody waits for; that is not worth a line.
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        world = cls(seed)
        for topic in world.topics:
            await world.log.create_topic(topic)
        return world

    # The catalog.

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        return next((topic for topic in self.topics if topic.id == topic_id), None)

    def partition_by_number(self, number: int) -> Partition | None:
        return self.topics[number - 1].partitions[0]

    def group(self, _instance: str, _name: str) -> Group:
        return GROUP

    async def ensure_own(
        self, name: str, *, partitions: int | None, instance: str, settings: Mapping[str, str]
    ) -> Topic:
        assert (partitions, instance, list(settings)) == (1, "default", ["max.message.bytes"])
        await self.moments.pass_one()
        return next(topic for topic in self.topics if topic.name == name)

    # Lives.

    async def go_through_a_life(self) -> None:
        """One life of the node, sometimes short ones after it, and a look at what is left."""
        self.moments.begin(self.random.randrange(1, MOMENTS_MAX))
        await self._run_until_death()
        while self.random.random() < 0.3:
            self.moments.begin(self.random.randrange(1, 40))
            await self._run_until_death()
        await self.settle_and_check()

    async def live_in_peace(self, turns: int) -> None:
        """A life in which nothing fails, and which ends when all is done."""
        self.moments.begin(LOOKING * 2)
        timers, retries = self._services()
        await timers.start()
        for _ in range(turns):
            await self._act(retries)
            await self.clock.advance(self.random.randrange(STEP_MAX_MS))
        await timers.close()
        await self._bury()
        self.deaths = 0
        await self.settle_and_check()
        twice = [each for each, count in Counter(map(_attempt, self._copies())).items() if count > 1]
        assert not twice, f"more than one copy although nothing failed: {twice}"

    def _services(self) -> tuple[Timers, Retries]:
        draw = self.random.randrange
        delivery = Delivery(self, self.log, Admissions(), self.clock.now_ms, draw=draw)
        timers = Timers(self.rows, delivery, self.clock, owner="me", draw=draw)
        return timers, Retries(self, self, self.log, timers, self.clock)

    async def _run_until_death(self) -> None:
        node = asyncio.ensure_future(self._node())
        dying = asyncio.ensure_future(self.moments.died.wait())
        await asyncio.wait([node, dying], return_when=asyncio.FIRST_COMPLETED)
        await self._bury()
        if node.done() and not node.cancelled() and not isinstance(error := node.exception(), Death | None):
            raise error

    async def _node(self) -> None:
        timers, retries = self._services()
        try:
            await timers.start()
        except StoreFailed:
            return  # a node that cannot start ends
        acting = [asyncio.ensure_future(self._member(retries)) for _ in range(MEMBERS)]
        done, _ = await asyncio.wait(
            [*acting, asyncio.ensure_future(self._time())], return_when=asyncio.FIRST_EXCEPTION
        )
        for each in done:
            each.result()

    async def _bury(self) -> None:
        """Nothing of the life that was does anything any more, and the log keeps what a disk would have kept."""
        self.moments.left = 0
        self.deaths += 1
        me = asyncio.current_task()
        while left := [task for task in asyncio.all_tasks() if task is not me]:
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        kept = self.random.randint(self.log.acknowledged, len(self.log.taken))
        survived = self.log.taken[:kept]
        self.log = SimulatedLog(self.moments, self.clock.now_ms)
        for topic in self.topics:
            await self.log.create_topic(topic)
        for number, batch in survived:
            (result,) = MemoryLog.append(self.log, [(number, batch)]).result()
            assert isinstance(result, Appended)
        self.log.taken, self.log.acknowledged = survived, kept
        self.clock.forget()
        self.rows.restart()
        self._position = dict(self._kept)

    async def settle_and_check(self) -> None:
        """In a life without trouble, whose members work on everything, all that was promised happens."""
        self.moments.begin(LOOKING * 2)
        timers, _ = self._services()
        await timers.start()
        for _ in range(20):
            await self.clock.advance(100)
            for _ in range(20):
                await asyncio.sleep(0)
        await timers.close()
        for number in self._position:
            for message in self._readable(number)[self._position[number] :]:
                self.worked_on.add(message.id or "")
            self._position[number] = self._kept[number] = len(self._readable(number))
        self._check()
        await self._bury()

    # What happens in a life.

    async def _time(self) -> None:
        while True:
            await self.moments.pass_one()
            await self.clock.advance(self.random.randrange(STEP_MAX_MS))

    async def _member(self, retries: Retries) -> None:
        while True:
            await self.moments.pass_one()
            await self._act(retries)

    async def _act(self, retries: Retries) -> None:
        chance = self.random.random()
        if chance < 0.2:
            await self._publish()
        elif chance < 0.3:
            self._kept = dict(self._position)
        else:
            await self._read(retries, self.random.choice((ORDERS, RETRY)))

    async def _publish(self) -> None:
        self._names += 1
        name = f"m{self._names}"
        (result,) = await self.log.append([(ORDERS, batch_messages([Message.create(name.encode(), id=name)]))])
        if isinstance(result, Appended):
            self.published.add(name)

    async def _read(self, retries: Retries, number: int) -> None:
        """The next message is worked on, or sent back; only then does the group go on behind it."""
        offset = self._position[number]
        if offset >= len(readable := self._readable(number)):
            return
        message = readable[offset]
        if self.random.random() < 0.3:
            self.worked_on.add(message.id or "")
        elif not await self._send_back(retries, number, offset, message):
            return
        self._position[number] = max(self._position[number], offset + 1)

    async def _send_back(self, retries: Retries, number: int, offset: int, message: Message) -> bool:
        delay_ms = self.random.choice((None, None, None, 0, -1))
        attempt = int(message.properties.get(ATTEMPT_HEADER, "0")) + 1
        self.sent_back[message.id or "", attempt] += 1
        if delay_ms is None and attempt <= len(STEPS_MS):
            due_ms = self.clock.now_ms() + STEPS_MS[attempt - 1]
        else:
            due_ms = self.clock.now_ms()
        known_ms = self.due_ms.get((message.id or "", attempt), due_ms)
        self.due_ms[message.id or "", attempt] = min(due_ms, known_ms)
        try:
            sent = await retries.send_back(GROUP.name, number, offset, delay_ms=delay_ms, origin_id=f"o-{message.id}")
        except BraidError:
            return False
        assert (sent.message_id, sent.attempt) == (message.id, attempt)
        return True

    # Looking.

    def _readable(self, number: int) -> list[Message]:
        """What readers are shown of a partition: what was acknowledged."""
        taken = self.log.taken[: self.log.acknowledged]
        return [message for at, batch in taken if at == number for message in messages_of(batch)]

    def _copies(self) -> list[Message]:
        return self._readable(RETRY) + self._readable(DEAD)

    def _check(self) -> None:
        dead = self._readable(DEAD)
        ended = self.worked_on | {message.id for message in dead}
        assert self.published <= ended, f"lost: {self.published - ended}"
        assert not self.rows.by_id, f"still waiting: {list(self.rows.by_id.values())}"
        copies = Counter(map(_attempt, self._copies()))
        unasked = [each for each, count in copies.items() if count > self.sent_back[each] * (1 + self.deaths)]
        assert not unasked, f"more copies than words, and one more of each for each death: {unasked}"
        for message in self._copies():
            said = message.properties
            assert (said[RETRY_TOPIC_HEADER], said[ORIGIN_ID_HEADER]) == ("orders", f"o-{message.id}")
            assert message.body == (message.id or "").encode()
        for message in dead:
            said = message.properties
            assert (said[DEAD_TOPIC_HEADER], said[DEAD_ID_HEADER]) == ("orders", f"o-{message.id}")
        tried = [int(message.properties[ATTEMPT_HEADER]) for message in self._readable(RETRY)]
        assert max(tried, default=1) <= GROUP.attempts_max, "tried again more often than the group says"
        early = [message for message in self._readable(RETRY) if message.born_ms < self.due_ms[_attempt(message)]]
        assert not early, f"before their time: {early}"


def _attempt(message: Message) -> tuple[str, int]:
    return message.id or "", int(message.properties[ATTEMPT_HEADER])
