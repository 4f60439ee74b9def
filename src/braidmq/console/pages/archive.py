"""The archive: messages that the log does not keep any more."""

from typing import Any

from litestar import Controller, Response, get
from litestar.di import NamedDependency

from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import SPANS, Span, operations_of, span_of, text_of, topic_names
from braidmq.core.access import Action, ResourceKind
from braidmq.core.history import ArchiveAsk, ArchivedMessages
from braidmq.model import BraidError
from braidmq.model.errors import ArchiveOff
from braidmq.protocols.http import HttpServices, needs


class ArchivePage(Controller):
    path = "/archive"
    opt = needs(Action.CONSUME, ResourceKind.TOPIC)

    @get("/")
    async def archive(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], instance: NamedDependency[str]
    ) -> Response[Any]:
        found: ArchivedMessages | None = None
        error: BraidError | None = None
        span = Span("all", None, None)
        history = operations_of(services).history
        try:
            history.reports()  # says whether there is an archive at all, before anybody searches
            span = span_of(request)
            found = await history.find(ask) if (ask := _ask(request, span, instance)) is not None else None
        except BraidError as problem:
            error = problem
        return render(
            request,
            "archive.html.j2",
            place="archive",
            found=found,
            error=error,
            is_off=isinstance(error, ArchiveOff),
            span=span,
            spans=SPANS,
            topics=await topic_names(services, instance),
        )


def _ask(request: ConsoleRequest, span: Span, instance: str) -> ArchiveAsk | None:
    """None where nothing was asked for."""
    message_id, key, topic = (text_of(request, name) or "" for name in ("id", "key", "topic"))
    if not (message_id or key or topic):
        return None
    return ArchiveAsk(message_id, key, topic, span.from_ms, span.until_ms, instance=instance)
