"""What many operations of the API take in the same way: pages, instances, dry runs, filters, times."""

from typing import Annotated, Final

from litestar.params import FromQuery, QueryParameter

from braidmq.core.desk import PageAsk
from braidmq.model import FilterKind

API: Final = "/api/v1"

InstanceName = Annotated[str, QueryParameter(description="The instance that the names belong to.")]
DryRun = Annotated[bool, QueryParameter(description="Change nothing, and answer with what would become.")]
WithInternal = Annotated[bool, QueryParameter(description="Also those that the house keeps for itself.")]
WithBase64 = Annotated[bool, QueryParameter(name="base64", description="Bytes as base64 even where they are text.")]
Limit = Annotated[int, QueryParameter(ge=1, le=1000, description="How many in one answer at most.")]
Cursor = Annotated[str | None, QueryParameter(max_length=16_000, description="From the answer before, to go on.")]
WaitSeconds = Annotated[float, QueryParameter(ge=0, le=30, description="How long to wait where there is nothing yet.")]
FilterText = Annotated[str, QueryParameter(max_length=16_384, description="Which messages: tags such as `A || B`.")]
FilterKindName = Annotated[FilterKind, QueryParameter(description="How `filter` is meant: tag, sql, or all.")]
TimeMs = Annotated[int | None, QueryParameter(ge=0, description="Milliseconds since 1970.")]


async def page_ask(
    search: Annotated[str, QueryParameter(description="Only those that have this in their names.")] = "",
    sort: Annotated[str, QueryParameter(description="By what; with - before it, the other way round.")] = "",
    page: FromQuery[int] = 1,
    page_size: FromQuery[int] = 50,
) -> PageAsk:
    """The page that a request asks for."""
    return PageAsk(search, sort, page, page_size)
