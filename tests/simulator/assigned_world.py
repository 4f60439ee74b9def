"""Groups that we assign to, in a world where anything may happen at any time.

Clients join, give up slowly, lose answers, fall silent, die, come back, leave for a while; topics come, grow and go;
the store is slow, fails, and the process ends at any moment. Whatever happens:
- no partition is in the hands of two clients that have reason to believe that it is theirs;
- a member's epoch never goes back, and only a member in its epoch commits;
- a group whose members behave comes to rest, with everything assigned evenly, and stays so across a restart.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from braidmq.core.groups import GroupLimits, GroupState, MemberIdentity, PulseAnswer
from braidmq.log import GroupOffset
from braidmq.model import BraidError
from braidmq.model.errors import EpochFenced, InstanceUnreleased, StoreFailed, UnknownGroup, UnknownMember
from groups_support import Holder, World, settle

SESSION_MS = 10_000
REBALANCE_MS = 15_000
"""Longer than a session, as with all clients: who has not heard for so long that it is to give up something is out."""
CALM_ROUNDS = 40
SUBSCRIPTIONS: list[tuple[tuple[str, ...], str | None]] = [
    (("t0",), None),
    (("t0", "t1"), None),
    (("t1", "t2"), ""),
    ((), "t[0-1]"),
    ((), "t.*"),
    (("t3",), "t0"),
]


class Violation(AssertionError):
    """A promise was broken."""


class Client(Holder):
    """A client that holds what it was told to, less what it was told to give up. `is_dead` until it starts again."""

    def __init__(self, world: World, name: str, instance_id: str | None) -> None:
        super().__init__(world, f"{name}.0", instance_id=instance_id, rebalance_ms=REBALANCE_MS)
        self.name = name
        self.lives = 0
        self.wants_full = True
        self.target: frozenset[int] = frozenset()
        self.sent_ms = 0.0
        self.sent_wishes: object = None
        self.unanswered_ms: float | None = None
        """When the first heartbeat was sent since the last that was answered: that one may have been the order."""
        self.heard_ms = 0.0
        """When the last heartbeat was sent that was answered: its session has lasted since then."""
        self.sent_held: frozenset[int] = frozenset()
        self.owes_since_ms: float | None = None
        """Since when it has been told to give up something, and not been heard to say that it did."""
        self.waiting: asyncio.Task[PulseAnswer] | None = None

    @property
    def wishes(self) -> object:
        """What it wants to read, and how."""
        return self.topics, self.pattern, self.assignor

    def restart(self, *, same_id: bool = False) -> None:
        """Without anything in hand."""
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None
        if not same_id:
            self.lives += 1
            self.member_id = f"{self.name}.{self.lives}"
        self.epoch, self.held, self.target, self.wants_full = 0, frozenset(), frozenset(), True
        self.owes_since_ms = self.unanswered_ms = None


class AssignedWorld:
    """One seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = World(GroupLimits(consumer_session_ms=SESSION_MS, heartbeat_ms=1_000))
        for topic in range(self.chance.randint(1, 3)):
            self.world.directory.add(f"t{topic}", self.chance.randint(1, 6))
        self.clients = [
            Client(self.world, f"c{index}", f"i{index}" if self.chance.random() < 0.4 else None)
            for index in range(self.chance.randint(1, 5))
        ]
        self.epochs: dict[str, int] = {}
        self.gone: set[str] = set()
        self.past: list[MemberIdentity] = []
        self.steps = 0
        self.counts: dict[str, int] = {}

    async def start(self) -> "AssignedWorld":
        await self.world.start()
        return self

    async def live(self, steps: int) -> None:
        for _ in range(steps):
            self.steps += 1
            act, weight = zip(*self._acts(), strict=True)
            await self.chance.choices(act, weight)[0](self.chance.choice(self.clients))
            await self._settle()
            self._check_hands()
        await self.calm()

    def _acts(self) -> list[tuple[Callable[[Client], Awaitable[None]], float]]:
        return [
            (self._beat, 20),
            (self._give_up, 6),
            (self._commit, 3),
            (self._lie, 3),
            (self._lose_answer, 2),
            (self._subscribe, 1),
            (self._leave, 1),
            (self._die, 1),
            (self._pass_time, 3),
            (self._change_topics, 1),
            (self._release, 6),
            (self._trouble_store, 1),
            (self._crash, 0.7),
        ]

    # What clients do.

    async def _beat(self, client: Client) -> None:
        if client.waiting is None:
            pulse = client.pulse(full=client.wants_full or client.epoch == 0)
            client.sent_ms, client.sent_held = self.world.clock.passed_ms(), client.held
            if client.unanswered_ms is None:
                client.unanswered_ms = client.sent_ms
            client.sent_wishes = client.wishes if pulse.is_full else None
            client.waiting = asyncio.ensure_future(self.world.groups.pulse(pulse))

    async def _give_up(self, client: Client) -> None:
        client.held &= client.target

    async def _commit(self, client: Client) -> None:
        if client.epoch > 0 and client.held:
            await self._try_commit(client.identity, min(client.held))

    async def _lie(self, _: Client) -> None:
        if self.past:
            await self._try_commit(self.chance.choice(self.past), 1)

    async def _try_commit(self, identity: MemberIdentity, number: int) -> None:
        try:
            await self.world.groups.commit("g", identity, {number: GroupOffset(self.steps)})
        except BraidError:
            return
        if identity.member_id in self.gone:
            raise Violation(f"{identity} was gone, and is believed")
        if identity.generation >= 0 and identity.generation < self.epochs.get(identity.member_id, 0):
            raise Violation(f"{identity} is believed, and had heard of {self.epochs[identity.member_id]}")
        self._count("commits")

    async def _lose_answer(self, client: Client) -> None:
        if client.waiting is not None:
            client.waiting.cancel()
            client.waiting = None
            client.wants_full = True

    async def _subscribe(self, client: Client) -> None:
        topics, pattern = self.chance.choice(SUBSCRIPTIONS)
        client.topics, client.pattern = topics, pattern or ""
        client.assignor = self.chance.choice(["uniform", "range"])
        client.wants_full = True

    async def _leave(self, client: Client) -> None:
        if client.epoch <= 0 or client.waiting is not None:
            return
        for_a_while = client.instance_id is not None and self.chance.random() < 0.7
        identity = client.identity
        try:
            await self._with_writes(client.leave(for_a_while=for_a_while))
        except BraidError:
            client.restart()
            return
        if not for_a_while:
            self.gone.add(identity.member_id)
        self.past.append(identity)
        client.restart()
        self._count("leaves")

    async def _die(self, client: Client) -> None:
        if client.epoch > 0:
            self.past.append(client.identity)
        client.restart()

    # What the world does.

    async def _pass_time(self, _: Client) -> None:
        await self.world.clock.advance(self.chance.choice([1, 500, 1_000, 3_000, 9_000]))

    async def _change_topics(self, _: Client) -> None:
        directory = self.world.directory
        name = f"t{self.chance.randint(0, 3)}"
        if name not in directory.by_name:
            directory.add(name, self.chance.randint(1, 6))
        elif self.chance.random() < 0.5:
            directory.grow(name, len(directory.by_name[name].partition_numbers) + 1)
        elif len(directory.by_name) > 1:
            gone = set(directory.by_name[name].partition_numbers)
            directory.remove(name)
            for client in self.clients:
                client.held -= gone
                client.target -= gone

    async def _release(self, _: Client) -> None:
        self.world.keeper.release(self.chance.choice([1, 1, 2, None]))

    async def _trouble_store(self, _: Client) -> None:
        self.world.keeper.is_holding = self.chance.random() < 0.5
        self.world.keeper.is_failing = self.chance.random() < 0.2

    async def _crash(self, _: Client) -> None:
        self._count("crashes")
        for client in self.clients:
            await self._lose_answer(client)
        await self.world.crash()

    async def _with_writes(self, answer: Awaitable[Any]) -> Any:
        task = asyncio.ensure_future(answer)
        for _ in range(50):
            await settle()
            if task.done():
                break
            self.world.keeper.release()
        return await task

    # What comes back.

    async def _settle(self) -> None:
        await settle()
        now_ms = self.world.clock.passed_ms()
        for client in self.clients:
            if client.waiting is not None and client.waiting.done():
                done, client.waiting = client.waiting, None
                self._answered(client, done)
            if client.epoch > 0 and self._is_over(client, now_ms):
                client.restart(same_id=True)

    def _is_over(self, client: Client, now_ms: float) -> bool:
        """A client knows by itself when it was not heard for too long, or has not given up in time."""
        is_late = client.owes_since_ms is not None and now_ms - client.owes_since_ms >= client.rebalance_ms
        return is_late or now_ms - client.heard_ms >= SESSION_MS

    def _answered(self, client: Client, done: "asyncio.Task[PulseAnswer]") -> None:
        error = done.exception()
        if error is None:
            self._take(client, done.result())
        elif isinstance(error, EpochFenced | UnknownMember | UnknownGroup):
            client.restart(same_id=isinstance(error, EpochFenced))
        elif isinstance(error, InstanceUnreleased | StoreFailed):
            client.wants_full = True
        elif isinstance(error, BraidError):
            client.restart()
        else:
            raise error

    def _take(self, client: Client, answer: PulseAnswer) -> None:
        if answer.epoch < self.epochs.get(client.member_id, 0):
            raise Violation(f"{client.member_id} was in {self.epochs[client.member_id]}, and is in {answer.epoch} now")
        if client.epoch != answer.epoch:
            self.past.append(client.identity)
        self.epochs[client.member_id] = answer.epoch
        client.epoch, client.heard_ms = answer.epoch, client.sent_ms
        client.wants_full = client.wants_full and client.sent_wishes != client.wishes
        if answer.assigned is not None:
            client.target = answer.assigned
            client.held |= client.target
            self._count("assignments")
        if client.sent_held <= client.target:
            client.owes_since_ms = None
        elif client.owes_since_ms is None:
            client.owes_since_ms = client.unanswered_ms
        client.unanswered_ms = None
        if self.chance.random() < 0.6:
            client.held &= client.target

    def _check_hands(self) -> None:
        hands: dict[int, str] = {}
        for client in self.clients:
            for number in client.held:
                if number in hands:
                    raise Violation(f"partition {number} is in the hands of {hands[number]} and {client.member_id}")
                hands[number] = client.member_id

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    # The calm.

    async def calm(self) -> None:
        """Everybody does what it should, and the store works."""
        keeper = self.world.keeper
        keeper.is_holding = keeper.is_failing = False
        keeper.release()
        for client in self.clients:
            client.topics, client.pattern, client.assignor = ("t0", "t1", "t2", "t3"), "", "uniform"
            client.wants_full = True
        for _ in range(CALM_ROUNDS):
            for client in self.clients:
                await self._beat(client)
                await self._settle()
                client.held &= client.target
                self._check_hands()
            await self.world.clock.advance(1_000)
            await self._settle()
        self._check_calm()
        before = [(client.epoch, client.held) for client in self.clients]
        await self._crash(self.clients[0])
        for client in self.clients:
            await self._beat(client)
            await self._settle()
        if [(client.epoch, client.held) for client in self.clients] != before:
            raise Violation("a restart of a group at rest was noticed")

    def _check_calm(self) -> None:
        view = self.world.groups.find("g")
        if view is None or view.state is not GroupState.STABLE:
            raise Violation(f"the group does not come to rest: {self.world.groups.find_consumer('g')}")
        everything = {number for topic in self.world.directory.topics() for number in topic.partition_numbers}
        held = [client.held for client in self.clients]
        if frozenset().union(*held) != everything:
            raise Violation(f"{sorted(everything.difference(*held))} are in nobody's hands")
        sizes = [len(each) for each in held]
        if max(sizes) - min(sizes) > 1:
            raise Violation(f"the work is divided unevenly: {sizes}")
