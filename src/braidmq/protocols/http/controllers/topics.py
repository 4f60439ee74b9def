"""Topics: lists, settings, partitions, who reads and writes them, and changes."""

from typing import Annotated

import msgspec
from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import Page, PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.topic_views import (
    MessagesDeleted,
    PartitionView,
    ProducerView,
    SettingView,
    TopicDeleted,
    TopicDetail,
    TopicGroup,
    TopicItem,
)
from braidmq.model import DEFAULT_INSTANCE, TopicKind
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._parameters import API, DryRun, InstanceName, WithInternal

_DESCRIBE = needs(Action.DESCRIBE, ResourceKind.TOPIC)


class NewTopic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A topic to be made."""

    name: Annotated[str, Meta(examples=["orders"])]
    partitions: Annotated[int | None, Meta(examples=[4], description="As the node says (topics.partitions).")] = None
    kind: TopicKind = TopicKind.MIXED
    settings: Annotated[dict[str, str], Meta(examples=[{"retention.ms": "604800000"}])] = {}


class TopicChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be different. What is left out stays."""

    partitions: Annotated[int | None, Meta(examples=[8], description="Can only grow.")] = None
    kind: TopicKind | None = None
    settings: Annotated[
        dict[str, str | None],
        Meta(examples=[{"retention.ms": "604800000", "retention.bytes": None}], description="Null takes one back."),
    ] = {}


class MessageDeletion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Up to where messages go: exactly one of the two."""

    before: Annotated[
        dict[int, int] | None, Meta(examples=[{"0": 120}], description="The first offset that stays, by partition.")
    ] = None
    before_time_ms: Annotated[int | None, Meta(description="Messages of this time and later stay.")] = None


class TopicController(Controller):
    """Topics."""

    path = f"{API}/topics"
    tags = ("topics",)

    @get(
        operation_id="list_topics",
        summary="All topics; sorted by name, partitions, messages, size, rate_in, rate_out or lag",
        opt=_DESCRIBE,
    )
    async def page(
        self,
        catalogue: NamedDependency[Catalogue],
        page_ask: NamedDependency[PageAsk],
        kind: Annotated[TopicKind | None, QueryParameter(description="Only those of this kind.")] = None,
        internal: WithInternal = False,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> Page[TopicItem]:
        """Sorting uses figures that are at most ten seconds old; so are `groups`, `lag` and `rate_out`. The other
        figures of the page are looked up now."""
        return await catalogue.topics.page(page_ask, kind=kind, internal=internal, instance=instance)

    @post(operation_id="create_topic", summary="Make a topic", opt=needs(Action.CREATE, ResourceKind.TOPIC))
    async def create(
        self,
        catalogue: NamedDependency[Catalogue],
        data: JSONBody[NewTopic],
        instance: InstanceName = DEFAULT_INSTANCE,
        dry_run: DryRun = False,
    ) -> TopicDetail:
        return await catalogue.topics.create(
            data.name,
            partitions=data.partitions,
            kind=data.kind,
            settings=data.settings,
            instance=instance,
            dry_run=dry_run,
        )

    @get("/{name:str}", operation_id="describe_topic", summary="One topic", opt=_DESCRIBE)
    async def describe(
        self, name: FromPath[str], catalogue: NamedDependency[Catalogue], instance: InstanceName = DEFAULT_INSTANCE
    ) -> TopicDetail:
        return await catalogue.topics.describe(name, instance=instance)

    @patch(
        "/{name:str}",
        operation_id="change_topic",
        summary="Add partitions, change the kind or settings",
        opt=needs(Action.CHANGE, ResourceKind.TOPIC),
    )
    async def change(
        self,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        data: JSONBody[TopicChange],
        instance: InstanceName = DEFAULT_INSTANCE,
        dry_run: DryRun = False,
    ) -> TopicDetail:
        return await catalogue.topics.change(
            name,
            partitions=data.partitions,
            kind=data.kind,
            settings=data.settings,
            instance=instance,
            dry_run=dry_run,
        )

    @delete(
        "/{name:str}",
        operation_id="delete_topic",
        summary="Delete a topic with all its messages",
        status_code=200,
        opt=needs(Action.DELETE, ResourceKind.TOPIC),
    )
    async def remove(
        self,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: InstanceName = DEFAULT_INSTANCE,
        dry_run: DryRun = False,
    ) -> TopicDeleted:
        return await catalogue.topics.delete(name, instance=instance, dry_run=dry_run)

    @get("/{name:str}/settings", operation_id="list_topic_settings", summary="Settings as they count", opt=_DESCRIBE)
    async def settings(
        self, name: FromPath[str], catalogue: NamedDependency[Catalogue], instance: InstanceName = DEFAULT_INSTANCE
    ) -> list[SettingView]:
        return catalogue.topics.settings(name, instance=instance)

    @get("/{name:str}/partitions", operation_id="list_partitions", summary="Partitions of a topic", opt=_DESCRIBE)
    async def partitions(
        self, name: FromPath[str], catalogue: NamedDependency[Catalogue], instance: InstanceName = DEFAULT_INSTANCE
    ) -> list[PartitionView]:
        return catalogue.topics.partitions(name, instance=instance)

    @get("/{name:str}/groups", operation_id="list_topic_groups", summary="Groups that read a topic", opt=_DESCRIBE)
    async def groups(
        self, name: FromPath[str], catalogue: NamedDependency[Catalogue], instance: InstanceName = DEFAULT_INSTANCE
    ) -> list[TopicGroup]:
        return catalogue.topics.groups(name, instance=instance)

    @get("/{name:str}/producers", operation_id="list_producers", summary="Who is known to send", opt=_DESCRIBE)
    async def producers(
        self, name: FromPath[str], catalogue: NamedDependency[Catalogue], instance: InstanceName = DEFAULT_INSTANCE
    ) -> list[ProducerView]:
        return catalogue.topics.producers(name, instance=instance)

    @post(
        "/{name:str}/delete-messages",
        operation_id="delete_messages",
        summary="Forget the beginning of a topic, up to an offset or a time",
        status_code=200,
        opt=needs(Action.DELETE, ResourceKind.TOPIC),
    )
    async def delete_messages(
        self,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        data: JSONBody[MessageDeletion],
        instance: InstanceName = DEFAULT_INSTANCE,
        dry_run: DryRun = False,
    ) -> MessagesDeleted:
        """Each partition has its own result. Whether the archive still needs messages is only seen by doing it."""
        return await catalogue.topics.delete_messages(
            name, before=data.before, before_time_ms=data.before_time_ms, instance=instance, dry_run=dry_run
        )
