"""What the pipeline has kept: archived messages, and reports."""

from typing import Annotated, Any

import msgspec
from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from braidmq.core.access import Action, ResourceKind
from braidmq.core.history import LIMIT_MAX, ArchiveAsk, ArchivedMessages, ReportEntry
from braidmq.model import DEFAULT_INSTANCE
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._operations_services import OperationsServices
from braidmq.protocols.http._parameters import InstanceName

Moment = Annotated[int | None, QueryParameter(ge=0, le=1 << 43)]


class Reports(msgspec.Struct, frozen=True, kw_only=True):
    """The reports that can be had."""

    items: list[ReportEntry]


class ArchiveController(Controller):
    """Messages that the log does not keep any more."""

    path = "/api/v1/archive"
    opt = needs(Action.CONSUME, ResourceKind.TOPIC)
    tags = ("archive",)

    @get("/messages", operation_id="find_archived_messages", summary="Find archived messages by id, key or topic")
    async def find_archived_messages(
        self,
        operations: NamedDependency[OperationsServices],
        id: FromQuery[str] = "",
        key: FromQuery[str] = "",
        topic: FromQuery[str] = "",
        from_ms: Moment = None,
        until_ms: Moment = None,
        limit: Annotated[int, QueryParameter(ge=1, le=LIMIT_MAX - 1)] = 50,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> ArchivedMessages:
        """All that is given must hold; times are those of storing. The oldest first."""
        return await operations.history.find(ArchiveAsk(id, key, topic, from_ms, until_ms, limit, instance))


class ReportsController(Controller):
    """Who used what, from the pipeline's tables."""

    path = "/api/v1/reports"
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)
    tags = ("reports",)

    @get(operation_id="list_reports", summary="The reports that can be had")
    async def list_reports(self, operations: NamedDependency[OperationsServices]) -> Reports:
        return Reports(items=operations.history.reports())

    @get("/{name:str}", operation_id="describe_report", summary="One report, of its own span or another")
    async def describe_report(
        self,
        operations: NamedDependency[OperationsServices],
        name: FromPath[str],
        from_ms: Moment = None,
        until_ms: Moment = None,
        pressure: Annotated[bool, QueryParameter(description="With pressure-test traffic.")] = False,
    ) -> dict[str, Any]:
        return await operations.history.report(name, from_ms, until_ms, pressure=pressure)
