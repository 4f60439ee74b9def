"""Where the fields of many records lie, found for all of them at a time. Hot path: runs for every message that is read.

A record is its length and then its fields, each a number of variable length, or some bytes behind such a number: so a
record is found by the one before it, and a field by the field before it. Compiled (`_places.pyx`) that is one pass over
the bytes. Without that, and for records that are broken, one loop finds where each record begins, and numpy then reads
the same field of all records at a time; it says what is wrong with them, too.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from braidmq.model.errors import InvalidBatch

try:
    from braidmq.pipeline._places import find_fields, find_headers
except ImportError:  # not compiled here: by numpy
    IS_COMPILED = False
else:
    IS_COMPILED = True

Integers: TypeAlias = npt.NDArray[np.int64]
Octets: TypeAlias = npt.NDArray[np.uint8]
Flags: TypeAlias = npt.NDArray[np.bool_]
Buffer: TypeAlias = bytes | bytearray

_SHIFT_MAX: Final = 63
_UNSIGNED_MAX: Final = 0x7FFFFFFFFFFFFFFF


class Fields(NamedTuple):
    """Of each record. Times and offsets count from those of the batch; a size below zero is that of a null."""

    times: Integers
    offsets: Integers
    key_starts: Integers
    key_sizes: Integers
    value_starts: Integers
    value_sizes: Integers
    header_counts: Integers
    headers_at: Integers
    ends: Integers


class HeaderFields(NamedTuple):
    """Of each header, in order: the record it belongs to, and where its name and value lie."""

    rows: Integers
    name_starts: Integers
    name_sizes: Integers
    starts: Integers
    sizes: Integers


def read_fields(buffer: Buffer, spans: Integers, counts: Integers) -> tuple[Fields, HeaderFields]:
    """Of all records that lie in these spans of the buffer (from, to), so many in each. Raises InvalidBatch."""
    if ((counts < 0) | (counts > spans[:, 1] - spans[:, 0])).any():
        raise InvalidBatch("a batch claims more records than it has bytes")
    found = _read_compiled(buffer, spans, counts) if IS_COMPILED else None
    return read_by_columns(buffer, spans, counts) if found is None else found


def _read_compiled(buffer: Buffer, spans: Integers, counts: Integers) -> tuple[Fields, HeaderFields] | None:
    """None for records that are broken."""
    found = np.empty((len(Fields._fields), int(counts.sum())), np.int64)
    if (header_count := find_fields(buffer, spans, counts, found)) < 0:
        return None
    fields = Fields(*found)
    headers = np.empty((len(HeaderFields._fields), header_count), np.int64)
    if header_count and not find_headers(buffer, fields.header_counts, fields.headers_at, fields.ends, headers):
        return None
    return fields, HeaderFields(*headers)


def read_by_columns(buffer: Buffer, spans: Integers, counts: Integers) -> tuple[Fields, HeaderFields]:
    """What `read_fields` promises, by numpy."""
    octets: Octets = np.frombuffer(buffer, np.uint8)
    begins = [
        begin
        for (start, end), count in zip(spans.tolist(), counts.tolist(), strict=True)
        for begin in _walked(buffer, start, end, count)
    ]
    sizes, starts = _read_numbers(octets, np.array(begins, np.int64))
    times, at = _read_numbers(octets, starts + 1)
    offsets, at = _read_numbers(octets, at)
    key_sizes, key_starts = _read_numbers(octets, at)
    value_sizes, value_starts = _read_numbers(octets, key_starts + np.maximum(key_sizes, 0))
    header_counts, at = _read_numbers(octets, value_starts + np.maximum(value_sizes, 0))
    fields = Fields(times, offsets, key_starts, key_sizes, value_starts, value_sizes, header_counts, at, starts + sizes)
    return fields, _read_headers(octets, fields)


def _walked(buffer: Buffer, at: int, end: int, count: int) -> list[int]:
    """Where the records between the two places begin, one by one."""
    begins: list[int] = []
    add = begins.append
    try:
        for _ in range(count):
            add(at)
            size = buffer[at]
            if size < 128:
                at += 1 + (size >> 1)
                continue
            byte = buffer[at + 1]
            size = (size & 127) | (byte & 127) << 7
            at += 2
            shift = 14
            while byte >= 128:
                byte = buffer[at]
                at += 1
                size |= (byte & 127) << shift
                shift += 7
            # The sign is the lowest bit, and lengths have none.
            at += size >> 1
    except IndexError:
        at = -1
    if at != end:
        raise InvalidBatch("the records of a batch do not fill it, or go beyond it")
    return begins


def _read_headers(octets: Octets, fields: Fields) -> HeaderFields:
    """The first header of all records that have one, then the second, and so on; then put in order."""
    counts, ends, at = fields.header_counts, fields.ends, fields.headers_at.copy()
    if (counts < 0).any() or (counts > ends - at).any():
        raise InvalidBatch("a record claims more headers than there is room for")
    found = [HeaderFields(*np.empty((len(HeaderFields._fields), 0), np.int64))]
    rows, number = np.flatnonzero(counts > 0), 0
    while len(rows):
        name_sizes, name_starts = _read_numbers(octets, at[rows])
        if (name_sizes < 0).any():
            raise InvalidBatch("a header has no name")
        sizes, starts = _read_numbers(octets, name_starts + name_sizes)
        at[rows] = starts + np.maximum(sizes, 0)
        found.append(HeaderFields(rows, name_starts, name_sizes, starts, sizes))
        number += 1
        rows = rows[counts[rows] > number]
    if (at != ends).any():
        raise InvalidBatch("a record is longer or shorter than what is in it")
    columns = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    order = np.argsort(columns[1], kind="stable")
    return HeaderFields(*(column[order] for column in columns))


def _read_numbers(octets: Octets, at: Integers) -> tuple[Integers, Integers]:
    """The number of variable length at each place, and the places behind them."""
    _check_inside(octets, at)
    byte = octets[at].astype(np.int64)
    value = byte & 127
    at = at + 1
    going = np.flatnonzero(byte >= 128)
    shift = 7
    while len(going):
        if shift > _SHIFT_MAX:
            raise InvalidBatch("a number in a record has more than ten bytes")
        places = at[going]
        _check_inside(octets, places)
        byte = octets[places].astype(np.int64)
        value[going] |= (byte & 127) << shift
        at[going] = places + 1
        going = going[byte >= 128]
        shift += 7
    return (value >> 1) & _UNSIGNED_MAX ^ -(value & 1), at


def _check_inside(octets: Octets, at: Integers) -> None:
    if len(at) and not (at.min() >= 0 and at.max() < len(octets)):
        raise InvalidBatch("a record claims more bytes than there are")
