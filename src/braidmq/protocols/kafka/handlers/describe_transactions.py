"""DescribeTransactions (65): what is known of transactional ids. Partitions of deleted topics are left out."""

from braidmq.core.access import Action, ResourceKind
from braidmq.model import Transaction
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._services import KafkaServices
from braidmq.protocols.kafka._transactions import STATE_NAMES
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)

_State = DescribeTransactionsResponse.TransactionState
_Topic = DescribeTransactionsResponse.TopicData


@answers(ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), action=Action.DESCRIBE, resource=ResourceKind.TRANSACTION)
def describe_transactions(call: Call[DescribeTransactionsRequest]) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[_describe(call.services, name) for name in call.request.transactional_ids]
    )


def _describe(services: KafkaServices, id: str) -> _State:
    if not id:
        return _State(transactional_id=id, error_code=ErrorCode.INVALID_REQUEST)
    transaction = services.transactions.transaction(id)
    if transaction is None:
        return _State(transactional_id=id, error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    return _State(
        transactional_id=id,
        transaction_state=STATE_NAMES[transaction.state],
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        topics=_topics(services, transaction),
    )


def _topics(services: KafkaServices, transaction: Transaction) -> list[_Topic]:
    topics: dict[str, _Topic] = {}
    for number in sorted(transaction.partitions):
        partition = services.catalog.partition_by_number(number)
        topic = None if partition is None else services.catalog.topic_by_id(partition.topic_id)
        if partition is not None and topic is not None and not topic.deleting:
            topics.setdefault(topic.name, _Topic(topic=topic.name, partitions=[])).partitions.append(partition.index)
    return list(topics.values())
