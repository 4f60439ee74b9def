"""The listener: Kafka's protocol on any number of addresses."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

import structlog

from braidmq.core.metrics import Metric, MetricKind
from braidmq.protocols.kafka._connection import Connection
from braidmq.protocols.kafka._memory import RequestMemory
from braidmq.protocols.kafka._services import KafkaServices
from braidmq.protocols.kafka.codec import APIS
from braidmq.protocols.listener import Address, Endpoint, bind, bound_addresses

_SWEEP_S = 10.0
_DRAIN_STEP_S = 0.01

_logger = structlog.get_logger(__name__)


class KafkaListener:
    """See `protocols.listener.Listener`."""

    name = "kafka"

    def __init__(
        self,
        endpoints: Iterable[Endpoint],
        services: KafkaServices,
        *,
        request_bytes_max: int,
        buffer_bytes_max: int,
        connections_max: int,
        idle_s: float,
    ) -> None:
        self.services = services
        self.memory = RequestMemory(buffer_bytes_max)
        self.request_bytes_max = request_bytes_max
        self._endpoints = tuple(endpoints)
        self._connections_max = connections_max
        self._idle_s = idle_s
        self.requests: Counter[int] = Counter()
        self._connections: set[Connection] = set()
        self._servers: list[asyncio.Server] = []
        self._sweep: asyncio.TimerHandle | None = None

    async def start(self) -> tuple[Address, ...]:
        loop = asyncio.get_running_loop()
        addresses: list[Address] = []
        for endpoint in self._endpoints:
            sockets = await bind(self.name, endpoint.listen)
            make = partial(Connection, self, endpoint.advertise)
            addresses += bound_addresses(sockets)
            self._servers += [await loop.create_server(make, sock=each) for each in sockets]
        self._sweep = loop.call_later(_SWEEP_S, self._close_idle)
        return tuple(addresses)

    def stop_accepting(self) -> None:
        for server in self._servers:
            server.close()

    async def drain(self, timeout_s: float) -> None:
        """Long polls end with their connection: only what changes something is waited for."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        while asyncio.get_running_loop().time() < deadline:
            for connection in [each for each in self._connections if each.is_idle]:
                connection.close()
            if not self._connections:
                return
            await asyncio.sleep(_DRAIN_STEP_S)

    async def close(self) -> None:
        self.stop_accepting()
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in list(self._connections):
            connection.abort()
        await asyncio.sleep(0)

    def metrics(self) -> Iterator[Metric]:
        """Who is connected, and what they ask."""
        yield Metric("braid_kafka_connections", MetricKind.GAUGE, "Kafka clients connected.", len(self._connections))
        held = self.memory.partial_bytes + self.memory.whole_bytes
        yield Metric("braid_kafka_request_bytes", MetricKind.GAUGE, "Bytes of requests under way.", held)
        sessions = len(self.services.fetch_sessions)
        yield Metric("braid_kafka_fetch_sessions", MetricKind.GAUGE, "Fetch sessions kept for consumers.", sessions)
        for key, count in sorted(self.requests.items()):
            labels = {"api": APIS[key].name}
            yield Metric("braid_kafka_requests", MetricKind.COUNTER, "Requests answered, by API.", count, labels)

    # The connections' side.

    def opened(self, connection: Connection) -> bool:
        if len(self._connections) >= self._connections_max:
            _logger.warning("too many kafka connections; see kafka.connections_max", open=len(self._connections))
            return False
        self._connections.add(connection)
        return True

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep = loop.call_later(_SWEEP_S, self._close_idle)
        before = loop.time() - self._idle_s
        for connection in [each for each in self._connections if each.is_idle and each.heard_at < before]:
            connection.close()
