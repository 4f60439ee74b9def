"""TxnOffsetCommit (28): offsets of a group that count when the transaction is committed.

The group must have been added to the transaction before; from version 5 on it is added by this.
"""

import time

from braidmq.core.access import Action, ResourceKind
from braidmq.core.groups import MemberIdentity, check_metadata
from braidmq.core.transactions import ProducerIdentity
from braidmq.log import GroupOffset
from braidmq.model import BraidError
from braidmq.model.errors import InvalidTransactionState, ProducerFenced
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import group_error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_partition
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse

_ABORTABLE_MIN_VERSION = 4
_ADDS_MIN_VERSION = 5

_Partition = TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition
_Topic = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic


@answers(ApiKey.TXN_OFFSET_COMMIT, versions=(0, 5), action=Action.CONSUME, resource=ResourceKind.GROUP)
async def txn_offset_commit(call: Call[TxnOffsetCommitRequest]) -> TxnOffsetCommitResponse:
    fates: dict[tuple[str, int], ErrorCode] = {}
    offsets: dict[int, GroupOffset] = {}
    now_ms = time.time_ns() // 1_000_000
    for topic in call.request.topics:
        for asked in topic.partitions:
            try:
                number = find_partition(call.services, topic.name, asked.partition_index).number
                check_metadata(asked.committed_metadata or "")
            except BraidError as error:
                fates[topic.name, asked.partition_index] = group_error_code(error)
                continue
            offsets[number] = GroupOffset(
                asked.committed_offset, asked.committed_metadata or "", asked.committed_leader_epoch, now_ms
            )
    fate = await _commit(call, offsets) if offsets else ErrorCode.NONE
    return TxnOffsetCommitResponse(
        topics=[
            _Topic(
                name=topic.name,
                partitions=[
                    _Partition(
                        partition_index=asked.partition_index,
                        error_code=fates.get((topic.name, asked.partition_index), fate),
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in call.request.topics
        ]
    )


async def _commit(call: Call[TxnOffsetCommitRequest], offsets: dict[int, GroupOffset]) -> ErrorCode:
    request = call.request
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    try:
        await call.services.transactions.commit_offsets(
            request.transactional_id,
            producer,
            request.group_id,
            _member(request),
            offsets,
            adds_group=call.version >= _ADDS_MIN_VERSION,
        )
    except ProducerFenced:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    except InvalidTransactionState as error:
        return ErrorCode.TRANSACTION_ABORTABLE if call.version >= _ABORTABLE_MIN_VERSION else group_error_code(error)
    except BraidError as error:
        return group_error_code(error)
    return ErrorCode.NONE


def _member(request: TxnOffsetCommitRequest) -> MemberIdentity | None:
    """Producers before version 3, and those that take their offsets from elsewhere, do not say who consumed."""
    if not request.member_id and request.generation_id_or_member_epoch < 0:
        return None
    return MemberIdentity(request.member_id, request.generation_id_or_member_epoch, request.group_instance_id)
