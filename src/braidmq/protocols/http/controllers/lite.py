"""Lite topics of a topic: lists, one by itself, who subscribes, and deleting one."""

from litestar import Controller, delete, get
from litestar.di import NamedDependency
from litestar.params import FromPath

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import Page, PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.lite import LiteSubscription, LiteTopicDeleted, LiteTopicDetail, LiteTopicItem
from braidmq.model import DEFAULT_INSTANCE
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._parameters import API, DryRun, InstanceName

_DESCRIBE = needs(Action.DESCRIBE, ResourceKind.TOPIC)


class LiteTopicController(Controller):
    """Lite topics."""

    path = f"{API}/topics/{{name:str}}"
    tags = ("topics",)

    @get(
        "/lite-topics",
        operation_id="list_lite_topics",
        summary="Lite topics of a topic; sorted by name, messages, size, lag or readers",
        opt=_DESCRIBE,
    )
    async def page(
        self,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        page_ask: NamedDependency[PageAsk],
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> Page[LiteTopicItem]:
        """Sorting uses figures that are at most ten seconds old; so are `groups` and `lag`. `readers` are the clients
        of the node that was asked."""
        return await catalogue.lite.page(name, page_ask, instance=instance)

    @get("/lite-topics/{lite:str}", operation_id="describe_lite_topic", summary="One lite topic", opt=_DESCRIBE)
    async def describe(
        self,
        name: FromPath[str],
        lite: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> LiteTopicDetail:
        return await catalogue.lite.describe(name, lite, instance=instance)

    @delete(
        "/lite-topics/{lite:str}",
        operation_id="delete_lite_topic",
        summary="Delete a lite topic with all its messages",
        status_code=200,
        opt=needs(Action.DELETE, ResourceKind.TOPIC),
    )
    async def remove(
        self,
        name: FromPath[str],
        lite: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: InstanceName = DEFAULT_INSTANCE,
        dry_run: DryRun = False,
    ) -> LiteTopicDeleted:
        """Who subscribes to it stays subscribed; the next message makes it anew."""
        return await catalogue.lite.delete(name, lite, instance=instance, dry_run=dry_run)

    @get(
        "/lite-subscriptions",
        operation_id="list_lite_subscriptions",
        summary="Who subscribes to lite topics of a topic; sorted by name, client_id or group",
        opt=_DESCRIBE,
    )
    async def subscriptions(
        self,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        page_ask: NamedDependency[PageAsk],
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> Page[LiteSubscription]:
        """Clients of the node that was asked; they may subscribe to lite topics that do not exist yet."""
        return catalogue.lite.subscriptions(name, page_ask, instance=instance)
