"""Letting a group go on elsewhere, in steps: where, to what, a preview of every partition, and only then doing it.

All that was chosen is in the address, so that the browser's own way back works, and a preview can be shown to somebody
else. The preview and the move come from the same plan of the desk.
"""

from typing import Any, Final, NamedTuple

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from braidmq.console._form_fields import whole
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages.groups import group_path
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.groups import GroupDetail
from braidmq.core.desk.offsets import Moves, ResetTo
from braidmq.model.errors import InvalidRequest
from braidmq.protocols.http import needs

STEPS: Final = ("where", "to", "preview", "done")
LIKE: Final = "like"
"""Beside the targets of a reset: where another group is."""
_VALUES: Final = {ResetTo.TIME: "time_ms", ResetTo.OFFSET: "offset", ResetTo.SHIFT: "shift"}


class ResetChoice(NamedTuple):
    """What was chosen so far."""

    topics: list[str]
    partitions: list[int]
    to: str
    values: dict[str, str]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """As the fields of the next form."""
        found = [("topic", topic) for topic in self.topics]
        if self.partitions:
            found.append(("partitions", " ".join(map(str, self.partitions))))
        if self.to:
            found.append(("to", self.to))
        return found + [(name, value) for name, value in self.values.items() if value]


class GroupReset(Controller):
    path = "/groups/{name:str}/reset"
    opt = needs(Action.CHANGE, ResourceKind.GROUP)

    @get()
    async def step(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
        step: FromQuery[str] = STEPS[0],
    ) -> Response[Any]:
        group, choice = await catalogue.groups.describe(name, instance=instance), _choice(request)
        if step == "to":
            others = sorted(catalogue.groups.names(instance) - {name})
            return _page(request, group, "to", choice, others=others)
        if step == "preview":
            return _page(request, group, "preview", choice, moves=await _moved(catalogue, group, choice, dry_run=True))
        return _page(request, group, "where", choice)

    @post(status_code=200, operation_id="console_reset_offsets")
    async def reset(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        group, choice = await catalogue.groups.describe(name, instance=instance), _choice(request)
        return _page(request, group, "done", choice, moves=await _moved(catalogue, group, choice, dry_run=False))


def _page(request: ConsoleRequest, group: GroupDetail, step: str, choice: ResetChoice, **more: Any) -> Response[Any]:
    base = group_path(group.name)
    template = "group_reset_moves.html.j2" if "moves" in more else f"group_reset_{step}.html.j2"
    return render(request, template, place="groups", group=group, base=base, step=step, choice=choice, **more)


def _choice(request: ConsoleRequest) -> ResetChoice:
    """Raises InvalidRequest."""
    said = request.query_params
    named = said.getall("topic", [])
    topics = [topic.strip() for topic in named if topic.strip()]
    if named and not topics:
        raise InvalidRequest("topic: choose at least one; without any, all topics of the group would be reset")
    values = {name: said.get(name, "").strip() for name in (*_VALUES.values(), "from_group")}
    return ResetChoice(list(dict.fromkeys(topics)), _partitions(said.get("partitions", "")), said.get("to", ""), values)


def _partitions(said: str) -> list[int]:
    words = said.replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() and len(word) <= 6 for word in words):
        raise InvalidRequest("partitions: write their numbers with spaces between them, or leave it empty for all")
    return [int(word) for word in words]


async def _moved(catalogue: Catalogue, group: GroupDetail, choice: ResetChoice, *, dry_run: bool) -> Moves:
    """Raises InvalidRequest, and what the desk raises."""
    topics, instance = choice.topics or None, group.instance
    if choice.to == LIKE:
        if not choice.values["from_group"]:
            raise InvalidRequest("from_group: say which group to follow")
        if choice.partitions:
            raise InvalidRequest("partitions: a group follows another in all partitions; leave them out")
        source = choice.values["from_group"]
        return await catalogue.offsets.clone(group.name, source, topics=topics, instance=instance, dry_run=dry_run)
    if choice.to not in tuple(ResetTo):
        raise InvalidRequest("to: say where the group is to go on")
    to = ResetTo(choice.to)
    value = whole(choice.values, _VALUES[to]) if to in _VALUES else None
    return await catalogue.offsets.reset(
        group.name,
        to,
        value=value,
        topics=topics,
        partitions=choice.partitions or None,
        instance=instance,
        dry_run=dry_run,
    )
