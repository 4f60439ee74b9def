"""Subscriptions: which group wants which messages of which topic."""

from typing import Annotated

import msgspec
from litestar import Controller, delete, get, put
from litestar.di import NamedDependency
from litestar.params import FromQuery, JSONBody, QueryParameter
from msgspec import Meta

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import Page, PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.subscriptions import SubscriptionView
from braidmq.model import DEFAULT_INSTANCE, FilterKind, Subscription
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._parameters import API, DryRun, InstanceName


class SubscriptionToKeep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A subscription to be made or replaced; group, topic and event code say which."""

    group: Annotated[str, Meta(examples=["settlement"])]
    topic: Annotated[str, Meta(examples=["orders"])]
    event_code: Annotated[str, Meta(examples=["*"])] = "*"
    filter_kind: FilterKind = FilterKind.ALL
    expression: Annotated[str, Meta(examples=["paid || refunded"])] = ""


class SubscriptionController(Controller):
    """Subscriptions."""

    path = f"{API}/subscriptions"
    tags = ("subscriptions",)

    @get(
        operation_id="list_subscriptions",
        summary="All subscriptions; sorted by group or topic",
        opt=needs(Action.DESCRIBE, ResourceKind.GROUP),
    )
    async def page(
        self,
        catalogue: NamedDependency[Catalogue],
        page_ask: NamedDependency[PageAsk],
        group: Annotated[str, QueryParameter(description="Only those of this group.")] = "",
        topic: Annotated[str, QueryParameter(description="Only those of this topic.")] = "",
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> Page[SubscriptionView]:
        return catalogue.subscriptions.page(page_ask, group=group, topic=topic, instance=instance)

    @put(
        operation_id="save_subscription",
        summary="Make a subscription, or replace it",
        opt=needs(Action.CHANGE, ResourceKind.GROUP),
    )
    async def save(
        self,
        catalogue: NamedDependency[Catalogue],
        data: JSONBody[SubscriptionToKeep],
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> SubscriptionView:
        return await catalogue.subscriptions.save(Subscription(instance=instance, **msgspec.structs.asdict(data)))

    @delete(
        operation_id="delete_subscription",
        summary="Take a subscription back",
        status_code=200,
        opt=needs(Action.CHANGE, ResourceKind.GROUP),
    )
    async def remove(
        self,
        catalogue: NamedDependency[Catalogue],
        group: FromQuery[str],
        topic: FromQuery[str],
        event_code: FromQuery[str] = "*",
        instance: InstanceName = DEFAULT_INSTANCE,
        dry_run: DryRun = False,
    ) -> SubscriptionView:
        return await catalogue.subscriptions.delete(
            group, topic, event_code=event_code, instance=instance, dry_run=dry_run
        )
