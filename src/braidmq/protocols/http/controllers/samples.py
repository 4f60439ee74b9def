"""Figures of the last day."""

from typing import Annotated

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter

from braidmq.core.access import Action, ResourceKind
from braidmq.core.samples import SampleAsk, SamplesView
from braidmq.model import DEFAULT_INSTANCE
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._operations_services import OperationsServices


class SamplesController(Controller):
    """For charts, and for whoever wants to know how it was an hour ago."""

    path = "/api/v1/samples"
    opt = needs(Action.DESCRIBE, ResourceKind.NODE)
    tags = ("operations",)

    @get(operation_id="list_samples", summary="Figures of the node, a topic or a group over the last day")
    async def list_samples(
        self,
        operations: NamedDependency[OperationsServices],
        names: Annotated[str, QueryParameter(description="Names of figures with commas; all without.")] = "",
        topic: FromQuery[str] = "",
        group: FromQuery[str] = "",
        instance: FromQuery[str] = DEFAULT_INSTANCE,
        from_ms: Annotated[int, QueryParameter(ge=-1, le=1 << 53, description="Without it, the last hour.")] = -1,
        until_ms: Annotated[int, QueryParameter(ge=-1, le=1 << 53, description="Without it, now.")] = -1,
        step_s: Annotated[int, QueryParameter(ge=0, le=86_400, description="0 is every sample by itself.")] = 0,
        maximum: Annotated[bool, QueryParameter(description="The maximum of a step, not its average.")] = False,
    ) -> SamplesView:
        """A step without samples is left out: gaps stay gaps. `names` in the answer lists the figures there are."""
        ask = SampleAsk(
            names=tuple(name for name in names.split(",") if name),
            topic=topic,
            group=group,
            instance=instance,
            from_ms=from_ms,
            until_ms=until_ms,
            step_s=step_s,
            how="maximum" if maximum else "average",
        )
        return await operations.samples.query(ask)
