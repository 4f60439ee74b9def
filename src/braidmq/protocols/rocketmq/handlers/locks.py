"""Queue locks, for consumers that work in order. A lock is a lease: consumers ask again before it ends."""

from collections.abc import Iterable

from braidmq.core.access import Action, ResourceKind
from braidmq.model import DEFAULT_INSTANCE
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import RequestCode, decode_body, encode_body
from braidmq.protocols.rocketmq.codec.bodies import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from braidmq.protocols.rocketmq.codec.headers import LockBatchMqRequestHeader, UnlockBatchMqRequestHeader


@answers(RequestCode.LOCK_BATCH_MQ, action=Action.CONSUME, resource=ResourceKind.GROUP)
def lock(call: Call[LockBatchMqRequestHeader]) -> Answer:
    asked = decode_body(LockBatchRequestBody, call.command.body)
    if not call.connection.client_id:  # on the second port, where it says nowhere else who it is
        call.connection.client_id = asked.client_id
    queues = _numbers(call.services, asked.mq_set)
    locked = set(call.services.locks.lock(asked.consumer_group, asked.client_id, queues))
    body = LockBatchResponseBody(lock_ok_mq_set=[queue for number, queue in queues.items() if number in locked])
    return Answer(body=encode_body(body))


@answers(RequestCode.UNLOCK_BATCH_MQ, action=Action.CONSUME, resource=ResourceKind.GROUP)
def unlock(call: Call[UnlockBatchMqRequestHeader]) -> Answer:
    asked = decode_body(UnlockBatchRequestBody, call.command.body)
    call.services.locks.unlock(asked.consumer_group, asked.client_id, _numbers(call.services, asked.mq_set))
    return Answer()


def _numbers(services: RocketMQServices, queues: Iterable[MessageQueue]) -> dict[int, MessageQueue]:
    """Those of the queues that exist here, by partition number."""
    found: dict[int, MessageQueue] = {}
    for queue in queues:
        topic = services.catalog.topic(DEFAULT_INSTANCE, queue.topic)
        if topic is not None and 0 <= queue.queue_id < len(topic.partition_numbers):
            found[topic.partition_numbers[queue.queue_id]] = queue
    return found
