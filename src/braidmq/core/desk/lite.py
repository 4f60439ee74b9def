"""Lite topics: those of one topic, one looked at closely, who reads them, and the end of one.

A lite topic is a topic (`core.lite`), so that its messages and groups are told by `core.desk.topics`. Who subscribes is
live state of the node that was asked. Lite topics are in the instance `default` alone.
"""

from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from braidmq.core.desk._figures import NO_TOPIC, Figures, TopicFigure
from braidmq.core.desk._pages import Page, PageAsk, Sorts, page_of
from braidmq.core.desk.topic_views import TopicGroup
from braidmq.core.desk.topics import TopicsDesk
from braidmq.core.lite import Lite, Reader
from braidmq.core.members import Members
from braidmq.core.timing import Clock
from braidmq.model import DEFAULT_INSTANCE, Topic, TopicKind
from braidmq.model.errors import InvalidRequest, UnknownPartition, UnknownTopic
from braidmq.model.names import lite_topic_name
from braidmq.model.saying import say


class LiteTopicItem(msgspec.Struct, frozen=True, kw_only=True):
    """A lite topic in a list. Groups and lag are as of at most ten seconds ago."""

    name: Annotated[str, Meta(examples=["device-7"], description="As producers and consumers say it.")]
    topic: Annotated[str, Meta(examples=["%LITE%devices|device-7"], description="The topic that its messages lie in.")]
    messages: Annotated[int, Meta(examples=[12], description="Offsets that are kept.")]
    size_bytes: int
    groups: Annotated[int, Meta(description="How many groups have committed something of it.")]
    lag: Annotated[int, Meta(description="How many messages those groups are behind, together.")]
    readers: Annotated[int, Meta(examples=[1], description="How many clients of this node subscribe to it.")]
    last_ms: Annotated[int | None, Meta(description="When its last message came; null where it holds none.")]
    ends_ms: Annotated[
        int | None,
        Meta(description="When it goes if no message follows (lite.topic.expiration); null where it stays."),
    ]


class LiteReader(msgspec.Struct, frozen=True, kw_only=True):
    """A client that subscribes to a lite topic."""

    client_id: Annotated[str, Meta(examples=["reader-1"])]
    group: Annotated[str, Meta(examples=["meters"])]
    address: Annotated[str, Meta(examples=["10.0.0.7:51234"], description="Empty where nobody knows.")]


class LiteTopicDetail(LiteTopicItem, frozen=True, kw_only=True):
    """A lite topic, looked at closely."""

    parent: Annotated[str, Meta(examples=["devices"])]
    subscribers: Annotated[list[LiteReader], Meta(description="Clients of this node that subscribe to it.")]
    progress: Annotated[list[TopicGroup], Meta(description="Groups that read it, and how far behind each is.")]


class LiteSubscription(LiteReader, frozen=True, kw_only=True):
    """That a client subscribes to a lite topic."""

    name: Annotated[str, Meta(examples=["device-7"])]
    exists: Annotated[bool, Meta(description="False where no message has made the lite topic yet, or it is gone.")]


class LiteTopicDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """What went with a lite topic, or with a dry run would."""

    name: str
    parent: str
    dry_run: bool
    messages: int
    size_bytes: int
    groups: Annotated[list[str], Meta(description="Groups that have committed something of it.")]
    subscribers: Annotated[
        list[LiteReader], Meta(description="They stay subscribed, and read what the next message makes.")
    ]


class _Known(NamedTuple):
    """What is at hand of a lite topic."""

    name: str
    topic: Topic
    figure: TopicFigure
    readers: int


