"""gRPC's own server, with all calls, where only this machine reaches it. Importing this brings gRPC."""

import asyncio
from collections.abc import Iterator
from typing import Final

import grpc
import grpc.aio

from braidmq.core.metrics import Metric, MetricKind
from braidmq.protocols.listener import Address
from braidmq.protocols.rocketmq_grpc._call import PeerOf, Port
from braidmq.protocols.rocketmq_grpc._checks import TelemetryChecks
from braidmq.protocols.rocketmq_grpc._clients import Clients
from braidmq.protocols.rocketmq_grpc._service import Service
from braidmq.protocols.rocketmq_grpc._services import GrpcLimits, GrpcServices

METADATA_BYTES_MAX: Final = 16 << 10
PING_EVERY_MS: Final = 60_000
PING_WAIT_MS: Final = 20_000
EXPIRE_S: Final = 10.0


class GrpcServer:
    """Made when the first client comes."""

    def __init__(self, services: GrpcServices, limits: GrpcLimits, peer_of: PeerOf) -> None:
        self._limits = limits
        self._clients = Clients(services.members, clients_max=limits.connections_max)
        self.port = Port(services, self._clients)
        self.port.peer_of = peer_of
        self._service = Service(self.port)
        self._server = grpc.aio.server(options=self._options(), maximum_concurrent_rpcs=limits.calls_max)
        self._timer: asyncio.TimerHandle | None = None
        services.halves.ask_through(TelemetryChecks(services.members, self.port))

    async def start(self) -> Address:
        """Where it is reached."""
        self._server.add_generic_rpc_handlers((self._service.handler(),))
        place = Address("127.0.0.1", self._server.add_insecure_port("127.0.0.1:0"))
        await self._server.start()
        self._expire_later()
        return place

    async def drain(self, timeout_s: float) -> None:
        await self._service.idle(timeout_s)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._server.stop(None)

    def metrics(self) -> Iterator[Metric]:
        yield Metric("braid_rocketmq_grpc_clients", MetricKind.GAUGE, "gRPC clients known.", len(self._clients))
        for name, count in sorted(self._service.requests.items()):
            labels = {"request": name}
            yield Metric("braid_rocketmq_grpc_requests", MetricKind.COUNTER, "Calls, by name.", count, labels)

    def _options(self) -> list[tuple[str, int]]:
        """Clients ping as they like, some of them without a call; who does not answer our pings has gone."""
        return [
            ("grpc.max_receive_message_length", self._limits.request_bytes_max),
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
