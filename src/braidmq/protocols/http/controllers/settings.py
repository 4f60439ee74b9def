"""Settings: what the node goes by, where that comes from, and values from the centre."""

from typing import Annotated, Any

import msgspec
from litestar import Controller, Request, Response, delete, get, put
from litestar.datastructures import State
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, HeaderParameter, JSONBody, QueryParameter
from msgspec import Meta

from braidmq.core.access import Action, ResourceKind
from braidmq.core.central import SettingView
from braidmq.core.desk import PAGE_SIZE_MAX, Page, PageAsk
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._operations_services import OperationsServices
from braidmq.protocols.http._parameters import DryRun

IfMatch = Annotated[
    str | None,
    HeaderParameter(
        name="If-Match", description="The ETag that was read; the change is refused if it is another by now."
    ),
]


class SettingValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The value that all nodes are to go by."""

    value: Annotated[str, Meta(max_length=4_096, examples=["off", "32MiB"])]


class SettingsController(Controller):
    """Values from the centre are obeyed by running nodes at once. A flag and the environment of a node beat them; they
    beat a file and the defaults."""

    path = "/api/v1/settings"
    opt = needs(Action.DESCRIBE, ResourceKind.SETTING)
    tags = ("settings",)

    @get(operation_id="list_settings", summary="Every setting of this node")
    async def list_settings(
        self,
        operations: NamedDependency[OperationsServices],
        search: FromQuery[str] = "",
        sort: FromQuery[str] = "",
        page: Annotated[int, QueryParameter(ge=1, le=1_000_000)] = 1,
        page_size: Annotated[int, QueryParameter(ge=1, le=PAGE_SIZE_MAX)] = PAGE_SIZE_MAX,
    ) -> Page[SettingView]:
        return operations.settings.list(PageAsk(search, sort, page, page_size))

    @get("/{key:str}", operation_id="describe_setting", summary="One setting")
    async def describe_setting(
        self, operations: NamedDependency[OperationsServices], key: FromPath[str]
    ) -> Response[SettingView]:
        return _tagged(operations.settings.get(key))

    @put(
        "/{key:str}",
        operation_id="save_setting",
        summary="Have all nodes go by a value",
        opt=needs(Action.CHANGE, ResourceKind.SETTING),
    )
    async def save_setting(
        self,
        operations: NamedDependency[OperationsServices],
        request: Request[Any, Any, State],
        key: FromPath[str],
        data: JSONBody[SettingValue],
        if_match: IfMatch = None,
        dry_run: DryRun = False,
    ) -> Response[SettingView]:
        """With `dry_run` the value is checked, and `central` says what it would be."""
        who = f"http {request.client.host if request.client else ''}".strip()
        saved = await operations.settings.put(key, data.value, if_match=if_match, changed_by=who, dry_run=dry_run)
        return _tagged(saved)

    @delete(
        "/{key:str}",
        operation_id="delete_setting",
        summary="Have each node go by what it was started with",
        opt=needs(Action.DELETE, ResourceKind.SETTING),
        status_code=200,
    )
    async def delete_setting(
        self, operations: NamedDependency[OperationsServices], key: FromPath[str], if_match: IfMatch = None
    ) -> Response[SettingView]:
        return _tagged(await operations.settings.delete(key, if_match=if_match))


def _tagged(view: SettingView) -> Response[SettingView]:
    return Response(view, headers={"ETag": view.etag})
