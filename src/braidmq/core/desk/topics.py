"""Topics: lists, a close look, and changes, all of them with a preview where they can destroy.

What topics are and may be is `core.topics`; this brings together what the log, the counters and the groups know of
them.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from braidmq.core.counters import MINUTE_MS, Counters
from braidmq.core.desk._figures import NO_TOPIC, Figures, TopicFigure
from braidmq.core.desk._pages import Page, PageAsk, Sorts, page_of
from braidmq.core.desk.clients import KAFKA, ROCKETMQ_GRPC, ClientsDesk
from braidmq.core.desk.offsets import OffsetsDesk
from braidmq.core.desk.topic_views import (
    Cut,
    MessagesDeleted,
    PartitionView,
    ProducerView,
    SettingView,
    TopicDeleted,
    TopicDetail,
    TopicGroup,
    TopicItem,
)
from braidmq.core.lite import Lite
from braidmq.core.members import Members
from braidmq.core.topics import NO_ID, SettingsChange, Topics, check_beginning_deletable
from braidmq.log import Log
from braidmq.model import DEFAULT_INSTANCE, BraidError, Topic, TopicKind
from braidmq.model.errors import InvalidRequest, OffsetOutOfRange, UnknownInstance, UnknownPartition, UnknownTopic
from braidmq.model.group_settings import CONSUME, OFF
from braidmq.model.names import DEAD_LETTER_TOPIC_PREFIX, RETRY_TOPIC_PREFIX, is_internal, read_lite_topic_name
from braidmq.model.saying import say
from braidmq.model.topic_settings import texts_of
from braidmq.store import Catalog

PRODUCERS_MAX: Final = 1_000


class _Known(NamedTuple):
    """What is at hand of a topic."""

    topic: Topic
    figure: TopicFigure


class TopicsDesk:
    """All topics."""

    def __init__(
        self,
        catalog: Catalog,
        topics: Topics,
        log: Log,
        counters: Counters,
        members: Members,
        clients: ClientsDesk,
        offsets: OffsetsDesk,
        figures: Figures,
        lite: Lite,
    ) -> None:
        self._catalog = catalog
        self._topics = topics
        self._log = log
        self._counters = counters
        self._members = members
        self._clients = clients
        self._offsets = offsets
        self._figures = figures
        self._lite = lite

    # Looking.

    async def page(
        self,
        ask: PageAsk,
        *,
        kind: TopicKind | None = None,
        internal: bool = False,
        instance: str = DEFAULT_INSTANCE,
    ) -> Page[TopicItem]:
        """Sorted by figures that may be ten seconds old; messages, size and rates are looked up now. Raises
        InvalidRequest."""
        figures = (await self._figures.latest()).topics
        known = [
            _Known(topic, figures.get(topic.id, NO_TOPIC))
            for topic in self._catalog.topics()
            if topic.instance == instance
            and (kind is None or topic.kind is kind)
            and (internal or not _is_internal(topic.name))
        ]
        return page_of(known, ask, text=lambda each: each.topic.name, sorts=_SORTS, view=self._items)

    async def describe(self, name: str, *, instance: str = DEFAULT_INSTANCE) -> TopicDetail:
        """Raises UnknownTopic."""
        return await self._detail(self.find(name, instance))

    def find(self, name: str, instance: str = DEFAULT_INSTANCE) -> Topic:
        """Raises UnknownTopic."""
        topic = self._topics.find(name, instance=instance)
        if topic is None:
            raise UnknownTopic(
                say("there is no topic {name} in the instance {instance}", name=repr(name), instance=repr(instance))
            )
        return topic

    def settings(self, name: str, *, instance: str = DEFAULT_INSTANCE) -> list[SettingView]:
        """Every setting as it counts. Raises UnknownTopic."""
        return [
            SettingView(
                name=each.setting.name,
                value=each.text,
                default=each.setting.default if each.node_text is None else each.node_text,
                origin=each.origin.value,
                description=each.setting.documentation,
                type=each.setting.kind.value,
                honoured=each.setting.honoured,
            )
            for each in self._topics.effective(self.find(name, instance))
        ]

    def partitions(self, name: str, *, instance: str = DEFAULT_INSTANCE) -> list[PartitionView]:
        """Raises UnknownTopic."""
        found = []
        for partition in self.find(name, instance).partitions:
            bounds = self._log.bounds(partition.number)
            found.append(
                PartitionView(
                    index=partition.index,
                    number=partition.number,
                    start_offset=bounds.start,
                    stable_offset=bounds.stable,
                    end_offset=bounds.end,
                    size_bytes=self._log.size_bytes(partition.number),
                    rate_in=self._rate_in((partition.number,)),
                )
            )
        return found

    def groups(self, name: str, *, also: Collection[str] = (), instance: str = DEFAULT_INSTANCE) -> list[TopicGroup]:
        """Those that have committed something of it, those with members that want it, and these. Raises
        UnknownTopic."""
        topic = self.find(name, instance)
        return [self._topic_group(group, topic) for group in sorted({*self._groups_of(topic), *also})]

    def producers(self, name: str, *, instance: str = DEFAULT_INSTANCE) -> list[ProducerView]:
        """Those that are known, the latest first, at most a thousand. Raises UnknownTopic."""
        topic = self.find(name, instance)
        known = [*self._numbered_producers(topic), *self._named_producers(topic)]
        return sorted(known, key=lambda each: -each.last_seen_ms)[:PRODUCERS_MAX]

    # Changing.

    async def create(
        self,
        name: str,
        *,
        partitions: int | None = None,
        kind: TopicKind = TopicKind.MIXED,
        settings: Mapping[str, str] | None = None,
        instance: str = DEFAULT_INSTANCE,
        dry_run: bool = False,
    ) -> TopicDetail:
        """Raises InvalidName, InvalidPartitions, InvalidSetting, UnknownInstance, AlreadyExists."""
        if self._catalog.instance(instance) is None:
            raise UnknownInstance(say("there is no instance {instance}", instance=repr(instance)))
        if dry_run:
            planned = self._topics.plan(name, partitions=partitions, instance=instance, settings=settings)
            return await self._detail(msgspec.structs.replace(planned, kind=kind))
        topic = await self._topics.create(name, partitions=partitions, instance=instance, kind=kind, settings=settings)
        return await self._detail(topic)

    async def change(
        self,
        name: str,
        *,
        partitions: int | None = None,
        kind: TopicKind | None = None,
        settings: Mapping[str, str | None] | None = None,
        instance: str = DEFAULT_INSTANCE,
        dry_run: bool = False,
    ) -> TopicDetail:
        """None leaves a thing as it is; of `settings`, it removes one. All is checked before anything is changed.
        Raises UnknownTopic, InvalidPartitions, InvalidSetting."""
        topic = self.find(name, instance)
        planned = self._topics.plan_configuration(topic, _change(settings or {}))
        is_growing = partitions not in (None, len(topic.partition_numbers))
        if partitions is not None and is_growing:
            self._topics.check_expansion(topic, partitions)
        if dry_run:
            return await self._planned(topic, msgspec.structs.replace(planned, kind=kind or topic.kind), partitions)
        if settings or kind is not None:
            topic = await self._topics.configure(topic, _change(settings or {}), kind=kind)
        if partitions is not None and is_growing:
            topic = await self._topics.expand(topic, partitions)
        return await self._detail(topic)

    async def delete(self, name: str, *, instance: str = DEFAULT_INSTANCE, dry_run: bool = False) -> TopicDeleted:
        """With all its messages, and its lite topics with theirs. Raises UnknownTopic."""
        topic = self.find(name, instance)
        lites = self._lites(topic)
        kept = [self._kept(each) for each in (topic, *lites)]
        deleted = TopicDeleted(
            name=name,
            dry_run=dry_run,
            partitions=len(topic.partition_numbers),
            messages=sum(messages for messages, _ in kept),
            size_bytes=sum(size_bytes for _, size_bytes in kept),
            groups=self._groups_of(topic),
            lite_topics=len(lites),
        )
        if not dry_run:
            await self._delete(topic)
        return deleted

    async def _delete(self, topic: Topic) -> None:
        if topic.instance == DEFAULT_INSTANCE and read_lite_topic_name(topic.name) is not None:
            await self._lite.topics.delete(topic)  # which knows who is sending to it
        else:
            await self._topics.delete(topic)

    def _lites(self, topic: Topic) -> list[Topic]:
        if topic.instance != DEFAULT_INSTANCE:
            return []
        found = (self._lite.topics.find(topic.name, lite) for lite in self._lite.topics.names(topic.name))
        return [each for each in found if each is not None]

    async def delete_messages(
        self,
        name: str,
        *,
        before: Mapping[int, int] | None = None,
        before_time_ms: int | None = None,
        instance: str = DEFAULT_INSTANCE,
        dry_run: bool = False,
    ) -> MessagesDeleted:
        """Forget what lies before an offset, by partition, or before a time, in all of them. Raises UnknownTopic,
        UnknownPartition, InvalidRequest, NotPermitted."""
        topic = self.find(name, instance)
        check_beginning_deletable(topic)
        if (before is None) == (before_time_ms is None):
            raise InvalidRequest("say either before, with an offset for each partition, or before_time_ms")
        wanted = await self._before_time(topic, before_time_ms) if before_time_ms is not None else dict(before or {})
        for index in wanted:
            if not 0 <= index < len(topic.partition_numbers):
                raise UnknownPartition(say("the topic {name} has no partition {index}", name=repr(name), index=index))
        cuts = [self._cut(topic, index, offset, dry_run=dry_run) for index, offset in sorted(wanted.items())]
        return MessagesDeleted(topic=name, dry_run=dry_run, partitions=list(await asyncio.gather(*cuts)))

    async def _before_time(self, topic: Topic, time_ms: int) -> dict[int, int]:
        found: dict[int, int] = {}
        for partition in topic.partitions:
            first = await self._log.offset_for_time(partition.number, time_ms)
            found[partition.index] = self._log.bounds(partition.number).end if first is None else first.offset
        return found

    async def _cut(self, topic: Topic, index: int, offset: int, *, dry_run: bool) -> Cut:
        number = topic.partition_numbers[index]
        start, _, end = self._log.bounds(number)
        error: str | None = None
        new_start = start
        try:
            if not 0 <= offset <= end:
                raise OffsetOutOfRange(
                    say("the partition holds {start} to {end}, not {offset}", start=start, end=end, offset=offset)
                )
            new_start = max(offset, start) if dry_run else await self._log.delete_records(number, offset)
        except BraidError as refusal:
            error = f"{refusal.code}: {refusal.message}"
        return Cut(partition=index, old_start=start, new_start=new_start, messages=new_start - start, error=error)

    # Views.

    def _items(self, found: Sequence[_Known]) -> list[TopicItem]:
        return [self._item(each) for each in found]

    def _item(self, known: _Known) -> TopicItem:
        topic, figure = known
        messages, size_bytes = self._kept(topic)
        return TopicItem(
            name=topic.name,
            kind=topic.kind,
            partitions=len(topic.partition_numbers),
            messages=messages,
            size_bytes=size_bytes,
            rate_in=self._rate_in(topic.partition_numbers),
            rate_out=round(figure.rate_out, 3),
            groups=figure.groups,
            lag=figure.lag,
            internal=_is_internal(topic.name),
        )

    async def _detail(self, topic: Topic) -> TopicDetail:
        figure = (await self._figures.latest()).topics.get(topic.id, NO_TOPIC)
        return TopicDetail(
            **msgspec.structs.asdict(self._item(_Known(topic, figure))),
            instance=topic.instance,
            id="" if topic.id == NO_ID else str(topic.id),
            retention_ms=topic.retention_ms,
            retention_bytes=topic.retention_bytes,
            settings=texts_of(topic),
        )

    async def _planned(self, topic: Topic, planned: Topic, partitions: int | None) -> TopicDetail:
        """The topic as it would be; it has no more messages than it has now."""
        detail = await self._detail(planned)
        count = len(topic.partition_numbers) if partitions is None else partitions
        return msgspec.structs.replace(detail, partitions=count)

    def _kept(self, topic: Topic) -> tuple[int, int]:
        """Messages and bytes; what the log does not have yet, or any more, holds none."""
        messages = size_bytes = 0
        for number in topic.partition_numbers if topic.id != NO_ID else ():
            try:
                start, _, end = self._log.bounds(number)
                size_bytes += self._log.size_bytes(number)
            except UnknownPartition:
                continue
            messages += end - start
        return messages, size_bytes

    def _rate_in(self, numbers: Sequence[int]) -> float:
        brought = self._counters.stored_over(MINUTE_MS, numbers)
        return 0.0 if brought is None else round(brought.messages_per_s, 3)

    def _groups_of(self, topic: Topic) -> list[str]:
        numbers = frozenset(topic.partition_numbers)
        committed = {
            group for group in self._log.groups_with_offsets() if not numbers.isdisjoint(self._log.fetch_offsets(group))
        }
        live = self._clients.groups_of_topic(topic.name) if topic.instance == DEFAULT_INSTANCE else ()
        return sorted(committed.union(live))

    def _topic_group(self, group: str, topic: Topic) -> TopicGroup:
        kept = self._catalog.group(topic.instance, group)
        return TopicGroup(
            group=group,
            lag=self._offsets.lag(group, topic),
            members=self._clients.count(group),
            protocols=self._clients.protocols(group),
            paused=kept is not None and kept.settings.get(CONSUME) == OFF,
        )

    def _numbered_producers(self, topic: Topic) -> list[ProducerView]:
        found: dict[int, ProducerView] = {}
        for partition in topic.partitions:
            for state in self._log.producers(partition.number):
                before = found.get(state.producer_id)
                found[state.producer_id] = ProducerView(
                    protocol=KAFKA,
                    client_id="",
                    address="",
                    producer_id=state.producer_id,
                    partitions=[*(before.partitions if before else ()), partition.index],
                    transaction_open=state.transaction_offset >= 0 or (before is not None and before.transaction_open),
                    last_seen_ms=max(state.seen_ms, before.last_seen_ms if before else 0),
                )
        return list(found.values())

    def _named_producers(self, topic: Topic) -> list[ProducerView]:
        """On gRPC a producer is in a group of its topic's name."""
        return [
            ProducerView(
                protocol=ROCKETMQ_GRPC,
                client_id=member.id,
                address=member.address,
                producer_id=None,
                partitions=[],
                transaction_open=False,
                last_seen_ms=member.seen_ms,
            )
            for member in self._members.producers(topic.name)
            if member.traits.get("protocol") == "grpc"
        ]


def _change(settings: Mapping[str, str | None]) -> SettingsChange:
    def change(texts: Mapping[str, str]) -> Mapping[str, str]:
        return {name: text for name, text in {**texts, **settings}.items() if text is not None}

    return change


def _is_internal(name: str) -> bool:
    return is_internal(name) or name.startswith((RETRY_TOPIC_PREFIX, DEAD_LETTER_TOPIC_PREFIX))


_SORTS: Final[Sorts[_Known]] = {
    "name": lambda each: each.topic.name,
    "partitions": lambda each: (len(each.topic.partition_numbers), each.topic.name),
    "messages": lambda each: (each.figure.messages, each.topic.name),
    "size": lambda each: (each.figure.size_bytes, each.topic.name),
    "rate_in": lambda each: (each.figure.rate_in, each.topic.name),
    "rate_out": lambda each: (each.figure.rate_out, each.topic.name),
    "lag": lambda each: (each.figure.lag, each.topic.name),
}
