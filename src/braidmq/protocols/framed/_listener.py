"""A listener whose connections are framed, on any number of addresses."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from braidmq.core.connections import ClientConnection
from braidmq.logger import get_logger
from braidmq.protocols.framed._connection import FramedConnection
from braidmq.protocols.framed._memory import RequestMemory
from braidmq.protocols.listener import Address, Endpoint, HasFileRoom, always_room, bind, bound_addresses
from braidmq.protocols.refusals import Refusals

_SWEEP_S = 10.0
_DRAIN_STEP_S = 0.01

_logger = get_logger(__name__)


class FramedLimits(NamedTuple):
    """How much clients may ask for, and how long they may be silent."""

    request_bytes_max: int
    buffer_bytes_max: int
    connections_max: int
    idle_s: float
    has_file_room: HasFileRoom = always_room


class FramedListener:
    """See `protocols.listener.Listener`. A protocol's listener derives from this, and gives `name` and `_connect`."""

    name = ""

    def __init__(
        self,
        endpoints: Iterable[Endpoint],
        limits: FramedLimits,
    ) -> None:
        self.memory = RequestMemory(limits.buffer_bytes_max)
        self.request_bytes_max = limits.request_bytes_max
        self._endpoints = tuple(endpoints)
        self._connections_max = limits.connections_max
        self._idle_s = limits.idle_s
        self._has_file_room = limits.has_file_room
        self._refusals = Refusals(_logger, "too many connections")
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

    @property
    def connected(self) -> int:
        """How many clients are connected."""
        return len(self._connections)

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
        self._refusals.close()
        await asyncio.sleep(0)

    def connections(self) -> Iterator[ClientConnection]:
        """Who is connected."""
        began_ms = time.time_ns() // 1_000_000 - int(asyncio.get_running_loop().time() * 1000)
        for connection in list(self._connections):
            client_id, version = connection.client
            yield ClientConnection(
                self.name,
                client_id,
                *connection.peer,
                version=version,
                since_ms=began_ms + int(connection.opened_at * 1000),
                last_seen_ms=began_ms + int(connection.heard_at * 1000),
                channel=connection,
            )

    # The connections' side.

    def opened(self, connection: FramedConnection) -> bool:
        if len(self._connections) >= self._connections_max:
            self._refusals.note(see=f"{self.name}.connections_max", open=len(self._connections))
            return False
        if not self._has_file_room():
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
