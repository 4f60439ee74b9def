"""ConsumerGroupHeartbeat (68): a member says what it reads and holds, and hears what it is to hold (KIP-848).

Null says "as before", in both directions. Epoch 0 joins, -1 leaves, -2 leaves for a while. In version 0 a member that
joins may leave its id to us. Partitions of topics that are gone are passed over: nobody holds them any more. The
expressions of version 1 are RE2's, as Kafka's are. Filters (see `_filtered_names`) have no topic id, and partitions are
assigned by it here: who wants one is told, and would else wait for ever.
"""

from collections.abc import Iterable
from uuid import UUID

from braidmq.core.access import Action, ResourceKind
from braidmq.core.groups import Pulse, PulseAnswer
from braidmq.model import DEFAULT_INSTANCE, BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import InvalidResource, group_error_code
from braidmq.protocols.kafka._filtered_names import read_filtered_name
from braidmq.protocols.kafka._groups import by_topic
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

_OWN_ID_MIN_VERSION = 1


@answers(ApiKey.CONSUMER_GROUP_HEARTBEAT, versions=(0, 1), action=Action.CONSUME, resource=ResourceKind.GROUP)
async def consumer_group_heartbeat(call: Call[ConsumerGroupHeartbeatRequest]) -> ConsumerGroupHeartbeatResponse:
    try:
        _check_names(call)
        answer = await call.services.groups.pulse(_pulse(call))
    except BraidError as error:
        return ConsumerGroupHeartbeatResponse(error_code=group_error_code(error), error_message=error.message)
    return ConsumerGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.epoch,
        heartbeat_interval_ms=answer.heartbeat_ms,
        assignment=_assignment(call, answer),
    )


def _check_names(call: Call[ConsumerGroupHeartbeatRequest]) -> None:
    """Raises InvalidResource, InvalidFilter."""
    for name in call.request.subscribed_topic_names or ():
        if call.services.catalog.topic(DEFAULT_INSTANCE, name) is None and read_filtered_name(name) is not None:
            raise InvalidResource(
                f"{name!r} is a view of a topic, which has no id, and this kind of group knows topics by their ids;"
                " set group.protocol to classic to read it"
            )


def _pulse(call: Call[ConsumerGroupHeartbeatRequest]) -> Pulse:
    request = call.request
    member_id = request.member_id
    if not member_id and request.member_epoch == 0 and call.version < _OWN_ID_MIN_VERSION:
        member_id = call.services.groups.draw_id()
    names = request.subscribed_topic_names
    return Pulse(
        group=request.group_id,
        member_id=member_id,
        epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack=request.rack_id,
        rebalance_ms=request.rebalance_timeout_ms,
        topics=None if names is None else tuple(names),
        pattern=request.subscribed_topic_regex,
        assignor=request.server_assignor,
        held=None if request.topic_partitions is None else _numbers(call, request.topic_partitions),
        client_id=call.client_id,
        client_host=f"/{call.client.host}",
    )


def _numbers(
    call: Call[ConsumerGroupHeartbeatRequest], held: Iterable[ConsumerGroupHeartbeatRequest.TopicPartitions]
) -> frozenset[int]:
    numbers: set[int] = set()
    for each in held:
        topic = call.services.catalog.topic_by_id(UUID(bytes=each.topic_id))
        if topic is not None:
            present = topic.partition_numbers
            numbers |= {present[index] for index in each.partitions if 0 <= index < len(present)}
    return frozenset(numbers)


def _assignment(
    call: Call[ConsumerGroupHeartbeatRequest], answer: PulseAnswer
) -> ConsumerGroupHeartbeatResponse.Assignment | None:
    if answer.assigned is None:
        return None
    return ConsumerGroupHeartbeatResponse.Assignment(
        topic_partitions=[
            ConsumerGroupHeartbeatResponse.TopicPartitions(topic_id=topic.id.bytes, partitions=indexes)
            for topic, indexes in by_topic(call.services.catalog, answer.assigned)
        ]
    )
