"""The node's inspections of itself."""

from typing import Annotated

from litestar import Controller, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import PAGE_SIZE, PAGE_SIZE_MAX, Page, PageAsk
from braidmq.core.inspection import Report, ReportLine
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._operations_services import OperationsServices


class InspectionsController(Controller):
    """What is not well, why it matters, and what mends it."""

    path = "/api/v1/inspections"
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)
    tags = ("operations",)

    @get(operation_id="list_inspections", summary="The last hundred inspections, the latest first")
    async def list_inspections(
        self,
        operations: NamedDependency[OperationsServices],
        search: FromQuery[str] = "",
        sort: FromQuery[str] = "",
        page: Annotated[int, QueryParameter(ge=1, le=1_000_000)] = 1,
        page_size: Annotated[int, QueryParameter(ge=1, le=PAGE_SIZE_MAX)] = PAGE_SIZE,
    ) -> Page[ReportLine]:
        return await operations.inspection.reports(PageAsk(search, sort, page, page_size))

    @post(operation_id="create_inspection", summary="Inspect the node now")
    async def create_inspection(self, operations: NamedDependency[OperationsServices]) -> Report:
        return await operations.inspection.inspect()

    @get("/{id:str}", operation_id="describe_inspection", summary="One inspection with all that it found")
    async def describe_inspection(self, operations: NamedDependency[OperationsServices], id: FromPath[str]) -> Report:
        return await operations.inspection.report(id)
