"""A group whose members divide the work among themselves: one leads, and tells us who gets what.

    EMPTY ---> PREPARING ---> COMPLETING ---> STABLE
      ^         |     ^           |             |
      +---------+     +-----------+-------------+

PREPARING collects members: it ends when all have joined, or when the slowest may take no longer; who is dynamic and has
not come by then is out. Then there is a new generation, and COMPLETING waits for the leader's assignment. STABLE lasts
until somebody comes, leaves, falls silent or asks for something else.

All of it happens in one thread, between events: a request, a timer, or the end of a write. Members wait in futures.
What a member is told is kept first, and on the way there the group may change: each end of a write looks whether it is
still wanted. Each new generation is kept before anybody hears of it, and each leave, too. So no number is given twice,
no member comes back by a restart, and a group that was between two generations then begins anew.

A group that is paused, or goes on, begins a new generation: while it is paused each member is assigned nothing,
whatever the leader says. Where nobody but the leader can say "nothing", the group does not obey.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol

from braidmq.core.groups._member import Member
from braidmq.core.groups._roster import Roster
from braidmq.core.groups._rows import GROUP_KEY, ClassicMemberRow, ClassicRow, Row
from braidmq.core.groups._words import (
    CONSUMER_PROTOCOL,
    NO_GENERATION,
    GroupKind,
    GroupLimits,
    GroupState,
    GroupView,
    Join,
    Joined,
    Leaver,
    MemberIdentity,
    Speech,
    Sync,
    Synced,
)
from braidmq.core.timing import Clock, Deadline
from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.model.errors import (
    GroupFull,
    GroupNotEmpty,
    InconsistentProtocol,
    InstanceFenced,
    MemberIdRequired,
    RebalanceInProgress,
    StaleGeneration,
    StoreFailed,
    UnknownGroup,
    UnknownMember,
)

_EMPTY, _PREPARING, _COMPLETING, _STABLE, _DEAD = (
    GroupState.EMPTY,
    GroupState.PREPARING,
    GroupState.COMPLETING,
    GroupState.STABLE,
    GroupState.DEAD,
)

_logger = get_logger(__name__)


class Home(Protocol):
    """What a group needs of the service it belongs to."""

    clock: Clock
    limits: GroupLimits
    draw_id: Callable[[], str]

    @property
    def speech(self) -> Speech:
        """What members write to each other."""
        ...

    def is_paused(self, group: str) -> bool:
        """Whether its members are to be given nothing."""
        ...

    def keep(self, group: str, rows: Mapping[str, Row]) -> "asyncio.Future[None]":
        """Make these the rows that the group has after a restart. The future ends without error, or with a
        BraidError."""
        ...


class ClassicGroup:
    """One group. Methods raise what the member is to be told."""

    kind = GroupKind.CLASSIC

    def __init__(self, name: str, home: Home, *, generation: int = 0) -> None:
        """`generation` is where one of another kind and the same name has ended, so that no number comes twice."""
        self.name = name
        self.state = _EMPTY
        self.generation = generation
        self.protocol: str | None = None
        self.topics: frozenset[str] | None = None
        """What the members read; None where they do not say."""
        self.changed_ms = home.clock.now_ms()
        """Since when the group is in its state."""
        self._home = home
        self._roster = Roster(name)
        self._pending: dict[str, Deadline] = {}
        """Ids that were given to members which have not come back with them yet."""
        self._is_initial = False
        self._has_new_member = False
        self._join_deadline = Deadline(home.clock, self._join_time_over)
        self._join_left_ms = 0
        self._sync_deadline = Deadline(home.clock, self._sync_time_over)
        self._unsynced: set[str] = set()
        self._assigned_generation = NO_GENERATION
        """Whose assignment has come; a leader that repeats itself changes nothing."""

    @classmethod
    def restored(
        cls, name: str, home: Home, row: ClassicRow, members: Mapping[str, ClassicMemberRow]
    ) -> "ClassicGroup":
        """The group as it was kept; its members' sessions begin anew."""
        group = cls(name, home)
        group.generation = row.generation
        group.protocol = row.protocol
        for member_id, kept in members.items():
            deadline = group._deadline_of(member_id)
            group._roster.add(Member.restored(member_id, kept, row.protocol_type or "", deadline))
        group._roster.protocol_type = row.protocol_type
        if row.leader in group.members:
            group._roster.leader = row.leader
        group.topics = group._read_topics()
        group.changed_ms = row.changed_ms
        if group.members:
            is_too_large = len(group.members) > home.limits.members_max
            must_begin_anew = row.is_rebalancing or is_too_large or group._was_changed_meanwhile()
            group.state = _PREPARING if must_begin_anew else _STABLE
        for member in group.members.values():
            member.session.set(member.session_ms)
        if group.state is _PREPARING:
            group._join_deadline.set(group._roster.rebalance_ms)
        return group

    @property
    def members(self) -> Mapping[str, Member]:
        return self._roster.members

    @property
    def leader(self) -> str | None:
        return self._roster.leader

    @property
    def protocol_type(self) -> str | None:
        return self._roster.protocol_type

    # Joining.

    def join(self, join: Join) -> "asyncio.Future[Joined]":
        """The answer comes with the next generation. Raises or ends with: UnknownMember, MemberIdRequired,
        InconsistentProtocol, InstanceFenced, GroupFull, RebalanceInProgress."""
        if not self._has_room(join.member_id):
            self._forget(join.member_id)
            self._complete_if_all_joined()
            raise GroupFull(f"the group {self.name!r} may have {self._home.limits.members_max} members")
        if not self._roster.can_work_with(join):
            raise InconsistentProtocol(
                f"the members of {self.name!r} have no protocol of type {join.protocol_type!r} in common with this one"
            )
        if not join.member_id:
            return self._join_new(join)
        if join.member_id in self._pending and join.instance_id is None:
            return self._add(join, join.member_id)
        member = self._roster.find(join.member_id, join.instance_id)
        return self._join_again(join, member)

    def _join_new(self, join: Join) -> "asyncio.Future[Joined]":
        prefix = join.client_id if join.instance_id is None else join.instance_id
        member_id = f"{prefix}-{self._home.draw_id()}"
        if (old := self._roster.of_instance(join.instance_id)) is not None:
            return self._replace_instance(join, old, member_id)
        if join.instance_id is None and join.asks_id_first:
            deadline = self._pending[member_id] = Deadline(
                self._home.clock, partial(self._pending_time_over, member_id)
            )
            deadline.set(join.session_ms)
            raise MemberIdRequired(member_id=member_id)
        return self._add(join, member_id)

    def _join_again(self, join: Join, member: Member) -> "asyncio.Future[Joined]":
        is_same = member.protocols == join.protocols
        is_answered = member.joining is None
        if self.state is _COMPLETING and is_same and is_answered:
            return _done(self._joined(member))
        if self.state is _STABLE and is_same and is_answered and member.id != self.leader:
            return _done(self._joined(member, with_members=False))
        if self.state is _EMPTY:
            raise UnknownMember(f"the group {self.name!r} has no members")
        waiting = self._roster.wait(member, join)
        if self.state is _COMPLETING and is_same:
            return waiting  # the answer is on its way: only who waits for it is another
        self._rebalance_or_complete(f"member {member.id} joins again", join.reason)
        return waiting

    def _add(self, join: Join, member_id: str) -> "asyncio.Future[Joined]":
        if (pending := self._pending.pop(member_id, None)) is not None:
            pending.cancel()
        member = Member(member_id, join, self._deadline_of(member_id))
        self._roster.add(member)
        if self._is_initial and self.state is _PREPARING:
            self._has_new_member = True
        waiting = self._roster.wait(member, join)
        member.session.set(self._home.limits.new_member_ms)
        self._rebalance_or_complete(f"member {member_id} joins", join.reason)
        return waiting

    def _replace_instance(self, join: Join, old: Member, member_id: str) -> "asyncio.Future[Joined]":
        """The same instance after a restart of its process: it takes the place, and mostly the assignment, too."""
        old_leader = self.leader
        old.end(InstanceFenced(f"instance {join.instance_id!r} of {self.name!r} was started again elsewhere"))
        member = Member(member_id, join, self._deadline_of(member_id))
        member.assignment = old.assignment
        member.is_new = False
        self._roster.replace(old, member)
        if old.id in self._unsynced:
            self._unsynced.remove(old.id)
            self._unsynced.add(member.id)
        waiting = self._roster.wait(member, join)
        member.session.set(member.session_ms)
        if self.state is _STABLE and self._roster.select_protocol() == self.protocol:
            told = member_id if join.may_skip_assignment else old_leader
            self._after(self._keep(), partial(self._instance_kept, member, told))
        elif self.state in (_STABLE, _COMPLETING):
            self._prepare(f"instance {join.instance_id} returns", join.reason)
        else:
            self._complete_if_all_joined()
        return waiting

    def _instance_kept(self, member: Member, told_leader: str | None, error: BraidError | None) -> None:
        if self.members.get(member.id) is member:
            member.session.set(member.session_ms)
        if error is not None:
            member.answer_join(error)
        elif self.state is _STABLE and self.members.get(member.id) is member:
            is_leader = member.id == self.leader
            joined = self._joined(member, with_members=is_leader and told_leader == member.id)
            if told_leader == member.id:
                joined = joined._replace(skip_assignment=is_leader)
            elif is_leader:
                joined = joined._replace(leader=told_leader or "")
            member.answer_join(joined)

    # A new generation.

    def _rebalance_or_complete(self, why: str, reason: str | None = None) -> None:
        if self.state in (_EMPTY, _COMPLETING, _STABLE):
            self._prepare(why, reason)
        else:
            self._complete_if_all_joined()

    def _prepare(self, why: str, reason: str | None = None) -> None:
        """Collect the members of a new generation."""
        _logger.info(
            "group rebalances", group=self.name, generation=self.generation, why=why, client_reason=reason or ""
        )
        if self.state is _COMPLETING:
            self._answer_syncs(RebalanceInProgress())
        self._unsynced.clear()
        self._sync_deadline.cancel()
        self._is_initial = self.state is _EMPTY
        self._enter(_PREPARING)
        delay_ms = self._home.limits.initial_delay_ms
        if self._is_initial and delay_ms:
            self._has_new_member = False
            self._join_left_ms = max(self._roster.rebalance_ms - delay_ms, 0)
            self._join_deadline.set(delay_ms)
        elif self._is_initial or self._have_all_joined():
            self._complete_join()
        else:
            self._join_deadline.set(self._roster.rebalance_ms)

    def _complete_if_all_joined(self) -> None:
        """The first generation of an empty group waits for its time, so that members who start together share it."""
        if self.state is _PREPARING and not self._is_initial and self._have_all_joined():
            self._complete_join()

    def _have_all_joined(self) -> bool:
        return not self._pending and self._roster.have_all_joined

    def _join_time_over(self) -> None:
        if self.state is not _PREPARING:
            return
        delay_ms = self._home.limits.initial_delay_ms
        if self._is_initial and self._has_new_member and self._join_left_ms:
            self._has_new_member = False
            next_ms = min(delay_ms, self._join_left_ms)
            self._join_left_ms -= next_ms
            self._join_deadline.set(next_ms)
        else:
            self._complete_join()

    def _complete_join(self) -> None:
        self._join_deadline.cancel()
        late = [member for member in self.members.values() if member.joining is None and member.instance_id is None]
        for member in late:
            self._remove(member, UnknownMember())
        if late:
            _logger.info("group left members behind", group=self.name, members=[member.id for member in late])
        if self.members and not self._roster.elect():
            # Only instances that have not come back: their sessions decide, and until then there is nobody to lead.
            self._join_deadline.set(self._roster.rebalance_ms)
            return
        self.generation += 1
        self._is_initial = False
        self._unsynced.clear()
        self.protocol = self._roster.select_protocol() if self.members else None
        self.topics = self._read_topics()
        self._enter(_COMPLETING if self.members else _EMPTY)
        if self.members:
            self._after(self._keep(is_rebalancing=True), partial(self._generation_kept, self.generation))
        else:
            _logger.info("group is empty", group=self.name, generation=self.generation)
            self._keep()

    def _generation_kept(self, generation: int, error: BraidError | None) -> None:
        if self.state is not _COMPLETING or self.generation != generation:
            return
        if error is not None:
            for member in self.members.values():
                member.answer_join(error)
                member.session.set(member.session_ms)
            self._prepare("the new generation could not be kept")
            return
        _logger.info("group has a new generation", group=self.name, generation=generation, members=len(self.members))
        self._unsynced = set(self.members)
        for member in list(self.members.values()):
            member.answer_join(self._joined(member))
            member.is_new = False
            member.session.set(member.session_ms)
        self._sync_deadline.set(self._roster.rebalance_ms)

    # Assignment.

    def sync(self, sync: Sync) -> "asyncio.Future[Synced]":
        """The answer comes when the leader has brought the assignment. Raises or ends with: UnknownMember,
        InstanceFenced, StaleGeneration, InconsistentProtocol, RebalanceInProgress."""
        member = self._in_generation(sync.member)
        if sync.protocol_type not in (None, self.protocol_type) or sync.protocol not in (None, self.protocol):
            raise InconsistentProtocol(f"the group {self.name!r} works by {self.protocol_type} {self.protocol}")
        if self.state is _PREPARING:
            raise RebalanceInProgress()
        self._has_synced(member)
        if self.state is _STABLE:
            return _done(self._synced(member))
        waiting = member.resync()
        if member.id == self.leader and self._assigned_generation != self.generation:
            self._assigned_generation = self.generation
            assignments = self._assignments(sync)
            kept = self._keep(assignments=assignments)
            self._after(kept, partial(self._assignment_kept, self.generation, assignments))
        return waiting

    def _assignment_kept(self, generation: int, assignments: Mapping[str, bytes], error: BraidError | None) -> None:
        if self.state is not _COMPLETING or self.generation != generation:
            return
        if error is not None:
            self._answer_syncs(error)
            self._prepare("the assignment could not be kept")
            return
        self._enter(_STABLE)
        for member in self.members.values():
            member.assignment = assignments.get(member.id, b"")
            if member.answer_sync(self._synced(member)):
                member.session.set(member.session_ms)

    def _assignments(self, sync: Sync) -> dict[str, bytes]:
        if (idle := self._idle) is not None and self._home.is_paused(self.name):
            return dict.fromkeys(self.members, idle)
        return {member_id: sync.assignments.get(member_id, b"") for member_id in self.members}

    def _has_synced(self, member: Member) -> None:
        self._unsynced.discard(member.id)
        if not self._unsynced:
            self._sync_deadline.cancel()

    def _sync_time_over(self) -> None:
        """Members that joined and never asked for their assignment are gone."""
        if self.state not in (_COMPLETING, _STABLE) or not self._unsynced:
            return
        gone = sorted(self._unsynced)
        for member_id in gone:
            self._remove(self.members[member_id], UnknownMember())
        self._prepare(f"members {gone} did not ask for their assignment")

    def _answer_syncs(self, error: BraidError) -> None:
        for member in self.members.values():
            member.assignment = b""
            if member.answer_sync(error):
                member.session.set(member.session_ms)

    # Pausing.

    @property
    def _idle(self) -> bytes | None:
        return self._home.speech.idle_of(self.protocol_type or "", self.protocol or "")

    @property
    def obeys_pause(self) -> bool:
        """Whether its members can be given nothing."""
        return self._idle is not None

    def pause_changed(self) -> None:
        """Its members come together once more. A generation that waits for its assignment hears of it in time."""
        is_assigned = self.state is _COMPLETING and self._assigned_generation == self.generation
        if self.obeys_pause and (is_assigned or self.state is _STABLE):
            self._prepare("it is paused" if self._home.is_paused(self.name) else "it goes on")

    def _was_changed_meanwhile(self) -> bool:
        """Whether it was paused, or let go on, while nobody was there to tell its members."""
        if (idle := self._idle) is None:
            return False
        are_idle = all(member.assignment == idle for member in self.members.values())
        return are_idle != self._home.is_paused(self.name)

    # Staying and leaving.

    def heartbeat(self, identity: MemberIdentity) -> None:
        """Raises UnknownMember, InstanceFenced, StaleGeneration, RebalanceInProgress."""
        member = self._in_generation(identity)
        member.session.set(member.session_ms)
        if self.state is _PREPARING:
            raise RebalanceInProgress()

    def leave(self, leavers: Iterable[Leaver]) -> tuple[list[BraidError | None], "asyncio.Future[None] | None"]:
        """For each its error or None; and when that is kept, if there is anything to keep."""
        before = len(self.members)
        fates = [self._leave_one(leaver) for leaver in leavers]
        kept = None
        if len(self.members) < before:
            if self.state in (_STABLE, _COMPLETING):
                self._prepare("members left")
            else:
                self._complete_if_all_joined()
            kept = self._keep(is_rebalancing=True)
        else:
            self._complete_if_all_joined()
        return fates, kept

    def _leave_one(self, leaver: Leaver) -> BraidError | None:
        member_id = leaver.member_id
        try:
            if not member_id:
                found = self._roster.of_instance(leaver.instance_id)
                member_id = self._roster.find("" if found is None else found.id, leaver.instance_id).id
            elif member_id in self._pending:
                self._pending.pop(member_id).cancel()
            else:
                self._roster.find(member_id, leaver.instance_id)
        except BraidError as error:
            return error
        _logger.info("member leaves", group=self.name, member=member_id, client_reason=leaver.reason or "")
        if (member := self.members.get(member_id)) is not None:
            self._remove(member, UnknownMember())
        return None

    def _session_over(self, member_id: str) -> None:
        member = self.members.get(member_id)
        if member is None or (member.is_waiting and not member.is_new):
            return
        _logger.info("member fell silent", group=self.name, member=member_id)
        self._remove(member, UnknownMember())
        if self.state in (_STABLE, _COMPLETING):
            self._prepare(f"member {member_id} fell silent")
        elif self.state is _PREPARING and self._have_all_joined():
            self._complete_join()

    def _pending_time_over(self, member_id: str) -> None:
        self._pending.pop(member_id, None)
        self._complete_if_all_joined()

    def delete(self) -> None:
        """Raises GroupNotEmpty."""
        if self.state is not _EMPTY:
            raise GroupNotEmpty(f"the group {self.name!r} has members")
        self.close()
        self._enter(_DEAD)

    def disband(self) -> None:
        """The members go on in a group of another kind: who waits for something here is told to come again."""
        for member in self.members.values():
            member.answer_join(RebalanceInProgress())
            member.answer_sync(RebalanceInProgress())
        self.close()
        self._enter(_DEAD)

    def row(self, *, is_rebalancing: bool = False) -> ClassicRow:
        """What is kept of the group itself."""
        return ClassicRow(
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol=self.protocol,
            leader=self.leader,
            is_rebalancing=is_rebalancing,
            changed_ms=self.changed_ms,
        )

    def member_rows(self, assignments: Mapping[str, bytes] | None = None) -> Mapping[str, ClassicMemberRow]:
        """What is kept of its members, with what they are assigned now unless told otherwise."""
        return {
            member.id: member.row(member.assignment if assignments is None else assignments.get(member.id, b""))
            for member in self.members.values()
        }

    def close(self) -> None:
        """No timer of this group runs any more."""
        self._join_deadline.cancel()
        self._sync_deadline.cancel()
        for member in self.members.values():
            member.session.cancel()
        for deadline in self._pending.values():
            deadline.cancel()

    # Offsets.

    def check_commit(self, identity: MemberIdentity | None, *, in_transaction: bool) -> None:
        """Raises UnknownMember, InstanceFenced, StaleGeneration, RebalanceInProgress.

        Who is in no generation may commit only while nobody else works; in a transaction, whose older versions do not
        tell, always.
        """
        generation = NO_GENERATION if identity is None else identity.generation
        if generation < 0 and self.state is _EMPTY:
            return
        if identity is None or (generation < 0 and not identity.member_id and identity.instance_id is None):
            if not in_transaction:
                raise UnknownMember(f"the group {self.name!r} has members: only they commit")
            return
        member = self._in_generation(identity)
        if self.state is _COMPLETING and not in_transaction:
            raise RebalanceInProgress()
        if not in_transaction and self.state in (_STABLE, _PREPARING):
            member.session.set(member.session_ms)

    def check_offsets_deletable(self) -> None:
        """Raises GroupNotEmpty where members do not say what they read."""
        if self.state is not _EMPTY and self.protocol_type != CONSUMER_PROTOCOL:
            raise GroupNotEmpty(f"the group {self.name!r} has members")

    def reads(self, topic: str) -> bool:
        """Whether members read the topic, as far as they say."""
        if self.state is _EMPTY:
            return False
        if self.topics is None:
            return self.protocol_type == CONSUMER_PROTOCOL
        return topic in self.topics

    def offsets_unused_since(self, committed_ms: int) -> int | None:
        """Since when an offset that no topic of the group needs is of no use; None while it is."""
        if self.protocol_type is None:
            return committed_ms
        if self.state is _EMPTY:
            return max(self.changed_ms, committed_ms)
        if self.state is _STABLE and self.protocol_type == CONSUMER_PROTOCOL and self.topics is not None:
            return committed_ms
        return None

    # Looking.

    def view(self) -> GroupView:
        """The group as it is now."""
        shown = (self.protocol or "") if self.state is _STABLE else ""
        return GroupView(
            self.name,
            self.kind,
            self.state,
            self.protocol_type or "",
            shown,
            tuple(member.view(shown) for member in self.members.values()),
        )

    @property
    def is_unused(self) -> bool:
        """Nobody is here, and nobody was told to come."""
        return self.state is _EMPTY and not self._pending

    # Inside.

    def _in_generation(self, identity: MemberIdentity) -> Member:
        member = self._roster.find(identity.member_id, identity.instance_id)
        if identity.generation != self.generation:
            raise StaleGeneration(f"the group {self.name!r} is in generation {self.generation}")
        return member

    def _has_room(self, member_id: str) -> bool:
        """Those who are here stay; in a group that shrank below its size, the last to come back have no place."""
        members_max = self._home.limits.members_max
        member = self.members.get(member_id)
        if self.state is _EMPTY or len(self.members) < members_max:
            return True
        if self.state is _PREPARING:
            return (member is not None and member.joining is not None) or self._roster.waiting < members_max
        return member is not None

    def _remove(self, member: Member, error: BraidError) -> None:
        self._unsynced.discard(member.id)
        self._roster.remove(member, error)

    def _forget(self, member_id: str) -> None:
        if (member := self.members.get(member_id)) is not None:
            self._remove(member, GroupFull())
        if (pending := self._pending.pop(member_id, None)) is not None:
            pending.cancel()

    def _enter(self, state: GroupState) -> None:
        self.state = state
        self.changed_ms = self._home.clock.now_ms()

    def _deadline_of(self, member_id: str) -> Deadline:
        return Deadline(self._home.clock, partial(self._session_over, member_id))

    def _read_topics(self) -> frozenset[str] | None:
        return self._roster.topics(self.protocol or "", self._home.speech)

    def _joined(self, member: Member, *, with_members: bool = True) -> Joined:
        is_told = with_members and member.id == self.leader
        shown = self._roster.shown(self.protocol or "") if is_told else ()
        return Joined(member.id, self.generation, self.protocol_type, self.protocol, self.leader or "", shown)

    def _synced(self, member: Member) -> Synced:
        return Synced(self.protocol_type, self.protocol, member.assignment)

    def _keep(
        self, *, is_rebalancing: bool = False, assignments: Mapping[str, bytes] | None = None
    ) -> "asyncio.Future[None]":
        rows: dict[str, Row] = {GROUP_KEY: self.row(is_rebalancing=is_rebalancing), **self.member_rows(assignments)}
        return self._home.keep(self.name, rows)

    @staticmethod
    def _after(kept: "asyncio.Future[None]", act: Callable[[BraidError | None], None]) -> None:
        def done(future: "asyncio.Future[None]") -> None:
            if not future.cancelled():
                error = future.exception()
                act(error if error is None or isinstance(error, BraidError) else StoreFailed(repr(error)))

        kept.add_done_callback(done)


def check_unknown_group(name: str, identity: MemberIdentity | None) -> None:
    """Whether a commit into a group that nobody knows makes one. Raises UnknownGroup for those who think that they are
    members."""
    if identity is not None and identity.generation >= 0:
        raise UnknownGroup(f"there is no group {name!r}")


def _done(value: Any) -> "asyncio.Future[Any]":
    future = asyncio.get_running_loop().create_future()
    future.set_result(value)
    return future
