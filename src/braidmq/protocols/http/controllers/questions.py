"""Questions to the program of one member of a group. They are carried to it by its own protocol."""

from typing import Annotated

from litestar import Controller, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.core.desk.questions import WAIT_MAX_S, WAIT_S, StackTrace, Verified, VerifyAsk
from braidmq.model import DEFAULT_INSTANCE
from braidmq.protocols.http._desk import DESK
from braidmq.protocols.http._needs import Noted, needs
from braidmq.protocols.http._parameters import API, InstanceName

AnswerSeconds = Annotated[
    float, QueryParameter(gt=0, le=WAIT_MAX_S, description="How long the client may take for its answer.")
]


class QuestionController(Controller):
    """What a member says of itself."""

    path = f"{API}/groups"
    tags = ("groups",)
    dependencies = DESK

    @post(
        "/{name:str}/members/{client_id:str}/stack-trace",
        operation_id="print_stack_trace",
        summary="Ask a member of a RocketMQ protocol what its threads do",
        status_code=200,
        opt=needs(Action.DESCRIBE, ResourceKind.GROUP),
    )
    async def stack_trace(
        self,
        name: FromPath[str],
        client_id: FromPath[str],
        desk: NamedDependency[MessagingDesk],
        wait_s: AnswerSeconds = WAIT_S,
    ) -> StackTrace:
        """A member that does not answer in time is a 504; one whose client has no such answer a 409."""
        return await desk.questions.stack_trace(name, client_id, wait_s=wait_s)

    @post(
        "/{name:str}/members/{client_id:str}/verify",
        operation_id="verify_message",
        summary="Let a push consumer of a RocketMQ protocol try one message, and hear what it made of it",
        status_code=200,
        opt=needs(Action.CONSUME, ResourceKind.GROUP, Noted.ALWAYS),
    )
    async def verify(
        self,
        name: FromPath[str],
        client_id: FromPath[str],
        data: JSONBody[VerifyAsk],
        desk: NamedDependency[MessagingDesk],
        wait_s: AnswerSeconds = WAIT_S,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> Verified:
        """Its listener does its work in earnest. Nothing is acknowledged, and no attempt is counted."""
        return await desk.questions.verify(name, client_id, data, wait_s=wait_s, instance=instance)
