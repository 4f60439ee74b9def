"""A group whose work we divide: members say what they read and what they hold, and hear what they are to hold.

There are no rounds in which everybody stops. The group's epoch grows with every change of who reads what; the target,
which says who is to hold what, follows it; and each member goes towards the target by itself, from heartbeat to
heartbeat:
- what it holds and is not to hold it is told to give up, and stays in its epoch until it has;
- then it is in the target's epoch, and gets what it is to hold as soon as nobody else holds it.
A partition has one owner from the moment it is given until its member has said that it gave it up, or is out. So it is
never in two hands.

What a heartbeat changes is kept before it is answered, and no heartbeat is answered while an earlier change is on its
way to the store. Each write carries also what is on its way before it, so that the store never has a change without
those that it is built on, whichever writes fail. A write that fails leaves memory ahead of the store: the next one
writes everything.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Protocol

from braidmq.core.groups._assignors import ASSIGNORS, DEFAULT_ASSIGNOR, Wish
from braidmq.core.groups._consumer_member import LEFT_FOR_A_WHILE, ConsumerMember, Progress, Subscription
from braidmq.core.groups._rows import GROUP_KEY, ConsumerMemberRow, ConsumerRow, Row
from braidmq.core.groups._words import (
    CONSUMER_PROTOCOL,
    NO_GENERATION,
    ConsumerGroupView,
    ConsumerMemberView,
    GroupKind,
    GroupLimits,
    GroupState,
    GroupView,
    Leaver,
    MemberIdentity,
    Pulse,
    PulseAnswer,
)
from braidmq.core.patterns import Pattern
from braidmq.core.timing import Clock, Deadline
from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.model.errors import (
    EpochFenced,
    GroupFull,
    GroupNotEmpty,
    InstanceFenced,
    InstanceUnreleased,
    StaleEpoch,
    UnknownMember,
)
from braidmq.model.share_settings import Pace

_logger = get_logger(__name__)


class Home(Protocol):
    """What a group needs of the service it belongs to."""

    clock: Clock
    limits: GroupLimits

    def keep(self, group: str, rows: Mapping[str, Row]) -> "asyncio.Future[None]":
        """Make these all rows of the group."""
        ...

    def keep_some(self, group: str, rows: Mapping[str, Row | None]) -> "asyncio.Future[None]":
        """Set or remove these rows of the group."""
        ...

    def topic_numbers(self) -> Mapping[str, tuple[int, ...]]:
        """The partitions of every topic there is, in order."""
        ...

    def consumer_pace(self, group: str) -> Pace:
        """How long its members may be silent, and how often they say that they live."""
        ...

    def is_paused(self, group: str) -> bool:
        """Whether an operator wants the group's members to be given nothing."""
        ...


