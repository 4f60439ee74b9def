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
from braidmq.core.groups._rows import GROUP_KEY, ClassicSide, ConsumerMemberRow, ConsumerRow, Row
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
    StaleGeneration,
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

    def downgrade(self, group: "ConsumerGroup") -> "asyncio.Future[None]":
        """Let the members divide the work themselves from now on, as all of them think they do. When that is kept."""
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

    def __init__(self, name: str, home: Home, *, epoch: int = 0) -> None:
        """`epoch` is where one of another kind and the same name has ended, so that no number comes twice."""
        self.name = name
        self.epoch = self.target_epoch = epoch
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
        group = cls.upgraded(name, home, row, members)
        group._is_unkept = False
        return group

    @classmethod
    def upgraded(
        cls, name: str, home: Home, row: ConsumerRow, members: Mapping[str, ConsumerMemberRow]
    ) -> "ConsumerGroup":
        """A group of members that have divided the work themselves until now; kept with the first change."""
        group = cls(name, home)
        group._take_over_rows(row, members)
        return group

    def _take_over_rows(self, row: ConsumerRow, members: Mapping[str, ConsumerMemberRow]) -> None:
        self.epoch, self.target_epoch, self.assignor = row.epoch, row.target_epoch, row.assignor
        for member_id, kept in members.items():
            member = self._new_member(member_id, kept.instance_id)
            member.restore(kept)
            self.members[member_id] = member
            self._targets[member_id] = frozenset(kept.target)
            if kept.instance_id is not None:
                self._instances[kept.instance_id] = member_id
            self._watch(member)
        for member in self.members.values():
            self._owners |= dict.fromkeys(member.revoking, member.id)
        for member in self.members.values():
            self._owners |= dict.fromkeys(member.assigned, member.id)
        topics, read_by = self._look_up()
        if _digest(topics) == row.topics:
            self._topics, self._read_by, self._is_topics_stale = topics, read_by, False

    # Heartbeats.

    def pulse(self, pulse: Pulse) -> tuple[PulseAnswer, "asyncio.Future[None] | None"]:
        """The answer, and when it may be given. Raises UnknownMember, EpochFenced, InstanceFenced, InstanceUnreleased,
        GroupFull, InvalidExpression."""
        if pulse.pattern:
            self._pattern(pulse.pattern)
        member = self.enroll(pulse.member_id, pulse.instance_id) if pulse.epoch == 0 else self._known(pulse)
        before = member.assigned
        self._update(member, pulse)
        self.settle(member, pulse.held)
        self._watch(member)
        # Who holds something else may have missed an answer; to be told again does no harm.
        is_told = pulse.is_full or member.assigned != before or pulse.held not in (None, member.assigned)
        heartbeat_ms = self._home.consumer_pace(self.name).heartbeat_ms
        answer = PulseAnswer(member.id, member.epoch, heartbeat_ms, member.assigned if is_told else None)
        return answer, self.keep()

    def enroll(self, member_id: str, instance_id: str | None, *, is_classic: bool = False) -> ConsumerMember:
        """The member, as one that holds nothing. One that is here already comes back after it was fenced. Raises
        InstanceUnreleased, GroupFull."""
        member = self.members.get(member_id)
        if member is not None and member.epoch == LEFT_FOR_A_WHILE:
            member.epoch = member.previous_epoch = 0
        old = self.members.get(self._instances.get(instance_id or "", ""))
        if old is not None and old is not member and instance_id is not None:
            return self._take_over(old, member_id, instance_id, is_classic)
        if member is None:
            self.check_room()
            member = self._new_member(member_id, instance_id)
            self.members[member.id] = member
            if member.instance_id is not None:
                self._instances[member.instance_id] = member.id
            self._begin_epoch(f"member {member.id} joins")
        return member

    def check_room(self) -> None:
        """Raises GroupFull."""
        if len(self.members) >= self._home.limits.members_max:
            raise GroupFull(f"the group {self.name!r} may have {self._home.limits.members_max} members")

    def _take_over(self, old: ConsumerMember, member_id: str, instance_id: str, is_classic: bool) -> ConsumerMember:
        """An instance comes back under another id, to what it held. It had gone for a while; only who speaks the
        classic protocol, or did, need not have said so."""
        if old.epoch != LEFT_FOR_A_WHILE and old.classic is None and not is_classic:
            raise InstanceUnreleased(f"instance {instance_id!r} of {self.name!r} is still member {old.id}")
        self._hold(old, Progress.STABLE, old.assigned, frozenset())
        member = self._new_member(member_id, instance_id)
        member.subscription, member.classic = old.subscription, old.classic
        member.assigned = old.assigned
        old.end()
        present = (member if each is old else each for each in self.members.values())
        self.members = {each.id: each for each in present}
        self._instances[instance_id] = member.id
        self._targets[member.id] = self._targets.pop(old.id, frozenset())
        self._read_by[member.id] = self._read_by.pop(old.id, frozenset())
        self._owners |= dict.fromkeys(member.assigned, member.id)
        self._changed |= {old.id, member.id}
        return member

    def _known(self, pulse: Pulse) -> ConsumerMember:
        member = self.find(pulse.member_id, pulse.instance_id)
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

    def find(self, member_id: str, instance_id: str | None) -> ConsumerMember:
        """Raises UnknownMember, InstanceFenced."""
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
        self.describe(member, subscription, None, (pulse.client_id, pulse.client_host))

    def describe(
        self, member: ConsumerMember, subscription: Subscription, classic: ClassicSide | None, client: tuple[str, str]
    ) -> None:
        """Take what is known of the member now."""
        known = (member.client_id, member.client_host)
        if (known, member.classic) != (client, classic):
            member.client_id, member.client_host = client
            member.classic = classic
            self._changed.add(member.id)
        if subscription == (old := member.subscription):
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

    def refresh_topics(self) -> None:
        """Begin an epoch if what the members read is not what it was."""
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

    def settle(self, member: ConsumerMember, held: frozenset[int] | None) -> None:
        """Bring the member as near to the target as it can come, now that it holds this."""
        self.refresh_topics()
        if self.epoch > self.target_epoch:
            self._retarget()
        self._reconcile(member, held)

    def is_all_free(self, member: ConsumerMember) -> bool:
        """Whether nobody else holds anything of what the member is to hold."""
        target = self.target(member.id)
        return all(self._owners.get(number, member.id) == member.id for number in target)

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
        target = self.target(member.id)
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
        if member.classic is not None:
            member.session.set(member.classic.session_ms)
            return
        member.session.set(self._home.consumer_pace(self.name).session_ms)
        if member.progress is not Progress.REVOKING:
            member.giving_up.cancel()
        elif not member.giving_up.is_set:
            member.giving_up.set(member.subscription.rebalance_ms)

    # Going.

    def leave(self, pulse: Pulse) -> tuple[PulseAnswer, "asyncio.Future[None] | None"]:
        """The member goes for good, or, an instance, for a while. Raises UnknownMember, InstanceFenced."""
        member = self.find(pulse.member_id, pulse.instance_id)
        if pulse.epoch == LEFT_FOR_A_WHILE and member.instance_id is not None:
            _logger.info("instance leaves for a while", group=self.name, member=member.id)
            member.giving_up.cancel()
            member.enter(LEFT_FOR_A_WHILE)
            self._hold(member, Progress.STABLE, member.assigned, frozenset())
            self._changed.add(member.id)
        else:
            self._remove(member, "left")
        kept = self._keep_without()
        return PulseAnswer(member.id, pulse.epoch, self._home.consumer_pace(self.name).heartbeat_ms, None), kept

    def remove(self, leavers: Iterable[Leaver]) -> tuple[list[BraidError | None], "asyncio.Future[None] | None"]:
        """Members that speak the classic protocol leave, or an administrator removes instances. For each its error or
        None; and when that is kept."""
        fates: list[BraidError | None] = []
        for leaver in leavers:
            try:
                self._remove(self._leaving(leaver), "left" if leaver.member_id else "was removed")
                fates.append(None)
            except BraidError as error:
                fates.append(error)
        return fates, self._keep_without()

    def _leaving(self, leaver: Leaver) -> ConsumerMember:
        """Raises UnknownMember, InstanceFenced."""
        if leaver.member_id:
            member = self.find(leaver.member_id, leaver.instance_id)
            if member.classic is None:
                raise UnknownMember(f"member {member.id} of {self.name!r} leaves by a heartbeat")
            return member
        member_id = self._instances.get(leaver.instance_id or "", "")
        if member_id not in self.members:
            raise UnknownMember(f"the group {self.name!r} has no such instance")
        return self.members[member_id]

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
            self._keep_without()

    def _giving_up_over(self, member_id: str) -> None:
        member = self.members.get(member_id)
        if member is None:
            return
        if member.classic is not None:
            self._remove(member, "did not come back in time")
            self._keep_without()
        elif member.progress is Progress.REVOKING:
            self._remove(member, "did not give up in time what it is not to hold")
            self._keep_without()

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
        """Raises UnknownMember, StaleEpoch, StaleGeneration. In a transaction, a client that does not say who it is is
        believed: it may know the group by its name alone."""
        epoch = NO_GENERATION if identity is None else identity.generation
        is_anybody = identity is None or (not identity.member_id and identity.instance_id is None)
        if epoch < 0 and (not self.members or (in_transaction and is_anybody)):
            return
        self._check_epoch("" if identity is None else identity.member_id, epoch)

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Raises UnknownMember, StaleEpoch, StaleGeneration for one that says it is a member, and is not as it says."""
        if member_id is not None or epoch >= 0:
            self._check_epoch(member_id or "", epoch)

    def _check_epoch(self, member_id: str, epoch: int) -> None:
        member = self.find(member_id, None)
        if epoch != member.epoch:
            kind = StaleEpoch if member.classic is None else StaleGeneration
            raise kind(f"member {member_id} of {self.name!r} is in epoch {member.epoch}, not in {epoch}")

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
                    self.target(member.id),
                    member.classic is not None,
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
        return None if member is None else member.row(self.target(key))

    def _keep_without(self) -> "asyncio.Future[None] | None":
        """Keep that somebody is out. Where all who are left speak as if they divided the work, they do from now on."""
        if self.is_classic_alone and self._home.limits.migration.may_downgrade:
            return self._home.downgrade(self)
        return self.keep()

    @property
    def is_classic_alone(self) -> bool:
        """Whether there are members, and all of them speak as if they divided the work themselves."""
        return bool(self.members) and all(member.classic is not None for member in self.members.values())

    def target(self, member_id: str) -> frozenset[int]:
        """What the member is to hold."""
        return self._targets.get(member_id, frozenset())

    def keep(self) -> "asyncio.Future[None] | None":
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
