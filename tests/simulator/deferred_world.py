"""A small world of publishers of delayed messages and producers of half messages, on a node that dies a lot.

Timers and halves are the real ones. What they work on is made of what a disk would keep, each call of which passes
several *moments*; every moment may be the node's last. Then what was acknowledged is kept, what was under way is kept
or not by chance, and new services take over. Half of the worlds share their database with other nodes; in the others
halves wait in the log first. Between deaths the database now and then fails without saying whether it
did what it was asked, and the disk is full.

Publishers recall; producers say their word, or the opposite, or both, or nothing until they are asked, and then perhaps
nothing either. The world remembers what each was promised, and looks at what came to the log, and when.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Generic, TypeVar
from uuid import UUID, uuid4

from braidmq.core.admission import Admissions
from braidmq.core.deferral import handle_of, parse_handle
from braidmq.core.delivery import Delivery, pack
from braidmq.core.halves import HalfLimits, Halves, Question, WaitingRoom
from braidmq.core.timers import Timers
from braidmq.log import Appended
from braidmq.log.memory import MemoryLog
from braidmq.model import BraidError, Half, HalfState, Message, Timer, Topic
from braidmq.model.errors import StoreFailed, TooLateToRecall, UnknownTimer
from braidmq.records import messages_of
from contract.harness import BEGAN_MS
from deferral_support import GROUP, MemoryRows
from groups_support import FakeClock
from simulator.transactions import FAILURES, LOOKING, Death, Moments, SimulatedLog

PARTITIONS = (1, 2)
WAITING = 9
CLIENTS = 4
MOMENTS_MAX = 500
DELAY_MAX_MS = 2_000
STEP_MAX_MS = 40
"""Time goes slowly beside what a node does, so that no claim runs out while its owner lives."""
LIMITS = HalfLimits(immunity_ms=100, check_interval_ms=300, checks_max=3, unheard_max_ms=5_000, remember_ms=3_000)

RowT = TypeVar("RowT", bound=Timer | Half)


class SimulatedRows(MemoryRows[RowT], Generic[RowT]):
    """What the database keeps. A write that was not answered may have been kept."""

    def __init__(self, moments: Moments, *, is_shared: bool) -> None:
        super().__init__(is_shared=is_shared)
        self._moments = moments
        self._turn = asyncio.Lock()

    async def write(self, change: Callable[[], object]) -> None:
        async with self._turn:
            await self._moments.pass_one()
            fails = self._moments.happens(FAILURES)
            if not fails or self._moments.happens(0.5):
                change()
        await self._moments.pass_one()
        if fails:
            raise StoreFailed("nobody knows whether it was kept")

    async def next_wake_ms(self) -> int:
        await self._moments.pass_one()
        return await super().next_wake_ms()

    def restart(self) -> None:
        self._turn = asyncio.Lock()


class Promises:
    """What was said to publishers and producers, by message id."""

    def __init__(self) -> None:
        self.due_ms: dict[str, int] = {}
        self.acknowledged: set[str] = set()
        self.recalls: Counter[str] = Counter()
        """Those that took the message back or may have: all but the ones that were refused. To be refused is no last
        word: what the log did not take, or a claim that failed did not hand out, can be taken back after all."""
        self.recalled: set[str] = set()
        self.handles: dict[str, str] = {}
        self.prepared: dict[str, str] = {}
        self.commits_tried: set[str] = set()
        self.rollbacks_tried: set[str] = set()
        self.committed: set[str] = set()
        self.rolled_back: set[str] = set()


class World:
    """See the module's opening."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.clock = FakeClock(BEGAN_MS)
        self.moments = Moments(self.random)
        is_shared = seed % 2 == 1
        self.timer_rows: SimulatedRows[Timer] = SimulatedRows(self.moments, is_shared=is_shared)
        self.half_rows: SimulatedRows[Half] = SimulatedRows(self.moments, is_shared=is_shared)
        self.log = SimulatedLog(self.moments, self.clock.now_ms)
        self.topic = Topic(id=uuid4(), name="orders", partition_numbers=PARTITIONS, retention_ms=-1)
        self.waiting = Topic(id=uuid4(), name="waiting", partition_numbers=(WAITING,), retention_ms=-1)
        self.promises = Promises()
        self.asked: list[Question] = []
        self.deaths = 0
        self._inherited = 0
        """How many batches the log had when this life began."""
        self._names = 0

    @classmethod
    async def make(cls, seed: int) -> "World":
        # Deaths end tasks that nobody waits for; that is not worth a line.
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        world = cls(seed)
        await world.log.create_topic(world.topic)
        await world.log.create_topic(world.waiting)
        return world

    @property
    def kept_promises(self) -> int:
        return len(self.promises.acknowledged) + len(self.promises.committed)

    def topic_by_id(self, _: object) -> Topic:
        return self.topic

    def live(self) -> dict[str, list[str]]:
        return {GROUP: ["one", "two"]} if self.random.random() < 0.8 else {}

    def ask(self, group: str, producer: str, question: Question) -> bool:
        assert (group, question.half.state) == (GROUP, HalfState.PREPARED)
        assert producer in ("one", "two")
        assert 1 <= question.half.checks <= LIMITS.checks_max
        self.asked.append(question)
        return self.random.random() < 0.9

    # Lives.

    async def go_through_a_life(self) -> None:
        """One life of the node, sometimes short ones after it, and a look at what is left."""
        self.moments.begin(self.random.randrange(1, MOMENTS_MAX))
        await self._run_until_death()
        while self.random.random() < 0.3:
            self.moments.begin(self.random.randrange(1, 40))
            await self._run_until_death()
        await self._settle_and_check()

    def _services(self) -> tuple[Timers, Halves, WaitingRoom | None]:
        draw = self.random.randrange
        delivery = Delivery(self, self.log, Admissions(), self.clock.now_ms, draw=draw)
        timers = Timers(self.timer_rows, delivery, self.clock, owner="me", draw=draw)
        room = None
        if not self.half_rows.is_shared:
            stay_ms = self.random.choice((20, 60, 200))
            room = WaitingRoom(self.half_rows, self.log, WAITING, self.clock, stay_ms=stay_ms)
        halves = Halves(room or self.half_rows, delivery, self.clock, owner="me", limits=LIMITS, draw=draw)
        halves.ask_through(self)
        return timers, halves, room

    async def _run_until_death(self) -> None:
        node = asyncio.ensure_future(self._node())
        dying = asyncio.ensure_future(self.moments.died.wait())
        await asyncio.wait([node, dying], return_when=asyncio.FIRST_COMPLETED)
        await self._bury()
        if node.done() and not node.cancelled() and not isinstance(error := node.exception(), Death | None):
            raise error

    async def _node(self) -> None:
        timers, halves, room = self._services()
        try:
            if room is not None:
                await room.open()
            await timers.start()
            await halves.start()
        except BraidError:
            return  # a node that cannot start ends
        clients = [asyncio.ensure_future(self._client(timers, halves)) for _ in range(CLIENTS)]
        done, _ = await asyncio.wait(
            [*clients, asyncio.ensure_future(self._time())], return_when=asyncio.FIRST_EXCEPTION
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
        self._check_copies_of_this_life()
        kept = self.random.randint(self.log.acknowledged, len(self.log.taken))
        survived = self.log.taken[:kept]
        self.log = SimulatedLog(self.moments, self.clock.now_ms)
        await self.log.create_topic(self.topic)
        await self.log.create_topic(self.waiting)
        for number, batch in survived:
            (result,) = MemoryLog.append(self.log, [(number, batch)]).result()
            assert isinstance(result, Appended)
        self.log.taken, self.log.acknowledged = survived, kept
        self._inherited = kept
        self.clock.forget()
        self.asked.clear()
        self.timer_rows.restart()
        self.half_rows.restart()

    async def _settle_and_check(self) -> None:
        """In a life without trouble, everything that was promised happens."""
        self.moments.begin(LOOKING * 2)
        timers, halves, room = self._services()
        if room is not None:
            await room.open()
        await timers.start()
        await halves.start()
        for _ in range(3 * DELAY_MAX_MS // 100):
            await self.clock.advance(100)
            await self._turns()
        await timers.close()
        await halves.close()
        if room is not None:
            await room.close()
        self._check_timers()
        self._check_halves()
        await self._bury()

    async def _turns(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    # What happens in a life.

    async def _time(self) -> None:
        while True:
            await self.moments.pass_one()
            await self.clock.advance(self.random.randrange(STEP_MAX_MS))

    async def _client(self, timers: Timers, halves: Halves) -> None:
        while True:
            await self.moments.pass_one()
            act = self.random.choice((self._delay, self._delay, self._recall))
            if self.random.random() < 0.5:
                await act(timers)
            else:
                await self.random.choice((self._prepare, self._speak, self._answer))(halves)

    def _message(self, kind: str) -> Message:
        self._names += 1
        return Message.create(b"body", id=f"{kind}{self._names}")

    async def _delay(self, timers: Timers) -> None:
        message = self._message("t")
        assert message.id is not None
        due_ms = self.clock.now_ms() + self.random.randrange(-10, DELAY_MAX_MS)
        self.promises.due_ms[message.id] = due_ms
        try:
            taken = await timers.add(self.topic, message, due_ms)
        except BraidError:
            return
        self.promises.acknowledged.add(message.id)
        if taken.handle is not None:
            self.promises.handles[message.id] = taken.handle

    async def _recall(self, timers: Timers) -> None:
        if not self.promises.handles:
            return
        id = self.random.choice(sorted(self.promises.handles)[-20:])  # noqa: A001 - a message's id is called id
        self.promises.recalls[id] += 1
        try:
            await timers.recall(self.promises.handles[id])
        except TooLateToRecall:
            self.promises.recalls[id] -= 1
        except UnknownTimer:
            self.promises.recalls[id] -= 1
            assert self.promises.recalls[id], f"{id} was acknowledged, and is gone before its time"
        except StoreFailed:
            pass
        else:
            self.promises.recalled.add(id)

    async def _prepare(self, halves: Halves) -> None:
        message = self._message("h")
        assert message.id is not None
        try:
            if self.random.random() < 0.5 or (handle := await self._prepare_now(halves, message)) is None:
                handle, _ = await halves.prepare(self.topic, message, group=GROUP)
        except BraidError:
            return
        self.promises.prepared[message.id] = handle

    async def _prepare_now(self, halves: Halves, message: Message) -> str | None:
        """As a connection does with many."""
        kept: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def tell(result: list[UUID] | BraidError) -> None:
            if isinstance(result, BraidError):
                kept.set_exception(result)
            else:
                kept.set_result(handle_of(result[0]))

        packed = [(pack(message), message.id or "", GROUP)]
        if not halves.prepare_now(self.topic, self.random.randrange(len(PARTITIONS)), packed, tell):
            return None
        return await kept

    async def _speak(self, halves: Halves) -> None:
        """Any word on any of the last halves, whatever was said before."""
        if self.promises.prepared:
            id = self.random.choice(list(self.promises.prepared)[-10:])  # noqa: A001
            await self._say(halves, id, commit=self.random.random() < 0.6)

    async def _answer(self, halves: Halves) -> None:
        if self.asked:
            question = self.asked.pop()
            await self._say(halves, question.half.message_id, commit=self.random.random() < 0.6, asked=True)

    async def _say(self, halves: Halves, id: str, *, commit: bool, asked: bool = False) -> None:
        handle = self.promises.prepared.get(id)
        if handle is None:
            return
        (self.promises.commits_tried if commit else self.promises.rollbacks_tried).add(id)
        if commit and self.random.random() < 0.5 and await self._commit_now(halves, handle, asked=asked):
            return
        try:
            ended = await halves.end(handle, commit=commit, group=GROUP, asked=asked)
        except BraidError:
            return
        assert ended.committed is commit
        (self.promises.committed if commit else self.promises.rolled_back).add(id)

    async def _commit_now(self, halves: Halves, handle: str, *, asked: bool) -> bool:
        """As a connection does with many, whose client is told nothing. Whether it was heard."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if halves.commit_now([(parse_handle(handle), GROUP, asked)], done.set_result):
            return False
        assert await done == 1
        return True

    # Looking.

    def _in_log(self, first: int = 0) -> list[Message]:
        taken = (batch for number, batch in self.log.taken[first:] if number != WAITING)
        return [message for batch in taken for message in messages_of(batch)]

    def _check_copies_of_this_life(self) -> None:
        copies = Counter(message.id for message in self._in_log(self._inherited))
        twice = [each for each, count in copies.items() if count > 1]
        assert not twice, f"appended twice in one life: {twice}"

    def _check_timers(self) -> None:
        promises = self.promises
        there = [message for message in self._in_log() if (message.id or "").startswith("t")]
        early = [message.id for message in there if message.born_ms < promises.due_ms[message.id or ""]]
        assert not early, f"before their time: {early}"
        ids = {message.id for message in there}
        assert not promises.recalled & ids, f"recalled and delivered: {promises.recalled & ids}"
        expected = {each for each in promises.acknowledged if not promises.recalls[each]}
        assert expected <= ids, f"lost: {expected - ids}"
        assert not self.timer_rows.by_id, f"still waiting: {list(self.timer_rows.by_id.values())}"

    def _check_halves(self) -> None:
        promises = self.promises
        ids = {message.id for message in self._in_log() if (message.id or "").startswith("h")}
        assert not promises.committed & promises.rolled_back, "answered both ways"
        assert not promises.rolled_back & ids, f"rolled back and delivered: {promises.rolled_back & ids}"
        assert promises.committed <= ids, f"lost: {promises.committed - ids}"
        assert ids <= promises.commits_tried, "delivered without a commit"
        kept = {half.message_id for half in self.half_rows.by_id.values()}
        lost = promises.prepared.keys() - ids - promises.rollbacks_tried - kept
        assert not lost, f"neither ended nor kept: {lost}"
        unfinished = [half for half in self.half_rows.by_id.values() if half.state is HalfState.COMMITTING]
        assert not unfinished, f"committed and not appended: {unfinished}"
