"""ListOffsets (2): where a partition begins and ends, and where a time lies in it.

Special times: -1 the end (the stable offset for readers of committed records), -2 and -4 the start, -3 the record with
the latest time, -5 and -6 what only exists with tiered storage: nothing. Any other time finds the first record that is
not older, exactly, inside its batch; readers of committed records hear of none behind the stable offset. Version 0
wants a list of offsets, as the first brokers knew them by segments: it gets the offset, and the start behind it when
there is room.
"""

from braidmq.core.access import Action, ResourceKind
from braidmq.log import TimedOffset
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import Place, find_partition, stale_epoch
from braidmq.protocols.kafka._services import LEADER_EPOCH
from braidmq.protocols.kafka.codec import ApiKey, ErrorCode
from braidmq.protocols.kafka.codec.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse

_LATEST = -1
_EARLIEST = -2
_LATEST_TIME = -3
_EARLIEST_LOCAL = -4
_TIERED = (-5, -6)
_MIN_VERSIONS = {_LATEST_TIME: 7, _EARLIEST_LOCAL: 8, -5: 9, -6: 11}
"""Since when there are the special times that were not there from the beginning."""
_READ_COMMITTED = 1
_EPOCHS_MIN_VERSION = 4

_Partition = ListOffsetsResponse.ListOffsetsPartitionResponse


@answers(ApiKey.LIST_OFFSETS, versions=(0, 11), action=Action.DESCRIBE, resource=ResourceKind.TOPIC)
async def list_offsets(call: Call[ListOffsetsRequest]) -> ListOffsetsResponse:
    topics = []
    for topic in call.request.topics:
        partitions = [await _partition(call, topic.name, asked) for asked in topic.partitions]
        topics.append(ListOffsetsResponse.ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
    return ListOffsetsResponse(topics=topics)


async def _partition(
    call: Call[ListOffsetsRequest], topic: str, asked: ListOffsetsRequest.ListOffsetsPartition
) -> _Partition:
    try:
        place = find_partition(call.services, topic, asked.partition_index)
        if (stale := stale_epoch(asked.current_leader_epoch)) is not None:
            return _Partition(partition_index=asked.partition_index, error_code=stale)
        if call.version == 0:
            return await _old_style(call, place, asked)
        found = await _offset(call, place, asked.timestamp)
    except BraidError as error:
        return _Partition(partition_index=asked.partition_index, error_code=error_code(error))
    except ValueError:
        return _Partition(partition_index=asked.partition_index, error_code=ErrorCode.UNSUPPORTED_VERSION)
    if found is None:
        return _Partition(partition_index=asked.partition_index)
    return _Partition(
        partition_index=asked.partition_index,
        offset=found.offset,
        timestamp=found.timestamp_ms,
        leader_epoch=LEADER_EPOCH if call.version >= _EPOCHS_MIN_VERSION else -1,
    )


async def _offset(call: Call[ListOffsetsRequest], place: Place, timestamp: int) -> TimedOffset | None:
    """Raises ValueError for a special time that this version does not know."""
    log = call.services.log
    bounds = log.bounds(place.number)
    if call.version < _MIN_VERSIONS.get(timestamp, 0):
        raise ValueError(timestamp)
    is_committed = call.request.isolation_level == _READ_COMMITTED
    if timestamp == _LATEST:
        return TimedOffset(bounds.stable if is_committed else bounds.end, -1)
    if timestamp in (_EARLIEST, _EARLIEST_LOCAL):
        return TimedOffset(bounds.start, -1)
    if timestamp in _TIERED:
        return None
    if timestamp == _LATEST_TIME:
        found = await log.latest_record(place.number)
    elif timestamp < 0:
        raise ValueError(timestamp)
    else:
        found = await log.offset_for_time(place.number, timestamp)
    is_behind = found is not None and is_committed and found.offset >= log.bounds(place.number).stable
    return None if is_behind else found


async def _old_style(
    call: Call[ListOffsetsRequest], place: Place, asked: ListOffsetsRequest.ListOffsetsPartition
) -> _Partition:
    found = await _offset(call, place, asked.timestamp)
    start = call.services.log.bounds(place.number).start
    offsets = [] if found is None else [found.offset]
    if asked.timestamp == _LATEST and offsets != [start]:
        offsets.append(start)
    return _Partition(partition_index=asked.partition_index, old_style_offsets=offsets[: max(asked.max_num_offsets, 0)])
