"""Groups in a world where anything may happen at any time, and a model that knows what must come of it.

Clients join, assign, work, fall silent, die, come back and lie about who they are; the store is slow, fails, and the
process ends at any moment, with writes on their way. Whatever happens:
- a generation is told once: all its members hear of the same leader and protocol, and after a newer one was told, the
  older one is over for everybody, in this life and in the next;
- in a generation every member has one assignment, always the same, and no part of the work is in two of them;
- who left, was replaced or is in an older generation commits nothing, ever again;
- a group whose members behave becomes stable, with all of its work assigned, and stays so across a restart.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from braidmq.core.groups import GroupLimits, GroupState, Joined, Leaver, MemberIdentity, Protocol
from braidmq.log import GroupOffset
from braidmq.model import BraidError
from braidmq.model.errors import (
    InstanceFenced,
    MemberIdRequired,
    RebalanceInProgress,
    StaleGeneration,
    StoreFailed,
    UnknownMember,
)
from groups_support import Speaker, World, settle

GROUP = "g"
PARTS = 12
SESSION_MS = 10_000
REBALANCE_MS = 15_000
CALM_ROUNDS = 60


class Violation(AssertionError):
    """A promise was broken."""


class Client(Speaker):
    """A member that mostly does what it should. `wants_join` is what it was last told to do."""

    def __init__(self, world: World, name: str, instance_id: str | None) -> None:
        super().__init__(
            world,
            name,
            group=GROUP,
            instance_id=instance_id,
            protocols=(Protocol("range", b"orders"), Protocol("sticky", b"orders")),
            session_ms=SESSION_MS,
            rebalance_ms=REBALANCE_MS,
        )
        self.wants_join = True
        self.is_synced = False
        self.waiting: asyncio.Task[Any] | None = None
        self.past: list[MemberIdentity] = []

    def die(self) -> None:
        """The process is gone with all it knew."""
        if self.waiting is not None:
            self.waiting.cancel()
        if self.member_id:
            self.past.append(self.identity)
        self.waiting = None
        self.member_id = ""
        self.generation = -1
        self.joined = None
        self.wants_join, self.is_synced = True, False


class Model:
    """What was told."""

    def __init__(self) -> None:
        self.newest = 0
        self.generations: dict[int, tuple[str, str | None]] = {}
        self.assigned: dict[int, dict[str, bytes]] = {}
        self.told: dict[int, dict[str, bytes]] = {}
        self.gone: set[str] = set()

    def joined(self, joined: Joined, client: Client) -> None:
        if joined.generation < self.newest:
            raise Violation(f"generation {joined.generation} was told after {self.newest}")
        self.newest = joined.generation
        protocol = self.generations.setdefault(joined.generation, (joined.leader, joined.protocol))[1]
        if protocol != joined.protocol:
            raise Violation(f"generation {joined.generation} was told with {protocol} and with {joined.protocol}")
        if joined.member_id in self.gone:
            raise Violation(f"{joined.member_id} was gone, and is told of generation {joined.generation}")
        if client.instance_id is not None:
            self.gone |= {each.member_id for each in client.past if each.member_id != joined.member_id}

    def synced(self, generation: int, place: str, assignment: bytes) -> None:
        if generation != self.newest:
            raise Violation(f"an assignment of generation {generation} while {self.newest} is the newest")
        told = self.told.setdefault(generation, {})
        if told.setdefault(place, assignment) != assignment:
            raise Violation(f"{place} has two assignments in generation {generation}")
        parts = [part for share in told.values() for part in share.split(b",") if part]
        if len(parts) != len(set(parts)):
            raise Violation(f"generation {generation} gives a part of the work twice: {told}")

    def worked(self, identity: MemberIdentity) -> None:
        """Somebody was believed."""
        if identity.member_id in self.gone:
            raise Violation(f"{identity} was gone, and is believed")
        if 0 <= identity.generation < self.newest:
            raise Violation(f"{identity} is believed, and {self.newest} was told")


class GroupsWorld:
    """One seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = World(
            GroupLimits(
                session_min_ms=1,
                initial_delay_ms=self.chance.choice([0, 0, 1_000]),
                members_max=self.chance.choice([3, 100, 100, 100]),
            )
        )
        self.number = self.world.directory.add("orders", PARTS).partition_numbers[0]
        self.clients = [
            Client(self.world, f"c{index}", f"i{index}" if self.chance.random() < 0.4 else None)
            for index in range(self.chance.randint(1, 5))
        ]
        self.model = Model()
        self.steps = 0
        self.counts: dict[str, int] = {}

    async def start(self) -> "GroupsWorld":
        await self.world.start()
        return self

    async def live(self, steps: int) -> None:
        """A wild time, and a calm one after it in which everything must come right."""
        for _ in range(steps):
            await self.step()
        await self.calm()

    async def step(self) -> None:
        self.steps += 1
        act, weight = zip(*self._acts(), strict=True)
        await self.chance.choices(act, weight)[0](self.chance.choice(self.clients))
        await self._settle()

    def _acts(self) -> list[tuple[Callable[[Client], Awaitable[None]], float]]:
        return [
            (self._proceed, 12),
            (self._heartbeat, 6),
            (self._commit, 4),
            (self._lie, 4),
            (self._repeat, 2),
            (self._change_mind, 1),
            (self._leave, 1),
            (self._remove, 0.5),
            (self._die, 1.5),
            (self._pass_time, 4),
            (self._release, 6),
            (self._trouble_store, 1),
            (self._crash, 0.7),
        ]

    # What clients do.

    async def _proceed(self, client: Client) -> None:
        if client.waiting is not None:
            return
        if client.wants_join:
            client.waiting = asyncio.ensure_future(client.join())
        elif not client.is_synced:
            client.waiting = asyncio.ensure_future(client.sync(self._shares(client)))

    def _shares(self, client: Client) -> dict[str, bytes]:
        if client.joined is None or not client.is_leader or client.joined.skip_assignment:
            return {}
        ids = [each.member_id for each in client.joined.members]
        parts = list(range(PARTS))
        self.chance.shuffle(parts)
        return {each: b",".join(b"%d" % part for part in parts[at :: len(ids)]) for at, each in enumerate(ids)}

    async def _heartbeat(self, client: Client) -> None:
        if client.generation >= 0 and client.waiting is None:
            await self._try(client, self._beat)

    async def _beat(self, client: Client) -> None:
        client.heartbeat()
        self.model.worked(client.identity)

    async def _commit(self, client: Client) -> None:
        if client.generation >= 0 and client.is_synced and client.waiting is None:
            await self._try(client, self._work)

    async def _work(self, client: Client) -> None:
        await self.world.groups.commit(GROUP, client.identity, {self.number: GroupOffset(self.steps)})
        self.model.worked(client.identity)
        self._count("commits")

    async def _lie(self, client: Client) -> None:
        """Somebody speaks as it was in the past."""
        if not client.past:
            return
        identity = self.chance.choice(client.past)
        try:
            if self.chance.random() < 0.5:
                self.world.groups.heartbeat(GROUP, identity)
            else:
                await self.world.groups.commit(GROUP, identity, {self.number: GroupOffset(1)})
        except BraidError:
            return
        if identity.generation >= 0:
            self.model.worked(identity)

    async def _repeat(self, client: Client) -> None:
        """The answer was lost, or took too long."""
        if client.waiting is not None:
            client.waiting.cancel()
            client.waiting = None
            await settle()
            await self._proceed(client)

    async def _change_mind(self, client: Client) -> None:
        metadata = b"orders" if self.chance.random() < 0.5 else b"orders,other"
        names = self.chance.choice([("range", "sticky"), ("sticky", "range"), ("sticky",), ("range", "sticky", "own")])
        client.protocols = tuple(Protocol(name, metadata) for name in names)
        client.wants_join = True

    async def _leave(self, client: Client) -> None:
        if not client.member_id:
            return
        try:
            fates = await self._with_writes(
                self.world.groups.leave(GROUP, [Leaver(client.member_id, client.instance_id)])
            )
        except StoreFailed:
            return
        if fates == [None]:
            self.model.gone.add(client.member_id)
            self._count("leaves")
        client.die()

    async def _remove(self, client: Client) -> None:
        if client.instance_id is not None:
            view = self.world.groups.find(GROUP)
            known = {} if view is None else {each.instance_id: each.member_id for each in view.members}
            try:
                fates = await self._with_writes(self.world.groups.leave(GROUP, [Leaver("", client.instance_id)]))
            except StoreFailed:
                return
            if fates == [None]:
                self.model.gone.add(known[client.instance_id])

    async def _die(self, client: Client) -> None:
        client.die()

    # What the world does.

    async def _pass_time(self, _: Client) -> None:
        await self.world.clock.advance(self.chance.choice([1, 100, 1_000, 3_000, 9_000, 20_000]))

    async def _release(self, _: Client) -> None:
        self.world.keeper.release(self.chance.choice([1, 1, 2, None]))

    async def _trouble_store(self, _: Client) -> None:
        keeper = self.world.keeper
        keeper.is_holding = self.chance.random() < 0.5
        keeper.is_failing = self.chance.random() < 0.1

    async def _crash(self, _: Client) -> None:
        self._count("crashes")
        for client in self.clients:
            if client.waiting is not None:
                client.waiting.cancel()
                client.waiting = None
        await self.world.crash()

    async def _with_writes(self, answer: Awaitable[Any]) -> Any:
        """A call that waits for the store gets it: else this world would stand still."""
        task = asyncio.ensure_future(answer)
        for _ in range(50):
            await settle()
            if task.done():
                break
            self.world.keeper.release()
        return await task

    # What comes back.

    async def _try(self, client: Client, act: Callable[[Client], Awaitable[None]]) -> None:
        try:
            await act(client)
        except BraidError as error:
            self._told(client, error)

    async def _settle(self) -> None:
        await settle()
        for client in self.clients:
            if client.waiting is not None and client.waiting.done():
                done, client.waiting = client.waiting, None
                self._ended(client, done)

    def _ended(self, client: Client, done: "asyncio.Task[Any]") -> None:
        if done.cancelled():
            return
        if (error := done.exception()) is not None:
            if not isinstance(error, BraidError):
                raise error
            self._told(client, error)
        elif isinstance(done.result(), Joined):
            self.model.joined(done.result(), client)
            client.past.append(client.identity)
            client.wants_join, client.is_synced = False, False
            self._count("joins")
        else:
            place = client.instance_id or client.member_id  # an instance that returns takes over its own share
            self.model.synced(client.generation, place, done.result().assignment)
            client.is_synced = True
            self._count("syncs")

    def _told(self, client: Client, error: BraidError) -> None:
        if isinstance(error, UnknownMember | InstanceFenced):
            client.die()
        elif isinstance(error, RebalanceInProgress | StaleGeneration | StoreFailed):
            client.wants_join, client.is_synced = True, False
        elif not isinstance(error, MemberIdRequired):
            client.die()

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    # The calm.

    async def calm(self) -> None:
        """Everybody does what it should, and the store works."""
        keeper = self.world.keeper
        keeper.is_holding = keeper.is_failing = False
        keeper.release()
        alive = self.clients[: self.world.limits.members_max]
        for client in self.clients:
            if client not in alive:
                client.die()
            client.protocols = (Protocol("range", b"orders"), Protocol("sticky", b"orders"))
        for _ in range(CALM_ROUNDS):
            for client in alive:
                await self._heartbeat(client)
                await self._proceed(client)
                await self._settle()
            await self.world.clock.advance(1_000)
            await self._settle()
        self._check_calm(alive)
        await self._crash(alive[0])
        for client in alive:
            client.heartbeat()
        self._check_calm(alive)

    def _check_calm(self, alive: list[Client]) -> None:
        view = self.world.groups.find(GROUP)
        if view is None or view.state is not GroupState.STABLE:
            raise Violation(f"the group does not become stable: {view}")
        ids = sorted(client.member_id for client in alive)
        if sorted(member.member_id for member in view.members) != ids:
            raise Violation(f"the members are {[member.member_id for member in view.members]}, not {ids}")
        parts = sorted(int(part) for member in view.members for part in member.assignment.split(b",") if part)
        if parts != list(range(PARTS)):
            raise Violation(f"the work is divided as {parts}")
