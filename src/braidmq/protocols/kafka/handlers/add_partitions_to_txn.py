"""AddPartitionsToTxn (24): partitions that a transaction is going to write to.

All partitions of a transaction are added, or none: where one is not known, the others are OPERATION_NOT_ATTEMPTED.
Versions 4 and 5, which brokers send to each other, name several transactions, and may only ask whether the partitions
are in them.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.transactions import ProducerIdentity
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_own_topic, partition_of
from braidmq.protocols.kafka._transactions import transaction_error
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)

_BATCHES_MIN_VERSION = 4
_FENCED_MIN_VERSION = 2

_Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
_Topic = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
_Partition = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
_Places = dict[tuple[str, int], int | ErrorCode]
"""Topic and index -> partition number, or why there is none."""


@answers(ApiKey.ADD_PARTITIONS_TO_TXN, versions=(0, 5), action=Action.PUBLISH, resource=ResourceKind.TRANSACTION)
async def add_partitions_to_txn(call: Call[AddPartitionsToTxnRequest]) -> AddPartitionsToTxnResponse:
    request = call.request
    if call.version < _BATCHES_MIN_VERSION:
        asked = _Transaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=await _transaction(call, asked))
    results = [
        AddPartitionsToTxnResponse.AddPartitionsToTxnResult(
            transactional_id=asked.transactional_id, topic_results=await _transaction(call, asked)
        )
        for asked in request.transactions
    ]
    return AddPartitionsToTxnResponse(results_by_transaction=results)


async def _transaction(call: Call[AddPartitionsToTxnRequest], asked: _Transaction) -> list[_Topic]:
    places = _places(call, asked)
    if any(isinstance(place, ErrorCode) for place in places.values()):
        fates = {
            key: place if isinstance(place, ErrorCode) else ErrorCode.OPERATION_NOT_ATTEMPTED
            for key, place in places.items()
        }
    else:
        fates = await _fates(call, asked, {key: int(place) for key, place in places.items()})
    return [
        _Topic(
            name=topic.name,
            results_by_partition=[
                _Partition(partition_index=index, partition_error_code=fates[topic.name, index])
                for index in topic.partitions
            ],
        )
        for topic in asked.topics
    ]


def _places(call: Call[AddPartitionsToTxnRequest], asked: _Transaction) -> _Places:
    places: _Places = {}
    for topic in asked.topics:
        for index in topic.partitions:
            try:
                places[topic.name, index] = partition_of(find_own_topic(call.services, topic.name), index).number
            except BraidError as error:
                places[topic.name, index] = error_code(error)
    return places


async def _fates(
    call: Call[AddPartitionsToTxnRequest], asked: _Transaction, numbers: dict[tuple[str, int], int]
) -> dict[tuple[str, int], ErrorCode]:
    """Add the partitions, or see whether they were added."""
    producer = ProducerIdentity(asked.producer_id, asked.producer_epoch)
    transactions = call.services.transactions
    if not asked.transactional_id:
        return dict.fromkeys(numbers, ErrorCode.INVALID_REQUEST)
    try:
        if not asked.verify_only:
            await transactions.add(asked.transactional_id, producer, partitions=numbers.values())
            return dict.fromkeys(numbers, ErrorCode.NONE)
        return {
            key: ErrorCode.NONE
            if transactions.contains(asked.transactional_id, producer, number)
            else ErrorCode.TRANSACTION_ABORTABLE
            for key, number in numbers.items()
        }
    except BraidError as error:
        return dict.fromkeys(numbers, transaction_error(error, call.version, fenced_since=_FENCED_MIN_VERSION))
