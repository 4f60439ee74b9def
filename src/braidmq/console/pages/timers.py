"""Timers: messages that wait for their time. Those whose topic is gone are parked, until an operator says where to."""

import time
from typing import Any, Final

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from braidmq.console._bodies import shown_body
from braidmq.console._form_fields import form_of, wanted
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import messaging_of, text_of, told, topic_names
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.timers import ReleaseAsk
from braidmq.model.errors import InvalidRequest
from braidmq.model.saying import say
from braidmq.protocols.http import HttpServices, needs

WITHIN: Final = {
    "": ("Whenever", None),
    "1h": ("Within an hour", 3_600_000),
    "24h": ("Within 24 hours", 24 * 3_600_000),
    "7d": ("Within 7 days", 7 * 24 * 3_600_000),
}


class TimersPage(Controller):
    path = "/timers"
    opt = needs(Action.DESCRIBE, ResourceKind.TOPIC)

    @get("/")
    async def timers(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], instance: NamedDependency[str]
    ) -> Response[Any]:
        within = text_of(request, "within") or ""
        if within not in WITHIN:
            raise InvalidRequest(say("within: it is one of {choices}", choices=", ".join(filter(None, WITHIN))))
        length_ms = WITHIN[within][1]
        parked = text_of(request, "parked") == "true"
        page = await messaging_of(services).timers.page(
            topic=text_of(request, "topic"),
            until_ms=None if length_ms is None else int(time.time() * 1000) + length_ms,
            parked=parked,
            cursor=text_of(request, "cursor"),
            instance=instance,
        )
        topics = await topic_names(services, instance)
        shown: dict[str, Any] = {"page": page, "parked": parked, "within": within, "spans": WITHIN, "topics": topics}
        return render(request, "timers.html.j2", place="timers", **shown)

    @get("/{handle:str}/detail", opt=needs(Action.CONSUME, ResourceKind.TOPIC))
    async def detail(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        instance: NamedDependency[str],
        handle: FromPath[str],
    ) -> Response[Any]:
        timer = await messaging_of(services).timers.find(handle)
        body = None if timer.message is None else shown_body(timer.message)
        topics = await topic_names(services, instance)
        return render(request, "timers_detail.html.j2", timer=timer, body=body, topics=topics)

    @post(
        "/{handle:str}/cancel",
        opt=needs(Action.DELETE, ResourceKind.TOPIC),
        operation_id="cancel_timer",
        status_code=200,
    )
    async def cancel(
        self, request: ConsoleRequest, services: NamedDependency[HttpServices], handle: FromPath[str]
    ) -> Response[Any]:
        timer = await messaging_of(services).timers.cancel(handle)
        return told(request, "The delayed message to {topic} is cancelled", timer.message_id, topic=timer.topic)

    @post(
        "/{handle:str}/release",
        opt=needs(Action.CHANGE, ResourceKind.TOPIC),
        operation_id="release_timer",
        status_code=200,
    )
    async def release(
        self,
        request: ConsoleRequest,
        services: NamedDependency[HttpServices],
        instance: NamedDependency[str],
        handle: FromPath[str],
    ) -> Response[Any]:
        topic = wanted(await form_of(request), "topic")
        await messaging_of(services).timers.release(handle, ReleaseAsk(topic=topic), instance=instance)
        return told(request, "Released: it goes to {topic}", topic=topic)
