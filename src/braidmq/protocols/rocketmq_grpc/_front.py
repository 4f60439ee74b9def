"""The front: one port for clients with TLS and clients without.

The first byte of a connection says which one it is: a TLS handshake begins with 22, HTTP/2 with a letter.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Final

from braidmq.logger import get_logger
from braidmq.model.errors import ListenFailed
from braidmq.protocols.listener import HasFileRoom, always_room
from braidmq.protocols.refusals import Refusals

if TYPE_CHECKING:
    from braidmq.protocols.rocketmq_grpc._connection import GrpcConnection

FIRST_BYTE_S: Final = 10.0
HANDSHAKE_S: Final = 10.0
TLS_HANDSHAKE: Final = 0x16
AGAIN_S: Final = 0.1
"""When to accept again after the system had no descriptor left."""

_logger = get_logger(__name__)


class Front:
    """`connection` makes the protocol of a new connection. `tls` is None where only plain ones are taken. Both may take
    a while when they are asked first."""

    def __init__(
        self,
        connection: Callable[[], Awaitable["GrpcConnection"]],
        tls: Callable[[], Awaitable[ssl.SSLContext]] | None,
        *,
        connections_max: int,
        has_file_room: HasFileRoom = always_room,
    ) -> None:
        self._connection = connection
        self._tls = tls
        self._connections_max = connections_max
        self._has_file_room = has_file_room
        self._refusals = Refusals(_logger, "too many connections")
        self._accepting: list[asyncio.Task[None]] = []
        self._sockets: list[socket.socket] = []
        self._serving: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._serving)

    def start(self, sockets: Iterable[socket.socket]) -> None:
        for listening in sockets:
            self._sockets.append(listening)
            self._accepting.append(asyncio.create_task(self._accept(listening)))

    def stop_accepting(self) -> None:
        for task in self._accepting:
            task.cancel()

    async def close(self) -> None:
        self.stop_accepting()
        if self._accepting:
            await asyncio.wait(self._accepting)
        self._refusals.close()
        for listening in self._sockets:
            listening.close()
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                _logger.warning("a connection could not be accepted", reason=error.strerror)
                await asyncio.sleep(AGAIN_S)
                continue
            if not self._has_room():
                accepted.close()
                continue
            task = asyncio.create_task(self._serve(accepted))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

    def _has_room(self) -> bool:
        if len(self._serving) < self._connections_max:
            return self._has_file_room()
        self._refusals.note(see="rocketmq_grpc.connections_max", open=len(self._serving))
        return False

    async def _serve(self, accepted: socket.socket) -> None:
        """From the first byte to the last."""
        with contextlib.closing(accepted), contextlib.suppress(OSError, TimeoutError, ListenFailed):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(FIRST_BYTE_S):
                first = await _first_byte(accepted)
            if first is None or (first == TLS_HANDSHAKE and self._tls is None):
                return
            tls = await self._tls() if first == TLS_HANDSHAKE and self._tls is not None else None
            await self._talk(accepted, tls)

    async def _talk(self, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
        """Until the connection has ended."""
        connection = await self._connection()
        limit_s = HANDSHAKE_S if tls is not None else None
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection, accepted, ssl=tls, ssl_handshake_timeout=limit_s
            )
            await asyncio.shield(connection.gone)
        finally:
            connection.abort()


async def _first_byte(accepted: socket.socket) -> int | None:
    """What comes first, which stays to be read; None where nothing comes."""
    loop = asyncio.get_running_loop()
    accepted.setblocking(False)
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(accepted.fileno(), _tell, readable)
    try:
        await readable
    finally:
        loop.remove_reader(accepted.fileno())
    first = accepted.recv(1, socket.MSG_PEEK)
    return first[0] if first else None


def _tell(readable: "asyncio.Future[None]") -> None:
    if not readable.done():
        readable.set_result(None)
