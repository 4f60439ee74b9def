"""Traces: what happened to a message, by its id, or to those with a key."""

from typing import Any

from litestar import Controller, Response, get
from litestar.di import NamedDependency

from braidmq.console._form_fields import wanted
from braidmq.console._lifelines import Lifeline, lifeline
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import messaging_of, text_of, topic_names
from braidmq.core.access import Action, ResourceKind
from braidmq.model import BraidError
from braidmq.model.errors import InvalidRequest
from braidmq.protocols.http import HttpServices, needs


class TracesPage(Controller):
    path = "/traces"
    opt = needs(Action.CONSUME, ResourceKind.TOPIC)

    @get("/")
    async def traces(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], instance: NamedDependency[str]
    ) -> Response[Any]:
        lines: list[Lifeline] | None = None
        error: BraidError | None = None
        try:
            lines = await _lines(request, services, instance)
        except BraidError as problem:
            error = problem
        return render(
            request,
            "traces.html.j2",
            place="traces",
            lines=lines,
            error=error,
            topics=await topic_names(services, instance),
        )

    @get("/life")
    async def life(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], instance: NamedDependency[str]
    ) -> Response[Any]:
        """The picture alone, for the drawer of a message."""
        try:
            lines = await _lines(request, services, instance)
        except BraidError as problem:
            return render(request, "traces_life.html.j2", lines=[], error=problem)
        return render(request, "traces_life.html.j2", lines=lines or [], error=None)


async def _lines(request: ConsoleRequest, services: HttpServices, instance: str) -> list[Lifeline] | None:
    """None where nothing was asked for. Raises InvalidRequest and what the traces raise."""
    said = {name: text for name in ("id", "key", "topic") if (text := text_of(request, name)) is not None}
    traces = messaging_of(services).traces
    if "id" in said:
        return [lifeline(await traces.by_id(said["id"], topic=said.get("topic"), instance=instance))]
    if "key" not in said:
        return None
    if "topic" not in said:
        raise InvalidRequest("topic: a key is looked for in one topic; name it")
    found = await traces.by_key(wanted(said, "topic"), said["key"], instance=instance)
    return [lifeline(each) for each in found.items]
