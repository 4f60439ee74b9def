"""The listener: uvicorn on our own sockets, in the node's loop; signals and stopping are the node's."""

import asyncio
import contextlib
import functools
import logging
import socket
from collections.abc import Iterator
from typing import Any, Final

import uvicorn
from litestar.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from braidmq.core.connections import ClientConnection
from braidmq.core.metrics import Metric, MetricKind
from braidmq.logger import get_logger
from braidmq.protocols.http._app import build_app
from braidmq.protocols.http._late import LateApp, LateRoutes
from braidmq.protocols.http._services import HttpServices
from braidmq.protocols.http._waiting import PLACES_MAX, WaitingRoom
from braidmq.protocols.listener import Address, HasFileRoom, always_room, bound_addresses, close_all
from braidmq.protocols.refusals import CountedWarnings

_SERVER_LOGGER: Final = logging.getLogger("uvicorn.error")
_KEEP_ALIVE_S = 75
_CLOSE_TIMEOUT_S = 0.5

_logger = get_logger(__name__)


class HttpListener:
    """The HTTP interface on the sockets of one address, which listen already: who has connected before the `start` is
    served from there on. See `protocols.listener.Listener`. It may be made in any thread."""

    name = "http"

    def __init__(
        self,
        address: Address,
        sockets: list[socket.socket],
        services: HttpServices,
        *,
        body_bytes_max: int,
        connections_max: int,
        waiting_max: int = PLACES_MAX,
        has_file_room: HasFileRoom = always_room,
        late_routes: LateRoutes[Any] | None = None,
    ) -> None:
        self._sockets = sockets
        self._has_file_room = has_file_room
        self._waiting = WaitingRoom(waiting_max)
        self._receivers = None if services.messaging is None else services.messaging.receiving.receivers
        build = functools.partial(
            build_app,
            services,
            body_bytes_max=body_bytes_max,
            waiting=self._waiting,
            only_own_names=address.is_loopback,
        )
        app: ASGIApp
        app, self.operations = build()
        if late_routes is not None:
            app = LateApp(app, late_routes, lambda routes: build(controllers=[routes], is_described=False)[0])
        config = uvicorn.Config(
            app,
            http=self._protocol(),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=connections_max,
            timeout_keep_alive=_KEEP_ALIVE_S,
        )
        self._server = _Server(config)
        self._serving: asyncio.Task[None] | None = None
        self._warnings = CountedWarnings(_logger)

    def _protocol(self) -> type[H11Protocol]:
        """uvicorn's, with word of clients that have gone, and none taken for whom there is no file. uvicorn's own limit
        is for requests: who asks nothing does not meet it."""
        receivers = self._receivers
        has_file_room = self._has_file_room

        class Connection(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                is_welcome = has_file_room()
                super().connection_made(transport)
                if not is_welcome:
                    transport.abort()

            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                if receivers is not None and self.client is not None:
                    receivers.left(*self.client)

        return Connection

    async def start(self) -> tuple[Address, ...]:
        addresses = bound_addresses(self._sockets)
        _SERVER_LOGGER.addFilter(self._warnings)
        self._serving = asyncio.create_task(self._server.serve(self._sockets), name="http")
        await self._until_listening(self._serving)
        return addresses

    async def _until_listening(self, serving: "asyncio.Task[None]") -> None:
        """Raises what kept the server from starting."""
        listening = asyncio.create_task(self._server.listening.wait())
        await asyncio.wait((listening, serving), return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        if serving.done():
            serving.result()

    @property
    def connected(self) -> int:
        """How many clients are connected."""
        return len(self._server.server_state.connections)

    def metrics(self) -> Iterator[Metric]:
        """How busy the interface is."""
        waiting = len(self._waiting)
        yield Metric("braid_http_waiting", MetricKind.GAUGE, "Requests that wait for messages.", waiting)

    def connections(self) -> Iterator[ClientConnection]:
        """Who is connected. Those who receive are known by name; of others there is only the address."""
        for connection in list(self._server.server_state.connections):
            peer = getattr(connection, "client", None)
            if peer is not None:
                yield self._connection(*peer)

    def _connection(self, host: str, port: int) -> ClientConnection:
        found = None if self._receivers is None else self._receivers.at(host, port)
        return ClientConnection(
            self.name, "" if found is None else found.name, host, port, channel=found, instance=None
        )

    def stop_accepting(self) -> None:
        self._waiting.close()
        self._server.should_exit = True
        for server in getattr(self._server, "servers", ()):
            server.close()

    async def drain(self, timeout_s: float) -> None:
        if self._serving is not None:
            await asyncio.wait({self._serving}, timeout=timeout_s)

    async def close(self) -> None:
        self.stop_accepting()
        self._server.force_exit = True
        for connection in list(self._server.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await self.drain(_CLOSE_TIMEOUT_S)
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait({self._serving})
        _SERVER_LOGGER.removeFilter(self._warnings)
        self._warnings.close()
        close_all(self._sockets)


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling, and with word of when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
