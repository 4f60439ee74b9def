"""The listener: the front, and behind it what serves clients.

That is loaded in another thread while the node starts: it takes a good part of a second, and many clients that come at
once would not wait for it.
"""

import asyncio
import importlib
import ssl
import subprocess
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from braidmq.core.connections import ClientConnection
from braidmq.core.metrics import Metric, MetricKind
from braidmq.model.errors import ListenFailed
from braidmq.protocols.listener import Address, Endpoint, bind, bound_addresses
from braidmq.protocols.rocketmq_grpc._front import Front
from braidmq.protocols.rocketmq_grpc._services import GrpcLimits, GrpcServices

if TYPE_CHECKING:
    from braidmq.protocols.rocketmq_grpc._connection import GrpcConnection
    from braidmq.protocols.rocketmq_grpc._server import GrpcServer

MakeTls = Callable[[], ssl.SSLContext]

_SERVER: Final = "braidmq.protocols.rocketmq_grpc._server"


class RocketMQGrpcListener:
    """See `protocols.listener.Listener`. `make_tls` is None where only plain connections are taken; with `tls_at_once`
    it is called at the start, and else when the first client wants it."""

    name = "rocketmq_grpc"

    def __init__(
        self,
        endpoints: Iterable[Endpoint],
        services: GrpcServices,
        limits: GrpcLimits,
        *,
        make_tls: MakeTls | None,
        tls_at_once: bool = True,
    ) -> None:
        self._endpoints = tuple(endpoints)
        self._services = services
        self._limits = limits
        self._make_tls = make_tls
        self._tls_at_once = tls_at_once
        self._tls: ssl.SSLContext | None = None
        self._front: Front | None = None
        self._server: GrpcServer | None = None
        self._opening = asyncio.Lock()
        self._securing = asyncio.Lock()
        self._addresses: list[Address] = []
        self._warming: asyncio.Task[GrpcServer] | None = None

    async def start(self) -> tuple[Address, ...]:
        if self._make_tls is not None and self._tls_at_once:
            await self._own_tls()
        bound = [(await bind(self.name, endpoint.listen), endpoint) for endpoint in self._endpoints]
        tls = None if self._make_tls is None else self._own_tls
        self._front = Front(
            self._connection,
            tls,
            connections_max=self._limits.connections_max,
            has_file_room=self._limits.has_file_room,
        )
        for sockets, _ in bound:
            self._addresses += bound_addresses(sockets)
            self._front.start(sockets)
        self._warming = asyncio.create_task(self._made_server(), name="rocketmq_grpc warms up")
        return tuple(self._addresses)

    async def _connection(self) -> "GrpcConnection":
        """For a new connection."""
        return (await self._made_server()).connection()

    async def _made_server(self) -> "GrpcServer":
        async with self._opening:
            if self._server is None:
                module = await asyncio.to_thread(importlib.import_module, _SERVER)
                bound, advertised = self._addresses[0], self._endpoints[0].advertised
                self._server = module.GrpcServer(self._services, self._limits, bound=bound, advertised=advertised)
            return self._server

    async def _own_tls(self) -> ssl.SSLContext:
        """Raises ListenFailed."""
        async with self._securing:
            if self._tls is None:
                assert self._make_tls is not None
                try:
                    self._tls = await asyncio.to_thread(self._make_tls)
                except (OSError, ValueError, subprocess.SubprocessError) as error:
                    raise ListenFailed(f"the certificate for {self.name} cannot be used: {error}") from error
        return self._tls

    def stop_accepting(self) -> None:
        if self._front is not None:
            self._front.stop_accepting()

    async def drain(self, timeout_s: float) -> None:
        if self._server is not None:
            await self._server.drain(timeout_s)

    async def close(self) -> None:
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait((self._warming,))
        server, self._server = self._server, None
        if server is not None:
            await server.close()
        if self._front is not None:
            await self._front.close()

    @property
    def connected(self) -> int:
        """How many clients are connected."""
        return 0 if self._front is None else len(self._front)

    def connections(self) -> Iterator[ClientConnection]:
        """Who is connected."""
        if self._server is not None:
            yield from self._server.connections()

    def metrics(self) -> Iterator[Metric]:
        """Who is connected, and what they ask."""
        connected = self.connected
        yield Metric("braid_rocketmq_grpc_connections", MetricKind.GAUGE, "Connections of gRPC clients.", connected)
        if self._server is not None:
            yield from self._server.metrics()
