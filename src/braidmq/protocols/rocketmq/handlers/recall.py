"""Taking back a delayed message before its time."""

from braidmq.core.access import Action, ResourceKind
from braidmq.model.errors import InvalidHandle
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq._deferred import read_recall_handle
from braidmq.protocols.rocketmq._operations import answers
from braidmq.protocols.rocketmq._queues import find_topic
from braidmq.protocols.rocketmq.codec import RequestCode
from braidmq.protocols.rocketmq.codec.headers import RecallMessageRequestHeader


@answers(RequestCode.RECALL_MESSAGE, action=Action.PUBLISH, resource=ResourceKind.TOPIC)
async def recall(call: Call[RecallMessageRequestHeader]) -> Answer:
    topic = find_topic(call.services, call.header.topic)
    name, due_ms, message_id = read_recall_handle(call.header.recall_handle)
    if name != topic.name:
        raise InvalidHandle("recall failed, topic not match")
    timers = call.services.timers
    handle = await timers.handle_of_message(topic, due_ms, message_id)
    recalled = await timers.recall(handle, topic=topic)
    return Answer(fields={"msgId": recalled.message_id})
