"""Is the node alive, and should it get traffic?"""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from msgspec import Meta

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._services import HttpServices


class Alive(msgspec.Struct, frozen=True):
    """The process answers."""

    status: Annotated[str, Meta(examples=["alive"])] = "alive"


class Readiness(msgspec.Struct, frozen=True):
    """Whether the node takes work. `reasons` says, for each part that objects, why."""

    ready: Annotated[bool, Meta(examples=[True])]
    reasons: Annotated[Mapping[str, str], Meta(examples=[{}, {"node": "starting"}])]


class HealthController(Controller):
    """For load balancers and orchestrators; open to everybody."""

    opt = needs(Action.PROBE, ResourceKind.NODE)
    tags = ("health",)

    @get("/healthz", operation_id="healthz", summary="Whether the process is alive")
    async def healthz(self) -> Alive:
        return Alive()

    @get(
        "/readyz",
        operation_id="readyz",
        summary="Whether the node should get traffic",
        responses={503: ResponseSpec(Readiness, description="Not ready; the reasons are in the body")},
    )
    async def readyz(self, services: NamedDependency[HttpServices]) -> Response[Readiness]:
        health = services.health
        status = 200 if health.ready else 503
        return Response(Readiness(health.ready, health.reasons), status_code=status)
