"""Who is connected to the node that is asked, on every protocol."""

from typing import Annotated

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import Page, PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.clients import ConnectionView
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._parameters import API


class ConnectionController(Controller):
    """Connections."""

    path = f"{API}/connections"
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)
    tags = ("connections",)

    @get(
        operation_id="list_connections",
        summary="All connections; sorted by client_id, protocol, address, since or last_seen",
    )
    async def page(
        self,
        catalogue: NamedDependency[Catalogue],
        page_ask: NamedDependency[PageAsk],
        protocol: Annotated[str, QueryParameter(description="Only those of kafka, rocketmq, ...")] = "",
        instance: Annotated[
            str, QueryParameter(description="Only those that work in this instance, or may; all without.")
        ] = "",
    ) -> Page[ConnectionView]:
        """Clients of Kafka and RocketMQ work in the instance `default`. Who speaks HTTP names one with each request,
        and is in the list of every instance."""
        return catalogue.clients.connections(page_ask, protocol=protocol, instance=instance)
