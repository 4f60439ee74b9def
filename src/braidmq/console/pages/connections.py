"""Who is connected to this node, on every protocol."""

from typing import Any

from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery

from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages.overview import PROTOCOLS
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.protocols.http import needs


class ConnectionsPage(Controller):
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)

    @get("/connections")
    async def page(
        self,
        request: ConsoleRequest,
        catalogue: NamedDependency[Catalogue],
        page_ask: NamedDependency[PageAsk],
        instance: NamedDependency[str],
        protocol: FromQuery[str] = "",
    ) -> Response[Any]:
        found = catalogue.clients.connections(page_ask, protocol=protocol, instance=instance)
        return render(request, "connections.html.j2", place="connections", connections=found, protocols=PROTOCOLS)
