"""How far groups are, and moving them: positions, resets with a preview, copies, deletions.

A preview and the move itself come from the same plan, so that what is shown is what is done, unless messages or commits
come in between.
"""

import enum
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Protocol

import msgspec
from msgspec import Meta

from braidmq.core.cursors import Cursors
from braidmq.core.group_offsets import GroupOffsets, Moved, Position, Target
from braidmq.core.lookup import time_at
from braidmq.core.members import Members
from braidmq.core.timing import Clock
from braidmq.log import Log
from braidmq.model import DEFAULT_INSTANCE, BraidError, Topic, check_group_name
from braidmq.model.errors import DamagedLog, InvalidRequest, UnknownGroup, UnknownTopic
from braidmq.model.saying import say

TOPICS_MAX: Final = 1_000
"""How many topics one request may name."""


class ResetTo(enum.StrEnum):
    """Where a group is to go on."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIME = "time"
    OFFSET = "offset"
    SHIFT = "shift"


class OffsetView(msgspec.Struct, frozen=True, kw_only=True):
    """How far a group is in one partition."""

    topic: Annotated[str, Meta(examples=["orders"])]
    partition: Annotated[int, Meta(examples=[0])]
    start: Annotated[int, Meta(description="The first offset that is kept.")]
    committed: Annotated[int | None, Meta(description="Where the group goes on; null where it has committed nothing.")]
    end: Annotated[int, Meta(description="The offset that the next message will have.")]
    lag: Annotated[int | None, Meta(description="How many offsets the group is behind; null where it is nowhere.")]
    oldest_ms: Annotated[int | None, Meta(description="The age of the message that comes next; null where none waits.")]
    in_flight: Annotated[int, Meta(description="Messages that are with receivers, who take them one by one.")]
    committed_ms: Annotated[int | None, Meta(description="When the group last committed here.")]


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a group in one partition."""

    topic: Annotated[str, Meta(examples=["orders"])]
    partition: Annotated[int, Meta(examples=[0])]
    old: Annotated[int | None, Meta(description="Where the group was; null for nowhere.")]
    new: Annotated[int | None, Meta(description="Where it goes on; null for nowhere.")]
    lag_before: int | None
    lag_after: int | None
    error: Annotated[str | None, Meta(description="Why it stays where it is; null where it moves.")] = None


