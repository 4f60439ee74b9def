"""A plain send, read without a detour. Hot path.

It is what RocketMQ's own producers send most: one message, whose header is JSON of the second version. Where something
is made here, it is what `decode_request`, `read_header` and `make_message` make of the same bytes; for all else there
is None, and the general way must be gone.

One idea: the properties of a producer's messages have the same names in the same order, time and again. What follows
from the names alone is known after the first.
"""

import struct
from typing import Final, NamedTuple

import msgspec

from braidmq.model import (
    ATTEMPT_HEADER,
    ID_HEADER,
    KEYS_HEADER,
    ROCKETMQ_HEADER,
    SHARDING_KEY_HEADER,
    Header,
    Message,
)
from braidmq.protocols.rocketmq.codec._frames import HEADER_BYTES_MAX
from braidmq.protocols.rocketmq.codec.codes import RequestCode
from braidmq.protocols.rocketmq.codec.headers import SendMessageRequestHeaderV2
from braidmq.protocols.rocketmq.codec.headers._base import Int

PLAIN_SEND: Final = b'{"code":%d,' % RequestCode.SEND_MESSAGE_V2
"""How the header of such a request begins."""

_WORD: Final = struct.Struct(">I")
_PROPERTIES_BYTES_MAX: Final = 4096
_SHAPES_MAX: Final = 1024
_NO_SEPARATORS: Final = bytes(set(range(256)) - {1, 2})
_OURS: Final = frozenset({"", ROCKETMQ_HEADER, ATTEMPT_HEADER})


class PlainSend(msgspec.Struct, gc=False):
    """The header of a send, with its fields in their places."""

    opaque: Int = 0
    flag: Int = 0
    language: str | int | None = "JAVA"
    version: Int = 0
    fields: SendMessageRequestHeaderV2 | None = msgspec.field(name="extFields", default=None)


class _Shape(NamedTuple):
    """What the names of properties say."""

    names: tuple[str, ...]
    separators: bytes
    """What is left of the text without names and values."""
    id_at: int
    keys_at: int
    sharding_key_at: int


_decoder: Final = msgspec.json.Decoder(PlainSend, strict=False)
_shapes: Final[dict[tuple[bytes, ...], _Shape | None]] = {}


def read_plain_send(frame: bytes) -> tuple[PlainSend, SendMessageRequestHeaderV2, bytes] | None:
    """The header of a frame that has PLAIN_SEND behind its first word, its fields, and the body."""
    (header_bytes,) = _WORD.unpack_from(frame)
    end = 4 + header_bytes
    if header_bytes > HEADER_BYTES_MAX or end > len(frame):
        return None
    try:
        send = _decoder.decode(frame[4:end])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if send.flag or send.fields is None:
        return None
    return send, send.fields, frame[end:]


def plain_message(properties: str, body: bytes, born_ms: int, own: Header) -> tuple[Message, bytes] | None:
    """The message, and its unique id. `own` is the header of what only RocketMQ has."""
    try:
        text = properties.encode()
    except UnicodeEncodeError:
        return None
    values = text.replace(b"\x02", b"\x01").split(b"\x01")
    names = tuple(values[:-1:2])
    try:
        shape = _shapes[names]
    except KeyError:
        shape = _learn(names)
    if shape is None or len(text) > _PROPERTIES_BYTES_MAX or text.translate(None, _NO_SEPARATORS) != shape.separators:
        return None
    written, _, id_at, keys_at, sharding_key_at = shape
    key = values[sharding_key_at] if sharding_key_at >= 0 else b""
    if not key and keys_at >= 0:
        key = values[keys_at]
        if not key.isalnum():
            key = _first_of(key)
    headers = (*zip(written, values[1::2], strict=False), own)
    return Message(body=body, key=key or None, headers=headers, born_ms=born_ms), values[id_at]


def _learn(names: tuple[bytes, ...]) -> _Shape | None:
    """The shape of these names; None for those that the general way must look at."""
    if len(_shapes) >= _SHAPES_MAX:
        _shapes.clear()
    shape = _shapes[names] = _shape_of(names)
    return shape


def _shape_of(names: tuple[bytes, ...]) -> _Shape | None:
    try:
        written = tuple([name.decode() for name in names])
    except UnicodeDecodeError:
        return None
    if ID_HEADER not in written or len(set(written)) < len(written) or not _OURS.isdisjoint(written):
        return None
    return _Shape(
        written,
        b"\x01\x02" * len(written),
        2 * written.index(ID_HEADER) + 1,
        2 * written.index(KEYS_HEADER) + 1 if KEYS_HEADER in written else -1,
        2 * written.index(SHARDING_KEY_HEADER) + 1 if SHARDING_KEY_HEADER in written else -1,
    )


def _first_of(keys: bytes) -> bytes:
    words = keys.decode().split(maxsplit=1)
    return words[0].encode() if words else b""
