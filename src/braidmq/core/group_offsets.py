"""How far groups have come, as operators see and change it: positions and lag, resets, copies, deletions.

For groups of every protocol. There are two kinds of members. Those who join (see `core.groups`) hold what they read in
memory and would commit over any change: while such a group has members, it cannot be changed. Those who only ask for
reads can be told with the next one: a change is kept, put on the `ResetBoard`, and until a member has been told of it,
what the members commit is ignored.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from braidmq.core.timing import Clock
from braidmq.log import GroupOffset, Log
from braidmq.model import BraidError, Partition, Topic
from braidmq.model.errors import GroupNotEmpty, RebalanceInProgress, UnknownMember, UnknownPartition

RESET_MARK: Final = "braid: set by an operator"
"""The text beside an offset that a group was set to while it had members, so that a restart does not forget to tell
them."""
SETTLING_MS: Final = 30_000
"""How long a member that was told of a reset may go on to commit where it was before."""


class Groups(Protocol):
    """Who keeps offsets; see `core.groups.Groups`."""

    async def commit(
        self, group: str, member: None, offsets: Mapping[int, GroupOffset], *, is_progress: bool
    ) -> None: ...

    def check_movable(self, group: str) -> None: ...

    def offsets(self, group: str) -> Mapping[int, GroupOffset]: ...

    async def delete_offsets(self, group: str, numbers: Iterable[int]) -> dict[int, BraidError | None]: ...


class Catalog(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def partition_by_number(self, number: int) -> Partition | None: ...

    def topic_by_id(self, topic_id: UUID) -> Topic | None: ...


class _Reset:
    """One partition's reset on its way to a member."""

    __slots__ = ("offset", "told_ms")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.told_ms: float | None = None


class ResetBoard:
    """Resets that members of groups have not taken up yet. Hot path: both questions are asked for every read and every
    commit of members, and cost a look into a dictionary that is nearly always empty."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._resets: dict[tuple[str, int], _Reset] = {}

    def put(self, group: str, number: int, offset: int) -> None:
        """The next read of this partition is to go on at the offset."""
        self._resets[group, number] = _Reset(offset)

    def withdraw(self, group: str, number: int) -> None:
        self._resets.pop((group, number), None)

    def pending(self, group: str, number: int, at: int = -1) -> int | None:
        """Where a member that reads now, at this offset, is to be sent; None nearly always. One that is there already
        need not be told any more."""
        reset = self._resets.get((group, number)) if self._resets else None
        if reset is None:
            return None
        if reset.offset == at:
            del self._resets[group, number]
            return None
        return reset.offset if reset.told_ms is None else None

    def taken(self, group: str, number: int) -> None:
        """A member was told, in the answer to its read. What it commits counts from the moment on at which it commits
        the offset that it was sent to, or a while later."""
        reset = self._resets.get((group, number))
        if reset is not None and reset.told_ms is None:
            reset.told_ms = self._clock.passed_ms()

    def ignores(self, group: str, number: int, offset: int) -> bool:
        """Whether a member's commit is to be dropped, because the member does not know better yet."""
        reset = self._resets.get((group, number)) if self._resets else None
        if reset is None:
            return False
        if reset.told_ms is None:
            return True
        if offset != reset.offset and self._clock.passed_ms() - reset.told_ms < SETTLING_MS:
            return True
        del self._resets[group, number]
        return False

    def __len__(self) -> int:
        return len(self._resets)


class Target(NamedTuple):
    """Where a group is to go on: at exactly one of these."""

    offset: int | None = None
    time_ms: int | None = None
    """At the first message that is not older."""
    shift: int | None = None
    """So many messages further, or back if it is negative, from where the group is; from the start where it is
    nowhere."""
    end: bool = False
    """Behind all that there is; otherwise, where nothing is said, at the start."""


