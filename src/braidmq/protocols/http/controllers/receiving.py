"""Receiving messages one by one, and saying what became of each."""

from typing import Any

import msgspec
from litestar import Controller, Request, post
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.core.desk.receiving import (
    AcknowledgeAsk,
    Acknowledged,
    Batch,
    BuryAsk,
    ExtendAsk,
    ReceiptView,
    ReceiveAsk,
    Received,
    RejectAsk,
)
from braidmq.model import DEFAULT_INSTANCE
from braidmq.protocols.http._callers import caller_of
from braidmq.protocols.http._desk import DESK
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._parameters import API, InstanceName, WithBase64
from braidmq.protocols.http._waiting import WaitingRoom


class ReceivingController(Controller):
    """For consumers that keep no connection."""

    path = f"{API}/groups/{{name:str}}"
    dependencies = DESK
    opt = needs(Action.CONSUME, ResourceKind.GROUP)
    tags = ("receiving",)

    @post(
        "/receive",
        operation_id="receive_messages",
        summary="Take messages for a group; waits for them where there are none yet",
        status_code=200,
    )
    async def receive(
        self,
        name: FromPath[str],
        data: JSONBody[ReceiveAsk],
        request: Request[Any, Any, State],
        desk: NamedDependency[MessagingDesk],
        waiting: NamedDependency[WaitingRoom],
        with_base64: WithBase64 = False,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> Received:
        caller = caller_of(request)

        async def received(wait_s: float) -> Batch:
            ask = msgspec.structs.replace(data, wait_s=wait_s)
            return await desk.receiving.receive(name, ask, caller=caller, instance=instance, with_base64=with_base64)

        batch = await received(0)
        if not batch.delivered and data.wait_s > 0:
            take_back = desk.receiving.take_back
            batch = await waiting.wait(request, received(data.wait_s), otherwise=batch, take_back=take_back)
        desk.receiving.gave(batch)
        return batch.view

    @post(
        "/acknowledge",
        operation_id="acknowledge_messages",
        summary="Say that messages are done",
        status_code=200,
    )
    async def acknowledge(
        self,
        name: FromPath[str],
        data: JSONBody[AcknowledgeAsk],
        request: Request[Any, Any, State],
        desk: NamedDependency[MessagingDesk],
    ) -> Acknowledged:
        return desk.receiving.acknowledge(name, data.receipts, caller=caller_of(request))

    @post(
        "/extend",
        operation_id="extend_message",
        summary="Take more time for a message",
        status_code=200,
    )
    async def extend(
        self,
        name: FromPath[str],
        data: JSONBody[ExtendAsk],
        request: Request[Any, Any, State],
        desk: NamedDependency[MessagingDesk],
    ) -> ReceiptView:
        return desk.receiving.extend(name, data, caller=caller_of(request))

    @post(
        "/reject",
        operation_id="reject_message",
        summary="Give a message back, to come again after a while",
        status_code=200,
    )
    async def reject(
        self, name: FromPath[str], data: JSONBody[RejectAsk], desk: NamedDependency[MessagingDesk]
    ) -> ReceiptView:
        return desk.receiving.reject(name, data)

    @post(
        "/bury",
        operation_id="bury_message",
        summary="Bring a message to the group's dead letters",
        status_code=204,
    )
    async def bury(self, name: FromPath[str], data: JSONBody[BuryAsk], desk: NamedDependency[MessagingDesk]) -> None:
        await desk.receiving.bury(name, data.receipt)
