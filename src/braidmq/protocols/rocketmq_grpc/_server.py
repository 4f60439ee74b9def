"""All connections of gRPC clients, and what they share. Made when the first client comes: importing this brings
protobuf."""

import asyncio
import time
from collections.abc import Iterator
from typing import Final

from braidmq.core.connections import ClientConnection
from braidmq.core.metrics import Metric, MetricKind
from braidmq.protocols.framed import RequestMemory
from braidmq.protocols.http2 import Limits
from braidmq.protocols.listener import Address
from braidmq.protocols.rocketmq_grpc._call import Port
from braidmq.protocols.rocketmq_grpc._checks import TelemetryChecks
from braidmq.protocols.rocketmq_grpc._clients import Clients
from braidmq.protocols.rocketmq_grpc._connection import GrpcConnection
from braidmq.protocols.rocketmq_grpc._questions import TelemetryQuestions
from braidmq.protocols.rocketmq_grpc._service import Service
from braidmq.protocols.rocketmq_grpc._services import GrpcLimits, GrpcServices

NAME: Final = "rocketmq_grpc"
METADATA_BYTES_MAX: Final = 16 << 10
STREAMS_MAX: Final = 1_000
"""Calls of one connection at a time."""
LOOK_S: Final = 10.0
PROBE_LOOKS: Final = 6
"""Every so many looks, silent clients are asked whether they live."""


class GrpcServer:
    """Takes connections whose TLS, where they have it, has ended before."""

    def __init__(
        self, services: GrpcServices, limits: GrpcLimits, *, bound: Address, advertised: Address | None
    ) -> None:
        self._limits = limits
        self._clients = Clients(services.members, clients_max=limits.connections_max, on_gone=services.lite.forget)
        self.port = Port(services, self._clients)
        self.port.listens_at(bound, advertised)
        self._service = Service(self.port, calls_max=limits.calls_max)
        self._memory = RequestMemory(limits.buffer_bytes_max)
        self._connections: set[GrpcConnection] = set()
        self._looks = 0
        services.halves.ask_through(TelemetryChecks(services.members, self.port))
        services.questions.ask_through(TelemetryQuestions(self.port))
        self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def connection(self) -> GrpcConnection:
        """The protocol of a new connection."""
        made = GrpcConnection(
            self._service,
            self._memory,
            Limits(streams_max=STREAMS_MAX, header_bytes_max=METADATA_BYTES_MAX),
            request_bytes_max=self._limits.request_bytes_max,
            on_end=self._connections.discard,
        )
        self._connections.add(made)
        return made

    async def drain(self, timeout_s: float) -> None:
        for connection in list(self._connections):
            connection.go_away()
        await self._service.idle(timeout_s)

    async def close(self) -> None:
        self._timer.cancel()
        for connection in list(self._connections):
            connection.close()

    def metrics(self) -> Iterator[Metric]:
        yield Metric("braid_rocketmq_grpc_clients", MetricKind.GAUGE, "gRPC clients known.", len(self._clients))
        for name, count in sorted(self._service.requests.items()):
            labels = {"request": name}
            yield Metric("braid_rocketmq_grpc_requests", MetricKind.COUNTER, "Calls, by name.", count, labels)

    def connections(self) -> Iterator[ClientConnection]:
        """Clients that have introduced themselves, and hold their stream open."""
        began_ms = time.time_ns() // 1_000_000 - int(asyncio.get_running_loop().time() * 1000)
        for client in list(self._clients):
            if client.is_alive:
                host, _, port = client.address.rpartition(":")
                yield ClientConnection(
                    NAME,
                    client.id,
                    host.strip("[]"),
                    int(port) if port.isdigit() else 0,
                    version=client.language,
                    since_ms=began_ms + int(client.since_s * 1000),
                    last_seen_ms=began_ms + int(client.seen_s * 1000),
                    channel=client,
                )

    def _look(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look)
        self._clients.expire()
        self._looks += 1
        if self._looks % PROBE_LOOKS == 0:
            for connection in list(self._connections):
                connection.probe()
