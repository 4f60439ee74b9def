"""How a custom header is declared, read and written. Hot path.

A header is a struct: the name on the wire is the field's name in camel case unless it says otherwise, a field without a
default is required, and its type says what the text must be. On the wire everything is text by name (extFields). Fields
that a header does not declare are passed over: clients of all ages add their own.

A field is required where RocketMQ's broker would fail without it. A number or flag that its Java class keeps in a
primitive is 0 or false when it is missing, there as here.
"""

import enum
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, TypeVar, cast

import msgspec

from braidmq.protocols.rocketmq.codec._errors import MalformedHeader

Int = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
Long = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class CustomHeader(msgspec.Struct, kw_only=True, rename="camel"):
    """The typed form of a command's fields."""


class RpcRequestHeader(CustomHeader, kw_only=True):
    """What clients since 5.0 add to most requests: for whom it is, if a proxy stands between."""

    ns: str | None = None
    nsd: bool | None = None
    bname: str | None = None
    oway: bool | None = None


class TopicRequestHeader(RpcRequestHeader, kw_only=True):
    """The same, where a topic is named: `lo` says whether its queues are logical ones."""

    lo: bool | None = None


class BoundaryType(enum.StrEnum):
    """Which of the offsets with one time is meant."""

    LOWER = "LOWER"
    UPPER = "UPPER"

    @classmethod
    def _missing_(cls, value: object) -> "BoundaryType":
        return cls.UPPER if str(value).upper() == "UPPER" else cls.LOWER


class TransactionEnd(enum.IntEnum):
    """How a producer's local transaction went, in the bits of `sys_flag`."""

    UNKNOWN = 0
    COMMIT = 8
    ROLLBACK = 12


AnyHeader = TypeVar("AnyHeader", bound=CustomHeader)


def read_header(kind: type[AnyHeader], fields: Mapping[str, str]) -> AnyHeader:
    """The header of this kind from a command's fields. Raises MalformedHeader, naming the field that is wrong."""
    try:
        return msgspec.convert(fields, kind, strict=False)
    except msgspec.ValidationError as error:
        raise _malformed(kind, fields, error) from error


def read_raw_header(kind: type[AnyHeader], raw: bytes) -> AnyHeader | None:
    """The same from fields as they stand in a JSON header; None for what `read_header` must look at. Hot path."""
    if not raw:
        return None
    try:
        return cast("AnyHeader", _decoder(kind).decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


@cache
def _decoder(kind: type[CustomHeader]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, strict=False)


def write_header(header: CustomHeader) -> dict[str, str]:
    """The fields of a command that say what the header says; what is None is left out."""
    fields: dict[str, str] = {}
    for attribute, name in _names(type(header)):
        value = getattr(header, attribute)
        if value is not None:
            fields[name] = value if type(value) is str else _text(value)
    return fields


def _text(value: Any) -> str:
    if value is True:
        return "true"
    return "false" if value is False else format(value)


@cache
def _names(kind: type[CustomHeader]) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, field.encode_name) for field in msgspec.structs.fields(kind))


def _malformed(kind: type[CustomHeader], fields: Mapping[str, str], error: msgspec.ValidationError) -> MalformedHeader:
    for field in msgspec.structs.fields(kind):
        name = field.encode_name
        if field.required and name not in fields:
            return MalformedHeader(f"{kind.__name__} needs the field {name}", field=name)
        if name in fields and not _readable(field.type, fields[name]):
            shown = fields[name] if len(fields[name]) <= 40 else fields[name][:40] + "..."
            return MalformedHeader(f"{kind.__name__} cannot have {shown!r} as {name}: {_reason(error)}", field=name)
    return MalformedHeader(f"{kind.__name__} cannot be read: {error}")


def _readable(kind: Any, value: str) -> bool:
    try:
        msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        return False
    return True


def _reason(error: msgspec.ValidationError) -> str:
    return str(error).partition(" - at ")[0]
