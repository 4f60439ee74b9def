"""Dead letters: listed with their causes, replayed, deleted and exported."""

from typing import Annotated

from litestar import Controller, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, JSONBody, PathParameter
from litestar.response import Stream

from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.dead_letter_views import (
    DeadAges,
    DeadFilterAsk,
    DeadGroups,
    DeadLetterPage,
    DeadLetterView,
    DeleteAsk,
    DeletedView,
    ExportFormat,
    PlaceView,
    ReplayAsk,
    ReplayView,
)
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.model import DEFAULT_INSTANCE
from braidmq.protocols.http._desk import DESK
from braidmq.protocols.http._needs import Noted, needs
from braidmq.protocols.http._parameters import API, Cursor, DryRun, InstanceName, Limit, TimeMs, WithBase64

MEDIA = {
    ExportFormat.JSON: "application/json",
    ExportFormat.NDJSON: "application/x-ndjson",
    ExportFormat.CSV: "text/csv",
}


class DeadLetterController(Controller):
    """Messages that their groups could not work on."""

    path = f"{API}/dead-letters"
    dependencies = DESK
    tags = ("dead letters",)

    @get(
        "/",
        operation_id="list_dead_letters",
        summary="Dead letters of a group, or of all",
        opt=needs(Action.CONSUME, ResourceKind.GROUP),
    )
    async def page(
        self,
        desk: NamedDependency[MessagingDesk],
        group: FromQuery[str | None] = None,
        topic: FromQuery[str | None] = None,
        key: FromQuery[str | None] = None,
        id: FromQuery[str | None] = None,  # the query's name
        from_ms: TimeMs = None,
        until_ms: TimeMs = None,
        cursor: Cursor = None,
        limit: Limit = 50,
        with_base64: WithBase64 = False,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> DeadLetterPage:
        chosen = DeadFilterAsk(topic=topic, key=key, id=id, from_ms=from_ms, until_ms=until_ms)
        return await desk.dead_letters.page(
            group=group, chosen=chosen, cursor=cursor, limit=limit, instance=instance, with_base64=with_base64
        )

    @get(
        "/groups",
        operation_id="list_dead_letter_groups",
        summary="Which groups have dead letters, and how many",
        opt=needs(Action.DESCRIBE, ResourceKind.GROUP),
    )
    async def groups(
        self, desk: NamedDependency[MessagingDesk], instance: InstanceName = DEFAULT_INSTANCE
    ) -> DeadGroups:
        return desk.dead_letters.groups(instance=instance)

    @get(
        "/ages",
        operation_id="describe_dead_letter_ages",
        summary="How old the dead letters of a group are, or of all",
        opt=needs(Action.DESCRIBE, ResourceKind.GROUP),
    )
    async def ages(
        self,
        desk: NamedDependency[MessagingDesk],
        group: FromQuery[str | None] = None,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> DeadAges:
        return await desk.dead_letters.ages(group=group, instance=instance)

    @get(
        "/{group:str}/{partition:int}/{offset:int}",
        operation_id="show_dead_letter",
        summary="One dead letter by its place",
        opt=needs(Action.CONSUME, ResourceKind.GROUP),
    )
    async def show(
        self,
        group: FromPath[str],
        partition: Annotated[int, PathParameter(ge=0)],
        offset: Annotated[int, PathParameter(ge=0)],
        desk: NamedDependency[MessagingDesk],
        with_base64: WithBase64 = False,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> DeadLetterView:
        place = PlaceView(partition=partition, offset=offset)
        return await desk.dead_letters.at(group, place, instance=instance, with_base64=with_base64)

    @post(
        "/replay",
        operation_id="replay_dead_letters",
        summary="Give dead letters out again, with a result for each",
        opt=needs(Action.PUBLISH, ResourceKind.GROUP, Noted.ALWAYS),
        status_code=200,
    )
    async def replay(
        self,
        data: JSONBody[ReplayAsk],
        desk: NamedDependency[MessagingDesk],
        dry_run: DryRun = False,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> ReplayView:
        return await desk.dead_letters.replay(data, dry_run=dry_run, instance=instance)

    @post(
        "/delete",
        operation_id="delete_dead_letters",
        summary="Forget dead letters up to one of them, or all",
        opt=needs(Action.DELETE, ResourceKind.GROUP),
        status_code=200,
    )
    async def delete(
        self,
        data: JSONBody[DeleteAsk],
        desk: NamedDependency[MessagingDesk],
        dry_run: DryRun = False,
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> DeletedView:
        return await desk.dead_letters.delete(data, dry_run=dry_run, instance=instance)

    @get(
        "/export",
        operation_id="export_dead_letters",
        summary="All dead letters of a group, or of all groups, as a file",
        opt=needs(Action.CONSUME, ResourceKind.GROUP),
        media_type=MEDIA[ExportFormat.NDJSON],
    )
    async def export(
        self,
        desk: NamedDependency[MessagingDesk],
        group: FromQuery[str | None] = None,
        format: FromQuery[ExportFormat] = ExportFormat.NDJSON,  # the query's name
        instance: InstanceName = DEFAULT_INSTANCE,
    ) -> Stream:
        content = desk.dead_letters.export(format, group=group, instance=instance)
        headers = {"content-disposition": f'attachment; filename="dead-letters.{format.value}"'}
        return Stream(content, media_type=MEDIA[format], headers=headers)
