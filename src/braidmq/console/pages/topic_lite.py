"""One lite topic, in the drawer of its parent's page: how it stands, who reads it, and its end."""

from typing import Any

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from braidmq.console._form_fields import Form, leads_to, text
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages.topics import topic_path
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.catalogue import Catalogue
from braidmq.model.errors import InvalidRequest
from braidmq.protocols.http import needs


class TopicLite(Controller):
    path = "/topics/{name:str}/lite/{lite:str}"

    @get("/", opt=needs(Action.DESCRIBE, ResourceKind.TOPIC))
    async def detail(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        lite: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        found = await catalogue.lite.describe(name, lite, instance=instance)
        return render(request, "topic_lite_detail.html.j2", base=topic_path(name), lite=found)

    @post(
        "/delete",
        opt=needs(Action.DELETE, ResourceKind.TOPIC),
        status_code=200,
        operation_id="console_delete_lite_topic",
    )
    async def delete(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        lite: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
        data: Form,
    ) -> Response[Any]:
        if text(data, "name_again") != lite:
            raise InvalidRequest("type the name of the lite topic exactly as it is shown, to delete it")
        await catalogue.lite.delete(name, lite, instance=instance)
        return leads_to(request, f"{topic_path(name)}?tab=lite")
