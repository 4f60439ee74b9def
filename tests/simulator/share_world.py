"""Groups whose members share partitions, in a world where anything may happen at any time.

Clients join, lose answers, fall silent, leave; topics come, grow and go; the store fails, and the process ends at any
moment. Whatever happens:
- once anybody was told that there is such a group, there is, and its epoch does not go back while it has members;
- a member is told the partitions of just those topics that it named and that are there;
- who is out is told to those who want to know, once; and who was not told of as out is in, or was with another process.
"""

import random
from collections import Counter

from braidmq.core.groups import ConsumerMemberView, GroupLimits, Pulse, PulseAnswer
from braidmq.core.trace import UNTRACED, Tracer
from braidmq.model import BraidError
from braidmq.model.errors import EpochFenced, StoreFailed, UnknownMember
from groups_support import World, settle

GROUP = "sharers"
SESSION_MS = 10_000
NAMES = ("t0", "t1", "t2")


class Violation(AssertionError):
    """A promise was broken."""


class ShareClient:
    """What one client knows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.epoch = 0
        self.topics: tuple[str, ...] = ("t0",)
        self.is_in = False


class ShareWorld(World):
    """See the module's opening."""

    def __init__(self, seed: int) -> None:
        super().__init__(GroupLimits(consumer_session_ms=SESSION_MS))
        self.random = random.Random(seed)
        self.clients = [ShareClient(f"c{number}") for number in range(3)]
        self.counts: Counter[str] = Counter()
        self.steps = 0
        self.told_epoch = 0
        self.out: list[str] = []
        self.directory.add("t0", 2)

    async def start(self, tracer: Tracer = UNTRACED) -> "ShareWorld":
        await super().start(tracer)
        return self

    async def live(self, steps: int) -> None:
        self.groups.on_departure(self._departed)
        for _ in range(steps):
            self.steps += 1
            await self.random.choice(
                [self._heartbeat, self._heartbeat, self._heartbeat, self._leave, self._pass, self._topics, self._fail]
            )()
            self._look()
        await self._end()

    def _departed(self, group: str, member_id: str) -> None:
        if group != GROUP or any(member.member_id == member_id for member in self._members()):
            raise Violation(f"{member_id} is said to be out, and is in")
        self.out.append(member_id)
        self.counts["departures"] += 1

    def _members(self) -> tuple[ConsumerMemberView, ...]:
        view = self.groups.find_share(GROUP)
        return () if view is None else view.members

    async def _heartbeat(self) -> None:
        client = self.random.choice(self.clients)
        if self.random.random() < 0.2:
            client.topics = tuple(self.random.sample(NAMES, self.random.randint(1, 3)))
            topics: tuple[str, ...] | None = client.topics
        else:
            topics = client.topics if client.epoch == 0 else None
        pulse = Pulse(group=GROUP, member_id=client.name, epoch=client.epoch, topics=topics)
        try:
            answer = await self.groups.share_pulse(pulse)
        except (UnknownMember, EpochFenced):
            client.epoch, client.is_in = 0, False
        except StoreFailed:
            client.epoch = 0  # what it named may not have been heard
        else:
            self._told(client, answer, is_full=topics is not None)

    def _told(self, client: ShareClient, answer: PulseAnswer, *, is_full: bool) -> None:
        self.counts["heartbeats"] += 1
        if answer.epoch < self.told_epoch:
            raise Violation(f"epoch {answer.epoch} after {self.told_epoch}")
        self.told_epoch, client.is_in = answer.epoch, True
        wanted = {
            number
            for name, topic in self.directory.by_name.items()
            if name in client.topics
            for number in topic.partition_numbers
        }
        if answer.assigned is None and is_full:
            raise Violation(f"{client.name} says what it wants, and is not told anything")
        if answer.assigned is not None and answer.assigned != wanted:
            raise Violation(f"{client.name} is to have {sorted(answer.assigned)} instead of {sorted(wanted)}")
        if self.random.random() < 0.9:
            client.epoch = answer.epoch  # else the answer was lost

    async def _leave(self) -> None:
        client = self.random.choice(self.clients)
        self.out.clear()
        was_in = self.groups.size(GROUP)
        try:
            await self.groups.share_pulse(Pulse(group=GROUP, member_id=client.name, epoch=-1))
        except BraidError:
            pass
        else:
            self.counts["leaves"] += 1
        if len(self.out) != was_in - self.groups.size(GROUP):
            raise Violation(f"{was_in - self.groups.size(GROUP)} are gone, and told of were {self.out}")
        client.epoch, client.is_in = 0, False

    async def _pass(self) -> None:
        await self.clock.advance(self.random.choice([100, 3_000, 8_000]))

    async def _topics(self) -> None:
        name = self.random.choice(NAMES)
        topic = self.directory.by_name.get(name)
        if topic is None:
            self.directory.add(name, 2)
        elif self.random.random() < 0.5:
            self.directory.grow(name, len(topic.partition_numbers) + 1)
        else:
            self.directory.remove(name)

    async def _fail(self) -> None:
        self.keeper.is_failing = self.random.random() < 0.3

    def _look(self) -> None:
        if self.told_epoch and not self.groups.is_share(GROUP):
            raise Violation("members were told of a group that is not there")

    async def _end(self) -> None:
        self.keeper.is_failing = False
        await settle()
        await self.crash()
        self.counts["crashes"] += 1
        self._look()
        for client in self.clients:
            client.is_in = False
