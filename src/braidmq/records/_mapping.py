"""Message <-> record: body is the value, properties are the headers one to one, born time is the timestamp."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from braidmq.model import Message
from braidmq.model.errors import InvalidBatch
from braidmq.records._batch import Batch, batch_checksum, parse_batch
from braidmq.records._codecs import Codec
from braidmq.records._records import Record, build_batch, build_plain, read_records


def message_record(message: Message, offset_delta: int = 0) -> Record:
    return Record(offset_delta, message.born_ms, message.key, message.body, message.headers)


def record_message(record: Record, topic: str = "", partition: int = -1) -> Message:
    return Message(
        body=record.value,
        key=record.key,
        headers=tuple(record.headers),
        born_ms=record.timestamp_ms,
        topic=topic,
        partition=partition,
        offset=record.offset,
    )


def batch_messages(messages: Sequence[Message], codec: Codec = Codec.NONE) -> Batch:
    """One batch of all the messages, ready to be appended to their partition. Hot path."""
    if codec is Codec.NONE:
        batch = build_plain([(each.born_ms, each.key, each.body, each.headers) for each in messages])
        if batch is not None:
            return batch
    return build_batch([message_record(message, delta) for delta, message in enumerate(messages)], codec=codec)


class Packed(NamedTuple):
    """Messages that a compiled codec made records of at once: each without its place in a batch, and its time."""

    contents: list[bytes]
    """Key, value and headers, as they stand in a record."""
    times: list[int]


def batch_packed(lots: Iterable[Packed]) -> Batch:
    """One batch of all the messages, in order. Raises InvalidBatch for those that are too large together. Hot path."""
    from braidmq.records._packing import pack  # it is there where anything is packed

    contents: list[bytes] = []
    times: list[int] = []
    for lot in lots:
        contents += lot.contents
        times += lot.times
    try:
        return parse_batch(pack(contents, times, batch_checksum))
    except ValueError as error:
        raise InvalidBatch(str(error)) from error


def messages_of(batch: Batch, topic: str = "", partition: int = -1) -> list[Message]:
    """The messages of a stored batch. Raises InvalidBatch."""
    return [record_message(record, topic, partition) for record in read_records(batch)]
