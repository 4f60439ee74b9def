"""Routes that are put together when somebody first asks for one of them: whoever never does, hardly pays for them."""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from litestar.types import ASGIApp, ControllerRouterHandler, Receive, Scope, Send

PartT = TypeVar("PartT", bound=Hashable)


class LateRoutes(NamedTuple, Generic[PartT]):
    """All routes under `root`, which starts with a slash, in parts: `part_of` a path says in which one it is, and a
    part is `made` by itself. The `entrance` is put together at once: there people come first."""

    root: str
    part_of: Callable[[str], PartT]
    made: Callable[[PartT], ControllerRouterHandler]
    entrance: PartT

    def holds(self, path: str) -> bool:
        return path == self.root or path.startswith(f"{self.root}/")


class LateApp(Generic[PartT]):
    """Gives requests for late routes to the application that `build` makes of their part, all others to the `first`
    one. Making it takes a while: imports, and the routes of the entrance."""

    def __init__(
        self, first: ASGIApp, routes: LateRoutes[PartT], build: Callable[[ControllerRouterHandler], ASGIApp]
    ) -> None:
        self._first = first
        self._routes = routes
        self._build = build
        self._late: dict[PartT, ASGIApp] = {routes.entrance: build(routes.made(routes.entrance))}
        self._building = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        app = await self._get(self._routes.part_of(path)) if self._routes.holds(path) else self._first
        await app(scope, receive, send)

    async def _get(self, part: PartT) -> ASGIApp:
        if part not in self._late:
            async with self._building:
                if part not in self._late:
                    # Imports and routes, which others' messages need not wait for.
                    self._late[part] = await asyncio.to_thread(lambda: self._build(self._routes.made(part)))
        return self._late[part]
