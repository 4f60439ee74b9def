"""What tests of the Kafka protocol share: a raw connection, records, and addresses."""

import asyncio
import contextlib
import struct
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from braidmq.core.access import Operation
from braidmq.model import DEFAULT_INSTANCE, Topic
from braidmq.node import Node
from braidmq.protocols.kafka._operations import operations
from braidmq.protocols.kafka.codec import ApiKey, ApiMessage, RequestHeader, decode_response, encode_request

T = TypeVar("T")
InThread = Callable[[Callable[[], T]], Awaitable[T]]
"""Runs what blocks beside the event loop."""


class RawClient:
    """Sends requests of any version, and frames that are none."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sent = 0

    def send(self, request: ApiMessage, version: int, client_id: str = "raw") -> None:
        self._sent += 1
        header = RequestHeader(
            request_api_key=request.API_KEY, request_api_version=version, correlation_id=self._sent, client_id=client_id
        )
        self._writer.write(encode_request(header, request))

    def send_bytes(self, data: bytes) -> None:
        self._writer.write(data)

    async def drain(self) -> None:
        """Until what was sent has left."""
        await self._writer.drain()

    async def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        return await self._reader.readexactly(size)

    async def receive(self, key: int, version: int) -> tuple[int, Any]:
        return decode_response(key, version, await self.receive_frame(), strict=True)

    async def ask(self, request: ApiMessage, version: int) -> Any:
        """The answer to a request sent alone."""
        self.send(request, version)
        number, response = await self.receive(request.API_KEY, version)
        assert number == self._sent
        return response

    async def is_closed(self) -> bool:
        async with asyncio.timeout(5):
            try:
                return await self._reader.read(1) == b""
            except ConnectionResetError:
                return True

    def finish(self) -> None:
        """All was said; answers may still come."""
        self._writer.write_eof()

    def close(self) -> None:
        self._writer.close()

    async def end(self) -> None:
        """Close at once, whatever was not sent yet."""
        if not self._writer.is_closing():
            self._writer.transport.abort()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


def bootstrap(node: Node) -> str:
    """Where clients of the node begin."""
    return str(node.addresses["kafka"][0])


def versions(key: ApiKey) -> range:
    """All versions of an API that are advertised."""
    operation: Operation[int, Any] | None = operations.get(key)
    assert operation is not None
    first, last = operation.handler.versions
    return range(first, last + 1)


def every_version(key: ApiKey) -> pytest.MarkDecorator:
    """Runs a test with each `version` of an API that is advertised."""
    return pytest.mark.parametrize("version", versions(key))


def topic_of(node: Node, name: str = "orders") -> Topic:
    topic = node.catalog.topic(DEFAULT_INSTANCE, name)
    assert topic is not None
    return topic


def exists(node: Node, name: str) -> bool:
    return node.catalog.topic(DEFAULT_INSTANCE, name) is not None


async def until(condition: Callable[[], bool], limit_s: float = 20.0) -> None:
    """Wait for what another task, thread or process brings about."""
    async with asyncio.timeout(limit_s):
        while not condition():  # noqa: ASYNC110 - the condition is no event of ours
            await asyncio.sleep(0.005)
