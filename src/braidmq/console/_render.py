"""Templates to answers. Everything that is put into a page is escaped; nothing that the page did not bring is run."""

import json
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Request, Response
from litestar.datastructures import State
from litestar.status_codes import HTTP_200_OK
from litestar.utils.scope.state import ScopeState

from braidmq import __version__
from braidmq.console import _looks
from braidmq.console._bytecode import KeptTemplates
from braidmq.console._explained import explained, explained_note
from braidmq.console._instances import PARAMETER, command_within, instance_of, keep_instance
from braidmq.console._navigation import SECTIONS
from braidmq.console._static import address_of
from braidmq.console._words import LANGUAGES, allowed, language_of, speaker, words

THEME_COOKIE: Final = "braid_theme"
THEMES: Final = ("auto", "light", "dark")
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}

ConsoleRequest = Request[Any, Any, State]


def _environment() -> Environment:
    folder = Path(__file__).parent / "templates"
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.bytecode_cache = KeptTemplates(folder, environment)
    for name in ("number", "rate", "short", "size", "duration", "moment", "iso", "meaning"):
        environment.filters[name] = getattr(_looks, name)
    environment.filters |= {"command_within": command_within, "allowed": allowed}
    environment.filters |= {"explained": explained, "explained_note": explained_note}
    environment.globals |= {"sections": SECTIONS, "version": __version__, "languages": LANGUAGES, "static": address_of}
    return environment


_ENVIRONMENT: Final = _environment()


def render(
    request: ConsoleRequest,
    template: str,
    *,
    status: int = HTTP_200_OK,
    place: str = "",
    instance: str | None = None,
    **context: Any,
) -> Response[str]:
    """The template as a page. `place` names the entry of the side bar that is lit, `instance` what its addresses lead
    to, if not to where the page itself was asked for.

    Templates find: `_` (say in the reader's language), `url` (path and query as asked), `query` (without the instance),
    `instance`, `theme`, `language`, `csrf`.
    """
    language = language_of(request)
    chosen = instance_of(request) if instance is None else instance
    text = _ENVIRONMENT.get_template(template).render(
        _=speaker(language),
        language=language,
        client_words=json.dumps({text: said for text, said in words(language).items() if text in CLIENT_WORDS}),
        theme=theme_of(request),
        place=place,
        path=request.url.path,
        instance=chosen,
        query={name: value for name, value in request.query_params.items() if name != PARAMETER},
        url=asked_address(request),
        csrf=ScopeState.from_scope(request.scope).csrf_token or "",
        **context,
    )
    answer = keep_instance(text, chosen)
    return Response(answer, media_type="text/html", status_code=status, headers=dict(HEADERS))


CLIENT_WORDS: Final = frozenset(
    {"just now", "copied", "live", "paused", "connection lost, trying again", "Time", "{count} passed over"}
)
"""What scripts say; they get these with the page."""


def theme_of(request: ConsoleRequest) -> str:
    chosen = request.cookies.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else "auto"


def asked_address(request: ConsoleRequest) -> str:
    """Path and query, as they came."""
    query = request.scope.get("query_string", b"").decode("latin-1")
    return f"{request.url.path}?{query}" if query else request.url.path
