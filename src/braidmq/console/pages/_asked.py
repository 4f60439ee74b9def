"""What pages are asked: the services behind them, words and numbers of the address, and spans of time.

Forms send empty fields; here an empty field is one that was left out. A number that is none is told by its name.
"""

import time
from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

from litestar import Response
from litestar.response import Stream

from braidmq.console._form_fields import whole_number
from braidmq.console._render import ConsoleRequest, render
from braidmq.core.desk import PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.model.errors import InvalidRequest
from braidmq.model.saying import say
from braidmq.protocols.http import HttpServices, OperationsServices

NAMES_MAX: Final = 200
"""How many names a field proposes."""

SPANS: Final = {
    "15m": ("The last 15 minutes", 15 * 60_000),
    "1h": ("The last hour", 3_600_000),
    "6h": ("The last 6 hours", 6 * 3_600_000),
    "24h": ("The last 24 hours", 24 * 3_600_000),
    "7d": ("The last 7 days", 7 * 24 * 3_600_000),
    "all": ("All there is", 0),
    "custom": ("From … until …", 0),
}


class Span(NamedTuple):
    """A span of time as it was asked for; `name` is one of SPANS."""

    name: str
    from_ms: int | None
    until_ms: int | None


def catalogue_of(services: HttpServices) -> Catalogue:
    if services.catalogue is None:
        raise LookupError("this node was made without a catalogue")
    return services.catalogue


def messaging_of(services: HttpServices) -> MessagingDesk:
    if services.messaging is None:
        raise LookupError("this node was made without a desk of messages")
    return services.messaging


def operations_of(services: HttpServices) -> OperationsServices:
    if services.operations is None:
        raise LookupError("this node was made without operations")
    return services.operations


def text_of(request: ConsoleRequest, name: str) -> str | None:
    return str(request.query_params.get(name, "")).strip() or None


def number_of(request: ConsoleRequest, name: str) -> int | None:
    """Raises InvalidRequest."""
    text = text_of(request, name)
    return None if text is None else whole_number(name, text)


def span_of(request: ConsoleRequest, otherwise: str = "all") -> Span:
    """Raises InvalidRequest."""
    name = str(request.query_params.get("span", otherwise))
    if name == "custom":
        return Span(name, number_of(request, "from_ms"), number_of(request, "until_ms"))
    if name not in SPANS:
        raise InvalidRequest(say("span: it is one of {choices}", choices=", ".join(SPANS)))
    length_ms = SPANS[name][1]
    return Span(name, int(time.time() * 1000) - length_ms if length_ms else None, None)


def page_of_query(request: ConsoleRequest, page_size: int = 50) -> PageAsk:
    """Raises InvalidRequest."""
    search, sort = text_of(request, "search") or "", text_of(request, "sort") or ""
    return PageAsk(search, sort, number_of(request, "page") or 1, page_size)


async def topic_names(services: HttpServices, instance: str) -> list[str]:
    """For a field that proposes topics."""
    page = await catalogue_of(services).topics.page(PageAsk(page_size=NAMES_MAX), instance=instance)
    return [each.name for each in page.items]


def group_names(services: HttpServices, instance: str) -> list[str]:
    """For a field that proposes groups."""
    return sorted(catalogue_of(services).groups.names(instance))[:NAMES_MAX]


def told(
    request: ConsoleRequest, title: str, detail: str = "", *, tone: str = "success", refresh: bool = True, **names: Any
) -> Response[Any]:
    """What became of an action, in words; `refresh` has the lists of the page look again."""
    answer = render(request, "_told.html.j2", title=title, detail=detail, tone=tone, names=names)
    if refresh:
        answer.headers["hx-trigger"] = "braid:refresh"
    return answer


def download(content: bytes | AsyncIterator[bytes], media_type: str, file_name: str) -> Response[Any]:
    """A file that the browser keeps, and never shows as a page of the console."""
    safe = "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in file_name)
    headers = {
        "content-disposition": f'attachment; filename="{safe}"',
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; sandbox",
    }
    if isinstance(content, bytes):
        return Response(content, media_type=media_type, headers=headers)
    return Stream(content, media_type=media_type, headers=headers)
