"""Inspection: what the node finds when it looks at itself, what to do about it, and how it was before."""

from typing import Any, Final

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery

from braidmq.console._instances import instance_of, within
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import operations_of, told
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import PageAsk
from braidmq.model.finding import Standing
from braidmq.protocols.http import HttpServices, needs

EARLIER_MAX: Final = 20
STANDINGS: Final = {
    Standing.FAIL: ("Failed", "bad"),
    Standing.WARN: ("Warning", "warn"),
    Standing.OK: ("Fine", "good"),
}


class InspectionPage(Controller):
    path = "/inspection"
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)

    @get("/")
    async def inspection(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        report: FromQuery[str] = "",
    ) -> Response[Any]:
        """The newest report, or the one that is asked for."""
        inspection = operations_of(services).inspection
        earlier = await inspection.reports(PageAsk(page_size=EARLIER_MAX))
        wanted = report or (earlier.items[0].id if earlier.items else "")
        shown = await inspection.report(wanted) if wanted else None
        return render(
            request, "inspection.html.j2", place="inspection", report=shown, earlier=earlier, standings=STANDINGS
        )

    @post("/run", status_code=200)
    async def run(self, request: ConsoleRequest, services: NamedDependency[HttpServices]) -> Response[Any]:
        report = await operations_of(services).inspection.inspect()
        answer = told(request, "Inspected", refresh=False)
        answer.headers["hx-redirect"] = within(f"/console/inspection?report={report.id}", instance_of(request))
        return answer
