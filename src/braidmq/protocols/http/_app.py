"""The application: controllers, error answers, limits and the OpenAPI, put together once at start."""

from litestar import Litestar, Router
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin, YamlRenderPlugin
from litestar.openapi.spec import License
from litestar.types import ControllerRouterHandler

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.http._needs import HttpOperations, needs, operations_of
from braidmq.protocols.http._problems import exception_handlers
from braidmq.protocols.http._services import HttpServices
from braidmq.protocols.http.controllers import CONTROLLERS


def build_app(
    services: HttpServices,
    *,
    body_bytes_max: int,
    more_controllers: tuple[ControllerRouterHandler, ...] = (),
) -> tuple[Litestar, HttpOperations]:
    """The application and its operations. Raises UndeclaredOperation for a route that declares no need."""
    app = Litestar(
        route_handlers=[*CONTROLLERS, *more_controllers],
        dependencies={"services": Provide(lambda: services, sync_to_thread=False)},
        exception_handlers=exception_handlers(),
        openapi_config=_openapi(services.version),
        request_max_body_size=body_bytes_max,
        debug=False,  # said here, so that a variable in the environment cannot turn it on
        pdb_on_exception=False,
        logging_config=None,  # the node's logging is set by the command that starts it
    )
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
