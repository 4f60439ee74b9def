"""Everything at a glance, and the nodes that there are."""

from litestar import Controller, get
from litestar.di import NamedDependency

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.overview import NodeView, Overview
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._parameters import API


class OverviewController(Controller):
    """Figures of the whole."""

    path = API
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)
    tags = ("overview",)

    @get("/overview", operation_id="overview", summary="How much there is, comes and goes, and what needs somebody")
    async def overview(self, catalogue: NamedDependency[Catalogue]) -> Overview:
        return await catalogue.overview.look()

    @get("/nodes", operation_id="list_nodes", summary="The nodes that there are, and where they listen")
    async def nodes(self, catalogue: NamedDependency[Catalogue]) -> list[NodeView]:
        return catalogue.overview.nodes()
