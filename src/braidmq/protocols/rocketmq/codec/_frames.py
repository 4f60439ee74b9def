"""Frames: `length:i32 | type:u8 header_length:u24 | header | body`, all big-endian. Hot path.

A header comes in one of two dresses, JSON or a binary one called ROCKETMQ; an answer wears the dress of its request.
The contract of the readers: `frame_end` says where a frame ends, that more bytes are needed (None), or raises before
anything is made of a length that is too large; `decode_command` is given one complete frame without its length, and
returns a command or raises. MalformedFrame is all that they raise.
"""

import enum
import struct
from typing import Annotated, Any, Final

import msgspec

from braidmq.protocols.rocketmq.codec import _fastjson
from braidmq.protocols.rocketmq.codec._errors import MalformedFrame, Unencodable
from braidmq.protocols.rocketmq.codec.codes import LANGUAGE_NAMES, LANGUAGE_NUMBERS, Language, RequestCode

FRAME_BYTES_MAX: Final = 16 * 1024 * 1024
"""RocketMQ's own limit for a frame, where nothing else is configured."""
HEADER_BYTES_MAX: Final = 512 * 1024
"""Enough for 32 KiB of properties, every byte of them escaped, and the rest of a header."""

RESPONSE_FLAG: Final = 1
ONEWAY_FLAG: Final = 2

_LENGTH: Final = struct.Struct(">i")
_WORD: Final = struct.Struct(">I")
_TWO_WORDS: Final = struct.Struct(">iI")
_BINARY: Final = struct.Struct(">hBhii")
_SHORT: Final = struct.Struct(">h")
_HEADER_VALUES_MAX: Final = 5_000
_HEADER_LENGTH_MASK: Final = 0xFFFFFF
_INT_MIN: Final = -(1 << 31)
_INT_MAX: Final = (1 << 31) - 1


class Serialization(enum.IntEnum):
    """How a header is written."""

    JSON = 0
    ROCKETMQ = 1


class Command(msgspec.Struct, kw_only=True):
    """A request or a response. `fields` is the custom header as it travels: text by name (RocketMQ's extFields)."""

    code: int
    opaque: int = 0
    """The sender's number of this request; its response has the same."""
    flag: int = 0
    fields: dict[str, str] = {}
    body: bytes = b""
    remark: str | None = None
    language: Language = Language.JAVA
    version: int = 0
    serialization: Serialization = Serialization.JSON

    @property
    def is_response(self) -> bool:
        return bool(self.flag & RESPONSE_FLAG)

    @property
    def is_oneway(self) -> bool:
        """Nobody waits for an answer, and none may be sent."""
        return bool(self.flag & ONEWAY_FLAG)


def frame_end(buffer: bytes | bytearray | memoryview, start: int, frame_bytes_max: int = FRAME_BYTES_MAX) -> int | None:
    """Where the frame that begins at `start` ends; None while bytes of it are missing. Its content, without the length,
    is `buffer[start + 4 : end]`. Raises MalformedFrame as soon as the length is there and cannot be right."""
    if len(buffer) - start < 4:
        return None
    (length,) = _LENGTH.unpack_from(buffer, start)
    if not 4 <= length <= frame_bytes_max:
        raise MalformedFrame(f"a frame has 4 to {frame_bytes_max} bytes, this one claims {length}")
    end: int = start + 4 + length
    return end if end <= len(buffer) else None


def decode_command(frame: bytes, header_bytes_max: int = HEADER_BYTES_MAX) -> Command:
    """The command in a complete frame, without its length. Raises MalformedFrame for whatever is none.

    Codes of POP requests that do not fit the 16 bits of some clients arrive wrapped; they are unwrapped here.
    """
    if len(frame) < 4:
        raise MalformedFrame(f"a frame has at least 4 bytes, this one has {len(frame)}")
    (word,) = _WORD.unpack_from(frame)
    end = 4 + (word & _HEADER_LENGTH_MASK)
    if end > len(frame) or end - 4 > header_bytes_max:
        limit = min(len(frame) - 4, header_bytes_max)
        raise MalformedFrame(f"a header claims {end - 4} bytes, at most {limit} are possible")
    match word >> 24:
        case Serialization.JSON:
            command = _decode_json(frame[4:end])
        case Serialization.ROCKETMQ:
            command = _decode_binary(frame[4:end])
        case other:
            raise MalformedFrame(f"header type {other} is not known; 0 (JSON) and 1 (ROCKETMQ) are")
    command.body = frame[end:]
    if command.code in _UNWRAPPED and not command.flag & RESPONSE_FLAG:
        command.code = _UNWRAPPED[command.code]
    return command


