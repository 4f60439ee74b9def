"""Half messages: ended by their producers or by an operator, listed; and the questions that producers come for."""

from typing import Annotated, Any

from litestar import Controller, Request, get, post
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.checks import Checks
from braidmq.core.desk.halves import EndAsk, EndedView, HalfPage, HalfView
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.core.desk.timers import ReleaseAsk
from braidmq.model import DEFAULT_INSTANCE, HalfState
from braidmq.protocols.http._desk import DESK
from braidmq.protocols.http._needs import Noted, needs
from braidmq.protocols.http._parameters import API, Cursor, InstanceName, Limit, WaitSeconds, WithBase64
from braidmq.protocols.http._waiting import WaitingRoom


class HalfController(Controller):
    """Messages that wait for their producer's word."""

    path = API
    dependencies = DESK
    tags = ("transactions",)

    @post(
        "/halves/{handle:str}/commit",
        operation_id="commit_half",
        summary="The message counts",
        opt=needs(Action.PUBLISH, ResourceKind.TOPIC, Noted.OF_OPERATORS),
        status_code=200,
    )
    async def commit(
        self, handle: FromPath[str], data: JSONBody[EndAsk], desk: NamedDependency[MessagingDesk]
    ) -> EndedView:
        return await desk.halves.end(handle, data, commit=True)

    @post(
        "/halves/{handle:str}/rollback",
        operation_id="roll_back_half",
        summary="The message does not count",
        opt=needs(Action.PUBLISH, ResourceKind.TOPIC, Noted.OF_OPERATORS),
        status_code=200,
    )
    async def roll_back(
        self, handle: FromPath[str], data: JSONBody[EndAsk], desk: NamedDependency[MessagingDesk]
    ) -> EndedView:
        return await desk.halves.end(handle, data, commit=False)

    @get(
        "/producers/{group:str}/checks",
        operation_id="poll_checks",
        summary="Half messages whose producers are asked; waits for them where there are none yet",
        opt=needs(Action.PUBLISH, ResourceKind.TOPIC),
    )
    async def checks(
        self,
        group: FromPath[str],
        request: Request[Any, Any, State],
        desk: NamedDependency[MessagingDesk],
        waiting: NamedDependency[WaitingRoom],
        wait_s: WaitSeconds = 0.0,
        producer: Annotated[
            str, QueryParameter(max_length=255, description="The producer's name; those without one are one.")
        ] = "",
    ) -> Checks:
        address = "" if request.client is None else f"{request.client.host}:{request.client.port}"
        work = desk.checks.poll(group, producer=producer, wait_s=wait_s, address=address)
        if wait_s <= 0:
            return await work
        return await waiting.wait(request, work, otherwise=Checks(checks=[]))

    @get(
        "/halves",
        operation_id="list_halves",
        summary="Half messages by the time of their preparation",
        opt=needs(Action.DESCRIBE, ResourceKind.TOPIC),
    )
    async def page(
        self,
        desk: NamedDependency[MessagingDesk],
        group: FromQuery[str | None] = None,
        half_state: Annotated[HalfState | None, QueryParameter(name="state")] = None,
        topic: FromQuery[str | None] = None,
        parked: FromQuery[bool] = False,
        cursor: Cursor = None,
        limit: Limit = 50,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> HalfPage:
        return await desk.halves.page(
            group=group, state=half_state, topic=topic, parked=parked, cursor=cursor, limit=limit, instance=instance
        )

    @get(
        "/halves/{handle:str}",
        operation_id="show_half",
        summary="A half message with its content",
        opt=needs(Action.CONSUME, ResourceKind.TOPIC),
    )
    async def show(
        self, handle: FromPath[str], desk: NamedDependency[MessagingDesk], with_base64: WithBase64 = False
    ) -> HalfView:
        return await desk.halves.find(handle, with_base64=with_base64)

    @post(
        "/halves/{handle:str}/release",
        operation_id="release_half",
        summary="Append a committed message whose topic is gone to another topic",
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
        await desk.halves.release(handle, data, instance=instance)

    @post(
        "/halves/{handle:str}/discard",
        operation_id="discard_half",
        summary="Give up a committed message whose topic is gone",
        opt=needs(Action.DELETE, ResourceKind.TOPIC),
        status_code=204,
    )
    async def discard(self, handle: FromPath[str], desk: NamedDependency[MessagingDesk]) -> None:
        await desk.halves.discard(handle)
