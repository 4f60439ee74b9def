"""Messages as a compiled codec hands them in: records without their places in a batch."""

from braidmq.model import Message
from braidmq.records import Packed, packed_content


def packed(*messages: Message) -> Packed:
    return Packed([packed_content(each) for each in messages], [each.born_ms for each in messages])
