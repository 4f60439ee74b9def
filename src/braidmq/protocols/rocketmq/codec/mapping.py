"""A RocketMQ message is a message of the house, and back. Hot path.

Properties are headers, one to one and under the same names, so that a Kafka consumer reads them and a Kafka producer
sets them. The record key is the sharding key, or else the first of KEYS. What only RocketMQ has (flags, where and how
often, when it was stored) travels in one small header, which no client of RocketMQ ever sees, as none sees the mark of
another protocol. A body lies in the log as its user wrote it: compression is RocketMQ's business between two of its
clients, and no other client could undo it.

How often a message was delivered in vain is a header under the name that RocketMQ has for it elsewhere, and not among
the properties; the same goes for the time of birth of a message that came to its topic later.

What a property cannot say is said as well as it can be: bytes that are no text and the separator become U+FFFD, a
name that comes twice keeps its last value, and what does not fit the 32 KiB that RocketMQ has for all properties is
left out.
"""

import struct
import zlib
from collections.abc import Iterable
from typing import Final

from braidmq.model import (
    ATTEMPT_HEADER,
    BORN_HEADER,
    HTTP_HEADER,
    ID_HEADER,
    KEYS_HEADER,
    ROCKETMQ_HEADER,
    SHARDING_KEY_HEADER,
    TAG_HEADER,
    Header,
    Message,
)
from braidmq.model.errors import InvalidBatch
from braidmq.model.numbers import whole_number
from braidmq.protocols.rocketmq.codec._errors import MalformedMessage
from braidmq.protocols.rocketmq.codec.ids import Host
from braidmq.protocols.rocketmq.codec.messages import (
    BORN_HOST_IPV6,
    COMPRESSED,
    COMPRESSION_LZ4,
    COMPRESSION_MASK,
    COMPRESSION_ZLIB,
    COMPRESSION_ZSTD,
    PROPERTIES_BYTES_MAX,
    STORE_HOST_IPV6,
    StoredMessage,
    read_properties,
)
from braidmq.records import Codec, decompress

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
"""RocketMQ's limit for a body, where nothing else is configured."""

_FIRST: Final = (TAG_HEADER, KEYS_HEADER, ID_HEADER, SHARDING_KEY_HEADER)
_HOST_BITS: Final = BORN_HOST_IPV6 | STORE_HOST_IPV6
FRESH: Final = struct.Struct(">Biiqi")
_PREPARED: Final = struct.Struct(">Biiqiq")
FRESH_KIND: Final = 1
_PREPARED_KIND: Final = 2
_CODECS: Final = {COMPRESSION_LZ4: Codec.LZ4, COMPRESSION_ZSTD: Codec.ZSTD}
_NOWHERE: Final = Host(bytes(4), 0)
_INT_MAX: Final = (1 << 31) - 1
_LONG_MAX: Final = (1 << 63) - 1


def message_of(stored: StoredMessage, body_bytes_max: int = BODY_BYTES_MAX) -> Message:
    """The message to keep. A compressed body is opened, to at most so many bytes.

    Raises MalformedMessage when it cannot be opened or is larger, and when the properties are more than could ever be
    given back.
    """
    return make_message(
        stored.properties,
        stored.body,
        stored.born_ms,
        flag=stored.flag,
        sys_flag=stored.sys_flag,
        store_ms=stored.store_ms,
        born_host=stored.born_host,
        attempts=stored.reconsume_times,
        prepared_offset=stored.prepared_offset,
        body_bytes_max=body_bytes_max,
    )


def make_message(
    properties: str,
    body: bytes,
    born_ms: int,
    *,
    flag: int,
    sys_flag: int,
    store_ms: int,
    born_host: Host,
    attempts: int = 0,
    prepared_offset: int = 0,
    body_bytes_max: int = BODY_BYTES_MAX,
) -> Message:
    """The same, of the parts that a producer sends. Raises what `message_of` raises."""
    if not _fits(properties):
        raise MalformedMessage(f"the properties of a message have at most {PROPERTIES_BYTES_MAX} bytes")
    sys_flag &= ~_HOST_BITS
    if sys_flag & COMPRESSED:
        body = _opened(body, sys_flag & COMPRESSION_MASK, body_bytes_max)
        sys_flag &= ~(COMPRESSED | COMPRESSION_MASK)
    pairs = _pairs(properties)
    pairs.pop(ROCKETMQ_HEADER, None)
    pairs.pop(HTTP_HEADER, None)
    pairs.pop(ATTEMPT_HEADER, None)
    if attempts > 0:
        pairs[ATTEMPT_HEADER] = str(attempts)
    key = pairs.get(SHARDING_KEY_HEADER)
    if not key and (keys := pairs.get(KEYS_HEADER)):
        key = keys.split(maxsplit=1)[0] if not keys.isspace() else None
    headers: list[Header] = [(name, value.encode(errors="replace")) for name, value in pairs.items()]
    own = own_header(flag, sys_flag, store_ms, born_host, prepared_offset)
    headers.append((ROCKETMQ_HEADER, own))
    record_key = key.encode(errors="replace") if key else None
    return Message(body=body, key=record_key, headers=tuple(headers), born_ms=born_ms)


def _pairs(properties: str) -> dict[str, str]:
    try:
        pairs = dict([pair.split("\x01", 1) for pair in properties.split("\x02") if pair])
    except ValueError:
        return read_properties(properties)
    return read_properties(properties) if "" in pairs else pairs


