"""Messages as RocketMQ's clients are given them, and the body of a batch that they send. Hot path.

A stored message is one run of fields, its length in front; answers hold several, back to back. The lengths of the two
addresses depend on bits of `sys_flag`, the width of the topic's length on the magic number. Bodies are opaque here:
compressed ones stay as they are.
"""

import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from braidmq.protocols.rocketmq.codec._errors import MalformedMessage, Unencodable
from braidmq.protocols.rocketmq.codec.ids import Host, write_offset_id

PROPERTIES_BYTES_MAX: Final = 32_767
BATCH_MESSAGES_MAX: Final = 65_536
"""About as many as fit the 4 MiB that a request of RocketMQ's clients may have."""

COMPRESSED: Final = 0x1
MULTI_TAGS: Final = 0x2
TRANSACTION_MASK: Final = 0xC
TRANSACTION_PREPARED: Final = 0x4
TRANSACTION_COMMIT: Final = 0x8
TRANSACTION_ROLLBACK: Final = 0xC
BORN_HOST_IPV6: Final = 0x10
STORE_HOST_IPV6: Final = 0x20
NEED_UNWRAP: Final = 0x40
INNER_BATCH: Final = 0x80
COMPRESSION_MASK: Final = 0x700
COMPRESSION_LZ4: Final = 0x100
COMPRESSION_ZSTD: Final = 0x200
COMPRESSION_ZLIB: Final = 0x300
"""No compression bits at all, in a message that is compressed, mean zlib as well."""

MAGIC: Final = -626843481
_MAGIC_WIDE_TOPIC: Final = -626843477
TOPIC_BYTES_NARROW: Final = 127
_BEFORE_BORN_HOST: Final = struct.Struct(">iiiiiqqiq")
_LONG: Final = struct.Struct(">q")
_INT: Final = struct.Struct(">i")
_SHORT: Final = struct.Struct(">h")
_WIDE: Final = struct.Struct(">H")
_AFTER_STORE_HOST: Final = struct.Struct(">iqi")
_BATCHED: Final = struct.Struct(">iiiii")
_NAME_END: Final = "\x01"
_PROPERTY_END: Final = "\x02"


class StoredMessage(msgspec.Struct, kw_only=True):
    """One message with all that RocketMQ says of it (its MessageExt). `body_crc` is made when it is written."""

    topic: str
    body: bytes
    properties: str = ""
    """As it travels: `name \\x01 value \\x02`, repeated."""
    queue_id: int = 0
    queue_offset: int = 0
    physical_offset: int = 0
    flag: int = 0
    """The sender's own; nobody else looks at it."""
    sys_flag: int = 0
    """The two bits that tell how long the addresses are follow the addresses."""
    born_ms: int = 0
    born_host: Host = Host(bytes(4), 0)
    store_ms: int = 0
    store_host: Host = Host(bytes(4), 0)
    reconsume_times: int = 0
    prepared_offset: int = 0
    """Where the half message of a transaction was."""

    @property
    def offset_id(self) -> str:
        return write_offset_id(self.store_host, self.physical_offset)


class BatchedMessage(msgspec.Struct, kw_only=True):
    """One of the messages that a producer sends in one request."""

    body: bytes
    properties: str = ""
    flag: int = 0


def encode_message(message: StoredMessage) -> bytes:
    """Raises Unencodable when something does not fit its field."""
    topic = message.topic.encode(errors="replace")
    properties = message.properties.encode(errors="replace")
    body = message.body
    born, store = message.born_host, message.store_host
    sys_flag = message.sys_flag & ~(BORN_HOST_IPV6 | STORE_HOST_IPV6)
    sys_flag |= BORN_HOST_IPV6 * born.is_ipv6 | STORE_HOST_IPV6 * store.is_ipv6
    narrow = len(topic) <= TOPIC_BYTES_NARROW
    size = 76 + len(born.ip) + len(store.ip) + 4 + len(body) + (1 if narrow else 2) + len(topic) + 2 + len(properties)
    try:
        return b"".join(
            (
                _BEFORE_BORN_HOST.pack(
                    size,
                    MAGIC if narrow else _MAGIC_WIDE_TOPIC,
                    zlib.crc32(body) & 0x7FFFFFFF,
                    message.queue_id,
                    message.flag,
                    message.queue_offset,
                    message.physical_offset,
                    sys_flag,
                    message.born_ms,
                ),
                born.ip,
                _INT.pack(born.port),
                _LONG.pack(message.store_ms),
                store.ip,
                _INT.pack(store.port),
                _AFTER_STORE_HOST.pack(message.reconsume_times, message.prepared_offset, len(body)),
                body,
                bytes((len(topic),)) if narrow else _WIDE.pack(len(topic)),
                topic,
                _SHORT.pack(len(properties)),
                properties,
            )
        )
    except struct.error as error:
        raise Unencodable(f"a message of topic {message.topic[:200]!r} cannot be written: {error}") from error


def decode_message(data: bytes) -> StoredMessage:
    """The one message that these bytes are. Raises MalformedMessage."""
    message, end = _read_message(data, 0)
    if end != len(data):
        raise MalformedMessage(f"{len(data) - end} bytes follow a message")
    return message


