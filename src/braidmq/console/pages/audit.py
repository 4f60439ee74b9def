"""The audit log: who changed what, by whichever protocol."""

from typing import Any, Final

from litestar import Controller, Response, get
from litestar.di import NamedDependency

from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import SPANS, operations_of, page_of_query, span_of, text_of
from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.http import HttpServices, needs
from braidmq.store import AuditAsk

FOREVER_MS: Final = 1 << 53


class AuditPage(Controller):
    path = "/audit"
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)

    @get("/")
    async def audit(self, request: ConsoleRequest, services: NamedDependency[HttpServices]) -> Response[Any]:
        span, ask = span_of(request), page_of_query(request)
        page = await operations_of(services).audit.find(
            AuditAsk(
                search=ask.search,
                actor=text_of(request, "actor") or "",
                from_ms=span.from_ms or 0,
                until_ms=FOREVER_MS if span.until_ms is None else span.until_ms,
                page=ask.page,
                page_size=ask.page_size,
            )
        )
        return render(request, "audit.html.j2", place="audit", page=page, span=span, spans=SPANS)
