"""Dead letters: why they are there, given out again after a look at what that would do, exported and deleted.

A choice of letters is a list of places, each with its group; whatever is to be done is shown before it is done.
"""

from typing import Any, Final, NamedTuple

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from braidmq.console._bodies import preview, shown_body
from braidmq.console._form_fields import form_of, whole_number
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import SPANS, download, messaging_of, span_of, text_of, told
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.dead_letter_views import (
    PLACES_MAX,
    DeadFilterAsk,
    DeleteAsk,
    ExportFormat,
    PlaceView,
    ReplayAsk,
    ReplayResult,
)
from braidmq.core.retry import ReplayTo
from braidmq.model.errors import InvalidRequest
from braidmq.model.saying import say
from braidmq.protocols.http import HttpServices, Noted, name_in_audit, needs

MEDIA: Final = {"json": "application/json", "ndjson": "application/x-ndjson", "csv": "text/csv"}
AGES: Final = ("Under 1 hour", "1 to 6 hours", "6 to 24 hours", "1 to 7 days", "Over 7 days")


class Wanted(NamedTuple):
    """Which letters are to be replayed, and to whom: places of groups, or all of one group that a filter wants."""

    places: dict[str, list[PlaceView]]
    all_of: str | None
    filter: DeadFilterAsk
    to: ReplayTo
    cursor: str | None

    def asks(self) -> list[ReplayAsk]:
        """One for each group. Raises InvalidRequest where nothing was chosen."""
        if self.all_of is not None:
            return [ReplayAsk(group=self.all_of, all=True, filter=self.filter, to=self.to, cursor=self.cursor)]
        if not self.places:
            raise InvalidRequest("choose at least one dead letter, or one group whose dead letters are all meant")
        return [ReplayAsk(group=group, places=places, to=self.to) for group, places in self.places.items()]


class DeadLettersPage(Controller):
    path = "/dead-letters"
    opt = needs(Action.CONSUME, ResourceKind.GROUP)

    @get("/")
    async def letters(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], instance: NamedDependency[str]
    ) -> Response[Any]:
        desk = messaging_of(services).dead_letters
        span, group = span_of(request), text_of(request, "group")
        chosen = DeadFilterAsk(
            topic=text_of(request, "topic"),
            key=text_of(request, "key"),
            id=text_of(request, "id"),
            from_ms=span.from_ms,
            until_ms=span.until_ms,
        )
        page = await desk.page(group=group, chosen=chosen, cursor=text_of(request, "cursor"), instance=instance)
        ages = await desk.ages(group=group, instance=instance)
        return render(
            request,
            "dead_letters.html.j2",
            place="dead-letters",
            group=group,
            groups=desk.groups(instance=instance).items,
            ages=list(zip(AGES, ages.items, strict=True)),
            page=page,
            span=span,
            spans=SPANS,
            chosen=chosen,
            preview=preview,
        )

    @get("/{group:str}/{partition:int}/{offset:int}/detail")
    async def detail(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        instance: NamedDependency[str],
        group: FromPath[str],
        partition: FromPath[int],
        offset: FromPath[int],
    ) -> Response[Any]:
        place = PlaceView(partition=partition, offset=offset)
        letter = await messaging_of(services).dead_letters.at(group, place, instance=instance)
        return render(request, "dead_letters_detail.html.j2", letter=letter, body=shown_body(letter.message))

    @get("/export")
    async def export(
        self,
        services: NamedDependency[HttpServices],
        instance: NamedDependency[str],
        form: FromQuery[ExportFormat] = ExportFormat.JSON,
        group: FromQuery[str] = "",
    ) -> Response[Any]:
        content = messaging_of(services).dead_letters.export(form, group=group or None, instance=instance)
        return download(content, MEDIA[form.value], f"dead-letters{'-' if group else ''}{group}.{form.value}")

    @post("/preview", status_code=200)
    async def preview(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], instance: NamedDependency[str]
    ) -> Response[Any]:
        """What a replay would do."""
        return await _replayed(request, services, instance, dry_run=True)

    @post(
        "/replay",
        opt=needs(Action.PUBLISH, ResourceKind.GROUP, Noted.ALWAYS),
        operation_id="console_replay_dead_letters",
        status_code=200,
    )
    async def replay(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], instance: NamedDependency[str]
    ) -> Response[Any]:
        return await _replayed(request, services, instance, dry_run=False)

    @get("/{group:str}/delete")
    async def ask_delete(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        instance: NamedDependency[str],
        group: FromPath[str],
        last: FromQuery[str] = "",
    ) -> Response[Any]:
        """What would be deleted: all, or what is not younger than one of them."""
        ask = _delete_ask(group, last)
        would = await messaging_of(services).dead_letters.delete(ask, dry_run=True, instance=instance)
        return render(request, "dead_letters_delete.html.j2", group=group, last=last, count=would.deleted)

    @post(
        "/{group:str}/delete",
        opt=needs(Action.DELETE, ResourceKind.GROUP),
        operation_id="delete_dead_letters",
        status_code=200,
    )
    async def delete(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        instance: NamedDependency[str],
        group: FromPath[str],
    ) -> Response[Any]:
        ask = _delete_ask(group, (await form_of(request)).get("last", ""))
        gone = await messaging_of(services).dead_letters.delete(ask, instance=instance)
        return told(request, "{count} dead letters of {group} deleted", count=gone.deleted, group=group)


async def _replayed(request: ConsoleRequest, services: HttpServices, instance: str, *, dry_run: bool) -> Response[Any]:
    desk, wanted = messaging_of(services).dead_letters, await _wanted(request)
    asks = wanted.asks()
    name_in_audit(request.scope, ", ".join(ask.group for ask in asks))
    results: list[tuple[str, ReplayResult]] = []
    cursor: str | None = None
    for ask in asks:
        done = await desk.replay(ask, dry_run=dry_run, instance=instance)
        results += [(ask.group, each) for each in done.results]
        cursor = done.cursor
    answer = render(
        request, "dead_letters_replay.html.j2", wanted=wanted, results=results, cursor=cursor, dry_run=dry_run
    )
    if not dry_run:
        answer.headers["hx-trigger"] = "braid:refresh"
    return answer


async def _wanted(request: ConsoleRequest) -> Wanted:
    """Raises InvalidRequest."""
    form = await request.form()
    said = await form_of(request)
    places: dict[str, list[PlaceView]] = {}
    for text in form.getall("place", []) if "all_of" not in said else ():
        group, place = _place(str(text))
        places.setdefault(group, []).append(place)
    if sum(map(len, places.values())) > PLACES_MAX:
        raise InvalidRequest(say("choose at most {places_max} dead letters at once", places_max=PLACES_MAX))
    from_ms, until_ms = (whole_number(name, said[name]) if name in said else None for name in ("from_ms", "until_ms"))
    chosen = DeadFilterAsk(
        topic=said.get("topic"), key=said.get("key"), id=said.get("id"), from_ms=from_ms, until_ms=until_ms
    )
    to = ReplayTo.TOPIC if said.get("to") == "topic" else ReplayTo.GROUP
    return Wanted(places, said.get("all_of"), chosen, to, said.get("cursor"))


def _place(text: str) -> tuple[str, PlaceView]:
    """A group, a partition and an offset. Raises InvalidRequest."""
    group, _, place = text.rpartition("@")
    partition, _, offset = place.partition("-")
    return group, PlaceView(partition=whole_number("place", partition), offset=whole_number("place", offset))


def _delete_ask(group: str, last: str) -> DeleteAsk:
    return DeleteAsk(group=group, last=_place(f"@{last}")[1]) if last else DeleteAsk(group=group, all=True)
