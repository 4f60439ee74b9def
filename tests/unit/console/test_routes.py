"""The console's routes, built only when somebody asks for one of them."""

import asyncio
from typing import Any

import httpx
from litestar import get

from braidmq.console import ROOT, console_routes
from braidmq.core.access import Action, ResourceKind
from braidmq.core.health import Health
from braidmq.protocols.http import HttpServices, LateRoutes, needs
from braidmq.protocols.http._app import build_app
from braidmq.protocols.http._late import LateApp

OPEN = needs(Action.PROBE, ResourceKind.NODE)


@get("/late/page", opt=OPEN)
async def page() -> str:
    return "late"


@get("/later", opt=OPEN)
async def elsewhere() -> str:
    return "first"


def app_of(*controllers: Any) -> Any:
    services = HttpServices("n", "1", Health(), [], list)
    return build_app(services, body_bytes_max=100, controllers=controllers, is_described=False)[0]


def test_every_route_of_the_console_lies_under_its_root_and_declares_its_need() -> None:
    services = HttpServices("n", "1", Health(), [], list)
    _, operations = build_app(services, body_bytes_max=100, controllers=[console_routes("t")], is_described=False)
    paths = [operation.key.split()[1] for operation in operations]
    assert len(paths) > 40
    assert all(LateRoutes(ROOT, lambda: console_routes("t")).holds(path) for path in paths)


async def test_late_routes_are_built_once_and_by_the_first_who_asks_for_one() -> None:
    built: list[str] = []

    def made() -> Any:
        built.append("routes")
        return page

    app: Any = LateApp(app_of(elsewhere), LateRoutes("/late", made), app_of)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://braid") as client:
        assert (await client.get("/later")).text == "first"
        assert built == []
        answers = await asyncio.gather(*(client.get("/late/page") for _ in range(5)))
        assert [answer.text for answer in answers] == ["late"] * 5
        assert (await client.get("/late/none")).status_code == 404
    assert built == ["routes"]
