"""The application refuses undeclared routes, and answers every error as problem+json."""

import msgspec
import pytest
from litestar import get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody
from litestar.testing import TestClient

from braidmq.core.access import Action, ResourceKind, UndeclaredOperation
from braidmq.core.health import Health
from braidmq.core.presence import NodeReport
from braidmq.model.errors import StorageFull, UnknownTopic
from braidmq.protocols.http._app import build_app
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._services import HttpServices
from braidmq.protocols.http.controllers import CONTROLLERS

OPEN = needs(Action.PROBE, ResourceKind.NODE)
BODY_BYTES_MAX = 100


@get("/unknown", opt=OPEN)
async def unknown() -> None:
    raise UnknownTopic("there is no topic 'x'")


@get("/full", opt=OPEN)
async def full() -> None:
    raise StorageFull


@get("/broken", opt=OPEN)
async def broken() -> None:
    raise RuntimeError("inside")


@post("/body", opt=OPEN)
async def body(data: JSONBody[dict[str, int]]) -> int:
    return len(data)


@get("/undeclared")
async def undeclared() -> None: ...


NODES = [
    NodeReport("a", {"rocketmq": ["10.0.0.1:9876", "0.0.0.0:9877"], "kafka": ["10.0.0.1:9092"]}, 0),
    NodeReport("b", {"rocketmq": ["[::]:9876"]}, 0),
    NodeReport("c", {}, 0),
]


def client_with(*handlers: HTTPRouteHandler) -> TestClient:  # type: ignore[type-arg]
    services = HttpServices("n", "1", Health(), [], NODES.copy)
    app, _ = build_app(services, body_bytes_max=BODY_BYTES_MAX, controllers=[*CONTROLLERS, *handlers])
    return TestClient(app, raise_server_exceptions=False)


def test_a_route_without_a_declaration_keeps_the_application_from_being_built() -> None:
    with pytest.raises(UndeclaredOperation, match="http GET /undeclared"):
        client_with(undeclared)


@pytest.mark.parametrize(
    ("path", "status", "code", "retriable"),
    [
        ("/unknown", 404, "unknown_topic", False),
        ("/full", 507, "storage_full", True),
        ("/nowhere", 404, "not_found", False),
    ],
)
def test_an_error_is_a_problem_with_a_stable_code(path: str, status: int, code: str, retriable: bool) -> None:
    with client_with(unknown, full) as client:
        response = client.get(path)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    problem = msgspec.json.decode(response.content)
    assert (problem["status"], problem["code"], problem["retriable"]) == (status, code, retriable)


def test_an_unexpected_error_is_logged_and_shows_nothing_of_the_inside(caplog: pytest.LogCaptureFixture) -> None:
    with client_with(broken) as client:
        response = client.get("/broken")
    assert response.status_code == 500
    assert "inside" not in response.text
    assert response.json()["code"] == "internal_error"
    assert "RuntimeError: inside" in caplog.text


def test_a_body_over_the_limit_is_refused() -> None:
    with client_with(body) as client:
        assert client.post("/body", json={"a": 1}).json() == 1
        response = client.post("/body", json={"a" * BODY_BYTES_MAX: 1})
    assert response.status_code == 413
    assert response.json()["code"] == "request_entity_too_large"


def test_a_method_that_is_not_offered_says_which_are() -> None:
    with client_with() as client:
        response = client.post("/healthz")
    assert response.status_code == 405
    assert "GET" in response.headers["allow"]


@pytest.mark.parametrize("path", ["nsaddr", "nsaddr-unit", "nsaddr-unit?nofix=1"])
def test_rocketmq_clients_find_name_servers_by_the_address_by_which_they_came(path: str) -> None:
    with client_with() as client:
        answer = client.get(f"/rocketmq/{path}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text == "10.0.0.1:9876;testserver.local:9877;testserver.local:9876"


def test_what_is_not_a_list_of_name_servers_is_not_found() -> None:
    with client_with() as client:
        assert client.get("/rocketmq/other").status_code == 404
