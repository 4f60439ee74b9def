"""Groups whose clients are changed over while anything may happen: the world of groups that we assign to, with clients
in it that speak the classic protocol, and clients that come back as the other kind.

What must hold is what holds there. A group in which all speak the classic protocol divides its work itself, and here,
too, no partition is in two hands: a client of that kind knows when it was not heard for too long, and when it has not
come back in time.
"""

import asyncio
import random
from typing import Any

from braidmq.core.groups import GroupKind, GroupState, Joined, Leaver, Synced
from braidmq.model import BraidError
from braidmq.model.errors import InstanceFenced, RebalanceInProgress, StaleGeneration, StoreFailed, UnknownMember
from groups_support import Talker, World
from simulator.assigned_world import REBALANCE_MS, SESSION_MS, SUBSCRIPTIONS, AssignedWorld, Client, Violation

COMING_MS = REBALANCE_MS - SESSION_MS
"""Who is told to come may hear of it that much later, so that it has less time than it was given."""


class Caller(Talker):
    """A client that speaks the classic protocol, one step at a time. `is_over_ms` is when it drops all by itself."""

    def __init__(
        self, world: World, name: str, instance_id: str | None, *, is_cooperative: bool, lives: int = 0
    ) -> None:
        super().__init__(
            world,
            f"{name}.{lives}",
            is_cooperative=is_cooperative,
            topics=("t0",),
            instance_id=instance_id,
            session_ms=SESSION_MS,
            rebalance_ms=REBALANCE_MS,
        )
        self.root = name
        self.lives = lives
        self.said_topics: tuple[str, ...] = ()
        self.assigned_of: frozenset[int] = frozenset()
        """All that there was when it led and assigned."""
        self.wants_join, self.is_synced = True, False
        self.sent_ms = self.heard_ms = 0.0
        self.told_ms: float | None = None
        """Since when it has been told to come."""
        self.waiting: asyncio.Task[Any] | None = None

    @property
    def target(self) -> frozenset[int]:
        """What it holds is what it was told to."""
        return self.held

    @target.setter
    def target(self, _: frozenset[int]) -> None:
        """Topics that go are gone from both."""

    def restart(self) -> None:
        """Without anything in hand, as somebody whom nobody knows."""
        self.member_id, self.generation, self.joined = "", -1, None
        self.lose()

    def lose(self) -> None:
        """It believes nothing any more that it was told, but its name; what it has asked it asks anew."""
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None
        self.held, self.told_ms = frozenset(), None
        self.wants_join, self.is_synced = True, False

    def is_over(self, now_ms: float) -> bool:
        is_late = self.told_ms is not None and now_ms - self.told_ms >= COMING_MS
        return bool(self.held) and (is_late or now_ms - self.heard_ms >= SESSION_MS)


