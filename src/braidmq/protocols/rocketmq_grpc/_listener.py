"""The listener: gRPC's server behind the front."""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import grpc
import grpc.aio

from braidmq.core.metrics import Metric, MetricKind
from braidmq.model.errors import ListenFailed
from braidmq.protocols.listener import Address, Endpoint, bind, bound_addresses
from braidmq.protocols.rocketmq_grpc._call import Port
from braidmq.protocols.rocketmq_grpc._checks import TelemetryChecks
from braidmq.protocols.rocketmq_grpc._clients import Clients
from braidmq.protocols.rocketmq_grpc._front import Front
from braidmq.protocols.rocketmq_grpc._service import Service
from braidmq.protocols.rocketmq_grpc._services import GrpcServices

METADATA_BYTES_MAX: Final = 16 << 10
PING_EVERY_MS: Final = 60_000
PING_WAIT_MS: Final = 20_000
EXPIRE_S: Final = 10.0

MakeTls = Callable[[], ssl.SSLContext]


class RocketMQGrpcListener:
    """See `protocols.listener.Listener`. `make_tls` is None where only plain connections are taken."""

    name = "rocketmq_grpc"

    def __init__(
        self,
        endpoints: Iterable[Endpoint],
        services: GrpcServices,
        *,
        make_tls: MakeTls | None,
        request_bytes_max: int,
        connections_max: int,
        calls_max: int,
    ) -> None:
        self._endpoints = tuple(endpoints)
        self._make_tls = make_tls
        self._request_bytes_max = request_bytes_max
        self._connections_max = connections_max
        self._calls_max = calls_max
        self._clients = Clients(services.members, clients_max=connections_max)
        self._port = Port(services, self._clients)
        self._service = Service(self._port)
        self._front: Front | None = None
        self._server: grpc.aio.Server | None = None
        self._timer: asyncio.TimerHandle | None = None
        services.halves.ask_through(TelemetryChecks(services.members, self._port))

    async def start(self) -> tuple[Address, ...]:
        tls = None if self._make_tls is None else await asyncio.to_thread(self._tls)
        bound = [(await bind(self.name, endpoint.listen), endpoint) for endpoint in self._endpoints]
        self._server = grpc.aio.server(options=self._options(), maximum_concurrent_rpcs=self._calls_max)
        self._server.add_generic_rpc_handlers((self._service.handler(),))
        behind = Address("127.0.0.1", self._server.add_insecure_port("127.0.0.1:0"))
        await self._server.start()
        self._front = Front(behind, tls, connections_max=self._connections_max)
        self._port.peer_of = self._front.peer_of
        addresses: list[Address] = []
        for sockets, endpoint in bound:
            addresses += bound_addresses(sockets)
            self._front.start(sockets)
            if endpoint is self._endpoints[0]:
                self._port.listens_at(addresses[0], endpoint.advertised)
        self._expire_later()
        return tuple(addresses)

    def _tls(self) -> ssl.SSLContext:
        assert self._make_tls is not None
        try:
            return self._make_tls()
        except (OSError, ValueError) as error:
            raise ListenFailed(f"the certificate for {self.name} cannot be used: {error}") from error

    def _options(self) -> list[tuple[str, int]]:
        """Clients ping as they like, some of them without a call; who does not answer our pings has gone."""
        return [
            ("grpc.max_receive_message_length", self._request_bytes_max),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_metadata_size", METADATA_BYTES_MAX),
            ("grpc.absolute_max_metadata_size", METADATA_BYTES_MAX),
            ("grpc.http2.min_ping_interval_without_data_ms", 0),
            ("grpc.http2.max_ping_strikes", 0),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.keepalive_time_ms", PING_EVERY_MS),
            ("grpc.keepalive_timeout_ms", PING_WAIT_MS),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.so_reuseport", 0),
        ]

    def _expire_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(EXPIRE_S, self._expire)

    def _expire(self) -> None:
        self._clients.expire()
        self._expire_later()

    def stop_accepting(self) -> None:
        if self._front is not None:
            self._front.stop_accepting()

    async def drain(self, timeout_s: float) -> None:
        await self._service.idle(timeout_s)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        server, self._server = self._server, None
        if server is not None:
            await server.stop(None)
        if self._front is not None:
            await self._front.close()

    def metrics(self) -> Iterator[Metric]:
        """Who is connected, and what they ask."""
        connected = 0 if self._front is None else len(self._front)
        yield Metric("braid_rocketmq_grpc_connections", MetricKind.GAUGE, "Connections of gRPC clients.", connected)
        yield Metric("braid_rocketmq_grpc_clients", MetricKind.GAUGE, "gRPC clients known.", len(self._clients))
        for name, count in sorted(self._service.requests.items()):
            labels = {"request": name}
            yield Metric("braid_rocketmq_grpc_requests", MetricKind.COUNTER, "Calls, by name.", count, labels)
