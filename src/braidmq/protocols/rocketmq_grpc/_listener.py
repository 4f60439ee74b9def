"""The listener: the front, and behind it, from the first client on, gRPC's server.

A node that no such client comes to does not load gRPC, which takes some 30 MB.
"""

import asyncio
import importlib
import ssl
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from braidmq.core.metrics import Metric, MetricKind
from braidmq.model.errors import ListenFailed
from braidmq.protocols.listener import Address, Endpoint, bind, bound_addresses
from braidmq.protocols.rocketmq_grpc._front import Front
from braidmq.protocols.rocketmq_grpc._services import GrpcLimits, GrpcServices

if TYPE_CHECKING:
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
        self._behind: Address | None = None
        self._opening = asyncio.Lock()
        self._addresses: list[Address] = []

    async def start(self) -> tuple[Address, ...]:
        if self._make_tls is not None and self._tls_at_once:
            await self._own_tls()
        bound = [(await bind(self.name, endpoint.listen), endpoint) for endpoint in self._endpoints]
        tls = None if self._make_tls is None else self._own_tls
        self._front = Front(self._open, tls, connections_max=self._limits.connections_max)
        for sockets, _ in bound:
            self._addresses += bound_addresses(sockets)
            self._front.start(sockets)
        return tuple(self._addresses)

    async def _open(self) -> Address:
        """Where gRPC's server is, which is started now if it is not there yet."""
        async with self._opening:
            if self._behind is None:
                assert self._front is not None
                module = await asyncio.to_thread(importlib.import_module, _SERVER)
                server: GrpcServer = module.GrpcServer(self._services, self._limits, self._front.peer_of)
                server.port.listens_at(self._addresses[0], self._endpoints[0].advertised)
                self._behind = await server.start()
                self._server = server
            return self._behind

    async def _own_tls(self) -> ssl.SSLContext:
        """Raises ListenFailed."""
        if self._tls is None:
            assert self._make_tls is not None
            try:
                self._tls = await asyncio.to_thread(self._make_tls)
            except (OSError, ValueError) as error:
                raise ListenFailed(f"the certificate for {self.name} cannot be used: {error}") from error
        return self._tls

    def stop_accepting(self) -> None:
        if self._front is not None:
            self._front.stop_accepting()

    async def drain(self, timeout_s: float) -> None:
        if self._server is not None:
            await self._server.drain(timeout_s)

    async def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.close()
        if self._front is not None:
            await self._front.close()

    def metrics(self) -> Iterator[Metric]:
        """Who is connected, and what they ask."""
        connected = 0 if self._front is None else len(self._front)
        yield Metric("braid_rocketmq_grpc_connections", MetricKind.GAUGE, "Connections of gRPC clients.", connected)
        if self._server is not None:
            yield from self._server.metrics()
