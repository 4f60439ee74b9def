"""How a route declares what it needs, and whether the audit log hears of it: in the options of its handler, read when
the application is built."""

import enum
from typing import Any

from litestar import Litestar
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler

from braidmq.core.access import Action, Need, Operations, ResourceKind

_OPTION = "need"
_NOTED = "noted"

HttpOperations = Operations[str, HTTPRouteHandler]
"""Keyed by method and path, such as `GET /readyz`."""


class Noted(enum.Enum):
    """When a request to a route is in the audit log."""

    CHANGES = enum.auto()
    """Where the need is to create, change or delete."""
    ALWAYS = enum.auto()
    """It publishes, or has a consumer work, and people do that by hand."""
    OF_OPERATORS = enum.auto()
    """Unless the body names a group: then a producer asks, as it does all day."""


def needs(action: Action, resource: ResourceKind, noted: Noted = Noted.CHANGES) -> dict[str, Any]:
    """For the `opt` of a handler, a controller or a router."""
    return {_OPTION: Need(action, resource), _NOTED: noted}


def noted_of(handler: BaseRouteHandler) -> Noted:
    """When the audit log hears of a route."""
    noted = handler.opt.get(_NOTED)
    return noted if isinstance(noted, Noted) else Noted.CHANGES


def need_of(handler: BaseRouteHandler) -> Need | None:
    """What a route has declared."""
    need = handler.opt.get(_OPTION)
    return need if isinstance(need, Need) else None


def operations_of(app: Litestar) -> HttpOperations:
    """Every route of the application with its need. Raises UndeclaredOperation for one that has none."""
    operations: HttpOperations = Operations("http")
    for route in app.routes:
        for handler in route.route_handlers if hasattr(route, "route_handlers") else ():
            for method in sorted(handler.http_methods - {"OPTIONS"}):
                operations.register(f"{method} {route.path}", handler.opt.get(_OPTION), handler)
    return operations
