"""Who is in a group that assigns by itself: by id, by instance, and by what they can work with."""

import asyncio
from collections import Counter

from braidmq.core.groups._member import Member
from braidmq.core.groups._words import CONSUMER_PROTOCOL, Join, Joined, JoinedMember, Speech
from braidmq.model import BraidError
from braidmq.model.errors import InstanceFenced, UnknownMember


class Roster:
    """The members in the order in which they came, and which of them leads."""

    def __init__(self, group: str) -> None:
        self._group = group
        self.members: dict[str, Member] = {}
        self.leader: str | None = None
        self.protocol_type: str | None = None
        """What kind of protocol the members, or the last of them, spoke."""
        self._instances: dict[str, str] = {}
        self._known_by: Counter[str] = Counter()
        """How many members know a protocol."""

    # Finding.

    def find(self, member_id: str, instance_id: str | None) -> Member:
        """Raises UnknownMember, InstanceFenced."""
        if instance_id is not None:
            current = self._instances.get(instance_id)
            if current is None:
                raise UnknownMember(f"the group {self._group!r} has no instance {instance_id!r}")
            if current != member_id:
                raise InstanceFenced(f"instance {instance_id!r} of {self._group!r} is another member now")
        if (member := self.members.get(member_id)) is None:
            raise UnknownMember(f"the group {self._group!r} has no member {member_id!r}")
        return member

    def of_instance(self, instance_id: str | None) -> Member | None:
        return self.members.get(self._instances.get(instance_id or "", ""))

    @property
    def waiting(self) -> int:
        """How many wait for the next generation."""
        return sum(1 for member in self.members.values() if member.joining is not None)

    @property
    def have_all_joined(self) -> bool:
        return all(member.joining is not None for member in self.members.values())

    @property
    def rebalance_ms(self) -> int:
        """How long the slowest may take to come back."""
        return max((member.rebalance_ms for member in self.members.values()), default=0)

    # Coming and going.

    def add(self, member: Member) -> None:
        if not self.members:
            self.protocol_type = member.protocol_type
        self.members[member.id] = member
        self._known_by.update(member.protocol_names)
        if member.instance_id is not None:
            self._instances[member.instance_id] = member.id
        if self.leader not in self.members:
            self.leader = member.id

    def replace(self, old: Member, member: Member) -> None:
        """The same instance under another id, in the same place."""
        present = (member if each is old else each for each in self.members.values())
        self.members = {each.id: each for each in present}
        self._instances[member.instance_id or ""] = member.id
        self._known_by.subtract(old.protocol_names)
        self._known_by.update(member.protocol_names)
        if self.leader == old.id:
            self.leader = member.id

    def remove(self, member: Member, error: BraidError) -> None:
        """Whatever the member waits for ends with the error."""
        del self.members[member.id]
        self._known_by.subtract(member.protocol_names)
        if member.instance_id is not None and self._instances.get(member.instance_id) == member.id:
            del self._instances[member.instance_id]
        if self.leader == member.id:
            self.leader = next(iter(self.members), None)
        member.end(error)

    def wait(self, member: Member, join: Join) -> "asyncio.Future[Joined]":
        """The member waits for the next generation, with what it can do now."""
        self._known_by.subtract(member.protocol_names)
        waiting = member.rejoin(join)
        self._known_by.update(member.protocol_names)
        return waiting

    # What they have in common.

    def can_work_with(self, join: Join) -> bool:
        """Whether there is a protocol that this member and all others know."""
        if not join.protocol_type or not join.protocols:
            return False
        if not self.members:
            return True
        member = self.members.get(join.member_id)
        others = len(self.members) - (member is not None)
        own = frozenset() if member is None else member.protocol_names
        return join.protocol_type == self.protocol_type and any(
            self._known_by[each.name] - (each.name in own) == others for each in join.protocols
        )

    def select_protocol(self) -> str:
        """Each member votes for the first of its protocols that all know; the oldest member's choice wins a tie."""
        everybody = len(self.members)
        votes: Counter[str] = Counter()
        for member in self.members.values():
            votes[next(each.name for each in member.protocols if self._known_by[each.name] == everybody)] += 1
        return votes.most_common(1)[0][0]

    def elect(self) -> bool:
        """Whether somebody leads who waits for the next generation."""
        leader = self.members.get(self.leader or "")
        if leader is not None and leader.joining is not None:
            return True
        here = next((member for member in self.members.values() if member.joining is not None), None)
        if here is not None:
            self.leader = here.id
        return here is not None

    def topics(self, protocol: str, speech: Speech) -> frozenset[str] | None:
        """What the members read; None where they do not say, or not in words that we know."""
        if self.protocol_type != CONSUMER_PROTOCOL:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            found = speech.topics_of(member.metadata(protocol))
            if found is None:
                return None
            topics |= found
        return frozenset(topics)

    def shown(self, protocol: str) -> tuple[JoinedMember, ...]:
        """All members as their leader sees them."""
        return tuple(JoinedMember(each.id, each.instance_id, each.metadata(protocol)) for each in self.members.values())
