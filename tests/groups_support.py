"""What tests of groups share: a clock that is turned by hand, a memory that outlives its service, and members that
speak."""

import asyncio
import heapq
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import msgspec

from braidmq.core.groups import (
    GroupLimits,
    Groups,
    Join,
    Joined,
    MemberIdentity,
    Protocol,
    Pulse,
    PulseAnswer,
    Spoken,
    Sync,
    Synced,
)
from braidmq.core.trace import UNTRACED, Tracer
from braidmq.log.memory import MemoryLog
from braidmq.model import Group, Partition, Topic
from braidmq.model.errors import MemberIdRequired, RebalanceInProgress, StoreFailed
from braidmq.store import Change, GroupChanged, PendingOffset, TopicChanged

SESSION_MS = 10_000
REBALANCE_MS = 60_000
SETTLING_TURNS = 12


class FakeTimer:
    def __init__(self) -> None:
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class FakeClock:
    """Time stands still until it is moved."""

    def __init__(self, at_ms: int = 1_000_000) -> None:
        self.at_ms = float(at_ms)
        self._timers: list[tuple[float, int, FakeTimer, Callable[[], None]]] = []
        self._numbers = count()

    def now_ms(self) -> int:
        return int(self.at_ms)

    def passed_ms(self) -> float:
        return self.at_ms

    def call_later(self, delay_ms: float, act: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer()
        heapq.heappush(self._timers, (self.at_ms + delay_ms, next(self._numbers), timer, act))
        return timer

    def forget(self) -> None:
        """As when a process ends: nothing that was to be done will be."""
        self._timers.clear()

    async def advance(self, delay_ms: float) -> None:
        """Move on, doing what falls due on the way, each thing with what follows from it."""
        until_ms = self.at_ms + delay_ms
        while self._timers and self._timers[0][0] <= until_ms:
            due_ms, _, timer, act = heapq.heappop(self._timers)
            if not timer.is_cancelled:
                self.at_ms = max(self.at_ms, due_ms)
                act()
                await settle()
        self.at_ms = until_ms
        await settle()


async def settle() -> None:
    """Let everything happen that needs no time."""
    for _ in range(SETTLING_TURNS):
        await asyncio.sleep(0)


class FakeKeeper:
    """Keeps what it is given. `hold` lets writes wait, `fail` refuses them; a crash loses those that wait."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, bytes]] = {}
        self.pending: dict[tuple[int, str, int], PendingOffset] = {}
        self.is_holding = False
        self.is_failing = False
        self.writes = 0
        self._waiting: list[asyncio.Future[None]] = []

    def release(self, writes: int | None = None) -> None:
        """Let the oldest writes that wait be carried out, all unless told how many."""
        count = len(self._waiting) if writes is None else writes
        for future in self._waiting[:count]:
            if not future.done():
                future.set_result(None)
        del self._waiting[:count]

    def crash(self) -> None:
        for future in self._waiting:
            future.cancel()
        self._waiting.clear()

    async def _write(self) -> None:
        if self.is_holding or self._waiting:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
        if self.is_failing:
            raise StoreFailed("the test says so")
        self.writes += 1

    async def load(self) -> Mapping[str, Mapping[str, bytes]]:
        return {group: dict(rows) for group, rows in self.rows.items()}

    async def replace(self, group: str, rows: Mapping[str, bytes]) -> None:
        await self._write()
        self.rows[group] = dict(rows)

    async def change(self, group: str, rows: Mapping[str, bytes | None]) -> None:
        await self._write()
        kept = self.rows.setdefault(group, {})
        for key, content in rows.items():
            if content is None:
                kept.pop(key, None)
            else:
                kept[key] = content

    async def delete(self, group: str) -> None:
        await self._write()
        self.rows.pop(group, None)
        self.pending = {key: each for key, each in self.pending.items() if key[1] != group}

    async def load_pending(self) -> list[PendingOffset]:
        return list(self.pending.values())

    async def add_pending(self, offsets: Iterable[PendingOffset]) -> None:
        await self._write()
        self.pending |= {(each.producer_id, each.group, each.number): each for each in offsets}

    async def delete_pending(self, producer_id: int) -> None:
        await self._write()
        self.pending = {key: each for key, each in self.pending.items() if key[0] != producer_id}

    async def delete_pending_offsets(self, numbers: Iterable[int], group: str | None = None) -> None:
        await self._write()
        gone = set(numbers)
        self.pending = {
            key: each
            for key, each in self.pending.items()
            if not (key[2] in gone and (group is None or key[1] == group))
        }


class FakeDirectory:
    """Topics by hand."""

    def __init__(self) -> None:
        self.by_name: dict[str, Topic] = {}
        self.groups_by_name: dict[str, Group] = {}
        self._callbacks: list[Callable[[Change], None]] = []
        self._numbers = count(1)

    def add(self, name: str, partitions: int = 4) -> Topic:
        topic = Topic(id=uuid4(), name=name, partition_numbers=tuple(next(self._numbers) for _ in range(partitions)))
        self.by_name[name] = topic
        self._tell(TopicChanged(0, None, topic))
        return topic

    def grow(self, name: str, partitions: int) -> Topic:
        old = self.by_name[name]
        more = tuple(next(self._numbers) for _ in range(partitions - len(old.partition_numbers)))
        topic = msgspec.structs.replace(old, partition_numbers=old.partition_numbers + more)
        self.by_name[name] = topic
        self._tell(TopicChanged(0, old, topic))
        return topic

    def topics(self) -> list[Topic]:
        return list(self.by_name.values())

    def groups(self) -> list[Group]:
        return list(self.groups_by_name.values())

    def save_group(self, group: Group) -> None:
        old = self.groups_by_name.get(group.name)
        self.groups_by_name[group.name] = group
        self._tell(GroupChanged(0, old, group))

    def remove(self, name: str) -> None:
        self._tell(TopicChanged(0, self.by_name.pop(name), None))

    def partition_by_number(self, number: int) -> Partition | None:
        for topic in self.by_name.values():
            if number in topic.partition_numbers:
                return Partition(topic.id, topic.partition_numbers.index(number), number)
        return None

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        return next((topic for topic in self.by_name.values() if topic.id == topic_id), None)

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    def _tell(self, change: Change) -> None:
        for callback in list(self._callbacks):
            callback(change)


class World:
    """Groups on fake surroundings, which survive a restart of the service."""

    def __init__(self, limits: GroupLimits | None = None) -> None:
        self.limits = limits or GroupLimits()
        self.clock = FakeClock()
        self.keeper = FakeKeeper()
        self.directory = FakeDirectory()
        self.log = MemoryLog(clock=self.clock.now_ms)
        self._ids = count(1)
        self.groups: Groups

    async def start(self, tracer: Tracer = UNTRACED) -> "World":
        self.groups = await Groups.open(
            self.directory,
            self.log,
            self.keeper,
            limits=self.limits,
            clock=self.clock,
            draw_id=lambda: f"id{next(self._ids)}",
            make_speech=lambda: SPEECH,
            tracer=tracer,
        )
        return self

    async def crash(self) -> None:
        """The process is gone, and another one begins with what was kept."""
        self.clock.forget()
        self.keeper.crash()
        await settle()
        await self.start()

    def member(self, name: str = "", **given: Any) -> "Speaker":
        return Speaker(self, name, **given)


def numbers(world: World, topic: str = "orders") -> frozenset[int]:
    """The partitions of a topic."""
    return frozenset(world.directory.by_name[topic].partition_numbers)


IDLE = b"nothing"
UNREADABLE = b"?"


class PlainSpeech:
    """In these tests, metadata is the names of topics with commas between them, and behind a colon the numbers of the
    partitions that the member holds; an assignment is such numbers."""

    def topics_of(self, metadata: bytes) -> frozenset[str] | None:
        return None if metadata == UNREADABLE else frozenset(metadata.partition(b":")[0].decode().split(",")) - {""}

    def idle_of(self, protocol_type: str, protocol: str) -> bytes | None:  # noqa: ARG002 - says it of every protocol
        return IDLE if protocol_type == "consumer" else None

    def spoken(self, metadata: bytes) -> Spoken | None:
        topics = self.topics_of(metadata)
        return None if topics is None else Spoken(topics, _numbers(metadata.partition(b":")[2]), None)

    def held_by(self, assignment: bytes) -> frozenset[int] | None:
        return None if assignment == UNREADABLE else _numbers(b"" if assignment == IDLE else assignment)

    def assignment(self, numbers: frozenset[int], metadata: bytes) -> bytes:  # noqa: ARG002 - the same for all
        return b",".join(b"%d" % number for number in sorted(numbers))


def _numbers(text: bytes) -> frozenset[int]:
    return frozenset(int(number) for number in text.split(b",") if number.isdigit())


SPEECH = PlainSpeech()


class Speaker:
    """A client in a group, one step at a time."""

    def __init__(
        self,
        world: World,
        name: str,
        *,
        group: str = "g",
        instance_id: str | None = None,
        protocols: tuple[Protocol, ...] = (Protocol("range", b"orders"),),
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        asks_id_first: bool = True,
        may_skip_assignment: bool = True,
    ) -> None:
        self._world = world
        self.name = name
        self.group = group
        self.member_id = ""
        self.instance_id = instance_id
        self.generation = -1
        self.protocols = protocols
        self.protocol_type = protocol_type
        self.session_ms = session_ms
        self.rebalance_ms = rebalance_ms
        self.asks_id_first = asks_id_first
        self.may_skip_assignment = may_skip_assignment
        self.joined: Joined | None = None
        self.assignment: bytes | None = None

    @property
    def identity(self) -> MemberIdentity:
        return MemberIdentity(self.member_id, self.generation, self.instance_id)

    @property
    def is_leader(self) -> bool:
        return self.joined is not None and self.joined.leader == self.member_id

    async def join(self) -> Joined:
        """Until the group has a generation with this member in it."""
        try:
            joined = await self._world.groups.join(self._join())
        except MemberIdRequired as required:
            self.member_id = required.member_id
            joined = await self._world.groups.join(self._join())
        self.joined = joined
        self.member_id, self.generation = joined.member_id, joined.generation
        return joined

    async def begin_join(self) -> "asyncio.Task[Joined]":
        """Joining, as far as it goes without the others."""
        task = asyncio.ensure_future(self.join())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        await settle()
        return task

    async def sync(self, assignments: dict[str, bytes] | None = None) -> Synced:
        synced = await self._world.groups.sync(
            Sync(group=self.group, member=self.identity, assignments=assignments or {})
        )
        self.assignment = synced.assignment
        return synced

    async def begin_sync(self, assignments: dict[str, bytes] | None = None) -> "asyncio.Task[Synced]":
        task = asyncio.ensure_future(self.sync(assignments))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        await settle()
        return task

    def heartbeat(self) -> None:
        self._world.groups.heartbeat(self.group, self.identity)

    def _join(self) -> Join:
        return Join(
            group=self.group,
            member_id=self.member_id,
            instance_id=self.instance_id,
            client_id=self.name or "client",
            client_host="/127.0.0.1",
            session_ms=self.session_ms,
            rebalance_ms=self.rebalance_ms,
            protocol_type=self.protocol_type,
            protocols=self.protocols,
            asks_id_first=self.asks_id_first,
            may_skip_assignment=self.may_skip_assignment,
        )


class Talker(Speaker):
    """A client that speaks the classic protocol and does what it hears, in a group of any kind. An eager one gives up
    all that it holds before it joins; a cooperative one says what it holds, and comes back when it has given something
    up."""

    def __init__(
        self,
        world: World,
        name: str,
        *,
        topics: tuple[str, ...] = ("orders",),
        is_cooperative: bool = False,
        **given: Any,
    ) -> None:
        super().__init__(world, name, **given)
        self.topics = topics
        self.is_cooperative = is_cooperative
        self.held: frozenset[int] = frozenset()

    @property
    def epoch(self) -> int:
        return self.generation

    async def come(self) -> None:
        """Join, and take what is assigned; again, while there is something to give up first."""
        while True:
            self.prepare()
            await self.join()
            synced = await self.sync(self.shares() if self.is_leader else None)
            if not self.take(synced.assignment):
                return

    async def beat(self) -> None:
        try:
            self.heartbeat()
        except RebalanceInProgress:
            await self.come()

    def prepare(self) -> None:
        """What it says when it joins next."""
        if not self.is_cooperative:
            self.held = frozenset()
        metadata = ",".join(self.topics).encode() + b":" + SPEECH.assignment(self.held, b"")
        self.protocols = (Protocol("cooperative" if self.is_cooperative else "eager", metadata),)

    def take(self, assignment: bytes) -> bool:
        """Whether it gave something up, and comes again."""
        assigned = _numbers(assignment)
        is_less = bool(self.held - assigned)
        self.held = assigned
        return is_less and self.is_cooperative

    def shares(self) -> dict[str, bytes]:
        """What it assigns as the leader of a group: everything, evenly; nothing that another one still owns."""
        assert self.joined is not None
        told = {each.member_id: SPEECH.spoken(each.metadata) for each in self.joined.members}
        names = sorted(told)
        by_name = self._world.directory.by_name
        read = sorted({name for each in told.values() if each is not None for name in each.topics if name in by_name})
        numbers = [number for name in read for number in by_name[name].partition_numbers]
        owners = {number: name for name, each in told.items() if each is not None for number in each.held}
        shares: dict[str, set[int]] = {name: set() for name in names}
        for place, number in enumerate(numbers):
            name = names[place % len(names)]
            if not self.is_cooperative or owners.get(number, name) == name:
                shares[name].add(number)
        return {name: SPEECH.assignment(frozenset(share), b"") for name, share in shares.items()}


class Holder:
    """A client that we assign to: it gives up at once what it is told to, and says so in its next heartbeat."""

    def __init__(
        self,
        world: World,
        name: str,
        *,
        topics: tuple[str, ...] | None = ("orders",),
        pattern: str | None = None,
        instance_id: str | None = None,
        assignor: str | None = None,
        group: str = "g",
        rebalance_ms: int = REBALANCE_MS,
    ) -> None:
        self._world = world
        self.group = group
        self.member_id = name
        self.instance_id = instance_id
        self.topics = topics
        self.pattern = pattern
        self.assignor = assignor
        self.rebalance_ms = rebalance_ms
        self.epoch = 0
        self.held: frozenset[int] = frozenset()
        self.is_slow = False
        """Says that it still holds what it is to give up."""

    @property
    def identity(self) -> MemberIdentity:
        return MemberIdentity(self.member_id, self.epoch)

    async def join(self) -> PulseAnswer:
        """Everything is said, and nothing is held."""
        self.epoch, self.held = 0, frozenset()
        return await self.beat(full=True)

    async def beat(self, *, full: bool = False) -> PulseAnswer:
        """Says what it holds, and takes what it gets."""
        answer = await self._world.groups.pulse(self.pulse(full=full))
        self.epoch = answer.epoch
        if answer.assigned is not None and not (self.is_slow and self.held - answer.assigned):
            self.held = answer.assigned
        return answer

    async def leave(self, *, for_a_while: bool = False) -> PulseAnswer:
        epoch = -2 if for_a_while else -1
        answer = await self._world.groups.pulse(
            Pulse(group=self.group, member_id=self.member_id, instance_id=self.instance_id, epoch=epoch)
        )
        self.epoch, self.held = 0, frozenset()
        return answer

    def pulse(self, *, full: bool = False) -> Pulse:
        return Pulse(
            group=self.group,
            member_id=self.member_id,
            epoch=self.epoch,
            instance_id=self.instance_id,
            rebalance_ms=self.rebalance_ms if full else -1,
            topics=self.topics if full else None,
            pattern=self.pattern if full else None,
            assignor=self.assignor if full else None,
            held=self.held,
            client_id="client",
            client_host="/127.0.0.1",
        )


async def converge(*holders: Holder | Talker) -> None:
    """Heartbeats in turn, until nobody is told anything new."""
    for _ in range(20):
        before = [(holder.epoch, holder.held) for holder in holders]
        for holder in holders:
            await holder.beat()
        if [(holder.epoch, holder.held) for holder in holders] == before:
            return
    raise AssertionError("the members do not come to rest")


async def assemble(world: World, *members: Speaker) -> None:
    """Bring a new or rebalancing group into a stable generation with exactly these members."""
    joining = [await member.begin_join() for member in members]
    for member in members:
        if member.joined is not None and not all(task.done() for task in joining):
            # An earlier generation had begun without the others: those in it come again.
            joining.append(await member.begin_join())
    await asyncio.wait_for(asyncio.gather(*joining, return_exceptions=False), 1)
    leader = next(member for member in members if member.is_leader)
    shares = {member.member_id: f"share of {member.member_id}".encode() for member in members}
    followers = [await member.begin_sync() for member in members if member is not leader]
    await leader.sync(shares)
    await asyncio.wait_for(asyncio.gather(*followers), 1)
