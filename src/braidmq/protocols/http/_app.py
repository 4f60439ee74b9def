"""The application: controllers, error answers, limits and the OpenAPI, put together once."""

from collections.abc import Sequence

from litestar import Litestar, Router
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin, YamlRenderPlugin
from litestar.openapi.spec import License
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin
from litestar.types import ControllerRouterHandler, Middleware

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.http._changes import change_middlewares
from braidmq.protocols.http._describing import describe_problems
from braidmq.protocols.http._hosts import OnlyOwnNames
from braidmq.protocols.http._needs import HttpOperations, needs, operations_of
from braidmq.protocols.http._parameters import page_ask
from braidmq.protocols.http._problems import exception_handlers
from braidmq.protocols.http._requests import StrictRequest
from braidmq.protocols.http._services import HttpServices
from braidmq.protocols.http._waiting import WaitingRoom
from braidmq.protocols.http.controllers import CONTROLLERS


class Application(Litestar):
    """Litestar for msgspec alone."""

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        # The framework would import pydantic wherever it is installed, and typer brings it: 5 MB for nothing.
        return [*plugins, MsgspecDIPlugin()]


def build_app(
    services: HttpServices,
    *,
    body_bytes_max: int,
    waiting: WaitingRoom | None = None,
    controllers: Sequence[ControllerRouterHandler] = CONTROLLERS,
    only_own_names: bool = False,
    is_described: bool = True,
) -> tuple[Litestar, HttpOperations]:
    """The application and its operations. Raises UndeclaredOperation for a route that declares no need."""
    room = WaitingRoom() if waiting is None else waiting
    middleware: list[Middleware] = [OnlyOwnNames()] if only_own_names else []
    if services.operations is not None:
        middleware += change_middlewares(services.operations, body_bytes_max)
    app = Application(
        route_handlers=controllers,
        dependencies={
            "services": Provide(lambda: services, sync_to_thread=False),
            "waiting": Provide(lambda: room, sync_to_thread=False),
            "catalogue": Provide(lambda: services.catalogue, sync_to_thread=False),
            "operations": Provide(lambda: services.operations, sync_to_thread=False),
            "page_ask": Provide(page_ask),
        },
        middleware=middleware,
        exception_handlers=exception_handlers(),
        request_class=StrictRequest,
        openapi_config=_openapi(services.version) if is_described else None,
        request_max_body_size=body_bytes_max,
        debug=False,  # said here, so that a variable in the environment cannot turn it on
        pdb_on_exception=False,
        logging_config=None,  # the node's logging is set by the command that starts it
    )
    describe_problems(app)
    return app, operations_of(app)


def _openapi(version: str) -> OpenAPIConfig:
    """Only the description itself: pages that would load scripts from elsewhere fail in closed networks."""
    router = Router(
        "/schema",
        route_handlers=[],
        opt=needs(Action.PROBE, ResourceKind.NODE),
        include_in_schema=False,
    )
    return OpenAPIConfig(
        title="BraidMQ",
        version=version,
        license=License(name="Apache-2.0", identifier="Apache-2.0"),
        openapi_router=router,
        render_plugins=[JsonRenderPlugin(path=["/", "/openapi.json"]), YamlRenderPlugin()],
        use_handler_docstrings=True,
    )
