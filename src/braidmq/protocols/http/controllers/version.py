"""Which software answers."""

from typing import Annotated

import msgspec
from litestar import Controller, get
from litestar.di import NamedDependency
from msgspec import Meta

from braidmq.core.access import Action, ResourceKind
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._services import HttpServices


class Version(msgspec.Struct, frozen=True):
    """The node and its software."""

    name: Annotated[str, Meta(examples=["node-1"])]
    version: Annotated[str, Meta(examples=["0.1.0"])]


class VersionController(Controller):
    """The node's name and version."""

    opt = needs(Action.DESCRIBE, ResourceKind.NODE)
    tags = ("node",)

    @get("/version", operation_id="version", summary="The node's name and the version of its software")
    async def version(self, services: NamedDependency[HttpServices]) -> Version:
        return Version(services.node_name, services.version)
