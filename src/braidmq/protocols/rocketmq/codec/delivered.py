"""A record of the log as a message on its way to a client, without a detour. Hot path.

It is what `encode_message` makes of `stored_message`, byte for byte, for what nearly all records are: messages that a
RocketMQ client sent from an IPv4 address, on their first way to a reader. For all others it makes nothing.
"""

import struct
import zlib
from typing import Final

from braidmq.model import ATTEMPT_HEADER, BORN_HEADER, HTTP_HEADER, ROCKETMQ_HEADER
from braidmq.protocols.rocketmq.codec.ids import Host
from braidmq.protocols.rocketmq.codec.mapping import FRESH, FRESH_KIND
from braidmq.protocols.rocketmq.codec.messages import (
    COMPRESSED,
    COMPRESSION_MASK,
    MAGIC,
    PROPERTIES_BYTES_MAX,
    STORE_HOST_IPV6,
    TOPIC_BYTES_NARROW,
)
from braidmq.records import Record

_FIXED: Final = struct.Struct(">iiiiiqqiq4siq4siiqi")
_SHORT: Final = struct.Struct(">h")
_IPV4_FRESH_BYTES: Final = FRESH.size + 4
_AROUND_BYTES: Final = _FIXED.size + 1 + 2
_PLAIN_MASK: Final = ~(COMPRESSED | COMPRESSION_MASK)


def encode_record(
    record: Record, topic: bytes, queue_id: int, physical_offset: int, store_host: Host, added: bytes
) -> bytes | None:
    """The message with the properties `added`; None where the general way must be gone."""
    own = b""
    pieces: list[bytes] = []
    for name, value in record.headers:
        if name == ROCKETMQ_HEADER:
            own = value or b""
        elif value is None or name in (ATTEMPT_HEADER, BORN_HEADER, HTTP_HEADER):
            return None
        else:
            pieces.append(b"%b\x01%b\x02" % (name.encode(), value))
    if len(own) != _IPV4_FRESH_BYTES or own[0] != FRESH_KIND or len(store_host.ip) != 4:
        return None
    properties = b"".join(pieces)
    count = len(pieces)
    if properties.count(b"\x01") != count or properties.count(b"\x02") != count or len(topic) > TOPIC_BYTES_NARROW:
        return None
    if b"CLUSTER\x01" not in properties:
        properties += added
    if len(properties) > PROPERTIES_BYTES_MAX:
        return None
    _, flag, sys_flag, store_ms, born_port = FRESH.unpack_from(own)
    body = record.value or b""
    fixed = _FIXED.pack(
        _AROUND_BYTES + len(body) + len(topic) + len(properties),
        MAGIC,
        zlib.crc32(body) & 0x7FFFFFFF,
        queue_id,
        flag,
        record.offset,
        physical_offset,
        sys_flag & _PLAIN_MASK & ~STORE_HOST_IPV6,
        record.timestamp_ms,
        own[-4:],
        born_port,
        store_ms,
        store_host.ip,
        store_host.port,
        0,
        0,
        len(body),
    )
    return b"".join((fixed, body, bytes((len(topic),)), topic, _SHORT.pack(len(properties)), properties))
