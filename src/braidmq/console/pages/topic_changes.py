"""What is done to a topic from its page: settings, messages sent, emptied, deleted; destructive things with a preview.

A preview is a form sent with `?dry_run=true`: it changes nothing, is in no audit log, and is answered with what would
be and the form that does it.
"""

from typing import Any

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery
from msgspec import UNSET

from braidmq.console._form_fields import Form, leads_to, properties, text, whole
from braidmq.console._render import ConsoleRequest, render
from braidmq.console.pages.topics import KINDS, topic_path
from braidmq.core.access import Action, ResourceKind
from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.core.desk.sending import SendAsk
from braidmq.core.desk.topic_views import MessagesDeleted, SettingView, TopicDetail
from braidmq.model import TopicKind
from braidmq.model.errors import InvalidRequest, InvalidSetting
from braidmq.model.saying import say
from braidmq.protocols.http import DESK, Noted, needs

_CHANGE = needs(Action.CHANGE, ResourceKind.TOPIC)
_DELETE = needs(Action.DELETE, ResourceKind.TOPIC)
_PUBLISH = needs(Action.PUBLISH, ResourceKind.TOPIC)
_SEND = needs(Action.PUBLISH, ResourceKind.TOPIC, Noted.ALWAYS)


class TopicChanges(Controller):
    path = "/topics/{name:str}"
    dependencies = DESK

    # Settings and shape.

    @get("/setting", opt=_CHANGE)
    async def edit_setting(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
        setting: FromQuery[str],
    ) -> Response[Any]:
        found = _setting(catalogue, name, setting, instance)
        return render(request, "topic_setting.html.j2", base=topic_path(name), setting=found, planned=None)

    @post("/setting", opt=_CHANGE, status_code=200, operation_id="console_change_topic_setting")
    async def change_setting(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
        data: Form,
        dry_run: FromQuery[bool] = False,
    ) -> Response[Any]:
        setting = _setting(catalogue, name, text(data, "setting"), instance)
        value = None if text(data, "default") else text(data, "value")
        await catalogue.topics.change(name, settings={setting.name: value}, instance=instance, dry_run=dry_run)
        if not dry_run:
            return leads_to(request, f"{topic_path(name)}?tab=settings")
        planned = setting.default if value is None else value
        return render(
            request,
            "topic_setting.html.j2",
            base=topic_path(name),
            setting=setting,
            planned=planned,
            is_default=value is None,
        )

    @get("/shape", opt=_CHANGE)
    async def edit_shape(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        return _shape(request, await catalogue.topics.describe(name, instance=instance), None)

    @post("/shape", opt=_CHANGE, status_code=200, operation_id="console_change_topic")
    async def change_shape(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
        data: Form,
        dry_run: FromQuery[bool] = False,
    ) -> Response[Any]:
        kind = text(data, "kind")
        if kind not in KINDS:
            raise InvalidRequest(say("kind: it is one of {choices}", choices=", ".join(KINDS)))
        now = await catalogue.topics.describe(name, instance=instance)
        partitions = whole(data, "partitions")
        planned = await catalogue.topics.change(
            name, partitions=partitions, kind=TopicKind(kind), instance=instance, dry_run=dry_run
        )
        return _shape(request, now, planned) if dry_run else leads_to(request, topic_path(name))

    # Messages.

    @get("/send", opt=_PUBLISH)
    async def compose(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        topic = await catalogue.topics.describe(name, instance=instance)
        return render(request, "topic_send.html.j2", base=topic_path(name), topic=topic)

    @post("/send", opt=_SEND, status_code=200, operation_id="console_send_message")
    async def send(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        desk: NamedDependency[MessagingDesk],
        instance: NamedDependency[str],
        data: Form,
    ) -> Response[Any]:
        (result,) = (await desk.sending.send(name, outgoing(data), instance=instance)).results
        return render(request, "topic_sent.html.j2", base=topic_path(name), name=name, result=result)

    @get("/empty", opt=_DELETE)
    async def choose_emptying(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        topic = await catalogue.topics.describe(name, instance=instance)
        return render(request, "topic_empty.html.j2", base=topic_path(name), topic=topic, cuts=None, chosen={})

    @post("/empty", opt=_DELETE, status_code=200, operation_id="console_delete_messages")
    async def empty(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
        data: Form,
        dry_run: FromQuery[bool] = False,
    ) -> Response[Any]:
        topic = await catalogue.topics.describe(name, instance=instance)
        cuts = await _emptied(catalogue, name, data, instance, dry_run=dry_run)
        base = topic_path(name)
        return render(request, "topic_empty.html.j2", base=base, topic=topic, cuts=cuts, chosen=data)

    # The end.

    @get("/delete", opt=_DELETE)
    async def preview_deletion(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
    ) -> Response[Any]:
        lost = await catalogue.topics.delete(name, instance=instance, dry_run=True)
        return render(request, "topic_delete.html.j2", base=topic_path(name), lost=lost)

    @post("/delete", opt=_DELETE, status_code=200, operation_id="console_delete_topic")
    async def delete(
        self,
        request: ConsoleRequest,
        name: FromPath[str],
        catalogue: NamedDependency[Catalogue],
        instance: NamedDependency[str],
        data: Form,
    ) -> Response[Any]:
        if text(data, "name_again") != name:
            raise InvalidRequest("type the topic's name exactly as it is shown, to delete it")
        await catalogue.topics.delete(name, instance=instance)
        return leads_to(request, "/console/topics")


def outgoing(form: Form) -> SendAsk:
    """The message that a form describes. Raises InvalidRequest."""
    delay_s, is_null = whole(form, "delay_s"), bool(text(form, "tombstone"))
    if delay_s is not None and delay_s < 0:
        raise InvalidRequest("delay_s: a message cannot be delivered in the past")
    return SendAsk(
        body=None if is_null else form.get("body", ""),
        tag=text(form, "tag") or None,
        keys=text(form, "keys").split(),
        key=text(form, "key") or None,
        sharding_key=text(form, "sharding_key") or None,
        properties=properties(form, "properties"),
        partition=_partition(form),
        delay_ms=None if not delay_s else delay_s * 1000,
        messages=UNSET,
    )


def _partition(form: Form) -> int | None:
    partition = whole(form, "partition")
    if partition is not None and partition < 0:
        raise InvalidRequest("partition: partitions are numbered from 0")
    return partition


def _setting(catalogue: Catalogue, topic: str, name: str, instance: str) -> SettingView:
    for each in catalogue.topics.settings(topic, instance=instance):
        if each.name == name:
            return each
    raise InvalidSetting(say("topics have no setting {name}", name=repr(name[:64])))


def _shape(request: ConsoleRequest, topic: TopicDetail, planned: TopicDetail | None) -> Response[Any]:
    base = topic_path(topic.name)
    return render(request, "topic_shape.html.j2", base=base, topic=topic, planned=planned, kinds=KINDS)


async def _emptied(catalogue: Catalogue, name: str, form: Form, instance: str, *, dry_run: bool) -> MessagesDeleted:
    """Raises InvalidRequest, and what deleting raises."""
    before, before_time_ms = _up_to(catalogue, name, form, instance)
    return await catalogue.topics.delete_messages(
        name, before=before, before_time_ms=before_time_ms, instance=instance, dry_run=dry_run
    )


def _up_to(catalogue: Catalogue, name: str, form: Form, instance: str) -> tuple[dict[int, int] | None, int | None]:
    """The first offsets that stay, or a time. Raises InvalidRequest, UnknownTopic."""
    way = text(form, "way")
    if way == "all":
        return {each.index: each.end_offset for each in catalogue.topics.partitions(name, instance=instance)}, None
    if way == "time" and (time_ms := whole(form, "time_ms")) is not None:
        return None, time_ms
    partition, offset = whole(form, "partition"), whole(form, "offset")
    if way == "offset" and partition is not None and offset is not None:
        return {partition: offset}, None
    raise InvalidRequest("say up to where messages go: a time, or a partition and an offset")
