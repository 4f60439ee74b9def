"""Settings: what the node goes by, where that comes from, and values from the centre, seen before they are set."""

from typing import Any, Final

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import operations_of, page_of_query, text_of, told
from braidmq.core.access import Action, ResourceKind
from braidmq.core.central import SettingView
from braidmq.core.desk import Page
from braidmq.protocols.http import HttpServices, needs

PAGE_SIZE: Final = 200
_OWN_ORIGINS: Final = ("-", "environment ")
"""How the origins of flags and of the environment begin, which the centre does not beat."""


class SettingsPage(Controller):
    path = "/settings"
    opt = needs(Action.DESCRIBE, ResourceKind.SETTING)

    @get("/")
    async def settings(self, request: ConsoleRequest, services: NamedDependency[HttpServices]) -> Response[Any]:
        only = text_of(request, "only") or ""
        page = _only(operations_of(services).settings.list(page_of_query(request, PAGE_SIZE)), only)
        return render(request, "settings.html.j2", place="settings", page=page, only=only)

    @get("/{key:str}")
    async def setting(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], key: FromPath[str]
    ) -> Response[Any]:
        return _drawer(request, operations_of(services).settings.get(key))

    @post("/{key:str}/preview", status_code=200)
    async def preview(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], key: FromPath[str]
    ) -> Response[Any]:
        """The value, checked, and what it would change."""
        value, if_match = await _asked(request)
        settings = operations_of(services).settings
        would = await settings.put(key, value, if_match=if_match, changed_by="", dry_run=True)
        return _drawer(request, settings.get(key), would)

    @post(
        "/{key:str}",
        opt=needs(Action.CHANGE, ResourceKind.SETTING),
        operation_id="save_setting",
        status_code=200,
    )
    async def save(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], key: FromPath[str]
    ) -> Response[Any]:
        value, if_match = await _asked(request)
        who = f"console {request.client.host if request.client else ''}".strip()
        saved = await operations_of(services).settings.put(key, value, if_match=if_match, changed_by=who)
        return told(request, "{key} is {value} for all nodes", key=key, value=saved.central or '""')

    @post(
        "/{key:str}/delete",
        opt=needs(Action.DELETE, ResourceKind.SETTING),
        operation_id="delete_setting",
        status_code=200,
    )
    async def delete(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], key: FromPath[str]
    ) -> Response[Any]:
        _, if_match = await _asked(request)
        now = await operations_of(services).settings.delete(key, if_match=if_match)
        return told(request, "{key} is what each node was started with", now.value, key=key)


async def _asked(request: ConsoleRequest) -> tuple[str, str | None]:
    """The value, which may be empty, and the ETag that the form was made with."""
    form = await request.form()
    return str(form.get("value", "")), str(form.get("etag", "")) or None


def _drawer(request: ConsoleRequest, view: SettingView, would: SettingView | None = None) -> Response[Any]:
    is_own = view.origin.startswith(_OWN_ORIGINS)
    return render(request, "settings_detail.html.j2", setting=view, would=would, is_own=is_own)


def _only(page: Page[SettingView], only: str) -> Page[SettingView]:
    """Those that differ from their defaults, or that can be changed while nodes run."""
    if only not in ("changed", "changeable"):
        return page
    items = [each for each in page.items if (each.origin != "default" if only == "changed" else each.changeable)]
    return Page(items=items, page=1, page_size=page.page_size, total=len(items))
