"""Messages of a topic as they come, for its page."""

from collections.abc import AsyncIterator

import msgspec
from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery
from litestar.response import ServerSentEvent, ServerSentEventMessage

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.core.desk.tail import TailEvent
from braidmq.model import FilterKind
from braidmq.protocols.http import DESK, WaitingRoom, chosen, needs


class TopicTail(Controller):
    path = "/topics/{name:str}/tail"
    opt = needs(Action.CONSUME, ResourceKind.TOPIC)
    dependencies = DESK

    @get()
    async def tail(
        self,
        name: FromPath[str],
        desk: NamedDependency[MessagingDesk],
        waiting: NamedDependency[WaitingRoom],
        instance: NamedDependency[str],
        filter: FromQuery[str] = "",  # the query's name
        filter_kind: FromQuery[FilterKind] = FilterKind.TAG,
    ) -> ServerSentEvent:
        """Each event is a round: messages, and how many were passed over."""
        waiting.check()
        events = desk.tail.follow(name, chosen(filter_kind, filter), waiting.stopping, instance=instance)
        return ServerSentEvent(_texts(waiting.stream(events)))


async def _texts(events: AsyncIterator[TailEvent]) -> AsyncIterator[ServerSentEventMessage]:
    async for event in events:
        yield ServerSentEventMessage(data=msgspec.json.encode(event).decode())
