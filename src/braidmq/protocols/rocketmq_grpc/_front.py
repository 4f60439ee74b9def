"""The front: one port for clients with TLS and clients without. Hot path.

The first byte of a connection says which one it is: a TLS handshake begins with 22, HTTP/2 with a letter. What comes
behind is passed on to gRPC's own server, which listens where only this machine reaches it. It sees the front as its
peer; the port of the connection between the two tells who is really there.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, cast

import structlog

from braidmq.model.errors import ListenFailed
from braidmq.protocols.listener import Address

FIRST_BYTE_S: Final = 10.0
HANDSHAKE_S: Final = 10.0
TLS_HANDSHAKE: Final = 0x16
AGAIN_S: Final = 0.1
"""When to accept again after the system had no descriptor left."""

_logger = structlog.get_logger(__name__)


class Front:
    """`behind` says where gRPC's server is. `tls` is None where only plain connections are taken. Both may take a while
    when they are asked first."""

    def __init__(
        self,
        behind: Callable[[], Awaitable[Address]],
        tls: Callable[[], Awaitable[ssl.SSLContext]] | None,
        *,
        connections_max: int,
    ) -> None:
        self._behind = behind
        self._tls = tls
        self._connections_max = connections_max
        self._accepting: list[asyncio.Task[None]] = []
        self._sockets: list[socket.socket] = []
        self._serving: set[asyncio.Task[None]] = set()
        self._peers: dict[int, Address] = {}
        """Who is really there, by the port of the connection to gRPC."""

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
        for listening in self._sockets:
            listening.close()
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    def peer_of(self, text: str) -> Address:
        """Who is behind what gRPC says of its peer, such as `ipv4:127.0.0.1:5000`."""
        port = text.rpartition(":")[2]
        return self._peers.get(int(port) if port.isdigit() else 0, _NOBODY)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, place = await loop.sock_accept(listening)
            except OSError as error:
                _logger.warning("a connection could not be accepted", reason=error.strerror)
                await asyncio.sleep(AGAIN_S)
                continue
            if len(self._serving) >= self._connections_max:
                accepted.close()
                continue
            task = asyncio.create_task(self._serve(accepted, Address(*place[:2])))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

    async def _serve(self, accepted: socket.socket, peer: Address) -> None:
        """From the first byte to the last."""
        with contextlib.closing(accepted), contextlib.suppress(OSError, TimeoutError, ListenFailed):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(FIRST_BYTE_S):
                first = await _first_byte(accepted)
            if first is None or (first == TLS_HANDSHAKE and self._tls is None):
                return
            tls = await self._tls() if first == TLS_HANDSHAKE and self._tls is not None else None
            await self._join(accepted, peer, tls)

    async def _join(self, accepted: socket.socket, peer: Address, tls: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        behind, inner = await loop.create_connection(_Pipe, *await self._behind())
        port = behind.get_extra_info("sockname")[1]
        self._peers[port] = peer
        outer = _Pipe()
        outer.join(behind)
        try:
            limit_s = HANDSHAKE_S if tls is not None else None
            before, _ = await loop.connect_accepted_socket(
                lambda: outer, accepted, ssl=tls, ssl_handshake_timeout=limit_s
            )
            inner.join(before)
            await asyncio.wait((outer.gone, inner.gone), return_when=asyncio.FIRST_COMPLETED)
            before.close()
            behind.close()
            await asyncio.wait((outer.gone, inner.gone), timeout=HANDSHAKE_S)
            before.abort()
        finally:
            behind.abort()
            if outer.transport is not None:
                outer.transport.abort()
            del self._peers[port]


class _Pipe(asyncio.Protocol):
    """One end: what it reads goes to the other, no faster than the other takes it."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: asyncio.Transport | None = None
        self._early: list[bytes] = []
        """What came before there was another end: gRPC speaks first, a few bytes."""
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def join(self, other: asyncio.Transport) -> None:
        self.other = other
        early, self._early = self._early, []
        for data in early:
            self.data_received(data)

    def data_received(self, data: bytes) -> None:
        if self.other is None:
            self._early.append(data)
        elif not self.other.is_closing():
            self.other.write(data)

    def pause_writing(self) -> None:
        if self.other is not None and not self.other.is_closing():
            self.other.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and not self.other.is_closing():
            self.other.resume_reading()

    def connection_lost(self, _: Exception | None) -> None:
        if not self.gone.done():
            self.gone.set_result(None)


_NOBODY: Final = Address("0.0.0.0", 0)  # noqa: S104 - said, not bound


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
