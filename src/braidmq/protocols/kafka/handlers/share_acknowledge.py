"""ShareAcknowledge (79): a share consumer says what became of messages that it holds, without asking for more.

Epoch -1 closes the session: what the member says is done, and all that it still holds is given back. Version 2 can
renew locks. What the words mean is in `_share_acknowledgements`, what sessions are in `_share_sessions`.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.model import BraidError
from braidmq.model.errors import UnknownTopic
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._share_acknowledgements import acknowledge, policy_of
from braidmq.protocols.kafka._share_sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSession
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse

_Partition = ShareAcknowledgeResponse.PartitionData
_Topic = ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse


@answers(ApiKey.SHARE_ACKNOWLEDGE, versions=(1, 2), action=Action.CONSUME, resource=ResourceKind.GROUP)
async def share_acknowledge(call: Call[ShareAcknowledgeRequest]) -> ShareAcknowledgeResponse:
    request, sessions = call.request, call.services.share_sessions
    group, member_id = request.group_id or "", request.member_id or ""
    if request.share_session_epoch == INITIAL_EPOCH:
        return ShareAcknowledgeResponse(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    session = sessions.resume(group, member_id, request.share_session_epoch)
    if isinstance(session, ErrorCode):
        return ShareAcknowledgeResponse(error_code=session)
    topics = [await _topic(call, session, topic) for topic in request.topics]
    if request.share_session_epoch == FINAL_EPOCH:
        sessions.end(session, counts=False)
    return ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=policy_of(call.services, group).lock_ms, responses=topics
    )


async def _topic(
    call: Call[ShareAcknowledgeRequest], session: ShareSession, topic: ShareAcknowledgeRequest.AcknowledgeTopic
) -> _Topic:
    partitions = [await _partition(call, session, topic, each) for each in topic.partitions]
    return _Topic(topic_id=topic.topic_id, partitions=partitions)


async def _partition(
    call: Call[ShareAcknowledgeRequest],
    session: ShareSession,
    topic: ShareAcknowledgeRequest.AcknowledgeTopic,
    asked: ShareAcknowledgeRequest.AcknowledgePartition,
) -> _Partition:
    answer = _Partition(partition_index=asked.partition_index)
    try:
        await acknowledge(
            call.services,
            session,
            topic.topic_id,
            asked.partition_index,
            asked.acknowledgement_batches,
            may_renew=call.request.is_renew_ack,
        )
    except UnknownTopic as error:
        answer.error_code, answer.error_message = ErrorCode.UNKNOWN_TOPIC_ID, error.message
    except BraidError as error:
        answer.error_code, answer.error_message = error_code(error), error.message
    return answer
