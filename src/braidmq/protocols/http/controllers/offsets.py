"""How far groups are, and moving them, always with a preview."""

from typing import Annotated

import msgspec
from litestar import Controller, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import Meta

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.offsets import Moves, OffsetView, ResetTo
from braidmq.model import DEFAULT_INSTANCE
from braidmq.protocols.http._needs import needs
from braidmq.protocols.http._parameters import API, DryRun, InstanceName

_CHANGE = needs(Action.CHANGE, ResourceKind.GROUP)

Topics = Annotated[
    list[str] | None, Meta(examples=[["orders"]], description="Left out: all in which the group has committed.")
]
OneTopic = Annotated[str, QueryParameter(description="Only of this topic; else of all that the group is in.")]


class OffsetReset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a group is to go on."""

    to: ResetTo
    value: Annotated[
        int | None,
        Meta(
            examples=[120], description="The time in milliseconds, the offset, or by how much to shift; else left out."
        ),
    ] = None
    topics: Topics = None
    partitions: Annotated[list[int] | None, Meta(examples=[[0, 1]], description="Left out: all.")] = None
    online: Annotated[
        bool | None,
        Meta(description="Whether the group has members who are told by their reads (RocketMQ). Left out: looked up."),
    ] = None


class OffsetSkip(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a group is to pass over all that waits."""

    topics: Topics = None


class OffsetClone(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a group is to go on: where another one is."""

    from_group: Annotated[str, Meta(examples=["settlement"])]
    topics: Topics = None


class OffsetController(Controller):
    """Offsets of groups."""

    path = f"{API}/groups/{{name:str}}/offsets"
    tags = ("offsets",)

    @get(
        operation_id="list_offsets",
        summary="How far a group is, by partition",
        opt=needs(Action.DESCRIBE, ResourceKind.GROUP),
    )
    async def positions(
        self,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        topic: OneTopic = "",
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> list[OffsetView]:
        return await catalogue.groups.offsets(name, topic=topic, instance=instance)

    @post(
        "/reset",
        operation_id="reset_offsets",
        summary="Let a group go on elsewhere: by time, offset or shift, at the start or the end",
        status_code=200,
        opt=_CHANGE,
    )
    async def reset(
        self,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        data: JSONBody[OffsetReset],
        instance: InstanceName = DEFAULT_INSTANCE,
        dry_run: DryRun = False,
    ) -> Moves:
        """Offsets outside of what a partition holds become its start or end. A group whose Kafka members are there
        cannot be moved; a dry run says so in `error` of each move, and shows the moves all the same."""
        return await catalogue.offsets.reset(
            name,
            data.to,
            value=data.value,
            topics=data.topics,
            partitions=data.partitions,
            online=data.online,
            instance=instance,
            dry_run=dry_run,
        )

    @post(
        "/skip",
        operation_id="skip_offsets",
        summary="Let a group pass over all that waits",
        status_code=200,
        opt=_CHANGE,
    )
    async def skip(
        self,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        data: JSONBody[OffsetSkip],
        instance: InstanceName = DEFAULT_INSTANCE,
        dry_run: DryRun = False,
    ) -> Moves:
        return await catalogue.offsets.reset(
            name, ResetTo.LATEST, topics=data.topics, instance=instance, dry_run=dry_run
        )

    @post(
        "/clone",
        operation_id="clone_offsets",
        summary="Let a group go on where another one is",
        status_code=200,
        opt=_CHANGE,
    )
    async def clone(
        self,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        data: JSONBody[OffsetClone],
        instance: InstanceName = DEFAULT_INSTANCE,
        dry_run: DryRun = False,
    ) -> Moves:
        return await catalogue.offsets.clone(
            name, data.from_group, topics=data.topics, instance=instance, dry_run=dry_run
        )

    @delete(
        operation_id="delete_offsets",
        summary="Forget how far a group is",
        status_code=200,
        opt=needs(Action.DELETE, ResourceKind.GROUP),
    )
    async def remove(
        self,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        topic: OneTopic = "",
        instance: InstanceName = DEFAULT_INSTANCE,
        dry_run: DryRun = False,
    ) -> Moves:
        return await catalogue.offsets.delete(name, topic=topic, instance=instance, dry_run=dry_run)
