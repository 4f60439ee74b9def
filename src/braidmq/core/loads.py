"""Messages that go to one partition together, in as few batches as their topic takes.

One idea: try them as one batch; what the topic refuses is tried in halves, until each message that it does not take
stands alone with its refusal, and holds up no other.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from aiokafka.partitioner import murmur2

from braidmq.core.admission import Admission
from braidmq.model import BraidError, Message
from braidmq.records import Batch, Packed, batch_messages, batch_packed


class Loaded(NamedTuple):
    """A run of the messages, from one place up to another, and the batch that they became, or why they did not."""

    begin: int
    end: int
    batch: Batch | BraidError


def partition_for(key: bytes, partitions: int) -> int:
    """The same for a key for ever, and the one that Kafka's producers choose."""
    return int((murmur2(key) & 0x7FFFFFFF) % partitions)


def partition_of_priority(message: Message, partitions: int) -> int:
    """In a topic of priorities: the message's own, or the highest that there is; one that says none has the lowest."""
    return min(message.priority or 0, partitions - 1)


def loaded(messages: Sequence[Message], admission: Admission, now_ms: int) -> Iterator[Loaded]:
    """Batches of all the messages, in order."""
    sizes = [len(message.body or b"") for message in messages]
    return _loaded(sizes, lambda begin, end: batch_messages(messages[begin:end]), admission, now_ms)


def loaded_packed(lots: Sequence[Packed], admission: Admission, now_ms: int) -> Iterator[Loaded]:
    """The same for messages that are records already: places are those of lots. A lot stays in one batch, so what is
    refused with several messages in it may be taken message by message."""
    sizes = [sum(map(len, lot.contents)) for lot in lots]
    return _loaded(sizes, lambda begin, end: batch_packed(lots[begin:end]), admission, now_ms)


def _loaded(
    sizes: Sequence[int], make: Callable[[int, int], Batch], admission: Admission, now_ms: int
) -> Iterator[Loaded]:
    begin = size_bytes = 0
    for place, own_bytes in enumerate(sizes):
        size_bytes += own_bytes
        if size_bytes > admission.message_bytes_max and place > begin:
            yield from _tried(begin, place, make, admission, now_ms)
            begin, size_bytes = place, own_bytes
    if begin < len(sizes):
        yield from _tried(begin, len(sizes), make, admission, now_ms)


def _tried(
    begin: int, end: int, make: Callable[[int, int], Batch], admission: Admission, now_ms: int
) -> Iterator[Loaded]:
    try:
        yield Loaded(begin, end, admission.admit_messages(make(begin, end), now_ms))
    except BraidError as refusal:
        if end - begin == 1:
            yield Loaded(begin, end, refusal)
            return
        middle = (begin + end) // 2
        yield from _tried(begin, middle, make, admission, now_ms)
        yield from _tried(middle, end, make, admission, now_ms)
