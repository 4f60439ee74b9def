"""Arbitrary messages, and messages as plain values that can be compared across codecs."""

import functools
import random
import struct
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from braidmq.protocols.kafka.codec import APIS, ApiMessage, Struct, request_class, response_class
from braidmq.protocols.kafka.codec._schema import FIXED_SIZES_BYTES, Field, Kind, Shape, fields_of
from braidmq.protocols.kafka.codec.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from braidmq.protocols.kafka.codec.messages.headers import RequestHeader, ResponseHeader

Plain = dict[str, Any]
Narrowing = Callable[[Field], "st.SearchStrategy[Any] | None"]
"""Values that an oracle can hold, where it cannot hold all."""

FIXED = {
    "?": st.booleans(),
    "b": st.integers(-(1 << 7), (1 << 7) - 1),
    "h": st.integers(-(1 << 15), (1 << 15) - 1),
    "H": st.integers(0, (1 << 16) - 1),
    "i": st.integers(-(1 << 31), (1 << 31) - 1),
    "I": st.integers(0, (1 << 32) - 1),
    "q": st.integers(-(1 << 63), (1 << 63) - 1),
    "d": st.floats(allow_nan=False),
    "16s": st.binary(min_size=16, max_size=16),
}


_BEFORE_4_4 = {
    "acceptablerecoverylaglegacy": "acceptablerecoverylag",
    "generationidormemberepoch": "generationid",
}

MESSAGE_CLASSES: tuple[type[ApiMessage], ...] = (
    *(request_class(key) for key in APIS),
    *(response_class(key) for key in APIS),
    RequestHeader,
    ResponseHeader,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
"""Every message that the codec knows."""


def versions_of(kind: type[ApiMessage]) -> range:
    return range(kind.VERSIONS[0], kind.VERSIONS[1] + 1)


def anything(_: Field) -> None:
    """No narrowing."""


def ids_but_zero(field: Field) -> st.SearchStrategy[Any] | None:
    """For those who read the id of nothing but zeros as None. Kafka's own classes cover it."""
    ids = st.binary(min_size=16, max_size=16).filter(any)
    if field.shape == Shape(Kind.FIXED, "16s"):
        return ids
    return st.lists(ids, max_size=2) if field.shape.element == Shape(Kind.FIXED, "16s") else None


@functools.cache
def structs(kind: type[Struct], version: int, narrow: Narrowing = anything) -> st.SearchStrategy[Any]:
    """Structs with every field of the version set, nulls and empty arrays among the values."""
    chosen = {
        field.name: _field_values(field, version, narrow) for field in fields_of(kind) if version in field.versions
    }
    return st.builds(kind, **chosen)


def _field_values(field: Field, version: int, narrow: Narrowing) -> st.SearchStrategy[Any]:
    narrowed = narrow(field)
    if narrowed is not None:
        return narrowed
    values = _values(field.shape, version, narrow)
    if field.is_tagged(version) and field.shape.struct is not None:
        # A tagged struct of nothing but defaults means the same as none, and some leave it out.
        empty = field.shape.struct()
        return st.none() | values.map(lambda value: None if value == empty else value)
    return st.none() | values if version in field.nullable else values


def _values(shape: Shape, version: int, narrow: Narrowing) -> st.SearchStrategy[Any]:
    match shape:
        case Shape(kind=Kind.FIXED):
            return FIXED[shape.format]
        case Shape(kind=Kind.STRING):
            return st.text(max_size=8)
        case Shape(kind=Kind.STRUCT, struct=inner) if inner is not None:
            return structs(inner, version, narrow)
        case Shape(kind=Kind.ARRAY, element=element) if element is not None:
            return st.lists(_values(element, version, narrow), max_size=2)
        case _:
            return st.binary(max_size=16) | st.binary(min_size=120, max_size=300)


def filled(kind: type[Struct], version: int) -> Any:
    """A struct in which every field of the version holds something, every array one element."""
    return kind(
        **{field.name: _filling(field.shape, version) for field in fields_of(kind) if version in field.versions}
    )


def _filling(shape: Shape, version: int) -> Any:
    match shape:
        case Shape(kind=Kind.FIXED, format="16s"):
            return bytes(range(16))
        case Shape(kind=Kind.FIXED):
            return 1
        case Shape(kind=Kind.STRING):
            return "text"
        case Shape(kind=Kind.STRUCT, struct=inner) if inner is not None:
            return filled(inner, version)
        case Shape(kind=Kind.ARRAY, element=element) if element is not None:
            return [_filling(element, version)]
        case _:
            return bytes(200)


def random_struct(kind: type[Struct], version: int, chance: random.Random) -> Any:
    """A struct of chance values: many at once, where hypothesis would take longer than all the rest."""
    return kind(
        **{
            field.name: None if _is_null(field, version, chance) else _random_value(field.shape, version, chance)
            for field in fields_of(kind)
            if version in field.versions
        }
    )


def _is_null(field: Field, version: int, chance: random.Random) -> bool:
    optional = field.is_tagged(version) and field.shape.kind is Kind.STRUCT
    return (optional or version in field.nullable) and chance.random() < 0.4


def _random_value(shape: Shape, version: int, chance: random.Random) -> Any:
    match shape:
        case Shape(kind=Kind.FIXED):
            return struct.unpack(f">{shape.format}", chance.randbytes(FIXED_SIZES_BYTES[shape.format]))[0]
        case Shape(kind=Kind.STRING):
            return "".join(chance.choices("aZ9.-é漢🦜", k=chance.choice((0, 1, 5, 200))))
        case Shape(kind=Kind.STRUCT, struct=inner) if inner is not None:
            return random_struct(inner, version, chance)
        case Shape(kind=Kind.ARRAY, element=element) if element is not None:
            return [_random_value(element, version, chance) for _ in range(chance.randrange(3))]
        case _:
            return chance.randbytes(chance.choice((0, 1, 20, 300)))


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one to four changes: flips, extremes, cuts, repetitions."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0 if place < len(changed):
                changed[place] ^= 1 << chance.randrange(8)
            case 1 if place < len(changed):
                changed[place] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                del changed[place : place + chance.randint(1, 8)]
            case _:
                changed[place:place] = chance.choice(
                    (b"\xff" * 5, b"\x80\x80\x80\x80\x08", bytes(changed[place : place + 4]))
                )
    return bytes(changed)


def plain(part: Struct, version: int, *, absent_is_default: bool) -> Plain:
    """The fields that the version has, by names that do not depend on anybody's way of writing them.

    A tagged struct that is absent is None to some, and to others, `absent_is_default`, one of nothing but defaults.
    """
    return {
        comparable(field.name): _plain_value(
            _present(part, field, version, absent_is_default), version, absent_is_default
        )
        for field in fields_of(type(part))
        if version in field.versions
    }


def _present(part: Struct, field: Field, version: int, absent_is_default: bool) -> Any:
    value = getattr(part, field.name)
    if value is None and absent_is_default and field.is_tagged(version) and field.shape.struct is not None:
        return field.shape.struct()
    return value


def comparable(name: str) -> str:
    """The name without units and underscores, as it was before Kafka 4.4 renamed it."""
    bare = name.removesuffix("_ms").replace("_", "").lower()
    return _BEFORE_4_4.get(bare, bare)


def _plain_value(value: Any, version: int, absent_is_default: bool) -> Any:
    if isinstance(value, Struct):
        return plain(value, version, absent_is_default=absent_is_default)
    if isinstance(value, list):
        return [_plain_value(element, version, absent_is_default) for element in value]
    return bytes(value) if isinstance(value, memoryview) else value
