"""A listener whose connections are framed, on any number of addresses."""

import asyncio
from collections.abc import Callable, Iterable

import structlog

from braidmq.protocols.framed._connection import FramedConnection
from braidmq.protocols.framed._memory import RequestMemory
from braidmq.protocols.listener import Address, Endpoint, bind, bound_addresses

_SWEEP_S = 10.0
_DRAIN_STEP_S = 0.01

_logger = structlog.get_logger(__name__)


class FramedListener:
    """See `protocols.listener.Listener`. A protocol's listener derives from this, and gives `name` and `_connect`."""

    name = ""

    def __init__(
        self,
        endpoints: Iterable[Endpoint],
        *,
        request_bytes_max: int,
        buffer_bytes_max: int,
        connections_max: int,
        idle_s: float,
    ) -> None:
        self.memory = RequestMemory(buffer_bytes_max)
        self.request_bytes_max = request_bytes_max
        self._endpoints = tuple(endpoints)
        self._connections_max = connections_max
        self._idle_s = idle_s
        self._connections: set[FramedConnection] = set()
        self._servers: list[asyncio.Server] = []
        self._sweep: asyncio.TimerHandle | None = None

    def _connect(self, advertise: Callable[[Address], Address]) -> FramedConnection:
        """A connection for a client that has come."""
        raise NotImplementedError

    async def start(self) -> tuple[Address, ...]:
        addresses: list[Address] = []
        for endpoint in self._endpoints:
            addresses += await self._listen(endpoint)
        self._sweep = asyncio.get_running_loop().call_later(_SWEEP_S, self._close_idle)
        return tuple(addresses)

    async def _listen(self, endpoint: Endpoint) -> tuple[Address, ...]:
        loop = asyncio.get_running_loop()
        sockets = await bind(self.name, endpoint.listen)
        self._servers += [
            await loop.create_server(lambda: self._connect(endpoint.advertise), sock=each) for each in sockets
        ]
        return bound_addresses(sockets)

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

    # The connections' side.

    def opened(self, connection: FramedConnection) -> bool:
        if len(self._connections) >= self._connections_max:
            _logger.warning("too many connections", see=f"{self.name}.connections_max", open=len(self._connections))
            return False
        self._connections.add(connection)
        return True

    def closed(self, connection: FramedConnection) -> None:
        self._connections.discard(connection)

    def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep = loop.call_later(_SWEEP_S, self._close_idle)
        before = loop.time() - self._idle_s
        for connection in [each for each in self._connections if each.is_idle and each.heard_at < before]:
            connection.close()
