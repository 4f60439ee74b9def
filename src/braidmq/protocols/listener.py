"""What every protocol's listener promises to the node, and how all of them take their ports.

A node starts its listeners when everything behind them is ready, and stops them in three steps, each over all
listeners: no new connections, then let what is under way end, then close what is left.
"""

import asyncio
import errno
import ipaddress
import socket
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from braidmq.core.connections import ClientConnection
from braidmq.core.metrics import Metric
from braidmq.model.errors import ListenFailed

_BACKLOG = 1024

HasFileRoom = Callable[[], bool]
"""Whether one more connection may be taken, over all listeners, so that files are left for the log."""


def always_room() -> bool:
    """Where nobody counts."""
    return True


class Address(NamedTuple):
    """Where a listener listens. Port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine's own programs reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


class Endpoint(NamedTuple):
    """An address to listen on, and the one that clients are told instead, where they reach it by another."""

    listen: Address
    advertised: Address | None = None

    def __str__(self) -> str:
        return str(self.listen) if self.advertised is None else f"{self.listen} as {self.advertised}"

    def advertise(self, reached: Address) -> Address:
        """What to tell a client that reached us at this address of ours: without instruction, just that."""
        return self.advertised or reached


class Listener(Protocol):
    """One protocol on its addresses."""

    @property
    def name(self) -> str:
        """The protocol's name, which is also its section among the settings."""
        ...

    @property
    def connected(self) -> int:
        """How many clients are connected."""
        ...

    def metrics(self) -> Iterable[Metric]:
        """Who is connected, and what they ask."""
        ...

    def connections(self) -> Iterable[ClientConnection]:
        """Those that are open."""
        ...

    async def start(self) -> tuple[Address, ...]:
        """Listen; the addresses that were bound. Raises ListenFailed."""
        ...

    def stop_accepting(self) -> None:
        """No new connections from now on."""
        ...

    async def drain(self, timeout_s: float) -> None:
        """Let requests under way end, for this long at most."""
        ...

    async def close(self) -> None:
        """Close what is still open. Doing it again changes nothing."""
        ...


async def bind(name: str, address: Address) -> list[socket.socket]:
    """Listening sockets on all addresses of the host, on one port. Raises ListenFailed."""
    sockets: list[socket.socket] = []
    refused: OSError | None = None
    for family, place in await _resolve(name, address):
        port = sockets[0].getsockname()[1] if sockets else address.port
        try:
            sockets.append(_listen(family, (place[0], port, *place[2:])))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL or error.errno == errno.EAFNOSUPPORT:
                refused = error  # a name such as localhost may have an address of a family that is off here
                continue
            close_all(sockets)
            raise _failed(name, address, error) from error
    if not sockets:
        raise _failed(name, address, refused)
    return sockets


def bound_addresses(sockets: list[socket.socket]) -> tuple[Address, ...]:
    """Where the sockets listen in fact."""
    return tuple(Address(*listening.getsockname()[:2]) for listening in sockets)


async def _resolve(name: str, address: Address) -> list[tuple[int, tuple[str, int, int, int] | tuple[str, int]]]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise _failed(name, address, error) from error
    return list(dict.fromkeys((family, place) for family, _, _, _, place in found))  # type: ignore[misc]


def _listen(family: int, place: tuple[str | int, ...]) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections have it from here: an answer written in two pieces would else wait 40 ms for the first one's word.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(place)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def close_all(sockets: Iterable[socket.socket]) -> None:
    """Doing it again changes nothing."""
    for listening in sockets:
        listening.close()


def _failed(name: str, address: Address, error: OSError | UnicodeError | None) -> ListenFailed:
    why = "the host has no address that can be used"
    if isinstance(error, OSError):
        why = _WHY.get(error.errno or 0, error.strerror or why)
    return ListenFailed(
        f"cannot listen on {address} for {name}: {why}; choose another with --set {name}.listen=HOST:PORT"
    )


_WHY = {
    errno.EADDRINUSE: "the port is in use by another process",
    errno.EACCES: "this user may not take that port",
    errno.EADDRNOTAVAIL: "this machine does not have that address",
}
