"""Routes that are put together when somebody first asks for one of them: whoever never does, never pays for them."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from litestar.types import ASGIApp, ControllerRouterHandler, Receive, Scope, Send


class LateRoutes(NamedTuple):
    """All routes under `root`, which starts with a slash."""

    root: str
    made: Callable[[], ControllerRouterHandler]

    def holds(self, path: str) -> bool:
        return path == self.root or path.startswith(f"{self.root}/")


class LateApp:
    """Gives requests for late routes to the application that `build` makes of them, all others to the `first` one."""

    def __init__(self, first: ASGIApp, routes: LateRoutes, build: Callable[[ControllerRouterHandler], ASGIApp]) -> None:
        self._first = first
        self._routes = routes
        self._build = build
        self._late: ASGIApp | None = None
        self._building = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = await self._get() if self._routes.holds(scope["path"]) else self._first
        await app(scope, receive, send)

    async def _get(self) -> ASGIApp:
        if self._late is None:
            async with self._building:
                if self._late is None:
                    # Half a second of imports and templates, which others' messages need not wait for.
                    self._late = await asyncio.to_thread(lambda: self._build(self._routes.made()))
        return self._late
