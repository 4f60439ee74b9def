"""Unsigned varints, as compact lengths and tags are written: seven bits in a byte, the lowest first."""

from typing import Final

_BYTES_MAX: Final = 5
_VALUE_MAX: Final = (1 << 31) - 1

SMALL: Final = tuple(bytes((value,)) for value in range(128))
"""The values that take one byte, which nearly all do."""


class BadVarint(ValueError):
    """A length, count or tag does not fit 31 bits."""


def read_uvarint(data: bytes, position: int) -> tuple[int, int]:
    """The number at the position, and where it ends. Raises IndexError at the end of the data."""
    value = shift = 0
    for _ in range(_BYTES_MAX):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > _VALUE_MAX:
                break
            return value, position
        shift += 7
    raise BadVarint(BadVarint.__doc__)


def write_uvarint(value: int) -> bytes:
    """The number as a varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def skip_tags(data: bytes, position: int) -> int:
    """Where the tagged fields that begin here end. Nothing is known of them but their sizes."""
    count, position = read_uvarint(data, position)
    for _ in range(count):
        _, position = read_uvarint(data, position)
        size, position = read_uvarint(data, position)
        position += size
    return position
