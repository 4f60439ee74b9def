"""How a route declares what it needs: in the options of its handler, read when the application is built."""

from litestar import Litestar
from litestar.handlers import HTTPRouteHandler

from braidmq.core.access import Action, Need, Operations, ResourceKind

_OPTION = "need"

HttpOperations = Operations[str, HTTPRouteHandler]
"""Keyed by method and path, such as `GET /readyz`."""


def needs(action: Action, resource: ResourceKind) -> dict[str, Need]:
    """For the `opt` of a handler, a controller or a router."""
    return {_OPTION: Need(action, resource)}


def operations_of(app: Litestar) -> HttpOperations:
    """Every route of the application with its need. Raises UndeclaredOperation for one that has none."""
    operations: HttpOperations = Operations("http")
    for route in app.routes:
        for handler in route.route_handlers if hasattr(route, "route_handlers") else ():
            for method in sorted(handler.http_methods - {"OPTIONS"}):
                operations.register(f"{method} {route.path}", handler.opt.get(_OPTION), handler)
    return operations
