"""Reports: who used what, from the tables that the pipeline makes."""

from typing import Any, Final

from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from braidmq.console._pictures import course
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import operations_of
from braidmq.core.access import Action, ResourceKind
from braidmq.core.history import ReportEntry
from braidmq.model import BraidError
from braidmq.model.errors import ArchiveOff
from braidmq.protocols.http import HttpServices, needs

TITLES: Final = {
    "usage-hour": "The last hour",
    "usage-day": "The last day",
    "usage-week": "The last week",
    "usage-month": "The last 30 days",
}


class ReportsPage(Controller):
    path = "/reports"
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)

    @get("/")
    async def reports(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        name: FromQuery[str] = "usage-day",
    ) -> Response[Any]:
        """The frame; the report itself takes some seconds, and comes afterwards."""
        entries: list[ReportEntry] = []
        off: ArchiveOff | None = None
        try:
            entries = operations_of(services).history.reports()
        except ArchiveOff as error:
            off = error
        pressure = request.query_params.get("pressure") == "true"
        shown: dict[str, Any] = {"entries": entries, "off": off, "name": name, "titles": TITLES, "pressure": pressure}
        return render(request, "reports.html.j2", place="reports", **shown)

    @get("/{name:str}/content")
    async def content(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        name: FromPath[str],
        pressure: FromQuery[bool] = False,
    ) -> Response[Any]:
        try:
            report = await operations_of(services).history.report(name, None, None, pressure=pressure)
        except BraidError as error:
            return render(request, "reports_content.html.j2", error=error, report=None, pictures=[])
        pictures = [course(each) for each in report["courses"]]
        return render(request, "reports_content.html.j2", error=None, report=report, pictures=pictures)