def decode_messages(data: bytes) -> list[StoredMessage]:
    """The messages that an answer holds. Raises MalformedMessage."""
    messages: list[StoredMessage] = []
    at = 0
    while at < len(data):
        message, at = _read_message(data, at)
        messages.append(message)
    return messages


def encode_batch(messages: Iterable[BatchedMessage]) -> bytes:
    """The body of SEND_BATCH_MESSAGE. Raises Unencodable."""
    pieces: list[bytes] = []
    for message in messages:
        properties = message.properties.encode(errors="replace")
        size = _BATCHED.size + len(message.body) + 2 + len(properties)
        try:
            pieces += (
                _BATCHED.pack(size, 0, 0, message.flag, len(message.body)),
                message.body,
                _SHORT.pack(len(properties)),
                properties,
            )
        except struct.error as error:
            raise Unencodable(f"a message of a batch cannot be written: {error}") from error
    return b"".join(pieces)


def decode_batch(data: bytes, messages_max: int = BATCH_MESSAGES_MAX) -> list[BatchedMessage]:
    """The messages of a SEND_BATCH_MESSAGE. Their own lengths are passed over, as RocketMQ does. Raises
    MalformedMessage, also when there are too many."""
    messages: list[BatchedMessage] = []
    at = 0
    try:
        while at < len(data):
            if len(messages) == messages_max:
                raise MalformedMessage(f"a batch holds more than {messages_max} messages")
            _, _, _, flag, body_size = _BATCHED.unpack_from(data, at)
            body, at = _taken(data, at + _BATCHED.size, body_size)
            (properties_size,) = _SHORT.unpack_from(data, at)
            properties, at = _taken(data, at + 2, properties_size)
            messages.append(BatchedMessage(body=body, properties=properties.decode(errors="replace"), flag=flag))
    except struct.error as error:
        raise MalformedMessage(f"a batch of {len(data)} bytes ends inside a message") from error
    return messages


def read_properties(text: str) -> dict[str, str]:
    """Names and values in order; of a name that comes twice the last value holds. What is no pair is passed over."""
    properties: dict[str, str] = {}
    for pair in text.split(_PROPERTY_END):
        name, separator, value = pair.partition(_NAME_END)
        if name and separator:
            properties[name] = value
    return properties


def write_properties(properties: Mapping[str, str]) -> str:
    """The text of these properties. Raises Unencodable where a separator stands in one, or a name is empty."""
    text = "".join(f"{name}{_NAME_END}{value}{_PROPERTY_END}" for name, value in properties.items())
    if (
        text.count(_PROPERTY_END) != len(properties)
        or "" in properties
        or any(_NAME_END in name for name in properties)
    ):
        raise Unencodable("the name of a property is empty, or a property holds a separator")
    return text


def _read_message(data: bytes, start: int) -> tuple[StoredMessage, int]:
    try:
        size, magic, _, queue_id, flag, queue_offset, physical, sys_flag, born_ms = _BEFORE_BORN_HOST.unpack_from(
            data, start
        )
        end = start + size
        if size < _BEFORE_BORN_HOST.size or end > len(data):
            raise MalformedMessage(f"a message claims {size} bytes, {len(data) - start} are there")
        if magic not in (MAGIC, _MAGIC_WIDE_TOPIC):
            raise MalformedMessage(f"a message begins with the number {magic}, which is not known")
        born_host, at = _read_host(data, start + _BEFORE_BORN_HOST.size, sys_flag & BORN_HOST_IPV6)
        (store_ms,) = _LONG.unpack_from(data, at)
        store_host, at = _read_host(data, at + 8, sys_flag & STORE_HOST_IPV6)
        reconsume_times, prepared_offset, body_size = _AFTER_STORE_HOST.unpack_from(data, at)
        body, at = _taken(data, at + _AFTER_STORE_HOST.size, body_size)
        topic_size, at = (data[at], at + 1) if magic == MAGIC else (_WIDE.unpack_from(data, at)[0], at + 2)
        topic, at = _taken(data, at, topic_size)
        (properties_size,) = _SHORT.unpack_from(data, at)
        properties, at = _taken(data, at + 2, properties_size)
    except (struct.error, IndexError) as error:
        raise MalformedMessage(f"a message in {len(data)} bytes ends too early") from error
    if at != end:
        raise MalformedMessage(f"a message claims {size} bytes and has {at - start}")
    message = StoredMessage(
        topic=topic.decode(errors="replace"),
        body=body,
        properties=properties.decode(errors="replace"),
        queue_id=queue_id,
        queue_offset=queue_offset,
        physical_offset=physical,
        flag=flag,
        sys_flag=sys_flag,
        born_ms=born_ms,
        born_host=born_host,
        store_ms=store_ms,
        store_host=store_host,
        reconsume_times=reconsume_times,
        prepared_offset=prepared_offset,
    )
    return message, end


def _read_host(data: bytes, at: int, is_ipv6: int) -> tuple[Host, int]:
    ip, at = _taken(data, at, 16 if is_ipv6 else 4)
    (port,) = _INT.unpack_from(data, at)
    return Host(ip, port), at + 4


def _taken(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    end = at + size
    if size < 0 or end > len(data):
        raise MalformedMessage(f"a part of {size} bytes is announced where {max(0, len(data) - at)} are left")
    return data[at:end], end
