"""Messages: found by what is known of them, looked at closely, taken away and sent again.

Every search is an address. What is typed into the box at the top is an id or else a key, in any topic.
"""

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from braidmq.console._bodies import body_bytes, preview, shown_body
from braidmq.console._form_fields import form_of
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import (
    SPANS,
    Span,
    catalogue_of,
    download,
    group_names,
    messaging_of,
    number_of,
    span_of,
    text_of,
    told,
    topic_names,
)
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import named_filter
from braidmq.core.desk.message_views import MessageView
from braidmq.core.desk.messages import FindAsk, Found, ResendAsk, Scanned
from braidmq.core.filters import Everything
from braidmq.model import BraidError, FilterKind
from braidmq.model.errors import InvalidRequest
from braidmq.protocols.http import HttpServices, Noted, needs

LATEST: Final = 50
LATEST_PARTITIONS_MAX: Final = 64


class Way(NamedTuple):
    """A way to search."""

    title: str
    icon: str


WAYS: Final = {
    "latest": Way("Latest", icon="bolt"),
    "id": Way("By id", icon="fingerprint"),
    "key": Way("By key", icon="key"),
    "time": Way("By time", icon="clock-search"),
    "offset": Way("By offset", icon="list-numbers"),
}


class Search(NamedTuple):
    """What the form says."""

    by: str
    topic: str | None = None
    id: str | None = None
    key: str | None = None
    span: Span = Span("all", None, None)
    partition: int | None = None
    offset: int | None = None
    tag: str | None = None
    cursor: str | None = None

    @property
    def is_asked(self) -> bool:
        return bool(self.id if self.by == "id" else self.key if self.by == "key" else self.topic)


class MessagesPage(Controller):
    path = "/messages"
    opt = needs(Action.CONSUME, ResourceKind.TOPIC)

    @get("/")
    async def search(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], instance: NamedDependency[str]
    ) -> Response[Any]:
        search, found, error = Search("latest"), None, None
        try:
            search, found = await _searched(services, request, instance)
        except BraidError as problem:
            error = problem
            search = Search(_way(request), text_of(request, "topic"), text_of(request, "id"), text_of(request, "key"))
        return render(
            request,
            "messages.html.j2",
            place="messages",
            search=search,
            found=found,
            error=error,
            ways=WAYS,
            spans=SPANS,
            topics=await topic_names(services, instance),
            preview=preview,
            going_on=_going_on(search, found),
        )

    @get("/{topic:str}/{partition:int}/{offset:int}/detail")
    async def detail(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        instance: NamedDependency[str],
        topic: FromPath[str],
        partition: FromPath[int],
        offset: FromPath[int],
    ) -> Response[Any]:
        message = await messaging_of(services).messages.at(topic, partition, offset, instance=instance)
        return render(
            request,
            "messages_detail.html.j2",
            message=message,
            body=shown_body(message),
            topics=await topic_names(services, instance),
            groups=group_names(services, instance),
        )

    @get("/{topic:str}/{partition:int}/{offset:int}/download")
    async def download(
        self,
        services: NamedDependency[HttpServices],
        instance: NamedDependency[str],
        topic: FromPath[str],
        partition: FromPath[int],
        offset: FromPath[int],
        form: FromQuery[str] = "body",
    ) -> Response[Any]:
        """The body as it is, or the whole message as JSON."""
        message = await messaging_of(services).messages.at(topic, partition, offset, instance=instance)
        name = f"{topic}-{partition}-{offset}"
        if form == "json":
            return download(msgspec.json.format(msgspec.json.encode(message)), "application/json", f"{name}.json")
        return download(body_bytes(message), "application/octet-stream", f"{name}.bin")

    @post(
        "/{topic:str}/{partition:int}/{offset:int}/resend",
        opt=needs(Action.PUBLISH, ResourceKind.TOPIC, Noted.ALWAYS),
        operation_id="console_resend_message",
        status_code=200,
    )
    async def resend(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        instance: NamedDependency[str],
        topic: FromPath[str],
        partition: FromPath[int],
        offset: FromPath[int],
    ) -> Response[Any]:
        form = await form_of(request)
        ask = ResendAsk(topic=form.get("to_topic"), group=form.get("to_group"))
        if form.get("to") == "group" and ask.group is None:
            raise InvalidRequest("group: name the group that is to get the message again")
        sent = await messaging_of(services).messages.resend(topic, partition, offset, ask, instance=instance)
        if ask.group is not None:
            return told(request, "Given to the group {group} again", sent.id or "", group=ask.group)
        place = f"{sent.partition}/{sent.offset}"
        return told(request, "Sent again to {topic}", f"{place} · {sent.id}", topic=ask.topic or topic)


