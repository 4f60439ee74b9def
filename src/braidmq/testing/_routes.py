"""The operations that the broker in memory has, by method and path; requests and answers are the node's own structs."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import msgspec

from braidmq.core.desk.checks import Checks, CheckView
from braidmq.core.desk.halves import EndAsk, EndedView
from braidmq.core.desk.message_views import message_view
from braidmq.core.desk.messages import PulledView
from braidmq.core.desk.receiving import (
    AcknowledgeAsk,
    Acknowledged,
    BuryAsk,
    ExtendAsk,
    ReceiptResult,
    ReceiptView,
    ReceiveAsk,
    Received,
    RejectAsk,
)
from braidmq.core.desk.sending import Outgoing, SendAsk, SendResult, Sent, error_view
from braidmq.core.filters import Everything, filter_of
from braidmq.model import DEFAULT_INSTANCE, BraidError, FilterKind, TopicKind, check_group_name
from braidmq.model.errors import AlreadyExists
from braidmq.records import message_record
from braidmq.testing._groups import MemoryGroup, read_receipt
from braidmq.testing._topics import PARTITIONS, MemoryTopics

API: Final = "/api/v1/"


class NotInMemory(BraidError):
    """The broker in memory has no such operation."""

    code = "not_in_memory"
    fix = "Test this against a node: `braid up --data` on a folder of the test's own."


class Request(NamedTuple):
    """What a client asks."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    wait_s: float


class Answer(NamedTuple):
    """What it is told; one that is empty may be waited for."""

    status: int
    content: bytes
    is_empty: bool = False


class _NewTopic(msgspec.Struct):
    name: str
    partitions: int | None = None
    kind: TopicKind = TopicKind.MIXED
    settings: dict[str, str] = {}


class _TopicChange(msgspec.Struct):
    partitions: int | None = None
    kind: TopicKind | None = None
    settings: dict[str, str | None] = {}


class _NewGroup(msgspec.Struct):
    name: str
    attempts_max: int = 16
    ordered: bool = False


