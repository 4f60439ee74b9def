"""The listener: uvicorn on our own sockets, in the node's loop; signals and stopping are the node's."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn

from braidmq.protocols.http._app import build_app
from braidmq.protocols.http._services import HttpServices
from braidmq.protocols.listener import Address, bind, bound_addresses

_KEEP_ALIVE_S = 75
_CLOSE_TIMEOUT_S = 0.5


class HttpListener:
    """The HTTP interface on one address; see `protocols.listener.Listener`."""

    name = "http"

    def __init__(self, address: Address, services: HttpServices, *, body_bytes_max: int, connections_max: int) -> None:
        self._address = address
        app, self.operations = build_app(services, body_bytes_max=body_bytes_max)
        config = uvicorn.Config(
            app,
            http="h11",
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

    async def start(self) -> tuple[Address, ...]:
        sockets = await bind(self.name, self._address)
        addresses = bound_addresses(sockets)
        self._serving = asyncio.create_task(self._server.serve(sockets), name="http")
        await self._until_listening(self._serving)
        return addresses

    async def _until_listening(self, serving: "asyncio.Task[None]") -> None:
        """Raises what kept the server from starting."""
        listening = asyncio.create_task(self._server.listening.wait())
        await asyncio.wait((listening, serving), return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        if serving.done():
            serving.result()

    def stop_accepting(self) -> None:
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