def stored_message(message: Message, *, queue_id: int, physical_offset: int, store_host: Host) -> StoredMessage:
    """A message that is in the log, as RocketMQ's clients are given it. `physical_offset` is what `ids` makes of its
    partition's number and its offset."""
    properties: dict[str, str] = {}
    own = b""
    for name, value in message.headers:
        if name == ROCKETMQ_HEADER:
            own = value or b""
        elif name != HTTP_HEADER:
            properties[name] = "" if value is None else str(value, "utf-8", "replace")
    if message.key is not None and KEYS_HEADER not in properties and SHARDING_KEY_HEADER not in properties:
        _add_key(properties, message.key)
    flag, sys_flag, store_ms, born_host, prepared_offset = read_own_header(own, message.born_ms)
    reconsume_times = _number(properties.pop(ATTEMPT_HEADER, ""), 0, _INT_MAX)
    born_ms = message.born_ms
    if (born := properties.pop(BORN_HEADER, None)) is not None:
        # It came to its topic later than it was sent: its record has the time of its coming.
        store_ms, born_ms = born_ms, _number(born, born_ms, _LONG_MAX)
    return StoredMessage(
        topic=message.topic,
        body=message.body or b"",
        properties=_properties_text(properties),
        queue_id=queue_id,
        queue_offset=message.offset,
        physical_offset=physical_offset,
        flag=flag,
        sys_flag=sys_flag,
        born_ms=born_ms,
        born_host=born_host,
        store_ms=store_ms,
        store_host=store_host,
        reconsume_times=reconsume_times,
        prepared_offset=prepared_offset,
    )


def own_header(flag: int, sys_flag: int, store_ms: int, born_host: Host, prepared_offset: int = 0) -> bytes:
    """What only RocketMQ has, for the header of that name."""
    ip, port = born_host
    if prepared_offset:
        return _PREPARED.pack(_PREPARED_KIND, flag, sys_flag, store_ms, port, prepared_offset) + ip
    return FRESH.pack(FRESH_KIND, flag, sys_flag, store_ms, port) + ip


def read_own_header(data: bytes, born_ms: int) -> tuple[int, int, int, Host, int]:
    """What the header says; for messages without one, or with one that is none of ours, what is true of any message."""
    prepared_offset = 0
    if len(data) - FRESH.size in (4, 16) and data[0] == FRESH_KIND:
        _, flag, sys_flag, store_ms, port = FRESH.unpack_from(data)
        ip = data[FRESH.size :]
    elif len(data) - _PREPARED.size in (4, 16) and data[0] == _PREPARED_KIND:
        _, flag, sys_flag, store_ms, port, prepared_offset = _PREPARED.unpack_from(data)
        ip = data[_PREPARED.size :]
    else:
        return 0, 0, born_ms, _NOWHERE, 0
    # Whatever a Kafka producer put there, the body is plain: nobody may be told to decompress it.
    return flag, sys_flag & ~(COMPRESSED | COMPRESSION_MASK), store_ms, Host(ip, port), prepared_offset


def _number(text: str, otherwise: int, most: int) -> int:
    """The number that a header of any producer's says, if it is one that fits."""
    number = whole_number(text, 19)
    return otherwise if number is None else min(number, most)


def _properties_text(properties: dict[str, str]) -> str:
    text = _joined(properties.items())
    if text.count("\x01") != len(properties) or text.count("\x02") != len(properties) or "" in properties:
        properties = {name: value.replace("\x02", "\ufffd") for name, value in properties.items() if _can_be_name(name)}
        text = _joined(properties.items())
    return text if _fits(text) else _fitting(properties)


def _fits(text: str) -> bool:
    """A character has at most four bytes: only long texts are measured."""
    return 4 * len(text) <= PROPERTIES_BYTES_MAX or len(text.encode(errors="replace")) <= PROPERTIES_BYTES_MAX


def _add_key(properties: dict[str, str], key: bytes) -> None:
    """A Kafka producer's key is what users look for; one that is no text is not worth finding."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return
    if text and "\x01" not in text and "\x02" not in text:
        properties[KEYS_HEADER] = text


def _fitting(properties: dict[str, str]) -> str:
    """What RocketMQ itself needs, and then one after the other as long as it fits."""
    left = PROPERTIES_BYTES_MAX
    kept: list[tuple[str, str]] = []
    for name in (
        *(each for each in _FIRST if each in properties),
        *(each for each in properties if each not in _FIRST),
    ):
        size = len(name.encode(errors="replace")) + len(properties[name].encode(errors="replace")) + 2
        if size <= left:
            left -= size
            kept.append((name, properties[name]))
    return _joined(kept)


def _joined(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join([f"{name}\x01{value}\x02" for name, value in pairs])


def _can_be_name(name: str) -> bool:
    return bool(name) and "\x01" not in name and "\x02" not in name


def _opened(body: bytes, compression: int, bytes_max: int) -> bytes:
    if compression in (0, COMPRESSION_ZLIB):
        return _inflated(body, bytes_max)
    codec = _CODECS.get(compression)
    if codec is None:
        raise MalformedMessage(f"compression {compression >> 8} is not known; 1 (lz4), 2 (zstd) and 3 (zlib) are")
    try:
        return decompress(codec, body, bytes_max)
    except InvalidBatch as error:
        raise MalformedMessage(f"the compressed body cannot be opened: {error}") from error


def _inflated(body: bytes, bytes_max: int) -> bytes:
    reader = zlib.decompressobj()
    try:
        plain = reader.decompress(body, bytes_max + 1)
    except zlib.error as error:
        raise MalformedMessage(f"the compressed body is broken: {error}") from error
    if len(plain) > bytes_max:
        raise MalformedMessage(f"the body is larger than {bytes_max} bytes when it is opened")
    if not reader.eof:
        raise MalformedMessage("the compressed body ends too early")
    return plain