class Routes:
    """The state, and what requests do with it."""

    def __init__(self) -> None:
        self.topics = MemoryTopics()
        self.groups: dict[str, MemoryGroup] = {}

    def handle(self, request: Request, now_ms: int) -> Answer:
        """Raises what a node refuses such a request for, and NotInMemory."""
        if (
            request.query.get("dry_run") == "true"
            or request.query.get("instance", DEFAULT_INSTANCE) != DEFAULT_INSTANCE
        ):
            raise NotInMemory("the broker in memory has no dry runs, and no instance but the default one")
        self.topics.pass_time(now_ms)
        parts = [unquote(part) for part in request.path.removeprefix(API).split("/")]
        function, names = self._find(request.method, parts)
        return function(request, now_ms, *names)

    def _find(self, method: str, parts: list[str]) -> tuple[Callable[..., Answer], list[str]]:
        for (wanted, pattern), function in _ROUTES.items():
            words = pattern.split("/")
            if wanted == method and len(words) == len(parts):
                pairs = list(zip(words, parts, strict=True))
                if all(word in ("*", part) for word, part in pairs):
                    return getattr(self, function), [part for word, part in pairs if word == "*"]
        raise NotInMemory(f"the broker in memory does not answer {method} {'/'.join(parts)[:100]}")

    # Topics.

    def create_topic(self, request: Request, _: int) -> Answer:
        ask = msgspec.json.decode(request.body, type=_NewTopic)
        topic = self.topics.create(ask.name, ask.partitions or PARTITIONS, ask.kind)
        topic.settings = ask.settings
        return _done(topic.detail(), status=201)

    def list_topics(self, request: Request, _: int) -> Answer:
        wanted = request.query.get("search", "")
        items = [topic.detail() for name, topic in sorted(self.topics.topics.items()) if wanted in name]
        return _done({"items": items, "page": 1, "page_size": len(items), "total": len(items)})

    def describe_topic(self, _request: Request, _: int, name: str) -> Answer:
        return _done(self.topics.topic(name).detail())

    def change_topic(self, request: Request, _: int, name: str) -> Answer:
        ask = msgspec.json.decode(request.body, type=_TopicChange)
        topic = self.topics.topic(name)
        if ask.partitions is not None:
            topic.grow(ask.partitions)
        topic.kind = ask.kind or topic.kind
        settings = topic.settings | ask.settings
        topic.settings = {key: value for key, value in settings.items() if value is not None}
        return _done(topic.detail())

    def delete_topic(self, _request: Request, _: int, name: str) -> Answer:
        detail = self.topics.topic(name).detail()
        del self.topics.topics[name]
        told = {"dry_run": False, "groups": [], "partitions": detail.partitions, "messages": detail.messages}
        return _done({"name": name, "size_bytes": detail.size_bytes, **told})

    def list_partitions(self, _request: Request, _: int, name: str) -> Answer:
        return _done(self.topics.topic(name).places())

    # Messages.

    def send(self, request: Request, now_ms: int, name: str) -> Answer:
        ask = msgspec.json.decode(request.body, type=SendAsk)
        self.topics.ensure(name)
        if isinstance(ask.messages, msgspec.UnsetType):
            return _done(Sent(results=[self.topics.send(name, ask, now_ms)]))
        return _done(Sent(results=[self._fate(name, each, now_ms) for each in ask.messages]))

    def _fate(self, name: str, outgoing: Outgoing, now_ms: int) -> SendResult:
        try:
            return self.topics.send(name, outgoing, now_ms)
        except BraidError as error:
            return SendResult(id=outgoing.id, error=error_view(error))

    def show_message(self, _request: Request, _: int, name: str, partition: str, offset: str) -> Answer:
        return _done(message_view(self.topics.topic(name).at(int(partition), int(offset))))

    def pull(self, request: Request, _: int, name: str, partition: str) -> Answer:
        topic, index = self.topics.topic(name), int(partition)
        offset, limit = int(request.query.get("offset", 0)), int(request.query.get("limit", 50))
        expression = request.query.get("filter", "")
        kind = FilterKind(request.query.get("filter_kind", "tag"))
        chosen = filter_of(kind, expression) if expression else Everything()
        read = topic.after(index, offset)[:limit]
        items = [message_view(each) for each in read if chosen.matches(message_record(each))]
        end = len(topic.log(index))
        view = PulledView(
            items=items, next_offset=offset + len(read), start_offset=0, stable_offset=end, end_offset=end
        )
        return Answer(200, msgspec.json.encode(view), not items)

    def cancel_timer(self, _request: Request, _: int, handle: str) -> Answer:
        timer = self.topics.cancel(handle)
        told = {"instance": "default", "is_under_way": False, "attempts": 0, "parked": None, "size_bytes": 0}
        named = {"handle": handle, "topic": timer.topic, "partition": timer.partition, "due_ms": timer.due_ms}
        return _done({**named, "message_id": timer.message.id, **told})

    def commit(self, request: Request, now_ms: int, handle: str) -> Answer:
        return self._end(request, now_ms, handle, "commit")

    def roll_back(self, request: Request, now_ms: int, handle: str) -> Answer:
        return self._end(request, now_ms, handle, "rollback")

    def _end(self, request: Request, now_ms: int, handle: str, word: str) -> Answer:
        ask = msgspec.json.decode(request.body, type=EndAsk)
        asked = ask.asked or ask.group is None
        half, placed, repeated = self.topics.end(handle, word, asked=asked, now_ms=now_ms)
        view = EndedView(message_id=half.message.id or "", committed=word == "commit", repeated=repeated)
        if placed is not None:
            view = msgspec.structs.replace(view, partition=placed.partition, offset=placed.offset)
        return _done(view)

    def checks(self, _request: Request, now_ms: int, group: str) -> Answer:
        questions = self.topics.questions(group, now_ms)
        views = [CheckView(half=handle, checks=count, message=message) for handle, count, message in questions]
        return Answer(200, msgspec.json.encode(Checks(checks=views)), not views)

    # Groups.

    def create_group(self, request: Request, _: int) -> Answer:
        ask = msgspec.json.decode(request.body, type=_NewGroup)
        if check_group_name(ask.name) in self.groups:
            raise AlreadyExists(f"there is a group {ask.name!r} already")
        group = self.groups[ask.name] = MemoryGroup(ask.name, attempts_max=ask.attempts_max, ordered=ask.ordered)
        return _done(_group_detail(group), status=201)

    def receive(self, request: Request, now_ms: int, name: str) -> Answer:
        ask = msgspec.json.decode(request.body, type=ReceiveAsk)
        group = self._group(name)
        topic = self.topics.ensure(ask.topic) if ask.topic == group.retry_topic else self.topics.topic(ask.topic)
        with_base64 = request.query.get("base64") == "true"
        messages = group.receive(topic, ask, now_ms, with_base64=with_base64)
        return Answer(200, msgspec.json.encode(Received(messages=messages)), not messages)

    def acknowledge(self, request: Request, now_ms: int, name: str) -> Answer:
        ask = msgspec.json.decode(request.body, type=AcknowledgeAsk)
        group = self._group(name)
        return _done(Acknowledged(results=[_acknowledged(group, receipt, now_ms) for receipt in ask.receipts]))

    def extend(self, request: Request, now_ms: int, name: str) -> Answer:
        ask = msgspec.json.decode(request.body, type=ExtendAsk)
        return _done(ReceiptView(receipt=self._group(name).put_off(ask.receipt, ask.invisible_s, now_ms)))

    def reject(self, request: Request, now_ms: int, name: str) -> Answer:
        ask = msgspec.json.decode(request.body, type=RejectAsk)
        return _done(ReceiptView(receipt=self._group(name).put_off(ask.receipt, ask.delay_s, now_ms)))

    def bury(self, request: Request, now_ms: int, name: str) -> Answer:
        ask = msgspec.json.decode(request.body, type=BuryAsk)
        place, _ = read_receipt(ask.receipt)
        self._group(name).bury(self.topics.topic(place.topic), ask.receipt, now_ms)
        return Answer(204, b"")

    def _group(self, name: str) -> MemoryGroup:
        return self.groups.setdefault(check_group_name(name), MemoryGroup(name))


