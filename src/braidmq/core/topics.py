"""Topics as users see them: made, grown, changed and deleted in catalog and log together.

The catalog decides. A topic is in the catalog before it is in the log, and its deletion is begun there before data
goes: a node that stopped in between finishes at its next start. Whatever is answered as done is in both. Where the log
cannot follow, because its disk is full, a creation is taken back; any other change stays, its caller is told, and the
log is tried again until it has it.

Settings are texts by the names of `model.topic_settings`. Nothing reaches the catalog that the log or a producer's
message could later stumble over.
"""

import asyncio
import contextlib
import enum
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import msgspec

from braidmq.log import Log
from braidmq.model import (
    DEFAULT_INSTANCE,
    RESERVED_TOPIC_NAMES,
    TOPIC_PARTITIONS_MAX,
    BraidError,
    Topic,
    TopicKind,
    check_topic_name,
)
from braidmq.model.errors import AlreadyExists, InvalidName, InvalidPartitions, LogClosed, NotPermitted, UnknownTopic
from braidmq.model.names import is_internal, read_lite_topic_name
from braidmq.model.saying import say
from braidmq.model.topic_settings import (
    CLEANUP_POLICY,
    DELETE,
    TOPIC_SETTINGS,
    TopicFields,
    TopicSetting,
    fields_of,
    texts_of,
)
from braidmq.store import Catalog

ResultT = TypeVar("ResultT")

SettingsChange = Callable[[Mapping[str, str]], Mapping[str, str]]
"""From what is set to what shall be set."""

NO_ID = UUID(int=0)
RETRY_S = 1.0
"""How long a log that could not take a change is left alone before it is tried again."""


class Origin(enum.Enum):
    """Who said what a setting is."""

    TOPIC = "topic"
    NODE = "node"
    DEFAULT = "default"


class Effective(NamedTuple):
    """A setting as it counts for one topic, and what would count without the topic's or the node's word."""

    setting: TopicSetting[Any]
    text: str
    origin: Origin
    node_text: str | None
    """What the node's own settings say; None where they say nothing."""