def _way(request: ConsoleRequest) -> str:
    by = text_of(request, "by") or "latest"
    return by if by in WAYS else "latest"


async def _searched(services: HttpServices, request: ConsoleRequest, instance: str) -> tuple[Search, Found | None]:
    anything = text_of(request, "search")
    if anything is not None:
        return await _anywhere(services, anything, instance)
    search = Search(
        by=_way(request),
        topic=text_of(request, "topic"),
        id=text_of(request, "id"),
        key=text_of(request, "key"),
        span=span_of(request, "1h"),
        partition=number_of(request, "partition"),
        offset=number_of(request, "offset"),
        tag=text_of(request, "tag"),
        cursor=text_of(request, "cursor"),
    )
    return search, await _find(services, search, instance) if search.is_asked else None


async def _anywhere(services: HttpServices, wanted: str, instance: str) -> tuple[Search, Found]:
    """As an id, and where there is none, as a key."""
    messages = messaging_of(services).messages
    by_id = await messages.find_everywhere(id=wanted, instance=instance)
    if by_id.items:
        return Search("id", id=wanted), by_id
    by_key = await messages.find_everywhere(key=wanted, instance=instance)
    return (Search("key", key=wanted), by_key) if by_key.items else (Search("id", id=wanted), by_id)


async def _find(services: HttpServices, search: Search, instance: str) -> Found:
    messages = messaging_of(services).messages
    if search.by in ("id", "key"):
        ask = FindAsk(id=search.id if search.by == "id" else None, key=search.key if search.by == "key" else None)
        if search.topic is None:
            return await messages.find_everywhere(id=ask.id, key=ask.key, cursor=search.cursor, instance=instance)
        return await messages.find(search.topic, ask._replace(cursor=search.cursor), instance=instance)
    assert search.topic is not None, "nothing is searched without one"
    if search.by == "latest":
        return await _latest(services, search.topic, instance)
    chosen = named_filter(FilterKind.TAG, search.tag) if search.tag else Everything()
    ask = FindAsk(chosen=chosen, cursor=search.cursor)
    if search.by == "offset":
        ask = ask._replace(partition=search.partition or 0, offset=search.offset)
    else:
        ask = ask._replace(from_ms=search.span.from_ms, until_ms=search.span.until_ms)
    return await messages.find(search.topic, ask, instance=instance)


async def _latest(services: HttpServices, topic: str, instance: str) -> Found:
    """The last messages of each partition, the newest first."""
    partitions = catalogue_of(services).topics.partitions(topic, instance=instance)[:LATEST_PARTITIONS_MAX]
    each_max = math.ceil(LATEST / max(1, len(partitions)))
    items: list[MessageView] = []
    for partition in partitions:
        begin = max(partition.start_offset, partition.stable_offset - each_max)
        ask = FindAsk(partition=partition.index, offset=begin, limit=each_max)
        items += (await messaging_of(services).messages.find(topic, ask, instance=instance)).items
    items.sort(key=lambda each: (each.born_ms, each.offset), reverse=True)
    total = sum(each.stable_offset - each.start_offset for each in partitions)
    size_bytes = sum(each.size_bytes for each in items)
    scanned = Scanned(messages=len(items), bytes=size_bytes, total=total, complete=True, explanation="")
    return Found(items=items, cursor=None, scanned=scanned)


def _going_on(search: Search, found: Found | None) -> Mapping[str, object] | None:
    """The same search from where it stopped, as an address says it."""
    if found is None or found.cursor is None:
        return None
    span = search.span
    said: dict[str, object | None] = {
        "by": search.by,
        "topic": search.topic,
        "id": search.id,
        "key": search.key,
        "tag": search.tag,
        "partition": search.partition,
        "cursor": found.cursor,
    }
    if search.by == "time":
        said |= {"span": "custom" if span.from_ms else span.name, "from_ms": span.from_ms, "until_ms": span.until_ms}
    return {name: value for name, value in said.items() if value is not None}