class Moves(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, or with a dry run would be."""

    group: str
    dry_run: bool
    moves: list[Move]


class Catalog(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def topic(self, instance: str, name: str) -> Topic | None: ...


class OffsetsDesk:
    """The offsets of all groups. A group that nobody knows has none, and can be given some."""

    def __init__(
        self, catalog: Catalog, log: Log, group_offsets: GroupOffsets, cursors: Cursors, members: Members, clock: Clock
    ) -> None:
        self._catalog = catalog
        self._log = log
        self._group_offsets = group_offsets
        self._cursors = cursors
        self._members = members
        self._clock = clock

    async def positions(self, group: str, *, topic: str = "", instance: str = DEFAULT_INSTANCE) -> list[OffsetView]:
        """In one topic, or in all in which the group has committed something. Raises UnknownTopic."""
        topics = [self._topic(instance, topic)] if topic else self.topics(group, instance)
        return [
            await self._view(group, found, position)
            for found in topics
            for position in self._group_offsets.positions(group, found)
        ]

    def topics(self, group: str, instance: str = DEFAULT_INSTANCE) -> list[Topic]:
        """The topics in which the group has committed something."""
        return [topic for topic in self._group_offsets.topics(group) if topic.instance == instance]

    def lag(self, group: str, topic: Topic) -> int | None:
        """Over the partitions in which the group is; None where it is in none."""
        lags = [each.lag for each in self._group_offsets.positions(group, topic) if each.committed is not None]
        return sum(lags) if lags else None

    async def reset(
        self,
        group: str,
        to: ResetTo,
        *,
        value: int | None = None,
        topics: Sequence[str] | None = None,
        partitions: Sequence[int] | None = None,
        online: bool | None = None,
        instance: str = DEFAULT_INSTANCE,
        dry_run: bool = False,
    ) -> Moves:
        """Let the group go on elsewhere: in these topics, or in all in which it is. `online` says whether it has
        members who are told by their reads; where that is left open, it is looked up. All is checked before anything
        moves.

        Raises InvalidName, InvalidRequest, UnknownTopic, UnknownPartition, GroupNotEmpty, UnknownGroup for a group that
        is nowhere.
        """
        check_group_name(group)
        target = _target(to, value)
        chosen = self._chosen(group, topics, instance)
        if not dry_run:
            self._group_offsets.check_movable(group)
        offsets = self._group_offsets
        moved = [move for topic in chosen for move in await offsets.plan(group, topic, target, partitions=partitions)]
        if not dry_run:
            told, moved = self._is_online(group, online), []
            for topic in chosen:
                moved += await offsets.reset(group, topic, target, partitions=partitions, online=told)
        return self._moves(group, moved, dry_run=dry_run)

    async def clone(
        self,
        group: str,
        source: str,
        *,
        topics: Sequence[str] | None = None,
        instance: str = DEFAULT_INSTANCE,
        dry_run: bool = False,
    ) -> Moves:
        """Let the group go on where another is. Raises InvalidName, UnknownTopic, UnknownGroup, GroupNotEmpty."""
        check_group_name(group)
        chosen = self._chosen(source, topics, instance)
        if not dry_run:
            self._group_offsets.check_movable(group)
        moved: list[Moved] = []
        for topic in chosen:
            if dry_run:
                moved += self._group_offsets.plan_clone(source, group, topic=topic)
            else:
                told = self._is_online(group, None)
                moved += await self._group_offsets.clone(source, group, topic=topic, online=told)
        return self._moves(group, moved, dry_run=dry_run)

    async def delete(
        self, group: str, *, topic: str = "", instance: str = DEFAULT_INSTANCE, dry_run: bool = False
    ) -> Moves:
        """Forget how far the group is, in one topic or in all. Raises UnknownTopic, UnknownGroup, GroupNotEmpty."""
        chosen = self._chosen(group, [topic] if topic else None, instance)
        moved: list[Moved] = []
        for found in chosen:
            if dry_run:
                moved += [
                    Moved(found.name, each.partition, each.number, each.committed, None)
                    for each in self._group_offsets.positions(group, found)
                    if each.committed is not None
                ]
            else:
                moved += await self._group_offsets.delete(group, found)
        return self._moves(group, moved, dry_run=dry_run)

    def _chosen(self, group: str, topics: Iterable[str] | None, instance: str) -> list[Topic]:
        if topics is not None:
            named = list(dict.fromkeys(topics))
            if not 1 <= len(named) <= TOPICS_MAX:
                raise InvalidRequest(
                    say(
                        "topics: names 1 to {topics_max} topics, or is left out for all of the group",
                        topics_max=TOPICS_MAX,
                    )
                )
            return [self._topic(instance, name) for name in named]
        if not (found := self.topics(group, instance)):
            raise UnknownGroup(
                say(
                    "the group {group} has committed nothing in the instance {instance}",
                    group=repr(group),
                    instance=repr(instance),
                ),
                fix="Name the topics, or check the group's name against the list of groups.",
            )
        return found

    def _topic(self, instance: str, name: str) -> Topic:
        if (topic := self._catalog.topic(instance, name)) is None:
            raise UnknownTopic(
                say("there is no topic {name} in the instance {instance}", name=repr(name), instance=repr(instance))
            )
        return topic

    def _is_online(self, group: str, said: bool | None) -> bool:
        return bool(self._members.consumers(group)) if said is None else said

    async def _view(self, group: str, topic: Topic, position: Position) -> OffsetView:
        is_somewhere = position.committed is not None
        at = max(position.committed or 0, position.start)
        oldest_ms = await self._age_ms(position.number, at) if is_somewhere and position.lag > 0 else None
        return OffsetView(
            topic=topic.name,
            partition=position.partition,
            start=position.start,
            committed=position.committed,
            end=position.end,
            lag=position.lag if is_somewhere else None,
            oldest_ms=oldest_ms,
            in_flight=self._cursors.out(group, position.number),
            committed_ms=position.committed_ms if position.committed_ms >= 0 else None,
        )

    async def _age_ms(self, number: int, offset: int) -> int | None:
        try:
            at_ms = await time_at(self._log, number, offset)
        except DamagedLog:
            return None  # the place cannot be read; that it waits is shown by the lag
        return None if at_ms is None else max(0, self._clock.now_ms() - at_ms)

    def _moves(self, group: str, moved: Iterable[Moved], *, dry_run: bool) -> Moves:
        return Moves(group=group, dry_run=dry_run, moves=[self._move(each) for each in moved])

    def _move(self, moved: Moved) -> Move:
        error = None if moved.refusal is None else f"{moved.refusal.code}: {moved.refusal.message}"
        return Move(
            topic=moved.topic,
            partition=moved.partition,
            old=moved.before,
            new=moved.after,
            lag_before=self._lag(moved.number, moved.before),
            lag_after=self._lag(moved.number, moved.after),
            error=error,
        )

    def _lag(self, number: int, offset: int | None) -> int | None:
        if offset is None:
            return None
        try:
            start, _, end = self._log.bounds(number)
        except BraidError:
            return None  # it is being deleted
        return end - min(max(offset, start), end)


def _target(to: ResetTo, value: int | None) -> Target:
    """Raises InvalidRequest."""
    if to in (ResetTo.EARLIEST, ResetTo.LATEST):
        if value is not None:
            raise InvalidRequest(say("value: is left out where the group goes to {to}", to=to))
        return Target(end=to is ResetTo.LATEST)
    if value is None or (value < 0 and to is not ResetTo.SHIFT):
        least = "" if to is ResetTo.SHIFT else " from 0"
        raise InvalidRequest(say("value: says the {to}, as a whole number" + least, to=to))
    if to is ResetTo.TIME:
        return Target(time_ms=value)
    return Target(offset=value) if to is ResetTo.OFFSET else Target(shift=value)
