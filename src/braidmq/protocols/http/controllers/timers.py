"""Delayed messages: listed, shown, cancelled, and released where they are parked."""

from litestar import Controller, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, JSONBody

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.core.desk.timers import ReleaseAsk, TimerPage, TimerView
from braidmq.model import DEFAULT_INSTANCE
from braidmq.protocols.http._desk import DESK
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._parameters import API, Cursor, DryRun, InstanceName, Limit, TimeMs, WithBase64


class TimerController(Controller):
    """Messages that wait for their time."""

    path = f"{API}/timers"
    dependencies = DESK
    tags = ("timers",)

    @get(
        "/",
        operation_id="list_timers",
        summary="Delayed messages by their time",
        opt=needs(Action.DESCRIBE, ResourceKind.TOPIC),
    )
    async def page(
        self,
        desk: NamedDependency[MessagingDesk],
        topic: FromQuery[str | None] = None,
        from_ms: TimeMs = None,
        until_ms: TimeMs = None,
        parked: FromQuery[bool] = False,
        cursor: Cursor = None,
        limit: Limit = 50,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> TimerPage:
        return await desk.timers.page(
            topic=topic,
            from_ms=from_ms,
            until_ms=until_ms,
            parked=parked,
            cursor=cursor,
            limit=limit,
            instance=instance,
        )

    @get(
        "/{handle:str}",
        operation_id="show_timer",
        summary="A delayed message with its content",
        opt=needs(Action.CONSUME, ResourceKind.TOPIC),
    )
    async def show(
        self, handle: FromPath[str], desk: NamedDependency[MessagingDesk], with_base64: WithBase64 = False
    ) -> TimerView:
        return await desk.timers.find(handle, with_base64=with_base64)

    @delete(
        "/{handle:str}",
        operation_id="cancel_timer",
        summary="Cancel a delayed message; what it was",
        opt=needs(Action.DELETE, ResourceKind.TOPIC),
        status_code=200,
    )
    async def cancel(
        self, handle: FromPath[str], desk: NamedDependency[MessagingDesk], dry_run: DryRun = False
    ) -> TimerView:
        return await desk.timers.cancel(handle, dry_run=dry_run)

    @post(
        "/{handle:str}/release",
        operation_id="release_timer",
        summary="Deliver a parked message to a topic after all",
        opt=needs(Action.CHANGE, ResourceKind.TOPIC),
        status_code=204,
    )
    async def release(
        self,
        handle: FromPath[str],
        data: JSONBody[ReleaseAsk],
        desk: NamedDependency[MessagingDesk],
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> None:
        await desk.timers.release(handle, data, instance=instance)
