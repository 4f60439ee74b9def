"""The address server: where RocketMQ's clients find name servers, so that nobody keeps a list of them.

Clients that are given no list ask `http://DOMAIN/rocketmq/nsaddr` every two minutes (`rocketmq.namesrv.domain`), some
with the name of a unit behind it.
"""

from typing import Any, Final

from litestar import Controller, MediaType, Request, get
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._services import HttpServices

LISTENER: Final = "rocketmq"
_PATH_NAME: Final = "nsaddr"
_EVERY_HOST: Final = frozenset({"0.0.0.0", "[::]"})  # noqa: S104 - compared, not bound


class NameServerController(Controller):
    """For clients, who have no accounts yet when they ask."""

    opt = needs(Action.PROBE, ResourceKind.NODE)
    tags = ("rocketmq",)

    @get(
        "/rocketmq/{name:str}",
        operation_id="name_servers",
        summary="The addresses of RocketMQ name servers, with semicolons between them",
        media_type=MediaType.TEXT,
    )
    async def name_servers(
        self, name: FromPath[str], request: Request[Any, Any, State], services: NamedDependency[HttpServices]
    ) -> str:
        if not name.startswith(_PATH_NAME):
            raise NotFoundException(f"there is no /rocketmq/{name}; name servers are at /rocketmq/{_PATH_NAME}")
        here = (request.scope.get("server") or ("127.0.0.1", 0))[0]
        places = [place for node in services.nodes() for place in node.listeners.get(LISTENER, ())]
        if not places:
            raise NotFoundException("no node listens for RocketMQ clients (rocketmq.listen)")
        return ";".join(_reachable(place, here) for place in places)


def _reachable(place: str, here: str) -> str:
    """An address that stands for all of a machine is the one by which this client came."""
    host, _, port = place.rpartition(":")
    shown = f"[{here}]" if ":" in here else here
    return f"{shown}:{port}" if host in _EVERY_HOST else place
