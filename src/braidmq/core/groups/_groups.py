"""The service: all groups of this node, whoever asks.

A group is in memory while it has members, had some lately, or is kept from before a restart; a name under which only
offsets were committed is a group, too, an empty one that needs no more than its offsets.
"""

import asyncio
import uuid
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol
from uuid import UUID

from braidmq.core.groups import _speakers
from braidmq.core.groups._assignors import ASSIGNORS
from braidmq.core.groups._classic import ClassicGroup, check_unknown_group
from braidmq.core.groups._consumer import ConsumerGroup
from braidmq.core.groups._pending import PendingKeeper, PendingOffsets
from braidmq.core.groups._rows import (
    GROUP_KEY,
    ClassicMemberRow,
    ClassicRow,
    ConsumerMemberRow,
    ConsumerRow,
    Row,
    ShareRow,
    decode_row,
    encode_row,
)
from braidmq.core.groups._share import Departed, ShareGroup
from braidmq.core.groups._words import (
    METADATA_LENGTH_MAX,
    SILENCE,
    ConsumerGroupView,
    GroupKind,
    GroupLimits,
    GroupState,
    GroupView,
    Join,
    Joined,
    Leaver,
    MemberIdentity,
    Pulse,
    PulseAnswer,
    Speech,
    Sync,
    Synced,
)
from braidmq.core.patterns import Pattern
from braidmq.core.timing import Clock, LoopClock, Timer
from braidmq.core.trace import UNTRACED, Tracer
from braidmq.log import GroupOffset, Log
from braidmq.logger import get_logger
from braidmq.model import (
    DEFAULT_INSTANCE,
    BraidError,
    Group,
    Partition,
    Topic,
    TraceKind,
    dead_letter_topic_name,
)
from braidmq.model.errors import (
    GroupFull,
    GroupNotEmpty,
    InconsistentProtocol,
    InvalidGroup,
    InvalidHeartbeat,
    InvalidName,
    InvalidSession,
    MetadataTooLarge,
    StaleEpoch,
    StaleGeneration,
    TopicInUse,
    UnknownAssignor,
    UnknownGroup,
    UnknownMember,
)
from braidmq.model.group_settings import CONSUME, OFF
from braidmq.model.names import ARCHIVE_GROUP, REPLAY_GROUP_PREFIX
from braidmq.model.share_settings import Pace, consumer_pace, share_pace
from braidmq.store import Change, GroupChanged, TopicChanged

_LEAVING_EPOCH_MIN = -2

_logger = get_logger(__name__)


class Keeper(PendingKeeper, Protocol):
    """Where groups outlive the process; see `store.GroupStates`."""

    async def load(self) -> Mapping[str, Mapping[str, bytes]]: ...

    async def replace(self, group: str, rows: Mapping[str, bytes]) -> None: ...

    async def change(self, group: str, rows: Mapping[str, bytes | None]) -> None: ...

    async def delete(self, group: str) -> None: ...


class Directory(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def partition_by_number(self, number: int) -> Partition | None: ...

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...

    def topics(self) -> list[Topic]: ...

    def groups(self) -> list[Group]: ...

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]: ...


