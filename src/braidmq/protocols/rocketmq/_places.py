"""Messages by their place: the physical offset that clients are given, and the id made of it."""

from braidmq.core.filters import Everything
from braidmq.model import BraidError
from braidmq.model.errors import UnknownMessage
from braidmq.protocols.rocketmq._delivered import encode_records
from braidmq.protocols.rocketmq._services import RocketMQServices
from braidmq.protocols.rocketmq.codec import Host
from braidmq.protocols.rocketmq.codec.ids import read_offset_id, split_physical_offset


async def message_named(services: RocketMQServices, msg_id: str, store_host: Host) -> bytes:
    """The message with this offset id, as clients read it. Raises MalformedMessage, UnknownMessage."""
    return await message_at(services, read_offset_id(msg_id).physical_offset, store_host)


async def message_at(services: RocketMQServices, physical: int, store_host: Host) -> bytes:
    """The message at this place, as clients read it. Raises MalformedMessage, UnknownMessage."""
    number, offset = split_physical_offset(physical)
    partition = services.catalog.partition_by_number(number)
    topic = None if partition is None else services.catalog.topic_by_id(partition.topic_id)
    if partition is None or topic is None or topic.deleting:
        raise UnknownMessage(f"can not find message by the offset: {physical}")
    try:
        pulled = await services.puller.pull(number, offset, Everything(), count_max=1, bytes_max=1)
    except BraidError as error:
        raise UnknownMessage(f"can not find message by the offset: {physical}") from error
    found = [record for record in pulled.records if record.offset == offset]
    if not found:
        raise UnknownMessage(f"can not find message by the offset: {physical}")
    return encode_records(services, found, topic.name, partition.index, number, store_host)
