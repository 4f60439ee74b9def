"""Who changed what."""

from typing import Annotated

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter

from braidmq.core.access import Action, ResourceKind
from braidmq.core.audit import AuditEntry
from braidmq.core.desk import PAGE_SIZE, PAGE_SIZE_MAX, Page
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._operations_services import OperationsServices
from braidmq.store import AuditAsk


class AuditController(Controller):
    """Every operation that created, changed or deleted something, by whatever protocol it came."""

    path = "/api/v1/audit"
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)
    tags = ("operations",)

    @get(operation_id="list_audit", summary="Who changed what, the latest first")
    async def list_audit(
        self,
        operations: NamedDependency[OperationsServices],
        search: FromQuery[str] = "",
        actor: Annotated[str, QueryParameter(description="A part of the protocol and address.")] = "",
        from_ms: Annotated[int, QueryParameter(ge=0, le=1 << 53)] = 0,
        until_ms: Annotated[int, QueryParameter(ge=0, le=1 << 53)] = 1 << 53,
        page: Annotated[int, QueryParameter(ge=1, le=1_000_000)] = 1,
        page_size: Annotated[int, QueryParameter(ge=1, le=PAGE_SIZE_MAX)] = PAGE_SIZE,
    ) -> Page[AuditEntry]:
        return await operations.audit.find(
            AuditAsk(search=search, actor=actor, from_ms=from_ms, until_ms=until_ms, page=page, page_size=page_size)
        )
