"""Messages: sent, found, read from an offset on, watched as they come, and sent again."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from litestar import Controller, Request, get, post
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.response import ServerSentEvent, ServerSentEventMessage

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.message_views import MessageView
from braidmq.core.desk.messages import FindAsk, Found, PulledView, ResendAsk
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.core.desk.sending import SendAsk, SendResult, Sent
from braidmq.core.desk.tail import TailEvent
from braidmq.model import DEFAULT_INSTANCE, FilterKind
from braidmq.protocols.http._desk import DESK, chosen
from braidmq.protocols.http._needs import Noted, needs
from braidmq.protocols.http._parameters import (
    API,
    Cursor,
    FilterKindName,
    FilterText,
    InstanceName,
    Limit,
    TimeMs,
    WaitSeconds,
    WithBase64,
)
from braidmq.protocols.http._waiting import WaitingRoom

AnyRequest = Request[Any, Any, State]
PartitionIndex = Annotated[int | None, QueryParameter(ge=0, description="The partition's index in its topic.")]
FromOffset = Annotated[int | None, QueryParameter(ge=0, description="The first offset that is wanted.")]
Word = Annotated[str | None, QueryParameter(min_length=1, max_length=4096)]


class MessageController(Controller):
    """The messages of topics."""

    path = API
    dependencies = DESK
    tags = ("messages",)

    @post(
        "/topics/{name:str}/messages",
        operation_id="send_messages",
        summary="Send one message or many; kept when this is answered",
        opt=needs(Action.PUBLISH, ResourceKind.TOPIC),
        status_code=200,
    )
    async def send(
        self,
        name: FromPath[str],
        data: JSONBody[SendAsk],
        desk: NamedDependency[MessagingDesk],
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> Sent:
        return await desk.sending.send(name, data, instance=instance)

    @get(
        "/topics/{name:str}/messages",
        operation_id="find_messages",
        summary="Find messages of a topic by id, key, time, or from an offset on",
        opt=needs(Action.CONSUME, ResourceKind.TOPIC),
    )
    async def find(
        self,
        name: FromPath[str],
        desk: NamedDependency[MessagingDesk],
        id: Word = None,  # the query's name
        key: Word = None,
        from_ms: TimeMs = None,
        until_ms: TimeMs = None,
        partition: PartitionIndex = None,
        offset: FromOffset = None,
        filter: FilterText = "",  # the query's name
        filter_kind: FilterKindName = FilterKind.TAG,
        limit: Limit = 50,
        cursor: Cursor = None,
        with_base64: WithBase64 = False,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> Found:
        ask = FindAsk(
            id=id,
            key=key,
            from_ms=from_ms,
            until_ms=until_ms,
            partition=partition,
            offset=offset,
            chosen=chosen(filter_kind, filter),
            limit=limit,
            cursor=cursor,
            with_base64=with_base64,
        )
        return await desk.messages.find(name, ask, instance=instance)

    @get(
        "/messages",
        operation_id="find_messages_everywhere",
        summary="Find messages of all topics by id or key",
        opt=needs(Action.CONSUME, ResourceKind.TOPIC),
    )
    async def find_everywhere(
        self,
        desk: NamedDependency[MessagingDesk],
        id: Word = None,  # the query's name
        key: Word = None,
        limit: Limit = 50,
        cursor: Cursor = None,
        with_base64: WithBase64 = False,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> Found:
        return await desk.messages.find_everywhere(
            id=id, key=key, limit=limit, cursor=cursor, instance=instance, with_base64=with_base64
        )

    @get(
        "/topics/{name:str}/messages/{partition:int}/{offset:int}",
        operation_id="show_message",
        summary="One message by its place",
        opt=needs(Action.CONSUME, ResourceKind.TOPIC),
    )
    async def show(
        self,
        name: FromPath[str],
        partition: FromPath[int],
        offset: FromPath[int],
        desk: NamedDependency[MessagingDesk],
        with_base64: WithBase64 = False,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> MessageView:
        return await desk.messages.at(name, partition, offset, instance=instance, with_base64=with_base64)

    @get(
        "/topics/{name:str}/partitions/{partition:int}/messages",
        operation_id="pull_messages",
        summary="Messages from an offset on; waits for them where there are none yet",
        opt=needs(Action.CONSUME, ResourceKind.TOPIC),
    )
    async def pull(
        self,
        name: FromPath[str],
        partition: FromPath[int],
        request: AnyRequest,
        desk: NamedDependency[MessagingDesk],
        waiting: NamedDependency[WaitingRoom],
        offset: FromOffset = None,
        limit: Limit = 50,
        wait_s: WaitSeconds = 0.0,
        filter: FilterText = "",  # the query's name
        filter_kind: FilterKindName = FilterKind.TAG,
        with_base64: WithBase64 = False,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> PulledView:
        async def pulled(wait_s: float) -> PulledView:
            return await desk.messages.pull(
                name,
                partition,
                offset=offset,
                limit=limit,
                wait_s=wait_s,
                chosen=chosen(filter_kind, filter),
                instance=instance,
                with_base64=with_base64,
            )

        at_once = await pulled(0.0)
        if at_once.items or wait_s <= 0:
            return at_once
        return await waiting.wait(request, pulled(wait_s), otherwise=at_once)

    @get(
        "/topics/{name:str}/tail",
        operation_id="tail_topic",
        summary="New messages as they come, as server-sent events",
        media_type="text/event-stream",
        opt=needs(Action.CONSUME, ResourceKind.TOPIC),
    )
    async def tail(
        self,
        name: FromPath[str],
        desk: NamedDependency[MessagingDesk],
        waiting: NamedDependency[WaitingRoom],
        filter: FilterText = "",  # the query's name
        filter_kind: FilterKindName = FilterKind.TAG,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> ServerSentEvent:
        """Events are `message` (one of them each), `skipped` (how many were passed over because the watcher is slow)
        and comments as signs of life, every 15 seconds at least."""
        waiting.check()
        events = desk.tail.follow(name, chosen(filter_kind, filter), waiting.stopping, instance=instance)
        return ServerSentEvent(_told(waiting.stream(events)))

    @post(
        "/topics/{name:str}/messages/{partition:int}/{offset:int}/resend",
        operation_id="resend_message",
        summary="Append a copy of a message to a topic, or give it to one group",
        opt=needs(Action.PUBLISH, ResourceKind.TOPIC, Noted.ALWAYS),
        status_code=200,
    )
    async def resend(
        self,
        name: FromPath[str],
        partition: FromPath[int],
        offset: FromPath[int],
        data: JSONBody[ResendAsk],
        desk: NamedDependency[MessagingDesk],
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> SendResult:
        return await desk.messages.resend(name, partition, offset, data, instance=instance)


async def _told(events: AsyncIterator[TailEvent]) -> AsyncIterator[ServerSentEventMessage]:
    async for event in events:
        if event.skipped:
            yield ServerSentEventMessage(event="skipped", data=event.skipped)
        for item in event.items:
            place = f"{item.partition}-{item.offset}"
            yield ServerSentEventMessage(event="message", id=place, data=msgspec.json.encode(item).decode())
        if not event.items and not event.skipped:
            yield ServerSentEventMessage(comment="still here", data=None)
