"""Instances: tenants that see nothing of each other."""

from typing import Annotated

import msgspec
from litestar import Controller, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import Meta

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import Page, PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.instances import InstanceView
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._parameters import API, DryRun


class NewInstance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An instance to be made."""

    name: Annotated[str, Meta(examples=["retail"])]
    description: Annotated[str, Meta(examples=["Shops and tills"])] = ""


class InstanceController(Controller):
    """Instances."""

    path = f"{API}/instances"
    tags = ("instances",)

    @get(
        operation_id="list_instances",
        summary="All instances; sorted by name",
        opt=needs(Action.DESCRIBE, ResourceKind.INSTANCE),
    )
    async def page(
        self, catalogue: NamedDependency[Catalogue], page_ask: NamedDependency[PageAsk]
    ) -> Page[InstanceView]:
        return catalogue.instances.page(page_ask)

    @post(
        operation_id="create_instance",
        summary="Make an instance",
        opt=needs(Action.CREATE, ResourceKind.INSTANCE),
    )
    async def create(self, catalogue: NamedDependency[Catalogue], data: JSONBody[NewInstance]) -> InstanceView:
        return await catalogue.instances.create(data.name, description=data.description)

    @get(
        "/{name:str}",
        operation_id="describe_instance",
        summary="One instance",
        opt=needs(Action.DESCRIBE, ResourceKind.INSTANCE),
    )
    async def describe(self, name: FromPath[str], catalogue: NamedDependency[Catalogue]) -> InstanceView:
        return catalogue.instances.describe(name)

    @delete(
        "/{name:str}",
        operation_id="delete_instance",
        summary="Delete an instance without topics, with its groups and subscriptions",
        status_code=200,
        opt=needs(Action.DELETE, ResourceKind.INSTANCE),
    )
    async def remove(
        self, name: FromPath[str], catalogue: NamedDependency[Catalogue], dry_run: DryRun = False
    ) -> InstanceView:
        return await catalogue.instances.delete(name, dry_run=dry_run)