class ConsumerGroup:
    """One group. Methods raise what the member is to be told."""

    kind = GroupKind.CONSUMER

    def __init__(self, name: str, home: Home) -> None:
        self.name = name
        self.epoch = 0
        self.target_epoch = 0
        self.members: dict[str, ConsumerMember] = {}
        self.assignor = DEFAULT_ASSIGNOR
        self._home = home
        self._targets: dict[str, frozenset[int]] = {}
        self._instances: dict[str, str] = {}
        self._owners: dict[int, str] = {}
        self._patterns: dict[str, Pattern] = {}
        self._topics: dict[str, tuple[int, ...]] = {}
        """What the members read, as it was when the target was last looked at."""
        self._read_by: dict[str, frozenset[str]] = {}
        self._is_topics_stale = True
        self._changed: set[str] = set()
        """The keys of rows that are not kept as they are now, nor on their way to be."""
        self._under_way: set[str] = set()
        """The keys of rows in writes since the group was last kept as a whole."""
        self._is_unkept = True
        """The store may have anything of the group: until a write has succeeded, each writes everything."""
        self._writing: asyncio.Future[None] | None = None

    @classmethod
    def restored(
        cls, name: str, home: Home, row: ConsumerRow, members: Mapping[str, ConsumerMemberRow]
    ) -> "ConsumerGroup":
        """The group as it was kept; its members' sessions begin anew."""
        group = cls(name, home)
        group.epoch, group.target_epoch, group.assignor = row.epoch, row.target_epoch, row.assignor
        group._is_unkept = False
        for member_id, kept in members.items():
            member = group._new_member(member_id, kept.instance_id)
            member.restore(kept)
            group.members[member_id] = member
            group._targets[member_id] = frozenset(kept.target)
            if kept.instance_id is not None:
                group._instances[kept.instance_id] = member_id
            group._watch(member)
        for member in group.members.values():
            group._owners |= dict.fromkeys(member.revoking, member.id)
        for member in group.members.values():
            group._owners |= dict.fromkeys(member.assigned, member.id)
        topics, read_by = group._look_up()
        if _digest(topics) == row.topics:
            group._topics, group._read_by, group._is_topics_stale = topics, read_by, False
        return group

    # Heartbeats.

    def pulse(self, pulse: Pulse) -> tuple[PulseAnswer, "asyncio.Future[None] | None"]:
        """The answer, and when it may be given. Raises UnknownMember, EpochFenced, InstanceFenced, InstanceUnreleased,
        GroupFull, InvalidExpression."""
        if pulse.pattern:
            self._pattern(pulse.pattern)
        member = self._join(pulse) if pulse.epoch == 0 else self._known(pulse)
        before = member.assigned
        self._update(member, pulse)
        self._refresh_topics()
        if self.epoch > self.target_epoch:
            self._retarget()
        self._reconcile(member, pulse.held)
        self._watch(member)
        # Who holds something else may have missed an answer; to be told again does no harm.
        is_told = pulse.is_full or member.assigned != before or pulse.held not in (None, member.assigned)
        heartbeat_ms = self._home.consumer_pace(self.name).heartbeat_ms
        answer = PulseAnswer(member.id, member.epoch, heartbeat_ms, member.assigned if is_told else None)
        return answer, self._keep()

    def _join(self, pulse: Pulse) -> ConsumerMember:
        """The member, as one that holds nothing. One that is here already comes back after it was fenced."""
        member = self.members.get(pulse.member_id)
        if member is not None and member.epoch == LEFT_FOR_A_WHILE:
            member.epoch = member.previous_epoch = 0
        old = self.members.get(self._instances.get(pulse.instance_id or "", ""))
        if old is not None and old is not member and pulse.instance_id is not None:
            return self._take_over(old, pulse)
        if member is None:
            if len(self.members) >= self._home.limits.members_max:
                raise GroupFull(f"the group {self.name!r} may have {self._home.limits.members_max} members")
            member = self._new_member(pulse.member_id, pulse.instance_id)
            self.members[member.id] = member
            if member.instance_id is not None:
                self._instances[member.instance_id] = member.id
            self._begin_epoch(f"member {member.id} joins")
        return member

    def _take_over(self, old: ConsumerMember, pulse: Pulse) -> ConsumerMember:
        """An instance that had gone for a while comes back under another id, to what it held."""
        if old.epoch != LEFT_FOR_A_WHILE:
            raise InstanceUnreleased(f"instance {pulse.instance_id!r} of {self.name!r} is still member {old.id}")
        member = self._new_member(pulse.member_id, pulse.instance_id)
        member.subscription = old.subscription
        member.assigned = old.assigned
        old.end()
        present = (member if each is old else each for each in self.members.values())
        self.members = {each.id: each for each in present}
        self._instances[pulse.instance_id or ""] = member.id
        self._targets[member.id] = self._targets.pop(old.id, frozenset())
        self._read_by[member.id] = self._read_by.pop(old.id, frozenset())
        self._owners |= dict.fromkeys(member.assigned, member.id)
        self._changed |= {old.id, member.id}
        return member

    def _known(self, pulse: Pulse) -> ConsumerMember:
        member = self._find(pulse.member_id, pulse.instance_id)
        if pulse.epoch == member.epoch:
            return member
        # The answer with the newer epoch may have been lost.
        is_behind = pulse.epoch == member.previous_epoch and pulse.held is not None and pulse.held <= member.assigned
        if pulse.epoch > member.epoch or not is_behind:
            raise EpochFenced(
                f"member {member.id} of {self.name!r} is in epoch {member.epoch}, not in {pulse.epoch}; it is to give"
                " up all that it holds and to join again"
            )
        return member

    def _find(self, member_id: str, instance_id: str | None) -> ConsumerMember:
        if instance_id is not None:
            current = self._instances.get(instance_id)
            if current is None:
                raise UnknownMember(f"the group {self.name!r} has no instance {instance_id!r}")
            if current != member_id:
                raise InstanceFenced(f"instance {instance_id!r} of {self.name!r} is another member now")
        if (member := self.members.get(member_id)) is None:
            raise UnknownMember(f"the group {self.name!r} has no member {member_id!r}")
        return member

    def _update(self, member: ConsumerMember, pulse: Pulse) -> None:
        """Take what the member says anew; the rest is as before."""
        old = member.subscription
        subscription = Subscription(
            topics=old.topics if pulse.topics is None else frozenset(pulse.topics),
            pattern=old.pattern if pulse.pattern is None else pulse.pattern,
            assignor=old.assignor if pulse.assignor is None else pulse.assignor,
            rack=old.rack if pulse.rack is None else pulse.rack,
            rebalance_ms=old.rebalance_ms if pulse.rebalance_ms < 0 else pulse.rebalance_ms,
        )
        if (member.client_id, member.client_host) != (pulse.client_id, pulse.client_host):
            member.client_id, member.client_host = pulse.client_id, pulse.client_host
            self._changed.add(member.id)
        if subscription == old:
            return
        member.subscription = subscription
        self._changed.add(member.id)
        wants = (subscription.topics, subscription.pattern, subscription.assignor)
        if wants != (old.topics, old.pattern, old.assignor):
            self._is_topics_stale = True
            self._begin_epoch(f"member {member.id} reads something else")

    # The target.

    def topics_changed(self) -> None:
        """Topics came, grew or went; the next heartbeat looks whether that matters here."""
        self._is_topics_stale = True

    def _refresh_topics(self) -> None:
        if not self._is_topics_stale:
            return
        self._is_topics_stale = False
        topics, read_by = self._look_up()
        if (topics, read_by) != (self._topics, self._read_by):
            self._topics, self._read_by = topics, read_by
            self._begin_epoch("what its members read has changed")

    def _look_up(self) -> tuple[dict[str, tuple[int, ...]], dict[str, frozenset[str]]]:
        """The topics that are read here with their partitions, and who reads which. Members of a paused group read
        nothing, so that they give up what they hold."""
        known = {} if self._home.is_paused(self.name) else self._home.topic_numbers()
        read_by = {member.id: self._matching(member.subscription, known.keys()) for member in self.members.values()}
        read = frozenset[str]().union(*read_by.values())
        return {name: known[name] for name in sorted(read)}, read_by

    def _matching(self, subscription: Subscription, names: Iterable[str]) -> frozenset[str]:
        named = subscription.topics & frozenset(names)
        return named | self._pattern(subscription.pattern).matching(names) if subscription.pattern else named

    def _pattern(self, text: str) -> Pattern:
        if text not in self._patterns:
            used = {member.subscription.pattern for member in self.members.values()}
            self._patterns = {each: kept for each, kept in self._patterns.items() if each in used}
            self._patterns[text] = Pattern(text)
        return self._patterns[text]

    def _begin_epoch(self, why: str) -> None:
        """Once for all changes of one moment: an epoch without a target yet takes more."""
        if self.epoch == self.target_epoch:
            self.epoch += 1
            self._changed.add(GROUP_KEY)
            _logger.info("group is assigned anew", group=self.name, epoch=self.epoch, why=why)

    def _retarget(self) -> None:
        wishes = [
            Wish(member.id, member.place, self._read_by.get(member.id, frozenset())) for member in self.members.values()
        ]
        votes = Counter(
            member.subscription.assignor for member in self.members.values() if member.subscription.assignor
        )
        self.assignor = votes.most_common(1)[0][0] if votes else DEFAULT_ASSIGNOR
        targets = ASSIGNORS[self.assignor](wishes, self._topics, self._targets)
        self._changed |= {each for each, share in targets.items() if share != self._targets.get(each)}
        self._changed.add(GROUP_KEY)
        self._targets = targets
        self.target_epoch = self.epoch

    # A member on its way.

    def _reconcile(self, member: ConsumerMember, held: frozenset[int] | None) -> None:
        if member.is_reconciled(self.target_epoch):
            return
        before = (member.epoch, member.progress, member.assigned, member.revoking)
        if member.progress is Progress.REVOKING:
            if held is None or held & member.revoking:
                return
            self._advance(member, member.epoch + 1, held)
        else:
            self._advance(member, member.epoch, held)
        if (member.epoch, member.progress, member.assigned, member.revoking) != before:
            self._changed.add(member.id)

    def _advance(self, member: ConsumerMember, epoch: int, held: frozenset[int] | None) -> None:
        target = self._targets.get(member.id, frozenset())
        kept = member.assigned & target
        revoking = member.assigned - kept
        if revoking and (held is None or held & revoking):
            member.enter(epoch)
            self._hold(member, Progress.REVOKING, kept, revoking)
            return
        free = frozenset(number for number in target - kept if self._owners.get(number, member.id) == member.id)
        member.enter(self.target_epoch)
        progress = Progress.STABLE if kept | free == target else Progress.WAITING
        self._hold(member, progress, kept | free, frozenset())

    def _hold(
        self, member: ConsumerMember, progress: Progress, assigned: frozenset[int], revoking: frozenset[int]
    ) -> None:
        for number in (member.assigned | member.revoking) - assigned - revoking:
            if self._owners.get(number) == member.id:
                del self._owners[number]
        self._owners |= dict.fromkeys(assigned | revoking, member.id)
        member.progress, member.assigned, member.revoking = progress, assigned, revoking

    def _watch(self, member: ConsumerMember) -> None:
        member.session.set(self._home.consumer_pace(self.name).session_ms)
        if member.progress is not Progress.REVOKING:
            member.giving_up.cancel()
        elif not member.giving_up.is_set:
            member.giving_up.set(member.subscription.rebalance_ms)

    # Going.

    def leave(self, pulse: Pulse) -> tuple[PulseAnswer, "asyncio.Future[None] | None"]:
        """The member goes for good, or, an instance, for a while. Raises UnknownMember, InstanceFenced."""
        member = self._find(pulse.member_id, pulse.instance_id)
        if pulse.epoch == LEFT_FOR_A_WHILE and member.instance_id is not None:
            _logger.info("instance leaves for a while", group=self.name, member=member.id)
            member.giving_up.cancel()
            member.enter(LEFT_FOR_A_WHILE)
            self._hold(member, Progress.STABLE, member.assigned, frozenset())
            self._changed.add(member.id)
        else:
            self._remove(member, "left")
        return PulseAnswer(member.id, pulse.epoch, self._home.consumer_pace(self.name).heartbeat_ms, None), self._keep()

    def remove(self, leavers: Iterable[Leaver]) -> tuple[list[BraidError | None], "asyncio.Future[None] | None"]:
        """An administrator removes instances. For each its error or None; and when that is kept."""
        fates: list[BraidError | None] = []
        for leaver in leavers:
            member = self.members.get(self._instances.get(leaver.instance_id or "", ""))
            if member is None or leaver.member_id:
                fates.append(UnknownMember(f"the group {self.name!r} has no such instance"))
            else:
                self._remove(member, "was removed")
                fates.append(None)
        return fates, self._keep()

    def _remove(self, member: ConsumerMember, why: str) -> None:
        _logger.info("member is out", group=self.name, member=member.id, why=why)
        member.end()
        del self.members[member.id]
        self._hold(member, Progress.STABLE, frozenset(), frozenset())
        self._targets.pop(member.id, None)
        self._read_by.pop(member.id, None)
        if member.instance_id is not None and self._instances.get(member.instance_id) == member.id:
            del self._instances[member.instance_id]
        self._changed.add(member.id)
        self._is_topics_stale = True
        self._begin_epoch(f"member {member.id} {why}")

    def _session_over(self, member_id: str) -> None:
        if (member := self.members.get(member_id)) is not None:
            self._remove(member, "fell silent")
            self._keep()

    def _giving_up_over(self, member_id: str) -> None:
        member = self.members.get(member_id)
        if member is not None and member.progress is Progress.REVOKING:
            self._remove(member, "did not give up in time what it is not to hold")
            self._keep()

    def delete(self) -> None:
        """Raises GroupNotEmpty."""
        if self.members:
            raise GroupNotEmpty(f"the group {self.name!r} has members")

    def close(self) -> None:
        """No timer of this group runs any more."""
        for member in self.members.values():
            member.end()

    # Offsets.

    def check_commit(self, identity: MemberIdentity | None, *, in_transaction: bool) -> None:
        """Raises UnknownMember, StaleEpoch. In a transaction, a client that does not say who it is is believed: it may
        know the group by its name alone."""
        epoch = NO_GENERATION if identity is None else identity.generation
        is_anybody = identity is None or (not identity.member_id and identity.instance_id is None)
        if epoch < 0 and (not self.members or (in_transaction and is_anybody)):
            return
        self._check_epoch("" if identity is None else identity.member_id, epoch)

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Raises UnknownMember, StaleEpoch for one that says it is a member, and is not as it says."""
        if member_id is not None or epoch >= 0:
            self._check_epoch(member_id or "", epoch)

    def _check_epoch(self, member_id: str, epoch: int) -> None:
        member = self._find(member_id, None)
        if epoch != member.epoch:
            raise StaleEpoch(f"member {member_id} of {self.name!r} is in epoch {member.epoch}, not in {epoch}")

    def check_offsets_deletable(self) -> None:
        """Always: members say what they read."""

    def reads(self, topic: str) -> bool:
        """Whether members read the topic."""
        return any(topic in self._matching(member.subscription, (topic,)) for member in self.members.values())

    def offsets_unused_since(self, committed_ms: int) -> int:
        """Since when an offset that no topic of the group needs is of no use."""
        return committed_ms

    # Looking.

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.target_epoch:
            return GroupState.ASSIGNING
        if all(member.is_reconciled(self.target_epoch) for member in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    @property
    def is_unused(self) -> bool:
        """Nobody is here."""
        return not self.members

    def view(self) -> GroupView:
        """The group as it is listed."""
        return GroupView(self.name, self.kind, self.state, CONSUMER_PROTOCOL, "")

    def full_view(self) -> ConsumerGroupView:
        """The group as it is described."""
        return ConsumerGroupView(
            self.name,
            self.state,
            self.epoch,
            self.target_epoch,
            self.assignor,
            tuple(
                ConsumerMemberView(
                    member.id,
                    member.instance_id,
                    member.subscription.rack,
                    member.epoch,
                    member.client_id,
                    member.client_host,
                    tuple(sorted(member.subscription.topics)),
                    member.subscription.pattern or None,
                    member.assigned,
                    self._targets.get(member.id, frozenset()),
                )
                for member in self.members.values()
            ),
        )

    # Inside.

    def _new_member(self, member_id: str, instance_id: str | None) -> ConsumerMember:
        clock = self._home.clock
        session = Deadline(clock, partial(self._session_over, member_id))
        return ConsumerMember(
            member_id, instance_id, session, Deadline(clock, partial(self._giving_up_over, member_id))
        )

    def _row(self, key: str) -> Row | None:
        if key == GROUP_KEY:
            topics = _digest(self._topics)
            return ConsumerRow(epoch=self.epoch, target_epoch=self.target_epoch, assignor=self.assignor, topics=topics)
        member = self.members.get(key)
        return None if member is None else member.row(self._targets.get(key, frozenset()))

    def _keep(self) -> "asyncio.Future[None] | None":
        """Keep what has changed; None where all is kept. Until then nobody may be told anything."""
        if not self._changed and (self._writing is not None or not self._is_unkept):
            return self._writing
        self._under_way |= self._changed
        self._changed = set()
        write = self._write()
        if self._writing is not None:
            write = asyncio.ensure_future(_both(self._writing, write))
        self._writing = write
        write.add_done_callback(self._kept)
        return write

    def _write(self) -> "asyncio.Future[None]":
        if self._is_unkept:
            rows = {key: row for key in (GROUP_KEY, *self.members) if (row := self._row(key)) is not None}
            return self._home.keep(self.name, rows)
        return self._home.keep_some(self.name, {key: self._row(key) for key in self._under_way})

    def _kept(self, write: "asyncio.Future[None]") -> None:
        is_failed = write.cancelled() or write.exception() is not None
        if is_failed:
            self._is_unkept = True
            for member in self.members.values():
                member.giving_up.cancel()  # perhaps it was not told; its time begins when it is
        if self._writing is write:
            self._writing, self._under_way, self._is_unkept = None, set(), is_failed


async def _both(earlier: "asyncio.Future[None]", later: "asyncio.Future[None]") -> None:
    """What is built on a change that was not kept is not told."""
    await asyncio.gather(earlier, later)


def _digest(topics: Mapping[str, tuple[int, ...]]) -> str:
    """Differs where topics, or their partitions, do."""
    return hashlib.sha256(repr(sorted(topics.items())).encode()).hexdigest()[:32]
