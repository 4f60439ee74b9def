"""Groups: one list of all, whoever made them and whatever their members speak.

A group is known from the catalog, from offsets that were committed under its name, from members, and from messages that
its receivers take one by one. Members and offsets do not name an instance: they belong to `default`, unless the group
was made in another one.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, NamedTuple
from uuid import UUID

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from braidmq.core.cursors import Cursors
from braidmq.core.desk._figures import NO_GROUP, Figures, GroupFigure, Picture
from braidmq.core.desk._pages import Page, PageAsk, Sorts, page_of
from braidmq.core.desk.clients import KAFKA, ClientsDesk, GroupMember
from braidmq.core.desk.offsets import OffsetsDesk, OffsetView
from braidmq.core.groups import Groups, GroupState
from braidmq.core.lookup import batch_time_at
from braidmq.core.timing import Clock
from braidmq.log import Log
from braidmq.model import DEFAULT_INSTANCE, Group
from braidmq.model.errors import AlreadyExists, GroupNotEmpty, InvalidSetting, UnknownGroup
from braidmq.model.group_settings import CONSUME, OFF
from braidmq.model.names import OWN_TOPIC_PREFIX
from braidmq.model.saying import say
from braidmq.store import Catalog

LOOKS_MAX: Final = 500
"""For how many partitions one page looks how old the next message is."""

PAUSED_FOR: Final = ("http", "kafka", "rocketmq", "rocketmq_grpc")
"""Whose members are given nothing while their group is paused."""


class GroupItem(msgspec.Struct, frozen=True, kw_only=True):
    """A group in a list."""

    name: Annotated[str, Meta(examples=["settlement"])]
    state: Annotated[
        str,
        Meta(
            examples=["stable"],
            description="empty, stable, or what a Kafka group is doing: preparing, completing, assigning, reconciling.",
        ),
    ]
    protocols: Annotated[list[str], Meta(examples=[["kafka"]], description="What its members speak.")]
    members: int
    topics: Annotated[int, Meta(description="In how many topics it has committed something.")]
    lag: Annotated[int, Meta(description="Messages behind, over the partitions in which it has committed something.")]
    oldest_ms: Annotated[
        int | None,
        Meta(
            description="The age of the oldest message that waits for it; null where none does, and in lists also where"
            " the message would have to be read from the disk."
        ),
    ]
    rate_out: Annotated[float, Meta(description="Messages in a second that it comes forward by, over the last minute.")]
    ordered: bool
    paused: bool
    in_flight: Annotated[int, Meta(description="Messages that are with receivers, who take them one by one.")]
    internal: Annotated[bool, Meta(description="A group of the house itself.")]


class GroupDetail(GroupItem, frozen=True, kw_only=True):
    """A group, looked at closely."""

    instance: str
    attempts_max: Annotated[int, Meta(description="How often a message is delivered again before it is a dead letter.")]
    broadcast: bool
    settings: Annotated[Mapping[str, str], Meta(examples=[{"retry.steps": "10s 30s 1m"}])]
    topic_names: Annotated[list[str], Meta(description="The topics in which it has committed something.")]
    kept: Annotated[bool, Meta(description="Whether somebody has made it; else it is known by its use only.")]
    paused_for: Annotated[
        list[str], Meta(description="Where it is paused: whose members are given nothing. Others go on.")
    ]
    redelivered: Annotated[int, Meta(description="Messages that receivers were given again, since the node began.")]
    members_not_paused: Annotated[
        int,
        Meta(
            description="Where it is paused: members that go on reading, as those of Kafka Streams and Connect, which "
            "divide their work in a way of their own."
        ),
    ]


class GroupDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """What went with a group, or with a dry run would."""

    name: str
    dry_run: bool
    topics: Annotated[list[str], Meta(description="In which it had committed something.")]
    subscriptions: int


class GroupChoice(NamedTuple):
    """Which groups of a list are wanted; what is not said does not matter."""

    behind: bool = False
    without_members: bool = False
    paused: bool = False


ALL_GROUPS: Final = GroupChoice()


class _Known(NamedTuple):
    """What is at hand of a group."""

    name: str
    kept: Group | None
    members: int
    in_flight: int
    figure: GroupFigure


class GroupsDesk:
    """All groups."""

    def __init__(
        self,
        catalog: Catalog,
        log: Log,
        groups: Groups,
        cursors: Cursors,
        clients: ClientsDesk,
        offsets: OffsetsDesk,
        figures: Figures,
        clock: Clock,
    ) -> None:
        self._catalog = catalog
        self._log = log
        self._groups = groups
        self._cursors = cursors
        self._clients = clients
        self._offsets = offsets
        self._figures = figures
        self._clock = clock

    async def page(
        self,
        ask: PageAsk,
        *,
        only: GroupChoice = ALL_GROUPS,
        internal: bool = False,
        instance: str = DEFAULT_INSTANCE,
    ) -> Page[GroupItem]:
        """Sorted and chosen by figures that may be ten seconds old; what is shown of each group is looked up now.
        Raises InvalidRequest."""
        known = self._known(instance, await self._figures.latest())
        shown = [each for each in known if _is_chosen(each, only) and (internal or not _is_internal(each.name))]
        return page_of(
            shown, ask, text=lambda each: each.name, sorts=_SORTS, view=lambda found: self._items(found, instance)
        )

    def names(self, instance: str = DEFAULT_INSTANCE) -> set[str]:
        """Of all groups."""
        kept = {group.name for group in self._catalog.groups() if group.instance == instance}
        if instance != DEFAULT_INSTANCE:
            return kept
        used = {*self._clients.counts(), *self._cursors.counts_out()}
        elsewhere = {group.name for group in self._catalog.groups() if group.instance != instance}
        return kept | {name for name in used if name not in elsewhere or self._is_used_here(name)}

    def _is_used_here(self, name: str) -> bool:
        """Whether the use of a group that was made in another instance is also one of its name in the default one."""
        return bool(self._clients.count(name) or self._offsets.topics(name, DEFAULT_INSTANCE))

    def members(self, name: str, *, instance: str = DEFAULT_INSTANCE) -> list[GroupMember]:
        """Live ones, on every protocol. Raises UnknownGroup."""
        self._kept(name, instance)
        return self._clients.members(name) if instance == DEFAULT_INSTANCE else []

    async def offsets(self, name: str, *, topic: str = "", instance: str = DEFAULT_INSTANCE) -> list[OffsetView]:
        """How far it is, in one topic or in all in which it has committed something. Raises UnknownGroup,
        UnknownTopic."""
        self._kept(name, instance)
        return await self._offsets.positions(name, topic=topic, instance=instance)

    async def describe(self, name: str, *, instance: str = DEFAULT_INSTANCE) -> GroupDetail:
        """Raises UnknownGroup."""
        known = self._find(name, instance, await self._figures.latest())
        item = msgspec.structs.asdict(self._items([known], instance)[0])
        positions = await self._offsets.positions(name, instance=instance)
        ages = [each.oldest_ms for each in positions if each.oldest_ms is not None]
        group = known.kept or Group(name=name, instance=instance)
        return GroupDetail(
            **item | {"oldest_ms": max(ages, default=None)},
            instance=instance,
            attempts_max=group.attempts_max,
            broadcast=group.broadcast,
            settings=group.settings,
            topic_names=[topic.name for topic in self._offsets.topics(name, instance)],
            kept=known.kept is not None,
            paused_for=list(PAUSED_FOR) if _is_paused(group) else [],
            redelivered=self._cursors.redelivered(name, instance=instance),
            members_not_paused=self._clients.unpausable(name) if _is_paused(group) else 0,
        )

    async def create(
        self,
        name: str,
        *,
        attempts_max: int = 16,
        ordered: bool = False,
        broadcast: bool = False,
        settings: Mapping[str, str] | None = None,
        instance: str = DEFAULT_INSTANCE,
    ) -> GroupDetail:
        """Raises InvalidName, InvalidSetting, UnknownInstance, AlreadyExists."""
        if self._catalog.group(instance, name) is not None:
            raise AlreadyExists(say("there is a group {name} already", name=repr(name)))
        group = Group(
            name=name,
            instance=instance,
            attempts_max=attempts_max,
            ordered=ordered,
            broadcast=broadcast,
            settings=dict(settings or {}),
        )
        await self._save(group)
        return await self.describe(name, instance=instance)

    async def change(
        self,
        name: str,
        *,
        attempts_max: int | None = None,
        ordered: bool | None = None,
        broadcast: bool | None = None,
        settings: Mapping[str, str | None] | None = None,
        instance: str = DEFAULT_INSTANCE,
    ) -> GroupDetail:
        """None leaves a thing as it is; of `settings`, it removes one. A group that was known by its use only is made
        by this. Raises UnknownGroup, InvalidSetting."""
        group = self._kept(name, instance)
        said = {"attempts_max": attempts_max, "ordered": ordered, "broadcast": broadcast}
        texts = {**group.settings, **(settings or {})}
        kept = {setting: text for setting, text in texts.items() if text is not None}
        await self._save(
            replace(group, settings=kept, **{field: value for field, value in said.items() if value is not None})
        )
        return await self.describe(name, instance=instance)

    async def pause(self, name: str, *, instance: str = DEFAULT_INSTANCE) -> GroupDetail:
        """Its members are given nothing from now on; see `paused_for`. Raises UnknownGroup."""
        return await self.change(name, settings={CONSUME: OFF}, instance=instance)

    async def resume(self, name: str, *, instance: str = DEFAULT_INSTANCE) -> GroupDetail:
        """Its members go on where they were. Raises UnknownGroup."""
        return await self.change(name, settings={CONSUME: None}, instance=instance)

    async def delete(self, name: str, *, instance: str = DEFAULT_INSTANCE, dry_run: bool = False) -> GroupDeleted:
        """With its offsets and subscriptions; the topics of its retries and dead letters stay. Raises UnknownGroup,
        GroupNotEmpty."""
        known = self._find(name, instance, await self._figures.latest())
        if known.members:
            raise GroupNotEmpty(say("the group {name} has {members} members", name=repr(name), members=known.members))
        deleted = GroupDeleted(
            name=name,
            dry_run=dry_run,
            topics=[topic.name for topic in self._offsets.topics(name, instance)],
            subscriptions=len(self._catalog.subscriptions(instance, group=name)),
        )
        if not dry_run:
            await self._delete(known, instance)
        return deleted

    async def _delete(self, known: _Known, instance: str) -> None:
        """A name that groups of several instances share loses its offsets in this one's topics only."""
        is_shared = any(group.name == known.name and group.instance != instance for group in self._catalog.groups())
        if is_shared or instance != DEFAULT_INSTANCE:
            for topic in self._offsets.topics(known.name, instance):
                await self._offsets.delete(known.name, topic=topic.name, instance=instance)
        else:
            self._cursors.forget_group(known.name)
            if self._groups.find(known.name) is not None:
                await self._groups.delete(known.name)
        if known.kept is not None:
            await self._catalog.delete_group(instance, known.name)

    async def _save(self, group: Group) -> None:
        if group.settings.get(CONSUME, OFF) != OFF:
            raise InvalidSetting(say("{consume} can only be {off}, or not be set", consume=CONSUME, off=OFF))
        await self._catalog.save_group(group)

    def _kept(self, name: str, instance: str) -> Group:
        if (group := self._catalog.group(instance, name)) is not None:
            return group
        if name not in self.names(instance):
            raise _unknown(name, instance)
        return Group(name=name, instance=instance)

    def _find(self, name: str, instance: str, picture: Picture) -> _Known:
        if name not in self.names(instance):
            raise _unknown(name, instance)
        in_flight = self._cursors.counts_out(instance).get(name, 0)
        figure = picture.groups.get((instance, name), NO_GROUP)
        members = self._clients.count(name) if instance == DEFAULT_INSTANCE else 0
        return _Known(name, self._catalog.group(instance, name), members, in_flight, figure)

    def _known(self, instance: str, picture: Picture) -> list[_Known]:
        """All, with what is at hand: nothing here costs more than a look into a dictionary for each."""
        members = self._clients.counts() if instance == DEFAULT_INSTANCE else {}
        out, figures = self._cursors.counts_out(instance), picture.groups
        return [
            _Known(
                name,
                self._catalog.group(instance, name),
                members.get(name, 0),
                out.get(name, 0),
                figures.get((instance, name), NO_GROUP),
            )
            for name in self.names(instance)
        ]

    def _items(self, found: Sequence[_Known], instance: str) -> list[GroupItem]:
        looks = [LOOKS_MAX]
        return [self._item(each, instance, looks) for each in found]

    def _item(self, known: _Known, instance: str, looks: list[int]) -> GroupItem:
        topics = self._offsets.topics(known.name, instance)
        group = known.kept or Group(name=known.name)
        lag, oldest_ms = self._behind(known.name, {topic.id for topic in topics}, looks)
        state, protocols = self._life(known)
        return GroupItem(
            name=known.name,
            state=state,
            protocols=protocols,
            members=known.members,
            topics=len(topics),
            lag=lag,
            oldest_ms=oldest_ms,
            rate_out=round(known.figure.rate_out, 3),
            ordered=group.ordered,
            paused=_is_paused(group),
            in_flight=known.in_flight,
            internal=_is_internal(known.name),
        )

    def _life(self, known: _Known) -> tuple[str, list[str]]:
        protocols = self._clients.protocols(known.name) if known.members else []
        if KAFKA in protocols and (view := self._groups.find(known.name)) is not None:
            return view.state.value, protocols
        return (GroupState.STABLE if known.members else GroupState.EMPTY).value, protocols

    def _behind(self, name: str, topics: set[UUID], looks: list[int]) -> tuple[int, int | None]:
        """The lag, and the age of the oldest message that waits, as far as it is in memory and few looks tell."""
        lag, oldest_ms = 0, None
        for number, committed in self._groups.offsets(name).items():
            partition = self._catalog.partition_by_number(number)
            if partition is None or partition.topic_id not in topics:
                continue
            start, _, end = self._log.bounds(number)
            at = min(max(committed.offset, start), end)
            lag += end - at
            if end > at and looks[0] > 0:
                looks[0] -= 1
                at_ms = batch_time_at(self._log, number, at)
                if at_ms is not None:
                    oldest_ms = max(oldest_ms or 0, self._clock.now_ms() - at_ms)
        return lag, oldest_ms


def _unknown(name: str, instance: str) -> UnknownGroup:
    return UnknownGroup(
        say("there is no group {name} in the instance {instance}", name=repr(name), instance=repr(instance))
    )


def _is_chosen(known: _Known, only: GroupChoice) -> bool:
    return not (
        (only.behind and not known.figure.lag)
        or (only.without_members and known.members)
        or (only.paused and not (known.kept is not None and _is_paused(known.kept)))
    )


def _is_paused(group: Group) -> bool:
    return group.settings.get(CONSUME) == OFF


def _is_internal(name: str) -> bool:
    return name.startswith(OWN_TOPIC_PREFIX)


_SORTS: Final[Sorts[_Known]] = {
    "name": lambda each: each.name,
    "lag": lambda each: (each.figure.lag, each.name),
    "members": lambda each: (each.members, each.name),
    "topics": lambda each: (len(each.figure.topics), each.name),
    "rate_out": lambda each: (each.figure.rate_out, each.name),
    "in_flight": lambda each: (each.in_flight, each.name),
}