class Topics:
    """The topics of one node.

    `partitions` is how many a topic gets when nobody says, `defaults` are the texts of settings that this node gives
    topics which do not set them.
    """

    def __init__(
        self,
        catalog: Catalog,
        log: Log,
        *,
        partitions: int,
        auto_create: bool,
        defaults: Mapping[str, str] | None = None,
        retry_s: float = RETRY_S,
    ) -> None:
        self._catalog = catalog
        self._log = log
        self._retry_s = retry_s
        self._settling = asyncio.Lock()
        self._under_way: set[asyncio.Task[Any]] = set()
        self._creating: set[tuple[str, str]] = set()
        """Instances and names of topics that the catalog may have already, and the log has not."""
        self._behind: set[UUID] = set()
        """Topics that the log does not have as the catalog says."""
        self._catching_up: asyncio.Task[None] | None = None
        self.partitions = partitions
        self.auto_create = auto_create
        self.defaults = dict(defaults or {})

    def find(self, name: str, *, instance: str = DEFAULT_INSTANCE) -> Topic | None:
        """The topic of this name, once it is ready for messages. Hot path."""
        return None if (instance, name) in self._creating else self._catalog.topic(instance, name)

    async def ensure(self, name: str, *, instance: str = DEFAULT_INSTANCE) -> Topic:
        """The topic of this name, made now if the settings allow it. Raises UnknownTopic, InvalidName."""
        if (topic := self.find(name, instance=instance)) is not None:
            return topic
        if is_internal(name):
            raise UnknownTopic(say("there is no topic {name}", name=repr(name)))
        if not self.auto_create:
            raise UnknownTopic(
                say(
                    "there is no topic {name}, and topics are not made by being used (topics.auto_create)",
                    name=repr(name),
                )
            )
        return await self.ensure_own(name, instance=instance)

    async def ensure_own(
        self,
        name: str,
        *,
        partitions: int | None = None,
        instance: str = DEFAULT_INSTANCE,
        settings: Mapping[str, str] | None = None,
    ) -> Topic:
        """The topic of this name, made now whatever the settings say: one that the house itself needs. Raises
        InvalidName."""
        if (topic := self.find(name, instance=instance)) is not None:
            return topic
        try:
            return await self.create(name, partitions=partitions, instance=instance, settings=settings)
        except AlreadyExists:
            # Another client asked at the same time; the log has its partitions a moment after the catalog.
            if (topic := self._catalog.topic(instance, name)) is None:
                raise
            await self._to_its_end(self._settle(topic.id))
            return topic

    async def create(
        self,
        name: str,
        *,
        partitions: int | None = None,
        instance: str = DEFAULT_INSTANCE,
        kind: TopicKind = TopicKind.MIXED,
        settings: Mapping[str, str] | None = None,
    ) -> Topic:
        """Ready for messages when this returns. Raises InvalidName, InvalidPartitions, InvalidSetting,
        AlreadyExists."""
        count = self.partitions if partitions is None else partitions
        fields = self._check_wanted(name, instance, count, settings)
        creation = self._catalog.create_topic(name, partitions=count, instance=instance, kind=kind, **fields._asdict())
        return await self._to_its_end(self._create(creation, (instance, name)))

    async def _create(self, creation: Coroutine[Any, Any, Topic], place: tuple[str, str]) -> Topic:
        is_first = place not in self._creating
        self._creating.add(place)
        try:
            return await self._created(creation)
        finally:
            if is_first:
                self._creating.discard(place)

    async def _created(self, creation: Coroutine[Any, Any, Topic]) -> Topic:
        topic = await creation
        try:
            await self._settle(topic.id)
        except BraidError:
            # Where even this fails, it is tried again or done by the next start; the caller hears of the first failure.
            with contextlib.suppress(BraidError):
                await self._delete(topic)
            raise
        return topic

    def plan(
        self,
        name: str,
        *,
        partitions: int | None = None,
        instance: str = DEFAULT_INSTANCE,
        settings: Mapping[str, str] | None = None,
    ) -> Topic:
        """The topic that `create` would make now, without making it: it has no id. Raises what `create` would."""
        count = self.partitions if partitions is None else partitions
        fields = self._check_wanted(name, instance, count, settings)
        for holder in self._catalog.topics():
            if holder.instance == instance and claim(holder.name) == claim(name):
                if holder.name == name:
                    raise AlreadyExists(say("Topic '{name}' already exists.", name=name))
                raise InvalidName(
                    say("Topic '{name}' collides with existing topic: {name_2}", name=name, name_2=holder.name)
                )
        return Topic(id=NO_ID, name=name, instance=instance, partition_numbers=tuple(range(count)), **fields._asdict())

    def _check_wanted(
        self, name: str, instance: str, partitions: int, settings: Mapping[str, str] | None
    ) -> TopicFields:
        fields = _check_wanted(name, partitions, settings)
        if (lite := read_lite_topic_name(name)) is not None:
            parent = self._catalog.topic(instance, lite.parent)
            if parent is None or parent.kind is not TopicKind.LITE:
                raise InvalidName(f"{name!r} is the name of a lite topic, and {lite.parent!r} is no topic of such")
        return fields

    async def expand(self, topic: Topic, partitions: int) -> Topic:
        """Grow to this number of partitions. Raises UnknownTopic, InvalidPartitions."""
        self.check_expansion(topic, partitions)
        return await self._to_its_end(self._change(self._catalog.expand_topic(topic.id, partitions)))

    def check_expansion(self, topic: Topic, partitions: int) -> None:
        """Whether the topic could grow so. Raises what `expand` would."""
        present = len(topic.partition_numbers)
        if partitions == present:
            raise InvalidPartitions(say("Topic already has {present} partition(s).", present=present))
        if partitions < present:
            raise InvalidPartitions(
                say(
                    "The topic {name} currently has {present} partition(s); {partitions} would not be an increase.",
                    name=topic.name,
                    present=present,
                    partitions=partitions,
                )
            )
        _check_partitions(partitions)

    async def configure(self, topic: Topic, change: SettingsChange, *, kind: TopicKind | None = None) -> Topic:
        """Set what `change` makes of the texts that are set now; a setting that it leaves out has its default again.
        With a kind, the topic takes messages of that kind from now on.

        Changes that come at the same time do not undo each other. `change` must only compute; what it raises is
        raised here. Raises UnknownTopic, InvalidSetting.
        """

        def revise(current: Topic) -> Topic:
            planned = self.plan_configuration(current, change)
            return planned if kind is None else msgspec.structs.replace(planned, kind=kind)

        return await self._to_its_end(self._change(self._catalog.revise_topic(topic.id, revise)))

    def plan_configuration(self, topic: Topic, change: SettingsChange) -> Topic:
        """The topic as `configure` would make it. Raises what `configure` would."""
        return msgspec.structs.replace(topic, **fields_of(change(texts_of(topic)))._asdict())

    def effective(self, topic: Topic) -> list[Effective]:
        """Every setting as it counts for the topic, by name."""
        texts = texts_of(topic)
        return [
            self._effective(setting, texts)
            for setting in TOPIC_SETTINGS.values()
            if setting.listed or setting.name in texts
        ]

    def _effective(self, setting: TopicSetting[Any], texts: Mapping[str, str]) -> Effective:
        node_text = self.defaults.get(setting.name)
        if (text := texts.get(setting.name)) is not None:
            return Effective(setting, text, Origin.TOPIC, node_text)
        if node_text is not None:
            return Effective(setting, node_text, Origin.NODE, node_text)
        return Effective(setting, setting.default, Origin.DEFAULT, None)

    async def delete(self, topic: Topic) -> None:
        """The name is free at once; the data goes. Raises UnknownTopic."""
        await self._to_its_end(self._delete(topic))

    async def _delete(self, topic: Topic) -> None:
        await self._catalog.begin_topic_deletion(topic.id)
        await self._settle_or_catch_up(topic.id)

    async def close(self) -> None:
        """Nothing more is tried again; the next start does."""
        if self._catching_up is not None:
            self._catching_up.cancel()
            await asyncio.wait([self._catching_up])

    async def _to_its_end(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """A caller that goes away, as a client does, does not leave catalog and log apart."""
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # Its caller heard of it, or is gone and does not want to.

    async def _change(self, change: Coroutine[Any, Any, Topic]) -> Topic:
        topic = await change
        await self._settle_or_catch_up(topic.id)
        return topic

    async def _settle_or_catch_up(self, topic_id: UUID) -> None:
        try:
            await self._settle(topic_id)
        except LogClosed:
            raise
        except BraidError:
            self._behind.add(topic_id)
            if self._catching_up is None or self._catching_up.done():
                self._catching_up = asyncio.create_task(self._catch_up())
            raise

    async def _catch_up(self) -> None:
        while self._behind:
            await asyncio.sleep(self._retry_s)
            for topic_id in list(self._behind):
                # What fails is tried again, and its first caller was told.
                with contextlib.suppress(BraidError):
                    await self._settle(topic_id)

    async def _settle(self, topic_id: UUID) -> None:
        """Give the log the topic as the catalog has it by now; one at a time, so that no older picture comes last."""
        async with self._settling:
            topic = self._catalog.topic_by_id(topic_id)
            if topic is not None and topic.deleting:
                await self._log.delete_topic(topic_id)
                await self._catalog.finish_topic_deletion(topic_id)
            elif topic is not None:
                await self._log.configure_topic(topic)
            self._behind.discard(topic_id)


def check_beginning_deletable(topic: Topic) -> None:
    """A topic that is only compacted cannot lose its beginning: the last message of each key is promised to stay.
    Raises NotPermitted."""
    if DELETE not in CLEANUP_POLICY.read(topic.settings):
        raise NotPermitted(
            say("the topic {name} is only compacted, and keeps the last message of each key", name=repr(topic.name)),
            fix="Add delete to the topic's cleanup.policy first.",
        )


def claim(name: str) -> str:
    """Names that are the same under this cannot exist side by side, because Kafka's metrics cannot tell them apart."""
    return name.replace(".", "_")


def _check_wanted(name: str, partitions: int, settings: Mapping[str, str] | None) -> TopicFields:
    check_topic_name(name)
    if name in RESERVED_TOPIC_NAMES:
        raise InvalidName(say("the topic name {name} is reserved", name=repr(name)))
    _check_partitions(partitions)
    return fields_of(settings or {})


def _check_partitions(partitions: int) -> None:
    if not 1 <= partitions <= TOPIC_PARTITIONS_MAX:
        raise InvalidPartitions(
            say(
                "a topic has 1 to {topic_partitions_max} partitions, not {partitions}",
                topic_partitions_max=f"{TOPIC_PARTITIONS_MAX:,}",
                partitions=f"{partitions:,}",
            )
        )
