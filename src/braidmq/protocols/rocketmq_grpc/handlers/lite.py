"""Lite topics: which of them a client reads. It says so whenever that changes, and all of it from time to time."""

from typing import Any, Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.lite import Position, PositionKind, Reader
from braidmq.model import TopicKind
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc._call import Call
from braidmq.protocols.rocketmq_grpc._clients import Client
from braidmq.protocols.rocketmq_grpc._operations import answers
from braidmq.protocols.rocketmq_grpc._queues import check_may_read, find_topic, group_name
from braidmq.protocols.rocketmq_grpc.codes import OK, Code, LiteAction, LitePolicy, Refused

_POLICIES: Final = {
    LitePolicy.LAST: PositionKind.LAST,
    LitePolicy.MIN: PositionKind.START,
    LitePolicy.MAX: PositionKind.END,
}
_NUMBERED: Final = {
    "offset": PositionKind.OFFSET,
    "tail_n": PositionKind.BACK,
    "timestamp": PositionKind.TIME_MS,
}


@answers("SyncLiteSubscription", action=Action.CONSUME, resource=ResourceKind.GROUP)
async def sync_lite_subscription(call: Call) -> Any:
    request, lite = call.request, call.services.lite
    client = _lite_client(call)
    reader = _reader(call)
    names = tuple(request.lite_topic_set)

    def told(name: str) -> None:
        _tell(client, name)

    match request.action:
        case LiteAction.PARTIAL_ADD:
            await lite.add(reader, names, told, _position(request))
        case LiteAction.PARTIAL_REMOVE:
            lite.remove(reader, names, told)
        case LiteAction.COMPLETE_ADD:
            lite.replace(reader, names, told)
        case LiteAction.COMPLETE_REMOVE:
            lite.replace(reader, (), told)
        case _:
            raise Refused(Code.BAD_REQUEST, f"lite topics are added or removed, and not {request.action}")
    return wire.SyncLiteSubscriptionResponse(status=OK)


def _lite_client(call: Call) -> Client:
    client = call.client
    if client is None:
        raise Refused(Code.UNRECOGNIZED_CLIENT_TYPE, "the client has not sent its settings")
    if not client.is_lite:
        raise Refused(Code.UNRECOGNIZED_CLIENT_TYPE, "only consumers of the lite types subscribe to lite topics")
    return client


def _reader(call: Call) -> Reader:
    """Raises UnknownTopic, InvalidGroup, NotPermitted, Refused."""
    request, services = call.request, call.services
    parent = find_topic(services, request.topic)
    if parent.kind is not TopicKind.LITE:
        raise Refused(Code.ILLEGAL_TOPIC, f"topic {parent.name} has no lite topics; make one of the kind lite for them")
    group = group_name(request.group)
    check_may_read(services, parent, group)
    return Reader(client=call.client_id, group=group, parent=parent.name)


def _tell(client: Client, name: str) -> None:
    """A client that does not hear it now says what it reads again within the minute, and is told then."""
    command = wire.NotifyUnsubscribeLiteCommand(lite_topic=name)
    client.tell(wire.TelemetryCommand(notify_unsubscribe_lite_command=command))


def _position(request: Any) -> Position | None:
    """Where the group is to go on; None where the client leaves that open. Raises Refused."""
    kind = request.offset_option.WhichOneof("offset_type")
    if kind is None:
        return None
    value = getattr(request.offset_option, kind)
    if kind in _NUMBERED:
        if value < 0:
            raise Refused(Code.ILLEGAL_OFFSET, f"the {kind} of an offset option is 0 or more, and not {value}")
        return Position(_NUMBERED[kind], value)
    if value not in _POLICIES:
        raise Refused(Code.ILLEGAL_OFFSET, f"an offset option has no policy {value}")
    return Position(_POLICIES[value])