def decode_request(frame: bytes, header_bytes_max: int = HEADER_BYTES_MAX) -> tuple[Command, bytes | dict[str, str]]:
    """The same for servers, who read most fields once and into a struct: the command is without its fields, which come
    beside it; as they stood in the header where that can be read so, else by name. Hot path."""
    if len(frame) >= 4:
        (word,) = _WORD.unpack_from(frame)
        end = 4 + word
        # A word below 1 << 24 says that the header is JSON.
        if word <= header_bytes_max and end <= len(frame):
            try:
                header = _request_decoder.decode(frame[4:end])
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass
            else:
                command = Command(
                    code=_UNWRAPPED.get(header.code, header.code),
                    opaque=header.opaque,
                    flag=header.flag,
                    body=frame[end:],
                    language=LANGUAGE_NUMBERS.get(header.language, Language.OTHER),
                    version=header.version,
                )
                if not header.flag & RESPONSE_FLAG:
                    return command, bytes(header.extFields)
    command = decode_command(frame, header_bytes_max)
    fields, command.fields = command.fields, {}
    return command, fields


def fields_of(raw: bytes) -> dict[str, str]:
    """Fields as they stood in a JSON header, by name. Raises MalformedFrame."""
    return _decode_json(b'{"code":0,"extFields":%b}' % (raw or b"null")).fields


def encode_command(command: Command) -> bytes:
    """A frame with its length, ready to be sent. Raises Unencodable."""
    return encode_head(command, len(command.body)) + command.body


def encode_head(command: Command, body_bytes: int) -> bytes:
    """The frame but for its body of so many bytes, which the caller sends behind it. Raises Unencodable."""
    try:
        header = _encode_json(command) if command.serialization is Serialization.JSON else _encode_binary(command)
    except (struct.error, UnicodeError, msgspec.MsgspecError, TypeError, OverflowError) as error:
        raise Unencodable(f"a command with code {command.code} cannot be written: {error}") from error
    length = 4 + len(header) + body_bytes
    if len(header) > _HEADER_LENGTH_MASK or length > _INT_MAX:
        raise Unencodable(f"a header of {len(header)} and a body of {body_bytes} bytes do not fit one frame")
    return _TWO_WORDS.pack(length, command.serialization << 24 | len(header)) + header


def wrapped_code(code: int) -> int:
    """The number that a code becomes in the 16 signed bits of a binary header."""
    return (code + 0x8000 & 0xFFFF) - 0x8000


_UNWRAPPED: Final = {wrapped_code(code): int(code) for code in RequestCode if not -0x8000 <= code <= 0x7FFF}


class _JsonHeader(msgspec.Struct, omit_defaults=True):
    code: int
    opaque: int
    flag: int
    language: str
    version: int
    serializeTypeCurrentRPC: str  # noqa: N815 - the wire's own name, and no rename is shorter
    remark: str | None = None
    extFields: dict[str, str] | None = None  # noqa: N815


_Int = Annotated[int, msgspec.Meta(ge=_INT_MIN, le=_INT_MAX)]


class _ReadJsonHeader(msgspec.Struct):
    code: _Int
    opaque: _Int = 0
    flag: _Int = 0
    language: str | int | None = "JAVA"
    version: _Int = 0
    remark: str | None = None
    extFields: dict[str, str] | None = None  # noqa: N815


class _RequestJsonHeader(msgspec.Struct):
    code: _Int
    opaque: _Int = 0
    flag: _Int = 0
    language: str | int | None = "JAVA"
    version: _Int = 0
    extFields: msgspec.Raw = msgspec.Raw(b"")  # noqa: N815


_request_decoder: Final = msgspec.json.Decoder(_RequestJsonHeader)
_json_decoder: Final = msgspec.json.Decoder(_ReadJsonHeader)
_json_encoder: Final = msgspec.json.Encoder()


