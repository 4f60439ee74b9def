"""Files of the console are kept by browsers for good, under an address that names their content."""

import gzip
from typing import Any, cast

import httpx
import pytest

from braidmq.console import _static, console_routes
from braidmq.console.pages import ENTRANCE
from braidmq.core.health import Health
from braidmq.protocols.http import HttpServices
from braidmq.protocols.http._app import build_app

OWN = (_static.FOLDER / "console.css").read_bytes()


async def ask(address: str, **headers: str) -> httpx.Response:
    services = HttpServices("n", "1", Health(), [], list)
    routes = console_routes("t", ENTRANCE)
    app, _ = build_app(services, body_bytes_max=100, controllers=[routes], is_described=False)
    transport = httpx.ASGITransport(app=cast("Any", app))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        given = {"accept-encoding": "identity", **{name.replace("_", "-"): value for name, value in headers.items()}}
        return await client.get(address, headers=given)


async def test_who_asks_for_this_very_content_keeps_it_for_good() -> None:
    answer = await ask(_static.address_of("console.css"))
    assert (answer.status_code, answer.content) == (200, OWN)
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"].startswith("text/css")


@pytest.mark.parametrize("version", ["", "?v=0123456789abcdef"])
async def test_who_asks_for_another_content_gets_todays_and_asks_again(version: str) -> None:
    answer = await ask(f"/console/static/console.css{version}")
    assert (answer.content, answer.headers["cache-control"]) == (OWN, "no-cache")
    again = await ask("/console/static/console.css", if_none_match=answer.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")


async def test_files_go_compressed_to_who_understands_it() -> None:
    answer = await ask("/console/static/console.css", accept_encoding="br, gzip")
    assert (answer.headers["content-encoding"], answer.headers["vary"]) == ("gzip", "accept-encoding")
    assert int(answer.headers["content-length"]) == len(gzip.compress(OWN, 6)) < len(OWN) / 3
    assert answer.content == OWN


@pytest.mark.parametrize("name", ["none.css", "../_app.py", "%2e%2e/_app.py", "vendor", "/etc/passwd", ""])
async def test_nothing_else_is_a_file(name: str) -> None:
    assert (await ask(f"/console/static/{name}")).status_code in (404, 405)


def test_a_file_that_could_not_be_fetched_keeps_its_plain_address() -> None:
    assert _static.address_of("vendor/none.js") == "/console/static/vendor/none.js"