class LiteDesk:
    """Lite topics of all topics."""

    def __init__(self, lite: Lite, topics: TopicsDesk, members: Members, figures: Figures, clock: Clock) -> None:
        self._lite = lite
        self._topics = topics
        self._members = members
        self._figures = figures
        self._clock = clock

    async def page(self, parent: str, ask: PageAsk, *, instance: str = DEFAULT_INSTANCE) -> Page[LiteTopicItem]:
        """Sorted by figures that may be ten seconds old. Raises UnknownTopic, InvalidRequest."""
        topic = self._parent(parent, instance)
        figures = (await self._figures.latest()).topics
        known = [
            _Known(name, found, figures.get(found.id, NO_TOPIC), len(self._lite.readers(parent, name)))
            for name in self._names(topic)
            if (found := self._lite.topics.find(parent, name)) is not None
        ]
        chosen = page_of(known, ask, text=lambda each: each.name, sorts=_SORTS, view=list)
        items = [item for each in chosen.items if (item := await self._item(topic, each)) is not None]
        return Page(items=items, page=chosen.page, page_size=chosen.page_size, total=chosen.total)

    async def describe(self, parent: str, name: str, *, instance: str = DEFAULT_INSTANCE) -> LiteTopicDetail:
        """Raises UnknownTopic, InvalidLiteTopic, InvalidRequest."""
        topic = self._parent(parent, instance)
        found = self._find(topic, name)
        readers = self._readers(parent, name)
        figure = (await self._figures.latest()).topics.get(found.id, NO_TOPIC)
        item = await self._item(topic, _Known(name, found, figure, len(readers)))
        if item is None:
            raise _unknown(parent, name)
        return LiteTopicDetail(
            **msgspec.structs.asdict(item),
            parent=parent,
            subscribers=readers,
            progress=self._topics.groups(found.name, also={each.group for each in readers}),
        )

    def subscriptions(self, parent: str, ask: PageAsk, *, instance: str = DEFAULT_INSTANCE) -> Page[LiteSubscription]:
        """Who subscribes to which lite topics, also to such as do not exist. Raises UnknownTopic, InvalidRequest."""
        topic = self._parent(parent, instance)
        found = self._lite.subscribed(parent) if topic.instance == DEFAULT_INSTANCE else []
        return page_of(
            found,
            ask,
            text=lambda each: f"{each[0]} {each[1].client} {each[1].group}",
            sorts=_SUBSCRIPTION_SORTS,
            view=lambda shown: [self._subscription(name, reader) for name, reader in shown],
        )

    async def delete(
        self, parent: str, name: str, *, instance: str = DEFAULT_INSTANCE, dry_run: bool = False
    ) -> LiteTopicDeleted:
        """With all its messages; the next message makes it anew. Raises UnknownTopic, InvalidLiteTopic,
        InvalidRequest."""
        found = self._find(self._parent(parent, instance), name)
        gone = await self._topics.delete(found.name, dry_run=dry_run)
        return LiteTopicDeleted(
            name=name,
            parent=parent,
            dry_run=dry_run,
            messages=gone.messages,
            size_bytes=gone.size_bytes,
            groups=gone.groups,
            subscribers=self._readers(parent, name),
        )

    def _parent(self, name: str, instance: str) -> Topic:
        """One that has been changed to another kind may have lite topics still."""
        topic = self._topics.find(name, instance)
        if topic.kind is not TopicKind.LITE and not self._names(topic):
            raise InvalidRequest(
                say(
                    "the topic {name} is of the kind {kind}, and has no lite topics",
                    name=repr(name),
                    kind=topic.kind.value,
                ),
                fix="Ask for a topic of the kind lite.",
            )
        return topic

    def _names(self, parent: Topic) -> list[str]:
        return self._lite.topics.names(parent.name) if parent.instance == DEFAULT_INSTANCE else []

    def _find(self, parent: Topic, name: str) -> Topic:
        lite_topic_name(parent.name, name)
        found = self._lite.topics.find(parent.name, name) if parent.instance == DEFAULT_INSTANCE else None
        if found is None:
            raise _unknown(parent.name, name)
        return found

    async def _item(self, parent: Topic, known: _Known) -> LiteTopicItem | None:
        """None for one that has just gone."""
        try:
            detail = await self._topics.describe(known.topic.name)
            times = await self._lite.topics.times(known.topic, parent, self._clock.now_ms())
        except (UnknownTopic, UnknownPartition):
            return None
        return LiteTopicItem(
            name=known.name,
            topic=known.topic.name,
            messages=detail.messages,
            size_bytes=detail.size_bytes,
            groups=known.figure.groups,
            lag=known.figure.lag,
            readers=known.readers,
            last_ms=times.last_ms,
            ends_ms=times.ends_ms,
        )

    def _readers(self, parent: str, name: str) -> list[LiteReader]:
        return [self._reader(each) for each in self._lite.readers(parent, name)]

    def _reader(self, reader: Reader) -> LiteReader:
        return LiteReader(client_id=reader.client, group=reader.group, address=self._address(reader))

    def _subscription(self, name: str, reader: Reader) -> LiteSubscription:
        return LiteSubscription(
            client_id=reader.client,
            group=reader.group,
            address=self._address(reader),
            name=name,
            exists=self._lite.topics.find(reader.parent, name) is not None,
        )

    def _address(self, reader: Reader) -> str:
        member = self._members.consumer(reader.group, reader.client)
        return "" if member is None else member.address


def _unknown(parent: str, name: str) -> UnknownTopic:
    return UnknownTopic(
        say("there is no lite topic {name} under the topic {parent}", name=repr(name[:64]), parent=repr(parent)),
        fix="See the lite topics that there are; the first message to one makes it.",
    )


_SORTS: Final[Sorts[_Known]] = {
    "name": lambda each: each.name,
    "messages": lambda each: (each.figure.messages, each.name),
    "size": lambda each: (each.figure.size_bytes, each.name),
    "lag": lambda each: (each.figure.lag, each.name),
    "readers": lambda each: (each.readers, each.name),
}

_SUBSCRIPTION_SORTS: Final[Sorts[tuple[str, Reader]]] = {
    "name": lambda each: (each[0], each[1].group, each[1].client),
    "client_id": lambda each: (each[1].client, each[0]),
    "group": lambda each: (each[1].group, each[0], each[1].client),
}
