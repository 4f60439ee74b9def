"""Groups: the list, making one, and one looked at closely."""

from typing import Any, Final
from urllib.parse import quote

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, FromQuery

from braidmq.console._charts import chart
from braidmq.console._form_fields import Form, leads_to, text, whole
from braidmq.console._pictures import share, spark
from braidmq.console._render import ConsoleRequest, render
from braidmq.console._words import language_of, speaker
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import PAGE_SIZE_MAX, PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.groups import GroupChoice
from braidmq.core.samples import SampleAsk
from braidmq.model import DEFAULT_INSTANCE, FilterKind
from braidmq.model.group_settings import DEFAULT_RETRY_STEPS, RETRY_STEPS
from braidmq.protocols.http import OperationsServices, needs

TABS: Final = ("lag", "members", "subscriptions", "settings")
STEP_S: Final = 60
"""How often groups are sampled."""
_FIGURES: Final = {"lag": {"lag": "Lag"}, "rate": {"rate": "Messages per second"}}
FILTER_KINDS: Final = {
    FilterKind.ALL: "All messages",
    FilterKind.TAG: "By tag",
    FilterKind.SQL: "By an SQL expression",
    FilterKind.HEADER: "By headers",
}
_CHANGE: Final = needs(Action.CHANGE, ResourceKind.GROUP)
_DELETE: Final = needs(Action.DELETE, ResourceKind.GROUP)


class GroupPages(Controller):
    opt = needs(Action.DESCRIBE, ResourceKind.GROUP)

    @get("/groups")
    async def page(
        self,
        request: ConsoleRequest,
        catalogue: NamedDependency[Catalogue],
        operations: NamedDependency[OperationsServices],
        page_ask: NamedDependency[PageAsk],
        instance: NamedDependency[str],
        only: FromQuery[str] = "",
    ) -> Response[Any]:
        choice = GroupChoice(behind=only == "behind", without_members=only == "memberless", paused=only == "paused")
        groups = await catalogue.groups.page(page_ask, only=choice, instance=instance)
        names = [each.name for each in groups.items]
        points = await operations.samples.last_hour("lag", groups=names, instance=instance)
        now_ms = operations.samples.now_ms()
        sparks = {name: spark(found, now_ms) for name, found in points.items()}
        return render(request, "groups.html.j2", place="groups", groups=groups, sparks=sparks, only=only)

    @get("/new-group")
    async def new(self, request: ConsoleRequest) -> Response[Any]:
        return render(request, "group_new.html.j2", retry_steps=DEFAULT_RETRY_STEPS)

    @post("/groups", opt=needs(Action.CREATE, ResourceKind.GROUP), status_code=200, operation_id="console_create_group")
    async def create(
        self, request: ConsoleRequest, catalogue: NamedDependency[Catalogue], instance: NamedDependency[str], data: Form
    ) -> Response[Any]:
        name, attempts, steps = text(data, "name"), whole(data, "attempts_max"), text(data, "retry_steps")
        await catalogue.groups.create(
            name,
            attempts_max=16 if attempts is None else attempts,
            ordered=bool(text(data, "ordered")),
            broadcast=bool(text(data, "broadcast")),
            settings={RETRY_STEPS: steps} if steps else {},
            instance=instance,
        )
        return leads_to(request, group_path(name))

    @get("/groups/{name:str}")
    async def detail(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
        tab: FromQuery[str] = TABS[0],
    ) -> Response[Any]:
        if tab not in TABS:
            raise NotFoundException(f"there is no tab {tab[:40]!r}")
        return render(
            request,
            f"group_{tab}.html.j2",
            place="groups",
            group=await catalogue.groups.describe(name, instance=instance),
            differences=catalogue.subscriptions.differences(name) if instance == DEFAULT_INSTANCE else [],
            tab=tab,
            base=group_path(name),
            **await _shown(catalogue, name, tab, instance),
        )

    @get("/groups/{name:str}/charts/{figure:str}")
    async def chart(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        figure: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        operations: NamedDependency[OperationsServices],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        """The last hour of a group, and how it is now."""
        if figure not in _FIGURES:
            raise NotFoundException(f"there is no chart {figure!r}")
        group = await catalogue.groups.describe(name, instance=instance)
        say = speaker(language_of(request))
        labels = {field: say(label) for field, label in _FIGURES[figure].items()}
        ask = SampleAsk(names=tuple(labels), group=name, instance=instance, step_s=STEP_S)
        view = await operations.samples.query(ask)
        now = {"lag": float(group.lag), "rate": group.rate_out}
        return chart(view, labels, now={field: value for field, value in now.items() if field in labels})

    @post("/groups/{name:str}/pause", opt=_CHANGE, status_code=200, operation_id="console_pause_group")
    async def pause(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        await catalogue.groups.pause(name, instance=instance)
        return leads_to(request, group_path(name))

    @post("/groups/{name:str}/resume", opt=_CHANGE, status_code=200, operation_id="console_resume_group")
    async def resume(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        await catalogue.groups.resume(name, instance=instance)
        return leads_to(request, group_path(name))

    @get("/groups/{name:str}/settings", opt=_CHANGE)
    async def edit(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        group = await catalogue.groups.describe(name, instance=instance)
        steps = group.settings.get(RETRY_STEPS, "")
        return render(
            request,
            "group_edit.html.j2",
            base=group_path(name),
            group=group,
            steps=steps,
            default_steps=DEFAULT_RETRY_STEPS,
        )

    @post("/groups/{name:str}/settings", opt=_CHANGE, status_code=200, operation_id="console_change_group")
    async def change(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
        data: Form,
    ) -> Response[Any]:
        await catalogue.groups.change(
            name,
            attempts_max=whole(data, "attempts_max"),
            ordered=bool(text(data, "ordered")),
            broadcast=bool(text(data, "broadcast")),
            settings={RETRY_STEPS: text(data, "retry_steps") or None},
            instance=instance,
        )
        return leads_to(request, f"{group_path(name)}?tab=settings")

    @get("/groups/{name:str}/delete", opt=_DELETE)
    async def preview_deletion(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        lost = await catalogue.groups.delete(name, instance=instance, dry_run=True)
        return render(request, "group_delete.html.j2", base=group_path(name), lost=lost)

    @post("/groups/{name:str}/delete", opt=_DELETE, status_code=200, operation_id="console_delete_group")
    async def delete(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        await catalogue.groups.delete(name, instance=instance)
        return leads_to(request, "/console/groups")


def group_path(name: str) -> str:
    return f"/console/groups/{quote(name, safe='')}"


async def _shown(catalogue: Catalogue, name: str, tab: str, instance: str) -> dict[str, Any]:
    """What one tab needs beyond the group itself."""
    if tab == "lag":
        positions = await catalogue.groups.offsets(name, instance=instance)
        most = max((each.lag or 0 for each in positions), default=0)
        return {"positions": positions, "shares": [share(each.lag or 0, most) for each in positions]}
    if tab == "members":
        return {"members": catalogue.groups.members(name, instance=instance)}
    if tab == "subscriptions":
        kept = catalogue.subscriptions.page(PageAsk(page_size=PAGE_SIZE_MAX), group=name, instance=instance)
        members = catalogue.groups.members(name, instance=instance)
        return {"subscriptions": kept.items, "kinds": FILTER_KINDS, "members": members}
    return {"default_steps": DEFAULT_RETRY_STEPS}