class Position(NamedTuple):
    """How far a group has come in a partition."""

    partition: int
    number: int
    start: int
    end: int
    committed: int | None
    committed_ms: int

    @property
    def lag(self) -> int:
        """How many offsets there are that the group has not come to; for one that has committed nothing, all."""
        return self.end - min(max(self.start if self.committed is None else self.committed, self.start), self.end)


class Moved(NamedTuple):
    """What was done in one partition: where the group was, and where it is now; None for nowhere."""

    topic: str
    partition: int
    number: int
    before: int | None
    after: int | None
    refusal: BraidError | None = None
    """Why it stayed where it was."""


class GroupOffsets:
    """The offsets of all groups."""

    def __init__(self, catalog: Catalog, log: Log, groups: Groups, board: ResetBoard) -> None:
        self._catalog = catalog
        self._log = log
        self._groups = groups
        self._board = board

    def restore(self) -> None:
        """Put on the board again what the last life of this node had on it."""
        for group in list(self._log.groups_with_offsets()):
            for number, offset in self._groups.offsets(group).items():
                if offset.metadata == RESET_MARK:
                    self._board.put(group, number, offset.offset)

    def positions(self, group: str, topic: Topic) -> list[Position]:
        """By partition, in order."""
        committed = self._groups.offsets(group)
        return [self._position(partition, committed.get(partition.number)) for partition in topic.partitions]

    def topics(self, group: str) -> list[Topic]:
        """The topics in which the group has committed something."""
        found = {topic.id: topic for number in self._groups.offsets(group) if (topic := self._topic_of(number))}
        return sorted(found.values(), key=lambda topic: (topic.instance, topic.name))

    async def reset(
        self, group: str, topic: Topic, target: Target, *, partitions: Iterable[int] | None = None, online: bool = False
    ) -> list[Moved]:
        """Let the group go on elsewhere, in the whole topic or in these partitions of it; durable when this returns.

        Offsets outside of what a partition holds become its start or its end. `online` says that the group has members
        who are told by their reads. Raises UnknownPartition, GroupNotEmpty for a group whose members have joined, and
        the log's errors.
        """
        planned = await self.plan(group, topic, target, partitions=partitions)
        return await self._move(group, _offsets(planned), online=online)

    async def plan(
        self, group: str, topic: Topic, target: Target, *, partitions: Iterable[int] | None = None
    ) -> list[Moved]:
        """What `reset` would do now, without doing it: the refusal in each place is what it would raise. Raises
        UnknownPartition."""
        chosen = _chosen(topic, partitions)
        committed = self._groups.offsets(group)
        offsets = {each.number: await self._offset(each.number, target, committed) for each in chosen}
        return self._planned(group, offsets)

    async def clone(self, source: str, target: str, *, topic: Topic | None = None, online: bool = False) -> list[Moved]:
        """Let one group go on where another is, in one topic or in all; what the other has not committed stays as it
        is. Raises GroupNotEmpty, and the log's errors."""
        planned = self.plan_clone(source, target, topic=topic)
        return await self._move(target, _offsets(planned), online=online)

    def plan_clone(self, source: str, target: str, *, topic: Topic | None = None) -> list[Moved]:
        """What `clone` would do now, without doing it: the refusal in each place is what it would raise."""
        offsets = {
            number: offset.offset
            for number, offset in self._groups.offsets(source).items()
            if (found := self._topic_of(number)) is not None and (topic is None or found.id == topic.id)
        }
        return self._planned(target, offsets)

    def check_movable(self, group: str) -> None:
        """Raises GroupNotEmpty while members hold the group's offsets."""
        try:
            self._groups.check_movable(group)
        except (UnknownMember, RebalanceInProgress) as error:
            raise _held_by_members(group) from error

    async def delete(self, group: str, topic: Topic | None = None) -> list[Moved]:
        """Forget how far the group has come, in one topic or in all. Raises UnknownGroup, GroupNotEmpty."""
        before = dict(self._groups.offsets(group))
        numbers = before if topic is None else [each for each in topic.partition_numbers if each in before]
        fates = await self._groups.delete_offsets(group, list(numbers))
        moved = []
        for number, fate in fates.items():
            if fate is None:
                self._board.withdraw(group, number)
            offset = before[number].offset
            moved.append(self._moved(number, offset, offset if fate else None, fate))
        return sorted(moved)

    async def _move(self, group: str, offsets: Mapping[int, int], *, online: bool) -> list[Moved]:
        """Members' commits that come while this is being kept are earlier than it, or ignored."""
        before = dict(self._groups.offsets(group))
        untold = {number: self._board.pending(group, number) for number in offsets}
        self._board_all(group, offsets if online else dict.fromkeys(offsets))
        mark = RESET_MARK if online else ""
        try:
            wanted = {number: GroupOffset(offset, mark) for number, offset in offsets.items()}
            await self._groups.commit(group, None, wanted, is_progress=False)
        except BraidError as error:
            self._board_all(group, untold)
            if isinstance(error, UnknownMember | RebalanceInProgress):
                raise _held_by_members(group) from error
            raise
        moved = []
        for number, offset in offsets.items():
            was = before.get(number)
            moved.append(self._moved(number, None if was is None else was.offset, offset))
        return sorted(moved)

    def _planned(self, group: str, offsets: Mapping[int, int]) -> list[Moved]:
        refusal: BraidError | None = None
        try:
            self.check_movable(group)
        except GroupNotEmpty as error:
            refusal = error
        before = self._groups.offsets(group)
        return sorted(
            (
                self._moved(number, before[number].offset if number in before else None, offset, refusal)
                for number, offset in offsets.items()
            ),
            key=lambda moved: moved[:3],
        )

    def _board_all(self, group: str, offsets: Mapping[int, int | None]) -> None:
        for number, offset in offsets.items():
            if offset is None:
                self._board.withdraw(group, number)
            else:
                self._board.put(group, number, offset)

    async def _offset(self, number: int, target: Target, committed: Mapping[int, GroupOffset]) -> int:
        start, _, end = self._log.bounds(number)
        if target.shift is not None:
            present = committed[number].offset if number in committed else start
            return min(max(present + target.shift, start), end)
        if target.time_ms is not None:
            found = await self._log.offset_for_time(number, target.time_ms)
            return end if found is None else found.offset
        if target.offset is not None:
            return min(max(target.offset, start), end)
        return end if target.end else start

    def _position(self, partition: Partition, committed: GroupOffset | None) -> Position:
        start, _, end = self._log.bounds(partition.number)
        offset, at_ms = (None, -1) if committed is None else (committed.offset, committed.committed_ms)
        return Position(partition.index, partition.number, start, end, offset, at_ms)

    def _moved(self, number: int, before: int | None, after: int | None, refusal: BraidError | None = None) -> Moved:
        partition = self._catalog.partition_by_number(number)
        topic = self._topic_of(number)
        name, index = ("", -1) if topic is None or partition is None else (topic.name, partition.index)
        return Moved(name, index, number, before, after, refusal)

    def _topic_of(self, number: int) -> Topic | None:
        partition = self._catalog.partition_by_number(number)
        topic = None if partition is None else self._catalog.topic_by_id(partition.topic_id)
        return None if topic is None or topic.deleting else topic


def _offsets(planned: Iterable[Moved]) -> dict[int, int]:
    return {each.number: each.after for each in planned if each.after is not None}


def _held_by_members(group: str) -> GroupNotEmpty:
    return GroupNotEmpty(f"the members of {group!r} hold its offsets; stop them first")


def _chosen(topic: Topic, partitions: Iterable[int] | None) -> list[Partition]:
    if partitions is None:
        return list(topic.partitions)
    wanted = sorted(set(partitions))
    for index in wanted:
        if not 0 <= index < len(topic.partitions):
            raise UnknownPartition(f"the topic {topic.name!r} has no partition {index}")
    return [topic.partitions[index] for index in wanted]
