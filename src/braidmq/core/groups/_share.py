"""A group whose members share partitions: messages are handed out one by one (see `core.cursors`), to whoever asks.

So there is nothing to divide: every member is to ask for messages in all partitions of the topics that it names, and
nobody has to give anything up. The group's epoch grows with every change of who reads what, and a member learns of it
by its next heartbeat.

What outlives the process is that there is such a group, and its epoch. Members do not: each of them hears that nobody
knows it, and joins again under its own id.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Protocol

from braidmq.core.groups._rows import GROUP_KEY, Row, ShareRow
from braidmq.core.groups._words import (
    ConsumerGroupView,
    ConsumerMemberView,
    GroupKind,
    GroupLimits,
    GroupState,
    GroupView,
    MemberIdentity,
    Pulse,
    PulseAnswer,
)
from braidmq.core.timing import Clock, Deadline
from braidmq.logger import get_logger
from braidmq.model.errors import EpochFenced, GroupFull, GroupNotEmpty, UnknownGroup, UnknownMember
from braidmq.model.share_settings import Pace

ASSIGNOR: Final = "simple"
SHARE_PROTOCOL: Final = "share"

Departed = Callable[[str, str], None]
"""Told of a group and a member that is not in it any more."""

_logger = get_logger(__name__)


class Home(Protocol):
    """What a group needs of the service it belongs to."""

    clock: Clock
    limits: GroupLimits

    def keep(self, group: str, rows: Mapping[str, Row]) -> "asyncio.Future[None]":
        """Make these all rows of the group."""
        ...

    def topic_numbers(self) -> Mapping[str, tuple[int, ...]]:
        """The partitions of every topic there is, in order."""
        ...

    def share_pace(self, group: str) -> Pace:
        """How long its members may be silent, and how often they say that they live."""
        ...

    def departed(self, group: str, member_id: str) -> None:
        """Tell whoever wants to know that a member is out."""
        ...


class ShareMember:
    """`assigned` is what it was told last. `session` is when it counts as gone."""

    __slots__ = ("assigned", "client_host", "client_id", "epoch", "id", "previous_epoch", "rack", "session", "topics")

    def __init__(self, member_id: str, session: Deadline) -> None:
        self.id = member_id
        self.session = session
        self.rack: str | None = None
        self.client_id = ""
        self.client_host = ""
        self.topics: frozenset[str] = frozenset()
        self.epoch = 0
        self.previous_epoch = 0
        self.assigned: frozenset[int] = frozenset()

    def enter(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.previous_epoch, self.epoch = self.epoch, epoch


class ShareGroup:
    """One group. Methods raise what the member is to be told."""

    kind = GroupKind.SHARE

    def __init__(self, name: str, home: Home) -> None:
        self.name = name
        self.epoch = 0
        self.members: dict[str, ShareMember] = {}
        self._home = home
        self._told_epoch = 0
        """The last that anybody was told of: what changes before the next heartbeat is answered is one change."""
        self._is_unkept = True
        self._writing: asyncio.Future[None] | None = None
        self._topics: dict[str, tuple[int, ...]] = {}
        """What the members read, as it was when somebody last looked."""
        self._is_topics_stale = True

    @classmethod
    def restored(cls, name: str, home: Home, row: ShareRow) -> "ShareGroup":
        """The group as it was kept."""
        group = cls(name, home)
        group.epoch = group._told_epoch = row.epoch
        group._is_unkept = False
        return group

    # Heartbeats.

    def pulse(self, pulse: Pulse) -> tuple[PulseAnswer, "asyncio.Future[None] | None"]:
        """The answer, and when it may be given. Raises UnknownMember, EpochFenced, GroupFull."""
        member = self._join(pulse) if pulse.epoch == 0 else self._known(pulse)
        self._update(member, pulse)
        self._refresh_topics()
        before = member.assigned
        member.assigned = self._assigned(member)
        member.enter(self.epoch)
        member.session.set(self._home.share_pace(self.name).session_ms)
        is_told = pulse.epoch == 0 or pulse.topics is not None or member.assigned != before
        return self._answer(member, member.epoch, member.assigned if is_told else None), self.keep()

    def leave(self, pulse: Pulse) -> tuple[PulseAnswer, "asyncio.Future[None] | None"]:
        """The member goes for good. Raises UnknownMember."""
        member = self._find(pulse.member_id)
        self._remove(member, "left")
        return self._answer(member, pulse.epoch, None), self.keep()

    def _answer(self, member: ShareMember, epoch: int, assigned: frozenset[int] | None) -> PulseAnswer:
        return PulseAnswer(member.id, epoch, self._home.share_pace(self.name).heartbeat_ms, assigned)

    def _join(self, pulse: Pulse) -> ShareMember:
        member = self.members.get(pulse.member_id)
        if member is not None:
            return member
        if len(self.members) >= self._home.limits.members_max:
            raise GroupFull(f"the group {self.name!r} may have {self._home.limits.members_max} members")
        session = Deadline(self._home.clock, partial(self._session_over, pulse.member_id))
        member = self.members[pulse.member_id] = ShareMember(pulse.member_id, session)
        self._begin_epoch(f"member {member.id} joins")
        return member

    def _known(self, pulse: Pulse) -> ShareMember:
        member = self._find(pulse.member_id)
        # The answer with the newer epoch may have been lost.
        if pulse.epoch not in (member.epoch, member.previous_epoch):
            raise EpochFenced(
                f"member {member.id} of {self.name!r} is in epoch {member.epoch}, not in {pulse.epoch}; it is to join"
                " again"
            )
        return member

    def _find(self, member_id: str) -> ShareMember:
        if (member := self.members.get(member_id)) is None:
            raise UnknownMember(f"the group {self.name!r} has no member {member_id!r}")
        return member

    def _update(self, member: ShareMember, pulse: Pulse) -> None:
        """Take what the member says anew; the rest is as before."""
        member.client_id, member.client_host = pulse.client_id, pulse.client_host
        member.rack = member.rack if pulse.rack is None else pulse.rack
        if pulse.topics is not None and frozenset(pulse.topics) != member.topics:
            member.topics = frozenset(pulse.topics)
            self._is_topics_stale = True

    def _assigned(self, member: ShareMember) -> frozenset[int]:
        return frozenset(number for name in member.topics for number in self._topics.get(name, ()))

    # Epochs.

    def topics_changed(self) -> None:
        """Topics came, grew or went; the next heartbeat looks whether that matters here."""
        self._is_topics_stale = True

    def _refresh_topics(self) -> None:
        if not self._is_topics_stale:
            return
        self._is_topics_stale = False
        known = self._home.topic_numbers()
        read = frozenset[str]().union(*(member.topics for member in self.members.values()))
        topics = {name: known[name] for name in read if name in known}
        if topics != self._topics:
            self._topics = topics
            self._begin_epoch("what its members read has changed")

    def _begin_epoch(self, why: str) -> None:
        if self.epoch > self._told_epoch:
            return
        self.epoch += 1
        self._is_unkept = True
        _logger.info("share group has changed", group=self.name, epoch=self.epoch, why=why)

    # Going.

    def _remove(self, member: ShareMember, why: str) -> None:
        member.session.cancel()
        del self.members[member.id]
        self._is_topics_stale = True
        self._begin_epoch(f"member {member.id} {why}")
        self._home.departed(self.name, member.id)

    def _session_over(self, member_id: str) -> None:
        if (member := self.members.get(member_id)) is not None:
            self._remove(member, "fell silent")
            self.keep()

    def delete(self) -> None:
        """Raises GroupNotEmpty."""
        if self.members:
            raise GroupNotEmpty(f"the group {self.name!r} has members")

    def close(self) -> None:
        """No timer of this group runs any more."""
        for member in self.members.values():
            member.session.cancel()

    # Offsets.

    def check_commit(self, identity: MemberIdentity | None, *, in_transaction: bool) -> None:
        """Nobody who reads by offset commits here; how far the group is comes from its cursors. Raises UnknownGroup."""
        if identity is not None or in_transaction:
            raise UnknownGroup(
                f"the members of {self.name!r} share partitions and acknowledge messages one by one; commit offsets in"
                " a group of another name"
            )

    def check_offsets_deletable(self) -> None:
        """Always: members say what they read."""

    def reads(self, topic: str) -> bool:
        """Whether members read the topic."""
        return any(topic in member.topics for member in self.members.values())

    def offsets_unused_since(self, committed_ms: int) -> int:
        """Since when an offset that no topic of the group needs is of no use."""
        return committed_ms

    # Looking.

    @property
    def state(self) -> GroupState:
        return GroupState.STABLE if self.members else GroupState.EMPTY

    @property
    def is_unused(self) -> bool:
        """Nobody is here."""
        return not self.members

    def view(self) -> GroupView:
        """The group as it is listed."""
        return GroupView(self.name, self.kind, self.state, SHARE_PROTOCOL, "")

    def full_view(self) -> ConsumerGroupView:
        """The group as it is described."""
        members = tuple(_member_view(member) for member in self.members.values())
        return ConsumerGroupView(self.name, self.state, self.epoch, self.epoch, ASSIGNOR, members)

    # What outlives the process.

    def keep(self) -> "asyncio.Future[None] | None":
        """Keep the group; None where it is kept. Until then nobody may be told anything."""
        self._told_epoch = self.epoch
        if not self._is_unkept:
            return self._writing
        self._is_unkept = False
        write = self._writing = self._home.keep(self.name, {GROUP_KEY: ShareRow(epoch=self.epoch)})
        write.add_done_callback(self._kept)
        return write

    def _kept(self, write: "asyncio.Future[None]") -> None:
        if write.cancelled() or write.exception() is not None:
            self._is_unkept = True
        if self._writing is write:
            self._writing = None


def _member_view(member: ShareMember) -> ConsumerMemberView:
    return ConsumerMemberView(
        member_id=member.id,
        instance_id=None,
        rack=member.rack,
        epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=tuple(sorted(member.topics)),
        pattern=None,
        assigned=member.assigned,
        target=member.assigned,
    )
