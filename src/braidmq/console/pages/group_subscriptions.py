"""Subscriptions that operators keep for a group: made, changed and removed from the group's page.

What a subscription is known by (topic and event code) does not change; another topic is another subscription.
"""

from typing import Any

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery

from braidmq.console._form_fields import Form, leads_to, text
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages._asked import topic_names
from braidmq.console.pages.groups import FILTER_KINDS, group_path
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import PAGE_SIZE_MAX, PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.model import FilterKind, Subscription
from braidmq.model.errors import InvalidRequest
from braidmq.model.saying import say
from braidmq.protocols.http import HttpServices, needs


class GroupSubscriptions(Controller):
    path = "/groups/{name:str}/subscription"
    opt = needs(Action.CHANGE, ResourceKind.GROUP)

    @get("/")
    async def edit(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        services: NamedDependency[HttpServices],
        instance: NamedDependency[str],
        topic: FromQuery[str] = "",
        event_code: FromQuery[str] = "*",
    ) -> Response[Any]:
        """The form; with a topic, as that subscription is."""
        await catalogue.groups.describe(name, instance=instance)
        ask = PageAsk(page_size=PAGE_SIZE_MAX)
        kept = catalogue.subscriptions.page(ask, group=name, topic=topic, instance=instance)
        known = next((each for each in kept.items if topic and each.event_code == event_code), None)
        topics = await topic_names(services, instance)
        shown: dict[str, Any] = {"known": known, "kinds": FILTER_KINDS, "topics": topics}
        return render(request, "group_subscription.html.j2", base=group_path(name), group=name, **shown)

    @post("/", status_code=200, operation_id="console_save_subscription")
    async def save(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
        data: Form,
    ) -> Response[Any]:
        kind = _kind(text(data, "filter_kind"))
        subscription = Subscription(
            instance=instance,
            group=name,
            topic=text(data, "topic"),
            event_code=text(data, "event_code") or "*",
            filter_kind=kind,
            expression="" if kind is FilterKind.ALL else text(data, "expression"),
        )
        await catalogue.subscriptions.save(subscription)
        return leads_to(request, f"{group_path(name)}?tab=subscriptions")

    @get("/delete")
    async def preview_removal(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
        topic: FromQuery[str],
        event_code: FromQuery[str] = "*",
    ) -> Response[Any]:
        lost = await catalogue.subscriptions.delete(name, topic, event_code=event_code, instance=instance, dry_run=True)
        return render(request, "group_unsubscribe.html.j2", base=group_path(name), lost=lost, kinds=FILTER_KINDS)

    @post("/delete", status_code=200, operation_id="console_delete_subscription")
    async def remove(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
        data: Form,
    ) -> Response[Any]:
        event_code = text(data, "event_code") or "*"
        await catalogue.subscriptions.delete(name, text(data, "topic"), event_code=event_code, instance=instance)
        return leads_to(request, f"{group_path(name)}?tab=subscriptions")


def _kind(said: str) -> FilterKind:
    """Raises InvalidRequest."""
    if said not in set(FilterKind):
        raise InvalidRequest(say("filter_kind: it is one of {choices}", choices=", ".join(FilterKind)))
    return FilterKind(said)