class MixedWorld(AssignedWorld):
    """One seed."""

    clients: list[Client | Caller]  # type: ignore[assignment]  # more than the other world has

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.chance = random.Random(f"mixed {seed}")
        self.kind: GroupKind | None = None
        self.are_cooperative = self.chance.random() < 0.5
        self.clients = [
            self._caller(client.name, client.instance_id, 0) if self.chance.random() < 0.6 else client
            for client in self.clients
        ]

    def _caller(self, name: str, instance_id: str | None, lives: int) -> Caller:
        return Caller(self.world, name, instance_id, is_cooperative=self.are_cooperative, lives=lives)

    def _acts(self) -> Any:
        return [*super()._acts(), (self._change_over, 1.5)]

    # What clients do.

    async def _change_over(self, client: Client | Caller) -> None:
        """It comes back with another version of its software."""
        await self._die(client)
        place = self.clients.index(client)
        if isinstance(client, Caller):
            other = Client(self.world, client.root, client.instance_id)
            other.lives = client.lives
            other.restart()
            self.clients[place] = other
        else:
            self.clients[place] = self._caller(client.name, client.instance_id, client.lives + 1)
        self._count("changes")

    async def _beat(self, client: Client | Caller) -> None:
        if not isinstance(client, Caller):
            await super()._beat(client)
        elif client.waiting is None:
            client.sent_ms = self.world.clock.passed_ms()
            if client.wants_join or (client.is_synced and self._has_news(client)):
                client.said_topics, client.is_synced = client.topics, False
                client.prepare()
                client.waiting = asyncio.ensure_future(client.join())
            elif not client.is_synced:
                client.waiting = asyncio.ensure_future(client.sync(self._shares(client)))
            else:
                self._heartbeat(client)

    def _shares(self, caller: Caller) -> dict[str, bytes] | None:
        if not caller.is_leader or (caller.joined is not None and caller.joined.skip_assignment):
            return None
        caller.assigned_of = self._partitions()
        return caller.shares()

    def _has_news(self, caller: Caller) -> bool:
        """Whether it wants to read something else, or leads and has not assigned what there is now."""
        return caller.topics != caller.said_topics or (caller.is_leader and caller.assigned_of != self._partitions())

    def _partitions(self) -> frozenset[int]:
        return frozenset(number for topic in self.world.directory.topics() for number in topic.partition_numbers)

    def _heartbeat(self, caller: Caller) -> None:
        try:
            caller.heartbeat()
        except BraidError as error:
            self._told(caller, error)
        else:
            caller.heard_ms = caller.sent_ms

    async def _give_up(self, client: Client | Caller) -> None:
        if not isinstance(client, Caller):
            await super()._give_up(client)

    async def _commit(self, client: Client | Caller) -> None:
        if client.epoch > 0 and client.held:
            await self._try_commit(client.identity, min(client.held))

    async def _lose_answer(self, client: Client | Caller) -> None:
        if not isinstance(client, Caller):
            await super()._lose_answer(client)
        elif client.waiting is not None:
            client.waiting.cancel()
            client.waiting = None

    async def _subscribe(self, client: Client | Caller) -> None:
        if not isinstance(client, Caller):
            await super()._subscribe(client)
        else:
            client.topics = self.chance.choice([topics for topics, pattern in SUBSCRIPTIONS if not pattern])

    async def _leave(self, client: Client | Caller) -> None:
        if not isinstance(client, Caller):
            await super()._leave(client)
        elif client.member_id and client.waiting is None:
            identity = client.identity
            try:
                fates = await self._with_writes(
                    self.world.groups.leave("g", [Leaver(client.member_id, client.instance_id)])
                )
            except StoreFailed:
                fates = []
            if fates == [None]:
                self.gone.add(identity.member_id)
                self._count("leaves")
            self.past.append(identity)
            client.restart()

    async def _die(self, client: Client | Caller) -> None:
        if client.epoch > 0:
            self.past.append(client.identity)
        client.restart()

    # What comes back.

    async def _settle(self) -> None:
        callers = [client for client in self.clients if isinstance(client, Caller)]
        others = [client for client in self.clients if not isinstance(client, Caller)]
        whole, self.clients = self.clients, others  # type: ignore[assignment]  # each world settles its own
        try:
            await super()._settle()
        finally:
            self.clients = whole
        now_ms = self.world.clock.passed_ms()
        for caller in callers:
            if caller.waiting is not None and caller.waiting.done():
                done, caller.waiting = caller.waiting, None
                self._ended(caller, done)
            if caller.is_over(now_ms):
                caller.lose()
        self._note_kind()

    def _note_kind(self) -> None:
        view = self.world.groups.find("g")
        now = None if view is None or view.state is GroupState.EMPTY else view.kind
        if now is not None and self.kind is not None and now is not self.kind:
            self._count("upgrades" if now is GroupKind.CONSUMER else "downgrades")
        self.kind = now

    def _ended(self, caller: Caller, done: "asyncio.Task[Any]") -> None:
        error = done.exception()
        if isinstance(error, BraidError):
            self._told(caller, error)
        elif error is not None:
            raise error
        elif isinstance(done.result(), Joined):
            if caller.generation < self.epochs.get(caller.member_id, 0):
                raise Violation(
                    f"{caller.member_id} was in {self.epochs[caller.member_id]}, and is in {caller.generation}"
                )
            self.epochs[caller.member_id] = caller.generation
            caller.wants_join, caller.is_synced, caller.told_ms = False, False, None
            caller.heard_ms = caller.sent_ms
            self._count("joins")
        elif isinstance(done.result(), Synced):
            caller.is_synced, caller.heard_ms = True, caller.sent_ms
            caller.wants_join = caller.take(done.result().assignment)
            self._count("syncs")

    def _told(self, caller: Caller, error: BraidError) -> None:
        if isinstance(error, RebalanceInProgress):
            caller.heard_ms = max(caller.heard_ms, caller.sent_ms)
            caller.told_ms = caller.sent_ms if caller.told_ms is None else caller.told_ms
            caller.wants_join, caller.is_synced = True, False
        elif isinstance(error, StoreFailed):
            caller.wants_join, caller.is_synced = True, False
        elif isinstance(error, StaleGeneration):
            caller.lose()
        elif isinstance(error, UnknownMember | InstanceFenced):
            caller.restart()
        else:
            caller.restart()