def _decode_json(data: bytes) -> Command:
    try:
        header = _json_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        header = _read_tolerantly(data)
    return Command(
        code=header.code,
        opaque=header.opaque,
        flag=header.flag,
        fields=header.extFields or {},
        remark=header.remark,
        language=LANGUAGE_NUMBERS.get(header.language, Language.OTHER),
        version=header.version,
    )


def _read_tolerantly(data: bytes) -> _ReadJsonHeader:
    """What msgspec would not take: values that are no text, nulls among them, control characters, bare names."""
    try:
        found = _fastjson.parse(data, values_max=_HEADER_VALUES_MAX)
        if isinstance(found, dict) and isinstance(found.get("extFields"), dict):
            found["extFields"] = {name: _text(value) for name, value in found["extFields"].items()}
        return msgspec.convert(found, _ReadJsonHeader, strict=False)
    except (_fastjson.NotJson, msgspec.ValidationError) as error:
        raise MalformedFrame(f"a JSON header of {len(data)} bytes cannot be read: {error}") from error


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _fastjson.write(value).decode()


def _encode_json(command: Command) -> bytes:
    return _json_encoder.encode(
        _JsonHeader(
            command.code,
            command.opaque,
            command.flag,
            LANGUAGE_NAMES[command.language],
            command.version,
            "JSON",
            command.remark,
            command.fields or None,
        )
    )


def _decode_binary(data: bytes) -> Command:
    try:
        code, language, version, opaque, flag = _BINARY.unpack_from(data)
        at = _BINARY.size
        (size,) = _LENGTH.unpack_from(data, at)
        remark, at = _binary_text(data, at + 4, size)
        (size,) = _LENGTH.unpack_from(data, at)
        if size > 0 and at + 4 + size > len(data):
            raise MalformedFrame(f"the fields of a binary header claim {size} bytes, {len(data) - at - 4} are there")
        fields = _binary_fields(data, at + 4, at + 4 + size)
    except struct.error as error:
        raise MalformedFrame(f"a binary header of {len(data)} bytes ends too early") from error
    return Command(
        code=code,
        opaque=opaque,
        flag=flag,
        fields=fields,
        remark=remark or None,
        language=LANGUAGE_NUMBERS.get(language, Language.OTHER),
        version=version,
        serialization=Serialization.ROCKETMQ,
    )


def _binary_fields(data: bytes, at: int, end: int) -> dict[str, str]:
    """A length of 0 stands for null: such a field is left out, as if it had not been sent."""
    fields: dict[str, str] = {}
    while at < end:
        (name_size,) = _SHORT.unpack_from(data, at)
        name_at = at + 2
        value_at = name_at + name_size + 4
        if name_size < 0:
            raise MalformedFrame(f"the name of a field in a binary header claims {name_size} bytes")
        (value_size,) = _LENGTH.unpack_from(data, value_at - 4)
        at = value_at + value_size
        if value_size < 0 or at > len(data):
            raise MalformedFrame(f"a field in a binary header claims {value_size} of {len(data) - value_at} bytes")
        if name_size and value_size:
            fields[str(data[name_at : value_at - 4], "utf-8", "replace")] = str(data[value_at:at], "utf-8", "replace")
    return fields


def _binary_text(data: bytes, at: int, size: int) -> tuple[str, int]:
    end = at + size
    if size < 0 or end > len(data):
        raise MalformedFrame(f"a text in a binary header claims {size} bytes, {len(data) - at} are there")
    return data[at:end].decode(errors="replace"), end


def _encode_binary(command: Command) -> bytes:
    """A value that is empty becomes null at the reader: this header cannot tell the two apart."""
    remark = (command.remark or "").encode()
    pieces = [b""]
    for name, value in command.fields.items():
        name_bytes, value_bytes = name.encode(), value.encode()
        pieces += (_SHORT.pack(len(name_bytes)), name_bytes, _LENGTH.pack(len(value_bytes)), value_bytes)
    fields = b"".join(pieces)
    head = _BINARY.pack(wrapped_code(command.code), command.language, command.version, command.opaque, command.flag)
    return b"".join((head, _LENGTH.pack(len(remark)), remark, _LENGTH.pack(len(fields)), fields))
