"""The console as routes for the node's HTTP interface: pages behind a session, the way into one, and static files."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any, Final
from urllib.parse import quote

from litestar import Response, Router, get, post
from litestar.config.csrf import CSRFConfig
from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie
from litestar.di import NamedDependency, Provide
from litestar.enums import RequestEncodingType
from litestar.exceptions import HTTPException, NotAuthorizedException
from litestar.handlers import BaseRouteHandler
from litestar.middleware import DefineMiddleware
from litestar.middleware.csrf import CSRFMiddleware
from litestar.params import Body, FromQuery
from litestar.response import Redirect
from litestar.status_codes import HTTP_303_SEE_OTHER
from litestar.types import ControllerRouterHandler

from braidmq.console import ROOT
from braidmq.console._explained import Explained, explained, explained_status
from braidmq.console._instances import known_instance
from braidmq.console._render import THEME_COOKIE, THEMES, ConsoleRequest, asked_address, render
from braidmq.console._sessions import COOKIE, SESSION_S, Sessions
from braidmq.console._static import static_file
from braidmq.console._words import LANGUAGE_COOKIE, LANGUAGES, language_of
from braidmq.console.pages import ENTRANCE, Part, pages_of
from braidmq.core.access import Action, ResourceKind
from braidmq.model import DEFAULT_INSTANCE, BraidError
from braidmq.model.errors import UnknownInstance
from braidmq.protocols.http import needs, status_of

PREFERENCE_S: Final = 365 * 24 * 3600
_OPEN: Final = needs(Action.PROBE, ResourceKind.NODE)


def console_router(sessions: Sessions, parts: Sequence[Part]) -> Router:
    """What lies under /console in these parts; with the first of all, the way in and static files."""
    forms = CSRFConfig(
        secret=sessions.csrf_secret(), cookie_name="braid_csrf", cookie_path=ROOT, cookie_samesite="strict"
    )

    def only_with_session(connection: "ASGIConnection[Any, Any, Any, Any]", _: BaseRouteHandler) -> None:
        if not sessions.is_good(connection.cookies.get(COOKIE)):
            raise NotAuthorizedException("show the token that `braid up` printed")

    pages = [page for part in parts for page in pages_of(part)]
    handlers: list[ControllerRouterHandler] = [Router("/", route_handlers=pages, guards=[only_with_session])]
    if ENTRANCE in parts:
        handlers += [static_file, show_login, log_in, log_out, preferences]
    return Router(
        ROOT,
        route_handlers=handlers,
        middleware=[DefineMiddleware(CSRFMiddleware, config=forms)],
        dependencies={
            "sessions": Provide(lambda: sessions, sync_to_thread=False),
            "instance": Provide(known_instance, sync_to_thread=False),
        },
        exception_handlers={
            NotAuthorizedException: _answer_stranger,
            BraidError: _answer_house_error,
            HTTPException: _answer_http_error,
        },
        include_in_schema=False,
    )


@get("/login", opt=_OPEN)
async def show_login(
    request: ConsoleRequest,
    sessions: NamedDependency[Sessions],
    token: FromQuery[str] = "",
    back: FromQuery[str] = ROOT,
) -> Response[Any]:
    """The form; or, with the token in the address that the node printed, straight in."""
    if token:
        return _let_in(request, sessions, token, back)
    return render(request, "login.html.j2", back=_inside(back), wrong=False)


@post("/login", opt=_OPEN, status_code=HTTPStatus.OK)
async def log_in(
    request: ConsoleRequest,
    sessions: NamedDependency[Sessions],
    data: Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    return _let_in(request, sessions, data.get("token", ""), data.get("back", ROOT))


@post("/logout", opt=_OPEN)
async def log_out() -> Redirect:
    gone = Redirect(f"{ROOT}/login", status_code=HTTP_303_SEE_OTHER)
    gone.delete_cookie(COOKIE, path=ROOT)
    return gone


@get("/preferences", opt=_OPEN)
async def preferences(
    language: FromQuery[str] = "", theme: FromQuery[str] = "", back: FromQuery[str] = ROOT
) -> Redirect:
    """Language and theme, kept in the browser."""
    answer = Redirect(_inside(back), status_code=HTTP_303_SEE_OTHER)
    for name, value, allowed in ((LANGUAGE_COOKIE, language, LANGUAGES), (THEME_COOKIE, theme, THEMES)):
        if value in allowed:
            answer.set_cookie(Cookie(name, value=value, path=ROOT, max_age=PREFERENCE_S, samesite="strict"))
    return answer


def _let_in(request: ConsoleRequest, sessions: Sessions, token: str, back: str) -> Response[Any]:
    cookie = sessions.begin(token)
    if cookie is None:
        return render(request, "login.html.j2", status=HTTPStatus.UNAUTHORIZED, back=_inside(back), wrong=True)
    answer = Redirect(_inside(back), status_code=HTTP_303_SEE_OTHER)
    answer.set_cookie(Cookie(COOKIE, value=cookie, path=ROOT, max_age=SESSION_S, httponly=True, samesite="strict"))
    return answer


def _inside(back: str) -> str:
    """Only ever back into the console."""
    return back if back == ROOT or back.startswith((f"{ROOT}/", f"{ROOT}?")) else ROOT


def _answer_stranger(request: ConsoleRequest, _: NotAuthorizedException) -> Response[Any]:
    login = f"{ROOT}/login?back={quote(asked_address(request))}"
    if request.headers.get("hx-request"):
        return Response("", status_code=HTTPStatus.UNAUTHORIZED, headers={"hx-redirect": login})
    return Redirect(login, status_code=HTTP_303_SEE_OTHER)


def _answer_house_error(request: ConsoleRequest, error: BraidError) -> Response[Any]:
    instance = DEFAULT_INSTANCE if isinstance(error, UnknownInstance) else None
    return _problem(request, status_of(error), explained(error, language_of(request)), instance)


def _answer_http_error(request: ConsoleRequest, error: HTTPException) -> Response[Any]:
    status = HTTPStatus(error.status_code)
    return _problem(request, status, explained_status(status, error.detail, language_of(request)))


def _problem(
    request: ConsoleRequest, status: HTTPStatus, problem: Explained, instance: str | None = None
) -> Response[Any]:
    """A whole page, or for a part of one a notice that the page shows by itself."""
    template = "_notice.html.j2" if request.headers.get("hx-request") else "problem.html.j2"
    return render(request, template, status=status, instance=instance, phrase=status.phrase, problem=problem)
