"""The lives of messages, as people look at them."""

from typing import Annotated

import msgspec
from msgspec import Meta

from braidmq.core.desk._named import Catalog, named_topic
from braidmq.core.trace import Lives
from braidmq.model import DEFAULT_INSTANCE, TraceEvent, TraceKind
from braidmq.model.errors import InvalidRequest, UnknownMessage
from braidmq.model.saying import say


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """One step. What is not known, or does not matter to it, is null."""

    kind: Annotated[TraceKind, Meta(examples=["stored"])]
    at_ms: Annotated[int, Meta(examples=[1760000000000])]
    topic: Annotated[str | None, Meta(examples=["orders"])]
    partition: Annotated[int | None, Meta(examples=[0])]
    offset: Annotated[int | None, Meta(examples=[42])]
    group: Annotated[str | None, Meta(examples=["billing"])]
    client: str | None
    value: Annotated[
        int, Meta(examples=[-1], description="What it counts or says with this kind; -1 for nothing, or a failure.")
    ]


class LifeView(msgspec.Struct, frozen=True, kw_only=True):
    """A message's life, in order."""

    id: Annotated[str, Meta(examples=["9C0B0E0D5F1E4C1FA1C2B3D4E5F60718"])]
    keys: list[str]
    steps: list[StepView]


class LivesView(msgspec.Struct, frozen=True, kw_only=True):
    """The lives of the messages with one key, the newest first."""

    items: list[LifeView]


class Traces:
    """Tells the lives of messages."""

    def __init__(self, catalog: Catalog, lives: Lives) -> None:
        self._catalog = catalog
        self._lives = lives

    async def by_id(self, id: str, *, topic: str | None = None, instance: str = DEFAULT_INSTANCE) -> LifeView:
        """Without a topic the message is looked for in all of the instance. Raises UnknownTopic, UnknownMessage,
        IndexOff, StoreFailed."""
        found = None if topic is None else named_topic(self._catalog, topic, instance)
        events = await self._lives.by_id(id, topic=found, instance=instance)
        if not events:
            raise UnknownMessage(say("nothing is known of a message with the id {id}", id=repr(id[:255])))
        return _life(id, events)

    async def by_key(self, topic: str, key: str, *, instance: str = DEFAULT_INSTANCE) -> LivesView:
        """Raises UnknownTopic, InvalidRequest, IndexOff, StoreFailed."""
        if not key:
            raise InvalidRequest("key: by which key? it may not be empty")
        lives = await self._lives.by_key(named_topic(self._catalog, topic, instance), key)
        return LivesView(items=[_life(each, events) for each, events in lives.items()])


def _life(id: str, events: list[TraceEvent]) -> LifeView:
    keys = dict.fromkeys(key for event in events for key in event.keys)
    return LifeView(id=id, keys=list(keys), steps=[_step(event) for event in events])


def _step(event: TraceEvent) -> StepView:
    return StepView(
        kind=event.kind,
        at_ms=event.at_ms,
        topic=event.topic or None,
        partition=_known(event.partition),
        offset=_known(event.offset),
        group=event.group or None,
        client=event.client or None,
        value=event.value,
    )


def _known(number: int) -> int | None:
    return None if number < 0 else number
