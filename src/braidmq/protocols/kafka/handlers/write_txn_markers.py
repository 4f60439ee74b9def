"""WriteTxnMarkers (27): ends of transactions, put directly into partitions.

Brokers send it to each other; here it comes from operators (`kafka-transactions abort`) who end a transaction that
hangs in a partition. What the coordinator knows of the producer stays as it is.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.core.transactions import ProducerIdentity
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_partition
from braidmq.protocols.kafka.codec import ApiKey
from braidmq.protocols.kafka.codec.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse

_Marker = WriteTxnMarkersRequest.WritableTxnMarker
_Topic = WriteTxnMarkersResponse.WritableTxnMarkerTopicResult
_Partition = WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult


@answers(ApiKey.WRITE_TXN_MARKERS, versions=(1, 2), action=Action.CHANGE, resource=ResourceKind.NODE)
async def write_txn_markers(call: Call[WriteTxnMarkersRequest]) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(markers=[await _write(call, marker) for marker in call.request.markers])


async def _write(
    call: Call[WriteTxnMarkersRequest], marker: _Marker
) -> WriteTxnMarkersResponse.WritableTxnMarkerResult:
    numbers: dict[tuple[str, int], int] = {}
    fates: dict[tuple[str, int], int] = {}
    for topic in marker.topics:
        for index in topic.partition_indexes:
            try:
                numbers[topic.name, index] = find_partition(call.services, topic.name, index).number
            except BraidError as error:
                fates[topic.name, index] = error_code(error)
    results = await call.services.transactions.mark(
        ProducerIdentity(marker.producer_id, marker.producer_epoch),
        list(numbers.values()),
        commit=marker.transaction_result,
        coordinator_epoch=marker.coordinator_epoch,
    )
    for key, result in zip(numbers, results, strict=True):
        fates[key] = error_code(result) if isinstance(result, BraidError) else 0
    topics = [
        _Topic(
            name=topic.name,
            partitions=[
                _Partition(partition_index=index, error_code=fates[topic.name, index])
                for index in topic.partition_indexes
            ],
        )
        for topic in marker.topics
    ]
    return WriteTxnMarkersResponse.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics)
