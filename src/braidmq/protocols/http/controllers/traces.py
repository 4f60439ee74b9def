"""The lives of messages."""

from typing import Annotated

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.core.desk.traces import LifeView, LivesView
from braidmq.model import DEFAULT_INSTANCE
from braidmq.protocols.http._desk import DESK
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._parameters import API, InstanceName


class TraceController(Controller):
    """What happened to messages, whatever their clients spoke."""

    path = f"{API}/traces"
    dependencies = DESK
    opt = needs(Action.CONSUME, ResourceKind.TOPIC)
    tags = ("traces",)

    @get("/{id:str}", operation_id="trace_message", summary="The life of one message, by its id")
    async def by_id(
        self,
        id: FromPath[str],  # the path's name
        desk: NamedDependency[MessagingDesk],
        topic: FromQuery[str | None] = None,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> LifeView:
        return await desk.traces.by_id(id, topic=topic, instance=instance)

    @get("/", operation_id="trace_messages_of_key", summary="The lives of a topic's messages with a key")
    async def by_key(
        self,
        topic: FromQuery[str],
        key: Annotated[str, QueryParameter(min_length=1, max_length=4096)],
        desk: NamedDependency[MessagingDesk],
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> LivesView:
        return await desk.traces.by_key(topic, key, instance=instance)
