"""Routes: which queues a topic has, what they take, and where they are.

Clients are sent to where they say they came from, unless the settings know better. A topic that does not exist is made
here while topics are made by being used: these clients never send to one that they found no route to.
"""

from typing import Any, Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.shapes import is_readable, is_writable, readable_partitions, writable_partitions
from braidmq.model import Topic, TopicKind
from braidmq.model.errors import NotPermitted, UnknownTopic
from braidmq.protocols.rocketmq.codec.ids import Host
from braidmq.protocols.rocketmq.handlers.send import check_topic
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc._call import Call
from braidmq.protocols.rocketmq_grpc._operations import answers
from braidmq.protocols.rocketmq_grpc._queues import check_may_read, find_topic, group_name, group_of
from braidmq.protocols.rocketmq_grpc.codes import KINDS, OK, AddressScheme, Code, MessageType, Permission, Refused
from braidmq.protocols.rocketmq_grpc.messages import name_of

ADDRESSES_MAX: Final = 64
ANY_QUEUE: Final = -1

_TYPES: Final = {kind: [each] for each, kind in KINDS.items()} | {
    TopicKind.MIXED: [each for each in KINDS if each not in (MessageType.PRIORITY, MessageType.LITE)]
}


@answers("QueryRoute", action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
async def query_route(call: Call) -> Any:
    name = name_of(call.request.topic)
    topic = call.services.topics.find(name)
    if topic is None:
        check_topic(name)
        if not call.services.facts.auto_create:
            raise UnknownTopic(f"there is no topic {name!r}; create it, or set rocketmq_grpc.auto_create to on")
        topic = await call.services.topics.ensure(name)
    broker = _broker(call)
    reads = readable_partitions(topic) if is_readable(topic) else 0
    writes = writable_partitions(topic) if is_writable(topic) else 0
    queues = [
        _queue(call.request.topic, topic, index, broker, _permission(index < reads, index < writes))
        for index in range(max(reads, writes))
    ]
    return wire.QueryRouteResponse(status=OK, message_queues=queues)


@answers("QueryAssignment", action=Action.CONSUME, resource=ResourceKind.GROUP)
async def query_assignment(call: Call) -> Any:
    """Every member is assigned everything: who gets which message is decided when it is given out. A group that reads
    in order is told of the single queues, because its clients expect so; of a topic with lite topics there is one."""
    request = call.request
    topic = find_topic(call.services, request.topic)
    group = group_name(request.group)
    check_may_read(call.services, topic, group)
    reads = readable_partitions(topic) if is_readable(topic) else 0
    if not reads:
        raise NotPermitted(f"the topic {topic.name!r} has no queue that can be read")
    is_whole = topic.kind is TopicKind.LITE or not group_of(call.services, group).ordered
    ids = (ANY_QUEUE,) if is_whole else range(reads)
    broker = _broker(call)
    queues = [_queue(request.topic, topic, each, broker, Permission.READ) for each in ids]
    return wire.QueryAssignmentResponse(status=OK, assignments=[wire.Assignment(message_queue=each) for each in queues])


def _queue(resource: Any, topic: Topic, queue_id: int, broker: Any, permission: Permission) -> Any:
    return wire.MessageQueue(
        topic=resource,
        id=queue_id,
        permission=permission,
        broker=broker,
        accept_message_types=_TYPES[topic.kind],
    )


def _permission(reads: bool, writes: bool) -> Permission:
    if reads and writes:
        return Permission.READ_WRITE
    return Permission.READ if reads else Permission.WRITE


def _broker(call: Call) -> Any:
    return wire.Broker(name=call.services.facts.broker, id=0, endpoints=_endpoints(call))


def _endpoints(call: Call) -> Any:
    said = call.request.endpoints
    if call.port.advertised is None and said.addresses:
        if len(said.addresses) > ADDRESSES_MAX:
            raise Refused(Code.BAD_REQUEST, f"endpoints have at most {ADDRESSES_MAX} addresses")
        return said
    host, port = call.port.advertised or call.port.address
    return wire.Endpoints(scheme=_scheme(host), addresses=[wire.Address(host=host, port=port)])


def _scheme(host: str) -> AddressScheme:
    if ":" in host:
        return AddressScheme.IPV6
    is_name = Host.of(host, 0) == Host.of("", 0) and host != "0.0.0.0"  # noqa: S104 - compared, not bound
    return AddressScheme.DOMAIN_NAME if is_name else AddressScheme.IPV4
