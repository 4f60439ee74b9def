"""Metadata that is longer than the node takes: refused, and the others on the same connection go on."""

import asyncio

import grpc.aio
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import Event, ResponseReceived, StreamReset

from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc.codes import Code
from rocketmq_grpc_support import GrpcClient, resource

TOO_LONG = {
    "one value": [("x-much", "y" * 20_000)],
    "many entries": [(f"x-{number}", "y") for number in range(2_000)],
}


@pytest.mark.parametrize("name", TOO_LONG)
async def test_a_call_with_too_much_is_refused_and_the_next_is_answered(client: GrpcClient, name: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await client.call("QueryRoute", topic=resource("orders"), metadata=[*client.metadata, *TOO_LONG[name]])
    assert raised.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (await client.call("QueryRoute", topic=resource("orders"))).status.code == Code.OK


async def test_a_client_whose_connection_was_ended_for_it_comes_back(client: GrpcClient) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await client.call("QueryRoute", topic=resource("orders"), metadata=[("x-much", "y" * (1 << 20))])
    assert raised.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert (await client.call("QueryRoute", topic=resource("orders"))).status.code == Code.OK


async def test_as_much_metadata_as_clients_have_is_taken(client: GrpcClient) -> None:
    metadata = [*client.metadata, ("authorization", "y" * 4_000), ("x-trace", "z" * 4_000)]
    assert (await client.call("QueryRoute", topic=resource("orders"), metadata=metadata)).status.code == Code.OK


@pytest.mark.parametrize("length", [20_000, 30_000])
async def test_a_client_that_does_not_heed_the_limit_loses_this_call_only(address: str, length: int) -> None:
    async with asyncio.timeout(20):
        raw = await RawClient.connected(address)
        refused = raw.call([("x-much", "y" * length)])
        answer = await raw.told(refused)
        assert isinstance(answer, StreamReset)
        assert answer.error_code == ErrorCodes.ENHANCE_YOUR_CALM
        answered = raw.call([])
        assert isinstance(await raw.told(answered), ResponseReceived)
        raw.close()


async def test_metadata_without_end_ends_the_connection_and_no_other(address: str, client: GrpcClient) -> None:
    async with asyncio.timeout(20):
        raw = await RawClient.connected(address)
        raw.call([(f"x-{number}", "y" * 1_000) for number in range(5_000)])
        await raw.ended()
        raw.close()
    assert (await client.call("QueryRoute", topic=resource("orders"))).status.code == Code.OK


class RawClient:
    """HTTP/2 without any care for what the other side has announced."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._connection = H2Connection(H2Configuration(header_encoding="utf-8"))

    @classmethod
    async def connected(cls, address: str) -> "RawClient":
        host, _, port = address.rpartition(":")
        client = cls(*await asyncio.open_connection(host, int(port)))
        client._connection.initiate_connection()
        client._send()
        return client

    def call(self, metadata: list[tuple[str, str]]) -> int:
        """Ask for a route; the stream's number."""
        stream = self._connection.get_next_available_stream_id()
        path = f"/{wire.SERVICE}/QueryRoute"
        headers = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "node")]
        headers += [("content-type", "application/grpc"), ("te", "trailers"), *metadata]
        self._connection.send_headers(stream, headers)
        request = wire.QueryRouteRequest(topic=resource("orders")).SerializeToString()
        self._connection.send_data(stream, b"\0" + len(request).to_bytes(4, "big") + request, end_stream=True)
        self._send()
        return stream

    async def told(self, stream: int) -> Event:
        """What is said of the stream first."""
        while True:
            for event in self._connection.receive_data(await self._read()):
                if isinstance(event, ResponseReceived | StreamReset) and event.stream_id == stream:
                    return event

    async def ended(self) -> None:
        """The other side has closed the connection."""
        try:
            while await self._reader.read(1 << 16):
                pass
        except ConnectionError:
            pass  # it went while this was still sending

    async def _read(self) -> bytes:
        data = await self._reader.read(1 << 16)
        assert data, "the connection was closed"
        return data

    def _send(self) -> None:
        self._writer.write(self._connection.data_to_send())

    def close(self) -> None:
        self._writer.close()
