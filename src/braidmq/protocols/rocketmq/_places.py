"""Messages by their place: the physical offset that clients are given, and the id made of it."""

from braidmq.core.filters import Everything
from braidmq.model import BraidError, Message, Partition, Topic
from braidmq.model.errors import UnknownMessage
from braidmq.protocols.rocketmq._delivered import encode_records
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import Host
from braidmq.protocols.rocketmq.codec.ids import physical_offset, read_offset_id, split_physical_offset
from braidmq.records import Record, record_message


async def message_named(services: RocketMQServices, msg_id: str, store_host: Host) -> bytes:
    """The message with this offset id, as clients read it. Raises MalformedMessage, UnknownMessage."""
    return await message_at(services, read_offset_id(msg_id).physical_offset, store_host)


async def message_of(services: RocketMQServices, msg_id: str) -> tuple[Message, int]:
    """The message with this offset id in the words of the house, and the number of its partition. Raises the same."""
    number, offset = split_physical_offset(read_offset_id(msg_id).physical_offset)
    topic, partition, record = await _record_at(services, number, offset)
    return record_message(record, topic.name, partition.index), number


async def message_at(services: RocketMQServices, physical: int, store_host: Host) -> bytes:
    """The message at this place, as clients read it. Raises MalformedMessage, UnknownMessage."""
    number, offset = split_physical_offset(physical)
    topic, partition, record = await _record_at(services, number, offset)
    return encode_records(services, (record,), topic.name, partition.index, number, store_host)


async def _record_at(services: RocketMQServices, number: int, offset: int) -> tuple[Topic, Partition, Record]:
    partition = services.catalog.partition_by_number(number)
    topic = None if partition is None else services.catalog.topic_by_id(partition.topic_id)
    unknown = f"can not find message by the offset: {physical_offset(number, offset)}"
    if partition is None or topic is None or topic.deleting:
        raise UnknownMessage(unknown)
    try:
        pulled = await services.puller.pull(number, offset, Everything(), count_max=1, bytes_max=1)
    except BraidError as error:
        raise UnknownMessage(unknown) from error
    record = next((record for record in pulled.records if record.offset == offset), None)
    if record is None:
        raise UnknownMessage(unknown)
    return topic, partition, record
