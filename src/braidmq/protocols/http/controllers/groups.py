"""Groups: one list of all, their members, pausing, and changes."""

from typing import Annotated

import msgspec
from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk import Page, PageAsk
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.clients import GroupMember
from braidmq.core.desk.groups import GroupChoice, GroupDeleted, GroupDetail, GroupItem
from braidmq.core.desk.subscriptions import DifferenceView
from braidmq.model import DEFAULT_INSTANCE
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._parameters import API, DryRun, InstanceName, WithInternal

_DESCRIBE = needs(Action.DESCRIBE, ResourceKind.GROUP)
_CHANGE = needs(Action.CHANGE, ResourceKind.GROUP)


class NewGroup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group to be made."""

    name: Annotated[str, Meta(examples=["settlement"])]
    attempts_max: Annotated[int, Meta(examples=[16])] = 16
    ordered: bool = False
    broadcast: bool = False
    settings: Annotated[dict[str, str], Meta(examples=[{"retry.steps": "10s 30s 1m"}])] = {}


class GroupChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be different. What is left out stays."""

    attempts_max: Annotated[int | None, Meta(examples=[16])] = None
    ordered: bool | None = None
    broadcast: bool | None = None
    settings: Annotated[
        dict[str, str | None], Meta(examples=[{"retry.steps": "10s 1m"}], description="Null takes one back.")
    ] = {}


class GroupController(Controller):
    """Groups."""

    path = f"{API}/groups"
    tags = ("groups",)

    @get(
        operation_id="list_groups",
        summary="All groups; sorted by name, lag, members, topics, rate_out or in_flight",
        opt=_DESCRIBE,
    )
    async def page(
        self,
        catalogue: NamedDependency[Catalogue],
        page_ask: NamedDependency[PageAsk],
        behind: Annotated[bool, QueryParameter(description="Only those that have messages to read.")] = False,
        without_members: Annotated[bool, QueryParameter(description="Only those that nobody reads for.")] = False,
        paused: Annotated[bool, QueryParameter(description="Only those that are paused.")] = False,
        internal: WithInternal = False,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> Page[GroupItem]:
        """Sorting and choosing use figures that are at most ten seconds old, and so is `rate_out`. The lag and the
        other figures of the page are looked up now."""
        only = GroupChoice(behind=behind, without_members=without_members, paused=paused)
        return await catalogue.groups.page(page_ask, only=only, internal=internal, instance=instance)

    @post(operation_id="create_group", summary="Make a group", opt=needs(Action.CREATE, ResourceKind.GROUP))
    async def create(
        self,
        catalogue: NamedDependency[Catalogue],
        data: JSONBody[NewGroup],
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> GroupDetail:
        return await catalogue.groups.create(
            data.name,
            attempts_max=data.attempts_max,
            ordered=data.ordered,
            broadcast=data.broadcast,
            settings=data.settings,
            instance=instance,
        )

    @get("/{name:str}", operation_id="describe_group", summary="One group", opt=_DESCRIBE)
    async def describe(
        self, name: FromPath[str], catalogue: NamedDependency[Catalogue], instance: InstanceName = DEFAULT_INSTANCE
    ) -> GroupDetail:
        return await catalogue.groups.describe(name, instance=instance)

    @patch("/{name:str}", operation_id="change_group", summary="Change what a group may do", opt=_CHANGE)
    async def change(
        self,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        data: JSONBody[GroupChange],
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> GroupDetail:
        """A group that was known by its use only is kept from then on."""
        return await catalogue.groups.change(
            name,
            attempts_max=data.attempts_max,
            ordered=data.ordered,
            broadcast=data.broadcast,
            settings=data.settings,
            instance=instance,
        )

    @delete(
        "/{name:str}",
        operation_id="delete_group",
        summary="Delete a group without members, with its offsets and subscriptions",
        status_code=200,
        opt=needs(Action.DELETE, ResourceKind.GROUP),
    )
    async def remove(
        self,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: InstanceName = DEFAULT_INSTANCE,
        dry_run: DryRun = False,
    ) -> GroupDeleted:
        return await catalogue.groups.delete(name, instance=instance, dry_run=dry_run)

    @post(
        "/{name:str}/pause",
        operation_id="pause_group",
        summary="Give a group's members nothing for now",
        status_code=200,
        opt=_CHANGE,
    )
    async def pause(
        self, name: FromPath[str], catalogue: NamedDependency[Catalogue], instance: InstanceName = DEFAULT_INSTANCE
    ) -> GroupDetail:
        """`paused_for` says whose members obey. Kafka's classic members go on: their reads do not name a group."""
        return await catalogue.groups.pause(name, instance=instance)

    @post(
        "/{name:str}/resume",
        operation_id="resume_group",
        summary="Let a paused group go on where it was",
        status_code=200,
        opt=_CHANGE,
    )
    async def resume(
        self, name: FromPath[str], catalogue: NamedDependency[Catalogue], instance: InstanceName = DEFAULT_INSTANCE
    ) -> GroupDetail:
        return await catalogue.groups.resume(name, instance=instance)

    @get("/{name:str}/members", operation_id="list_members", summary="Live members on every protocol", opt=_DESCRIBE)
    async def members(
        self, name: FromPath[str], catalogue: NamedDependency[Catalogue], instance: InstanceName = DEFAULT_INSTANCE
    ) -> list[GroupMember]:
        return catalogue.groups.members(name, instance=instance)

    @get(
        "/{name:str}/differences",
        operation_id="list_differences",
        summary="Where members of a group do not want the same",
        opt=_DESCRIBE,
    )
    async def differences(self, name: FromPath[str], catalogue: NamedDependency[Catalogue]) -> list[DifferenceView]:
        return catalogue.subscriptions.differences(name)
