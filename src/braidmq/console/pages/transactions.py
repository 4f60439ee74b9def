"""Transactions: half messages that wait for their producer's word, and a decision where that never comes."""

from typing import Any

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from braidmq.console._bodies import shown_body
from braidmq.console._form_fields import form_of, wanted
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import messaging_of, text_of, told, topic_names
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.halves import EndAsk
from braidmq.core.desk.timers import ReleaseAsk
from braidmq.model import HalfState
from braidmq.model.errors import InvalidRequest
from braidmq.model.saying import say
from braidmq.protocols.http import HttpServices, Noted, needs

STATES = {
    HalfState.PREPARED: "Waiting",
    HalfState.COMMITTING: "Committing",
    HalfState.COMMITTED: "Committed",
    HalfState.ROLLED_BACK: "Rolled back",
}

_END = needs(Action.PUBLISH, ResourceKind.TOPIC, Noted.ALWAYS)


class TransactionsPage(Controller):
    path = "/transactions"
    opt = needs(Action.DESCRIBE, ResourceKind.TOPIC)

    @get("/")
    async def halves(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], instance: NamedDependency[str]
    ) -> Response[Any]:
        state, parked = _state(text_of(request, "state")), text_of(request, "parked") == "true"
        page = await messaging_of(services).halves.page(
            group=text_of(request, "group"),
            state=state,
            topic=text_of(request, "topic"),
            parked=parked,
            cursor=text_of(request, "cursor"),
            instance=instance,
        )
        topics = await topic_names(services, instance)
        shown: dict[str, Any] = {"page": page, "state": state, "states": STATES, "parked": parked, "topics": topics}
        return render(request, "transactions.html.j2", place="transactions", **shown)

    @get("/{handle:str}/detail", opt=needs(Action.CONSUME, ResourceKind.TOPIC))
    async def detail(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        instance: NamedDependency[str],
        handle: FromPath[str],
    ) -> Response[Any]:
        half = await messaging_of(services).halves.find(handle)
        body = None if half.message is None else shown_body(half.message)
        topics = await topic_names(services, instance)
        return render(request, "transactions_detail.html.j2", half=half, body=body, states=STATES, topics=topics)

    @post("/{handle:str}/commit", opt=_END, status_code=200, operation_id="console_commit_half")
    async def commit(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], handle: FromPath[str]
    ) -> Response[Any]:
        ended = await messaging_of(services).halves.end(handle, EndAsk(), commit=True)
        return told(request, "Committed: the message counts", ended.message_id)

    @post("/{handle:str}/rollback", opt=_END, status_code=200, operation_id="console_roll_back_half")
    async def roll_back(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], handle: FromPath[str]
    ) -> Response[Any]:
        ended = await messaging_of(services).halves.end(handle, EndAsk(), commit=False)
        return told(request, "Rolled back: nobody gets the message", ended.message_id)

    @post(
        "/{handle:str}/release",
        opt=needs(Action.CHANGE, ResourceKind.TOPIC),
        operation_id="release_half",
        status_code=200,
    )
    async def release(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        instance: NamedDependency[str],
        handle: FromPath[str],
    ) -> Response[Any]:
        topic = wanted(await form_of(request), "topic")
        await messaging_of(services).halves.release(handle, ReleaseAsk(topic=topic), instance=instance)
        return told(request, "Released: it goes to {topic}", topic=topic)

    @post(
        "/{handle:str}/discard",
        opt=needs(Action.DELETE, ResourceKind.TOPIC),
        operation_id="discard_half",
        status_code=200,
    )
    async def discard(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], handle: FromPath[str]
    ) -> Response[Any]:
        await messaging_of(services).halves.discard(handle)
        return told(request, "Discarded: the message is given up")


def _state(text: str | None) -> HalfState | None:
    """Raises InvalidRequest."""
    if text is None:
        return None
    try:
        return HalfState(text)
    except ValueError as error:
        raise InvalidRequest(say("state: it is one of {choices}", choices=", ".join(HalfState))) from error
