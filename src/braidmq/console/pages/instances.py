"""Instances: the list, making one, deleting an empty one, and the choice that the top bar of every page offers."""

from typing import Any, Final

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from braidmq.console._form_fields import Form, leads_to, text
from braidmq.console._instances import PARAMETER, instance_of
from braidmq.console._navigation import place_path
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import told
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.model import DEFAULT_INSTANCE
from braidmq.protocols.http import needs

CHOICE_MAX: Final = 20
"""So many are offered at the top; the page of instances finds the others."""


class InstancePages(Controller):
    opt = needs(Action.DESCRIBE, ResourceKind.INSTANCE)

    @get("/instances")
    async def page(
        self, request: ConsoleRequest, catalogue: NamedDependency[Catalogue], page_ask: NamedDependency[PageAsk]
    ) -> Response[Any]:
        found = catalogue.instances.page(page_ask)
        return render(request, "instances.html.j2", place="instances", instances=found, default=DEFAULT_INSTANCE)

    @get("/instance-choice")
    async def choice(
        self, request: ConsoleRequest, catalogue: NamedDependency[Catalogue], place: FromQuery[str] = ""
    ) -> Response[Any]:
        """The list under the name of the chosen one: each leads to the same part of the console."""
        found = catalogue.instances.page(PageAsk(page_size=CHOICE_MAX))
        return render(request, "instance_choice.html.j2", found=found, parameter=PARAMETER, to=place_path(place))

    @get("/new-instance")
    async def new(self, request: ConsoleRequest) -> Response[Any]:
        return render(request, "instance_new.html.j2")

    @post(
        "/instances",
        opt=needs(Action.CREATE, ResourceKind.INSTANCE),
        status_code=200,
        operation_id="console_create_instance",
    )
    async def create(self, request: ConsoleRequest, catalogue: NamedDependency[Catalogue], data: Form) -> Response[Any]:
        made = await catalogue.instances.create(text(data, "name"), description=text(data, "description"))
        return told(request, "The instance {name} is made", name=made.name)

    @get("/instances/{name:str}/delete", opt=needs(Action.DELETE, ResourceKind.INSTANCE))
    async def preview_deletion(
        self, request: ConsoleRequest, name: FromPath[str], catalogue: NamedDependency[Catalogue]
    ) -> Response[Any]:
        lost = await catalogue.instances.delete(name, dry_run=True)
        return render(request, "instance_delete.html.j2", lost=lost)

    @post(
        "/instances/{name:str}/delete",
        opt=needs(Action.DELETE, ResourceKind.INSTANCE),
        status_code=200,
        operation_id="console_delete_instance",
    )
    async def delete(
        self, request: ConsoleRequest, name: FromPath[str], catalogue: NamedDependency[Catalogue]
    ) -> Response[Any]:
        await catalogue.instances.delete(name)
        if name == instance_of(request):
            return leads_to(request, f"{place_path('instances')}?{PARAMETER}={DEFAULT_INSTANCE}")
        return told(request, "The instance {name} is deleted", name=name)