class Groups:
    """Made by `open`. Any call that changes something may raise StoreFailed besides what it names."""

    def __init__(
        self,
        catalog: Directory,
        log: Log,
        keeper: Keeper,
        pending: PendingOffsets,
        *,
        limits: GroupLimits,
        clock: Clock,
        draw_id: Callable[[], str],
        make_speech: Callable[[], Speech],
        tracer: Tracer,
    ) -> None:
        self.limits = limits
        self.clock = clock
        self.draw_id = draw_id
        self._make_speech = make_speech
        self._catalog = catalog
        self._log = log
        self._keeper = keeper
        self._pending = pending
        self._tracer = tracer
        self._groups: dict[str, ClassicGroup | ConsumerGroup | ShareGroup] = {}
        self._departed: list[Departed] = []
        self._topic_numbers: dict[str, tuple[int, ...]] | None = None
        self._paused = {
            each.name
            for each in catalog.groups()
            if each.instance == DEFAULT_INSTANCE and each.settings.get(CONSUME) == OFF
        }
        """Groups whose members are given nothing."""
        self._settings = {
            each.name: each.settings for each in catalog.groups() if each.instance == DEFAULT_INSTANCE and each.settings
        }
        """Of groups that have any."""
        self._tasks: set[asyncio.Future[None]] = set()
        self._unsubscribe = catalog.subscribe(self._catalog_changed)
        self._sweep_timer: Timer = clock.call_later(limits.sweep_ms, self._begin_sweep)

    @classmethod
    async def open(
        cls,
        catalog: Directory,
        log: Log,
        keeper: Keeper,
        *,
        limits: GroupLimits | None = None,
        clock: Clock | None = None,
        draw_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        make_speech: Callable[[], Speech] = lambda: SILENCE,
        tracer: Tracer = UNTRACED,
    ) -> "Groups":
        """All groups as they were when the last process ended; members' sessions begin anew."""
        pending = PendingOffsets(keeper, await keeper.load_pending())
        groups = cls(
            catalog,
            log,
            keeper,
            pending,
            limits=limits or GroupLimits(),
            clock=clock or LoopClock(),
            draw_id=draw_id,
            make_speech=make_speech,
            tracer=tracer,
        )
        for name, rows in (await keeper.load()).items():
            groups._restore(name, {key: decode_row(data) for key, data in rows.items()})
        return groups

    async def close(self) -> None:
        """No timer runs any more, and all that was begun is kept."""
        self._sweep_timer.cancel()
        self._unsubscribe()
        for group in self._groups.values():
            group.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Members.

    async def join(self, join: Join) -> Joined:
        """Returns when the group has a new generation. Raises InvalidGroup, InvalidSession, UnknownMember,
        MemberIdRequired, InconsistentProtocol, InstanceFenced, GroupFull, RebalanceInProgress."""
        _check_name(join.group)
        if not self.limits.session_min_ms <= join.session_ms <= self.limits.session_max_ms:
            raise InvalidSession(
                f"a session timeout of {join.session_ms} ms; allowed are {self.limits.session_min_ms} to"
                f" {self.limits.session_max_ms}"
            )
        group = self._groups.get(join.group)
        before = 0
        if isinstance(group, ConsumerGroup):
            if group.members:
                return await self._join_assigned(group, join)
            before, group = group.epoch, None
        if isinstance(group, ShareGroup):
            raise InconsistentProtocol(
                f"the members of {join.group!r} share partitions; join a group of another name, or delete this one"
            )
        if group is None:
            if join.member_id:
                raise UnknownMember(f"there is no group {join.group!r}")
            group = self._groups[join.group] = ClassicGroup(join.group, self, generation=before)
        return await asyncio.shield(group.join(join))

    async def sync(self, sync: Sync) -> Synced:
        """Returns when the leader has divided the work. Raises InvalidGroup, UnknownMember, InstanceFenced,
        StaleGeneration, InconsistentProtocol, RebalanceInProgress."""
        group = self._with_members(sync.group)
        if isinstance(group, ClassicGroup):
            return await asyncio.shield(group.sync(sync))
        synced, kept = _speakers.sync(group, self, sync)
        if kept is not None:
            await asyncio.shield(kept)
        return synced

    def heartbeat(self, group: str, member: MemberIdentity) -> None:
        """Raises InvalidGroup, UnknownMember, InstanceFenced, StaleGeneration, RebalanceInProgress."""
        found = self._with_members(group)
        if isinstance(found, ClassicGroup):
            found.heartbeat(member)
        else:
            _speakers.heartbeat(found, member)

    async def leave(self, group: str, leavers: Sequence[Leaver]) -> list[BraidError | None]:
        """For each who leaves: None, or why not (UnknownMember, InstanceFenced). Raises InvalidGroup."""
        _check_name(group)
        found = self._groups.get(group)
        if found is None or isinstance(found, ShareGroup):
            return [UnknownMember(f"there is no group {group!r} that members leave so") for _ in leavers]
        fates, kept = found.remove(leavers) if isinstance(found, ConsumerGroup) else found.leave(leavers)
        if kept is not None:
            await asyncio.shield(kept)
        return fates

    async def pulse(self, pulse: Pulse) -> PulseAnswer:
        """The heartbeat of a member that we assign to, and what it is to hold. Its changes are kept when this returns.

        Raises InvalidHeartbeat, UnknownAssignor, InvalidExpression, UnknownGroup, UnknownMember, EpochFenced,
        InstanceFenced, InstanceUnreleased, GroupFull.
        """
        _check_pulse(pulse)
        group = self._groups.get(pulse.group)
        if pulse.epoch == 0 and (group is None or isinstance(group, ClassicGroup)):
            group = self._groups[pulse.group] = self._new_assigned(pulse.group, group)
        if not isinstance(group, ConsumerGroup):
            raise UnknownGroup(f"there is no group {pulse.group!r} whose members are assigned to")
        answer, kept = group.leave(pulse) if pulse.epoch < 0 else group.pulse(pulse)
        if kept is not None:
            await asyncio.shield(kept)
        return answer

    async def share_pulse(self, pulse: Pulse) -> PulseAnswer:
        """The heartbeat of a member that shares partitions with others, and where it is to ask for messages. Its
        changes are kept when this returns.

        Raises InvalidHeartbeat, InvalidGroup, UnknownGroup for a name that belongs to another kind of group,
        UnknownMember, EpochFenced, GroupFull.
        """
        _check_share_pulse(pulse)
        group = self._groups.get(pulse.group)
        if group is None and pulse.epoch == 0:
            _check_dead_letters(pulse.group)
            group = self._groups[pulse.group] = ShareGroup(pulse.group, self)
        if group is None:
            raise UnknownMember(f"there is no group {pulse.group!r}")
        if not isinstance(group, ShareGroup):
            raise UnknownGroup(
                f"{pulse.group!r} is a group of kind {group.kind.value}, whose members do not share partitions; take"
                " another name, or delete that group"
            )
        answer, kept = group.leave(pulse) if pulse.epoch < 0 else group.pulse(pulse)
        if kept is not None:
            await asyncio.shield(kept)
        return answer

    async def ensure_share(self, group: str) -> None:
        """Have an idle group of this name whose members will share partitions, kept when this returns. Raises
        InvalidGroup, and what `check_idle_share` raises."""
        if group not in self._groups and not self._log.fetch_offsets(group):
            _check_name(group)
            _check_dead_letters(group)
            self._groups[group] = ShareGroup(group, self)
        if (kept := self.check_idle_share(group).keep()) is not None:
            await asyncio.shield(kept)

    def check_idle_share(self, group: str) -> ShareGroup:
        """The group whose members share partitions, while nobody is in it. Raises UnknownGroup, GroupNotEmpty."""
        found = self._groups.get(group)
        if not isinstance(found, ShareGroup):
            raise UnknownGroup(f"there is no group {group!r} whose members share partitions")
        if found.members:
            raise GroupNotEmpty(f"the group {group!r} has members; let them leave first")
        return found

    def on_departure(self, departed: Departed) -> None:
        """Be told from now on of members that shared partitions and are out."""
        self._departed.append(departed)

    # Offsets.

    async def commit(
        self,
        group: str,
        member: MemberIdentity | None,
        offsets: Mapping[int, GroupOffset],
        *,
        client: str = "",
        is_progress: bool = True,
    ) -> None:
        """Keep how far the group has come, by partition number; durable when this returns. `is_progress` says that
        this is what the group has worked on, and not where somebody wants it to be; `client` is who says so, if it is
        no member.

        Without a member (or with one that is in no generation), only while the group has no members. Raises
        UnknownGroup, UnknownMember, InstanceFenced, StaleGeneration, StaleEpoch, RebalanceInProgress, and the log's
        errors.
        """
        self._check_commit(group, member, in_transaction=False)
        stamped = self._stamped(group, offsets)
        worked_on = self._worked_on(group, stamped) if is_progress else ()
        await self._log.commit_offsets(group, stamped)
        for number, first, until in worked_on:
            who = client if member is None else member.member_id
            self._tracer.note_range(TraceKind.ACKNOWLEDGED, group, number, first, until, who)

    def offsets(self, group: str) -> Mapping[int, GroupOffset]:
        """How far the group has come, by partition number; nothing for a group that nobody knows."""
        return self._log.fetch_offsets(group)

    def check_fetch(self, group: str, member_id: str | None, epoch: int) -> None:
        """Whether this member may be told the offsets: everybody who does not claim to be in an epoch. Raises
        UnknownMember, StaleEpoch."""
        if isinstance(found := self._groups.get(group), ConsumerGroup):
            found.check_fetch(member_id, epoch)

    def has_pending(self, group: str, number: int) -> bool:
        """Whether a transaction that has not ended may still change this offset."""
        return self._pending.has(group, number)

    async def delete_offsets(self, group: str, numbers: Iterable[int]) -> dict[int, BraidError | None]:
        """For each partition None, or TopicInUse. Raises UnknownGroup, GroupNotEmpty."""
        found = self._groups.get(group)
        if found is not None:
            found.check_offsets_deletable()
        elif not self._log.fetch_offsets(group) and not self._pending.has_any(group):
            raise UnknownGroup(f"there is no group {group!r}")
        fates: dict[int, BraidError | None] = {}
        for number in numbers:
            topic = self._topic_of(number)
            is_read = found is not None and topic is not None and found.reads(topic.name)
            fates[number] = TopicInUse(f"members of {group!r} read this topic") if is_read else None
        free = [number for number, fate in fates.items() if fate is None]
        if free:
            await self._pending.forget(free, group)
            await self._log.delete_offsets(group, free)
        return fates

    # Transactions.

    async def commit_in_transaction(
        self, group: str, producer_id: int, member: MemberIdentity | None, offsets: Mapping[int, GroupOffset]
    ) -> None:
        """Keep offsets that count once the producer's transaction is committed; durable when this returns.

        Raises InvalidGroup, UnknownMember, InstanceFenced, StaleGeneration.
        """
        _check_name(group)
        try:
            self._check_commit(group, member, in_transaction=True)
        except (UnknownGroup, StaleEpoch) as error:
            raise StaleGeneration(error.message) from error
        await self._pending.add(producer_id, group, self._stamped(group, offsets))

    async def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """Make the producer's pending offsets count, or drop them. Doing it again changes nothing.

        An offset that was committed outside of the transaction meanwhile is newer, and stays.
        """
        for group, offsets in self._pending.of(producer_id).items() if commit else ():
            present = self._log.fetch_offsets(group)
            newer = {
                number: offset
                for number, offset in offsets.items()
                if self._topic_of(number) is not None
                and (number not in present or present[number].committed_ms <= offset.committed_ms)
            }
            if newer:
                worked_on = self._worked_on(group, newer)
                await self._log.commit_offsets(group, newer)
                for number, first, until in worked_on:
                    self._tracer.note_range(TraceKind.ACKNOWLEDGED, group, number, first, until)
        if self._pending.of(producer_id):
            await self._pending.end(producer_id)

    # Administration.

    def find(self, group: str) -> GroupView | None:
        """The group as it is now; None if nobody knows it."""
        if (found := self._groups.get(group)) is not None:
            return found.view()
        return _offsets_only(group) if self._log.fetch_offsets(group) else None

    def find_consumer(self, group: str) -> ConsumerGroupView | None:
        """The group as it is now; None if there is none whose members we assign to."""
        found = self._groups.get(group)
        return found.full_view() if isinstance(found, ConsumerGroup) else None

    def find_share(self, group: str) -> ConsumerGroupView | None:
        """The group as it is now; None if there is none whose members share partitions."""
        found = self._groups.get(group)
        return found.full_view() if isinstance(found, ShareGroup) else None

    def is_share(self, group: str) -> bool:
        """Whether members of the group share partitions, or did when it had some."""
        return isinstance(self._groups.get(group), ShareGroup)

    def all(self) -> list[GroupView]:
        """All groups as they are now."""
        views = [group.view() for group in self._groups.values()]
        return views + [_offsets_only(name) for name in self._log.groups_with_offsets() if name not in self._groups]

    def sizes(self) -> dict[str, int]:
        """All groups by name, with how many members have joined each."""
        sizes = dict.fromkeys(self._log.groups_with_offsets(), 0)
        sizes.update((name, len(group.members)) for name, group in self._groups.items())
        return sizes

    def size(self, group: str) -> int:
        """How many members have joined it."""
        found = self._groups.get(group)
        return 0 if found is None else len(found.members)

    def reads(self, group: str, topic: str) -> bool:
        """Whether members of the group read the topic, as far as they tell."""
        found = self._groups.get(group)
        return found is not None and found.reads(topic)

    def check_movable(self, group: str) -> None:
        """Whether somebody who is no member may set the group's offsets. Raises what `commit` without a member
        would."""
        self._check_commit(group, None, in_transaction=False)

    async def delete(self, group: str) -> None:
        """Forget the group and its offsets. Raises UnknownGroup, GroupNotEmpty."""
        found = self._groups.get(group)
        if found is None and not self._log.fetch_offsets(group):
            raise UnknownGroup(f"there is no group {group!r}")
        if found is not None:
            found.delete()
            del self._groups[group]
        self._pending.drop_group(group)
        # Both begin now: what comes to a new group of this name is behind them.
        forgotten = self._begin(self._keeper.delete(group))
        await self._log.delete_offsets(group)
        await asyncio.shield(forgotten)

    async def sweep(self) -> None:
        """Forget offsets that nobody has used for as long as they are kept, and groups that have none left."""
        for name in {*self._log.groups_with_offsets(), *self._groups}:
            offsets = self._log.fetch_offsets(name)
            expired = [number for number, offset in offsets.items() if self._expired(name, number, offset)]
            if expired:
                await self._log.delete_offsets(name, expired)
                _logger.info("offsets expired", group=name, partitions=len(expired))
            group = self._groups.get(name)
            is_unused = group is not None and group.is_unused and not self._pending.has_any(name)
            if group is not None and is_unused and not self._log.fetch_offsets(name):
                del self._groups[name]
                group.close()
                await self._keeper.delete(name)

    # The groups' side.

    @cached_property
    def speech(self) -> Speech:
        """What members write to each other. Made when somebody has said something."""
        return self._make_speech()

    def keep(self, group: str, rows: Mapping[str, Row]) -> "asyncio.Future[None]":
        return self._begin(self._keeper.replace(group, {key: encode_row(row) for key, row in rows.items()}))

    def keep_some(self, group: str, rows: Mapping[str, Row | None]) -> "asyncio.Future[None]":
        changes = {key: None if row is None else encode_row(row) for key, row in rows.items()}
        return self._begin(self._keeper.change(group, changes))

    def consumer_pace(self, group: str) -> Pace:
        """Of members to whom we assign."""
        return consumer_pace(self._settings.get(group, {}), self._usual_pace)

    def share_pace(self, group: str) -> Pace:
        """Of share consumers."""
        return share_pace(self._settings.get(group, {}), self._usual_pace)

    @property
    def _usual_pace(self) -> Pace:
        return Pace(self.limits.consumer_session_ms, self.limits.heartbeat_ms)

    def is_paused(self, group: str) -> bool:
        return group in self._paused

    def unpausable(self, group: str) -> int:
        """How many of its members go on reading although it is paused."""
        found = self._groups.get(group)
        return len(found.members) if isinstance(found, ClassicGroup) and not found.obeys_pause else 0

    def departed(self, group: str, member_id: str) -> None:
        for told in self._departed:
            told(group, member_id)

    def topic_numbers(self) -> Mapping[str, tuple[int, ...]]:
        if self._topic_numbers is None:
            topics = [topic for topic in self._catalog.topics() if topic.instance == DEFAULT_INSTANCE]
            self._topic_numbers = {topic.name: topic.partition_numbers for topic in topics}
        return self._topic_numbers

    # Inside.

    def _restore(self, name: str, rows: Mapping[str, Row]) -> None:
        row = rows.get(GROUP_KEY)
        if isinstance(row, ClassicRow):
            members = {key: kept for key, kept in rows.items() if isinstance(kept, ClassicMemberRow)}
            self._groups[name] = ClassicGroup.restored(name, self, row, members)
        elif isinstance(row, ConsumerRow):
            assigned = {key: kept for key, kept in rows.items() if isinstance(kept, ConsumerMemberRow)}
            self._groups[name] = ConsumerGroup.restored(name, self, row, assigned)
        elif isinstance(row, ShareRow):
            self._groups[name] = ShareGroup.restored(name, self, row)

    def _with_members(self, name: str) -> ClassicGroup | ConsumerGroup:
        _check_name(name)
        group = self._groups.get(name)
        if group is None or isinstance(group, ShareGroup) or group.state is GroupState.EMPTY:
            raise UnknownMember(f"the group {name!r} has no members")
        return group

    async def _join_assigned(self, group: ConsumerGroup, join: Join) -> Joined:
        joined, kept = _speakers.join(group, self, join)
        if group.is_classic_alone and self.limits.migration.may_downgrade:
            kept = self.downgrade(group)  # the last of the others was this instance, before it was started again
        if kept is not None:
            await asyncio.shield(kept)
        return joined

    def _new_assigned(self, name: str, old: ClassicGroup | None) -> ConsumerGroup:
        """A group that we assign to, with the members of the old one, if it has any. Raises UnknownGroup where these
        cannot be assigned to, GroupFull."""
        if old is None or not old.members:
            made = ConsumerGroup(name, self, epoch=0 if old is None else old.generation)
        else:
            if len(old.members) >= self.limits.members_max:
                raise GroupFull(f"the group {name!r} may have {self.limits.members_max} members")
            found = _speakers.as_assigned(old.row(), dict(old.member_rows()), self.speech)
            if not self.limits.migration.may_upgrade:
                found = f"kafka.group_migration = {self.limits.migration.value}"
            if isinstance(found, str):
                raise UnknownGroup(
                    f"{name!r} is a group whose members divide the work themselves, and stays one: {found}"
                )
            made = ConsumerGroup.upgraded(name, self, *found)
            _logger.info("group is assigned to from now on", group=name, members=len(made.members))
        if old is not None:
            old.disband()
        return made

    def downgrade(self, group: ConsumerGroup) -> "asyncio.Future[None]":
        group.close()
        row, members = _speakers.as_classic(group, self.speech, self.clock.now_ms())
        made = self._groups[group.name] = ClassicGroup.restored(group.name, self, row, members)
        _logger.info("group divides its work itself from now on", group=group.name, members=len(members))
        return self.keep(group.name, {GROUP_KEY: row, **made.member_rows()})

    def _check_commit(self, name: str, member: MemberIdentity | None, *, in_transaction: bool) -> None:
        group = self._groups.get(name)
        if group is None:
            check_unknown_group(name, member)
        else:
            group.check_commit(member, in_transaction=in_transaction)

    def _worked_on(self, group: str, offsets: Mapping[int, GroupOffset]) -> list[tuple[int, int, int]]:
        """From where to where the group goes on in each partition; of its first step, only the end is known."""
        before = self._log.fetch_offsets(group)
        return [
            (number, before[number].offset if number in before else max(offset.offset - 1, 0), offset.offset)
            for number, offset in offsets.items()
        ]

    def _stamped(self, group: str, offsets: Mapping[int, GroupOffset]) -> dict[int, GroupOffset]:
        """With the time of the commit, unless the client gave one; later than what is pending for the same place."""
        now_ms = self.clock.now_ms()
        stamped = {}
        for number, offset in offsets.items():
            check_metadata(offset.metadata)
            committed_ms = offset.committed_ms
            if committed_ms < 0:
                pending_ms = self._pending.committed_ms(group, number)
                committed_ms = now_ms if pending_ms is None else max(now_ms, pending_ms + 1)
            stamped[number] = offset._replace(committed_ms=committed_ms)
        return stamped

    def _expired(self, name: str, number: int, offset: GroupOffset) -> bool:
        topic = self._topic_of(number)
        if topic is None:
            return True
        if name == ARCHIVE_GROUP or name.startswith(REPLAY_GROUP_PREFIX):
            return False  # how far the archive is, or a replay of it, stays true for as long as the topic is there
        group = self._groups.get(name)
        if self._pending.has(name, number) or (group is not None and group.reads(topic.name)):
            return False
        since_ms = offset.committed_ms if group is None else group.offsets_unused_since(offset.committed_ms)
        return since_ms is not None and self.clock.now_ms() - since_ms > self.limits.offsets_retention_ms

    def _topic_of(self, number: int) -> Topic | None:
        partition = self._catalog.partition_by_number(number)
        topic = None if partition is None else self._catalog.topic_by_id(partition.topic_id)
        return None if topic is None or topic.deleting else topic

    def _catalog_changed(self, change: Change) -> None:
        if isinstance(change, GroupChanged):
            self._group_changed(change)
        if not isinstance(change, TopicChanged):
            return
        self._topic_numbers = None
        for group in self._groups.values():
            if not isinstance(group, ClassicGroup):
                group.topics_changed()
        if change.old is not None and (change.new is None or change.new.deleting):
            self._begin(self._pending.forget(change.old.partition_numbers))

    def _group_changed(self, change: GroupChanged) -> None:
        """A group that is paused or goes on is divided anew at its members' next heartbeats."""
        kept = change.new or change.old
        if kept is None or kept.instance != DEFAULT_INSTANCE:
            return
        self._settings.pop(kept.name, None)
        if change.new is not None and change.new.settings:
            self._settings[kept.name] = change.new.settings
        was_paused = kept.name in self._paused
        is_paused = change.new is not None and change.new.settings.get(CONSUME) == OFF
        (self._paused.add if is_paused else self._paused.discard)(kept.name)
        group = self._groups.get(kept.name)
        if isinstance(group, ConsumerGroup):
            group.topics_changed()
        elif isinstance(group, ClassicGroup) and is_paused != was_paused:
            group.pause_changed()

    def _begin_sweep(self) -> None:
        self._sweep_timer = self.clock.call_later(self.limits.sweep_ms, self._begin_sweep)
        self._begin(self.sweep())

    def _begin(self, work: Coroutine[Any, Any, None]) -> "asyncio.Future[None]":
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Future[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _logger.warning("a group's state could not be kept", reason=str(error))


def check_metadata(metadata: str) -> None:
    """Raises MetadataTooLarge."""
    if len(metadata) > METADATA_LENGTH_MAX:
        raise MetadataTooLarge(f"{len(metadata)} characters beside an offset; {METADATA_LENGTH_MAX} are kept")


def _check_pulse(pulse: Pulse) -> None:
    """What can be said of a heartbeat without knowing the group."""
    texts = {"group": pulse.group, "instance": pulse.instance_id, "rack": pulse.rack, "member": pulse.member_id}
    for what, text in texts.items():
        if text is not None and not text.strip():
            raise InvalidHeartbeat(f"a heartbeat names its {what}")
    if pulse.epoch < _LEAVING_EPOCH_MIN:
        raise InvalidHeartbeat(f"there is no epoch {pulse.epoch}")
    if pulse.epoch == _LEAVING_EPOCH_MIN and pulse.instance_id is None:
        raise InvalidHeartbeat("only instances leave for a while")
    if pulse.epoch == 0:
        _check_joining(pulse)
    if pulse.assignor is not None and pulse.assignor not in ASSIGNORS:
        raise UnknownAssignor(f"there is no assignor {pulse.assignor!r}; there are {', '.join(ASSIGNORS)}")
    if pulse.pattern:
        Pattern(pulse.pattern)


def _check_share_pulse(pulse: Pulse) -> None:
    """What can be said of such a heartbeat without knowing the group."""
    _check_name(pulse.group)
    if not pulse.member_id.strip():
        raise InvalidHeartbeat("a heartbeat names its member")
    if pulse.rack is not None and not pulse.rack.strip():
        raise InvalidHeartbeat("a heartbeat names its rack, or has none")
    if pulse.epoch < -1:
        raise InvalidHeartbeat(f"there is no epoch {pulse.epoch}")
    if pulse.epoch == 0 and not pulse.topics:
        raise InvalidHeartbeat("a member that joins says what it reads")


def _check_dead_letters(group: str) -> None:
    """Raises InvalidGroup for a name that cannot be part of the name of a topic."""
    try:
        dead_letter_topic_name(group)
    except InvalidName as error:
        raise InvalidGroup(error.message) from error


def _check_joining(pulse: Pulse) -> None:
    if pulse.rebalance_ms < 0:
        raise InvalidHeartbeat("a member that joins says how long it may take to give up partitions")
    if pulse.held is None or pulse.held:
        raise InvalidHeartbeat("a member that joins holds nothing")
    if not pulse.topics and not pulse.pattern:
        raise InvalidHeartbeat("a member that joins says what it reads")


def _check_name(group: str) -> None:
    if not group:
        raise InvalidGroup("a group with members has a name")


def _offsets_only(name: str) -> GroupView:
    return GroupView(name, GroupKind.CLASSIC, GroupState.EMPTY, "", "")