_ROUTES: Final = {
    ("GET", "topics"): "list_topics",
    ("POST", "topics"): "create_topic",
    ("GET", "topics/*"): "describe_topic",
    ("PATCH", "topics/*"): "change_topic",
    ("DELETE", "topics/*"): "delete_topic",
    ("GET", "topics/*/partitions"): "list_partitions",
    ("POST", "topics/*/messages"): "send",
    ("GET", "topics/*/messages/*/*"): "show_message",
    ("GET", "topics/*/partitions/*/messages"): "pull",
    ("DELETE", "timers/*"): "cancel_timer",
    ("POST", "halves/*/commit"): "commit",
    ("POST", "halves/*/rollback"): "roll_back",
    ("GET", "producers/*/checks"): "checks",
    ("POST", "groups"): "create_group",
    ("POST", "groups/*/receive"): "receive",
    ("POST", "groups/*/acknowledge"): "acknowledge",
    ("POST", "groups/*/extend"): "extend",
    ("POST", "groups/*/reject"): "reject",
    ("POST", "groups/*/bury"): "bury",
}


def _done(value: Any, *, status: int = 200) -> Answer:
    return Answer(status, msgspec.json.encode(value))


def _acknowledged(group: MemoryGroup, receipt: str, now_ms: int) -> ReceiptResult:
    try:
        group.acknowledge(receipt, now_ms)
    except BraidError as error:
        return ReceiptResult(receipt=receipt, error=error_view(error))
    return ReceiptResult(receipt=receipt)


def _group_detail(group: MemoryGroup) -> dict[str, Any]:
    """As much of a group as is known here."""
    figures = {"members": 0, "topics": 0, "lag": 0, "oldest_ms": None, "rate_out": 0.0, "in_flight": 0}
    lists: dict[str, Any] = {"protocols": [], "topic_names": [], "paused_for": []}
    counts = {"members_not_paused": 0, "redelivered": 0}
    said = {"name": group.name, "attempts_max": group.attempts_max, "ordered": group.ordered, "paused": group.paused}
    known = {"state": "empty", "internal": False, "instance": "default", "broadcast": False, "kept": True}
    return {**figures, **lists, **counts, **said, **known, "settings": {}}
