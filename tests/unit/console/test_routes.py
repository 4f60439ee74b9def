"""The console's routes, built only when somebody asks for one of them."""

import asyncio
import subprocess
import sys
from typing import Any

import httpx
from litestar import get

from braidmq.console import ROOT, console_routes, part_of
from braidmq.console.pages import PARTS
from braidmq.core.access import Action, ResourceKind
from braidmq.core.health import Health
from braidmq.protocols.http import HttpServices, LateRoutes, needs
from braidmq.protocols.http._app import build_app
from braidmq.protocols.http._late import LateApp

OPEN = needs(Action.PROBE, ResourceKind.NODE)


@get("/late/page", opt=OPEN)
async def page() -> str:
    return "late"


@get("/late/other", opt=OPEN)
async def other_page() -> str:
    return "other"


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
    late = LateRoutes(ROOT, part_of, lambda part: console_routes("t", part), entrance=part_of(ROOT))
    assert all(late.holds(path) for path in paths)


def test_every_route_of_the_console_is_in_the_part_that_its_address_leads_to() -> None:
    services = HttpServices("n", "1", Health(), [], list)
    found: list[str] = []
    for part in PARTS:
        routes = console_routes("t", part)
        _, operations = build_app(services, body_bytes_max=100, controllers=[routes], is_described=False)
        assert {part_of(operation.key.split()[1]) for operation in operations} == {part}
        found += [operation.key for operation in operations]
    _, whole = build_app(services, body_bytes_max=100, controllers=[console_routes("t")], is_described=False)
    assert sorted(found) == sorted(operation.key for operation in whole)


def test_a_part_is_put_together_without_the_others() -> None:
    program = (
        "from braidmq.console import console_routes, part_of; console_routes('t', part_of('/console')); import sys;"
    )
    program += "print([name for name in sys.modules if name.startswith('braidmq.console.pages.')])"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == "['braidmq.console.pages.overview']"


async def test_late_routes_are_built_once_by_the_first_who_asks_for_one_but_for_the_entrance() -> None:
    built: list[str] = []

    def made(part: str) -> Any:
        built.append(part)
        return other_page if part == "other" else page

    routes = LateRoutes("/late", lambda path: "other" if "other" in path else "page", made, entrance="page")
    app: Any = LateApp(app_of(elsewhere), routes, app_of)
    assert built == ["page"]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://braid") as client:
        assert (await client.get("/later")).text == "first"
        assert (await client.get("/late/page")).text == "late"
        assert (await client.get("/late/none")).status_code == 404
        assert built == ["page"]
        answers = await asyncio.gather(*(client.get("/late/other") for _ in range(5)))
        assert [answer.text for answer in answers] == ["other"] * 5
    assert built == ["page", "other"]
