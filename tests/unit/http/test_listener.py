"""Taking ports, and an HTTP listener from its start to its end."""

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from braidmq.core.health import Health
from braidmq.core.metrics import Metric, MetricKind
from braidmq.logger import FACTS
from braidmq.model.errors import ListenFailed
from braidmq.protocols.http import HttpListener, HttpServices
from braidmq.protocols.listener import Address, bind, bound_addresses

LOCAL = Address("127.0.0.1", 0)
LARGE_BYTES = 32 * 1024 * 1024


def large_metric() -> list[Metric]:
    """More than the sockets of both sides can hold, so that an answer stays under way until its reader goes on."""
    return [Metric("large", MetricKind.GAUGE, "x" * LARGE_BYTES, 1)]


async def listener_on(address: Address, connections_max: int = 10) -> HttpListener:
    services = HttpServices("n", "1", Health(), [large_metric], list)
    return HttpListener(
        address, await bind("http", address), services, body_bytes_max=1024, connections_max=connections_max
    )


@pytest.fixture
async def listener() -> AsyncIterator[HttpListener]:
    listener = await listener_on(LOCAL, connections_max=2)
    yield listener
    await listener.close()


async def exchange(address: Address, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()
        await writer.wait_closed()


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: localhost\r\nConnection: close\r\n\r\n".encode()


async def test_port_0_takes_a_free_port_and_tells_which() -> None:
    sockets = await bind("http", LOCAL)
    (address,) = bound_addresses(sockets)
    assert address.port > 0
    with pytest.raises(ListenFailed, match="the port is in use by another process; choose another with --set http"):
        await bind("http", address)
    sockets[0].close()


async def test_all_addresses_of_a_name_get_the_same_port() -> None:
    sockets = await bind("http", Address("localhost", 0))
    assert len({address.port for address in bound_addresses(sockets)}) == 1
    for listening in sockets:
        listening.close()


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("192.0.2.1", "this machine does not have that address"),
        ("no-such-host.invalid", "cannot listen"),
        ("x" * 70, "cannot listen"),
    ],
)
async def test_an_address_that_is_not_ours_is_refused(host: str, why: str) -> None:
    with pytest.raises(ListenFailed, match=why):
        await bind("http", Address(host, 0))


def test_an_ipv6_address_is_shown_in_brackets() -> None:
    assert str(Address("::1", 80)) == "[::1]:80"


async def test_a_listener_that_stopped_accepting_refuses_new_connections(listener: HttpListener) -> None:
    (address,) = await listener.start()
    assert b"200 OK" in await exchange(address, get("/healthz"))
    listener.stop_accepting()
    await listener.drain(5)
    with pytest.raises(ConnectionRefusedError):
        await exchange(address, get("/healthz"))


async def test_an_answer_under_way_is_finished_while_the_listener_drains(listener: HttpListener) -> None:
    (address,) = await listener.start()
    reader, writer = await asyncio.open_connection(*address)
    writer.write(get("/metrics"))
    begin = await reader.readexactly(1000)
    listener.stop_accepting()
    draining = asyncio.create_task(listener.drain(20))
    rest = await reader.read()
    await draining
    writer.close()
    head, _, body = (begin + rest).partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head
    assert len(body) > LARGE_BYTES


async def test_a_reader_that_never_goes_on_is_cut_off_when_the_time_is_over(listener: HttpListener) -> None:
    (address,) = await listener.start()
    reader, writer = await asyncio.open_connection(*address)
    writer.write(get("/metrics"))
    await reader.readexactly(1000)
    listener.stop_accepting()
    await listener.drain(0.2)
    async with asyncio.timeout(2):
        await listener.close()
    writer.close()


async def test_more_connections_than_allowed_are_answered_with_503(listener: HttpListener) -> None:
    (address,) = await listener.start()
    idle = [await asyncio.open_connection(*address) for _ in range(2)]
    answer = await exchange(address, get("/healthz"))
    for _, writer in idle:
        writer.close()
    assert answer.startswith(b"HTTP/1.1 503")


async def test_closing_is_quick_whatever_clients_do_and_may_be_repeated(listener: HttpListener) -> None:
    (address,) = await listener.start()
    with socket.create_connection(address) as silent:
        await listener.drain(0)
        async with asyncio.timeout(2):
            await listener.close()
            await listener.close()
        assert await asyncio.to_thread(_is_closed, silent)


def _is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


async def test_a_listener_that_never_started_can_be_closed() -> None:
    await (await listener_on(LOCAL)).close()


async def test_what_is_not_http_is_answered_and_harms_nobody(listener: HttpListener) -> None:
    (address,) = await listener.start()
    assert (await exchange(address, b"\x00\x01\x02 not http\r\n\r\n")).startswith(b"HTTP/1.1 400")
    assert b"200 OK" in await exchange(address, get("/healthz"))


@pytest.mark.parametrize(
    ("request_bytes", "event"),
    [(b"what is this\r\n\r\n", "Invalid HTTP request received."), (get("/livez"), "Exceeded concurrency limit.")],
)
async def test_requests_that_are_refused_are_few_lines_in_the_log(
    caplog: pytest.LogCaptureFixture, request_bytes: bytes, event: str
) -> None:
    listener = await listener_on(LOCAL, connections_max=1)
    (address,) = await listener.start()
    _, held = await asyncio.open_connection(*address)
    for _ in range(20):
        await exchange(address, request_bytes)
    held.close()
    await listener.close()
    told = [getattr(record, FACTS)["refused"] for record in caplog.records if record.getMessage() == event]
    assert (len(told), sum(told)) == (2, 20)
