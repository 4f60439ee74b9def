"""Where the fields of many records lie, found for all of them at a time. Hot path: runs for every message that is read.

A record is its length and then its fields, each a number of variable length, or some bytes behind such a number. So a
record is found by the one before it, and a field by the field before it. There are two ways through them, which say the
same. Where all records have the shape of the first (`read_alike`), everything lies at fixed distances, and only the
bytes that prove it are looked at. Elsewhere (`read_any`) the same field of all records is read at a time; where records
begin is found in runs of those that are as long as each other, and those that come in no runs are gone through one by
one.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from braidmq.model.errors import InvalidBatch

Integers: TypeAlias = npt.NDArray[np.int64]
Octets: TypeAlias = npt.NDArray[np.uint8]
Flags: TypeAlias = npt.NDArray[np.bool_]
Buffer: TypeAlias = bytes | bytearray

_RECORD_BYTES_MIN: Final = 7
"""A length, and six more numbers of a byte."""
_RUN_MIN: Final = 8
"""Behind a shorter run than this, no other is looked for."""
_RUNS_MAX: Final = 16
_SHIFT_MAX: Final = 63
_UNSIGNED_MAX: Final = 0x7FFFFFFFFFFFFFFF
_GOES_ON: Final = 0x80
"""The bit of a byte that says that its number has another."""
_ALL: Final = 0xFF


def _signed(numbers: range) -> Integers:
    return np.array([number >> 1 ^ -(number & 1) for number in numbers], np.int64)


_OF_ONE_BYTE: Final = _signed(range(1 << 7))
_OF_TWO_BYTES: Final = _signed(range(1 << 14))


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


def read_fields(buffer: Buffer, spans: Integers, counts: Integers) -> Fields:
    """Of all records that lie in these spans of the buffer (from, to), so many in each. Raises InvalidBatch.

    Whether a record ends where its length says, is left to who reads the headers, which come last.
    """
    if ((counts < 0) | (counts > spans[:, 1] - spans[:, 0])).any():
        raise InvalidBatch("a batch claims more records than it has bytes")
    alike = read_alike(buffer, spans, counts)
    return read_any(buffer, spans, counts) if alike is None else alike


class _Shape(NamedTuple):
    """How long a record is, and where in it each field lies."""

    size: int
    time_at: int
    offset_at: int
    key_size_at: int
    key_at: int
    key_size: int
    value_size_at: int
    value_at: int
    value_size: int


def read_alike(buffer: Buffer, spans: Integers, counts: Integers) -> Fields | None:
    """What `read_any` says, where all records have one shape and no headers; None where not."""
    shape = _shape_at(buffer, *spans[0].tolist()) if counts[0] else None
    if shape is None or not np.array_equal(counts * shape.size, spans[:, 1] - spans[:, 0]):
        return None
    numbers = np.arange(int(counts.sum()))
    begins = np.repeat(spans[:, 0] - (np.cumsum(counts) - counts) * shape.size, counts) + numbers * shape.size
    if not _have_shape(buffer, begins, shape):
        return None
    octets: Octets = np.frombuffer(buffer, np.uint8)
    ends = begins + shape.size
    return Fields(
        times=_read_fixed(octets, begins + shape.time_at, shape.offset_at - shape.time_at),
        offsets=_read_fixed(octets, begins + shape.offset_at, shape.key_size_at - shape.offset_at),
        key_starts=begins + shape.key_at,
        key_sizes=np.full(len(begins), shape.key_size),
        value_starts=begins + shape.value_at,
        value_sizes=np.full(len(begins), shape.value_size),
        header_counts=np.zeros(len(begins), np.int64),
        headers_at=ends,
        ends=ends,
    )


def _shape_at(buffer: Buffer, at: int, end: int) -> _Shape | None:
    """Of the record there; None for one that is broken, has headers, or numbers that are not looked up."""
    begin = at
    try:
        size, at = _number_at(buffer, at)
        stop = at + size
        time_at = at + 1
        _, offset_at = _number_at(buffer, time_at)
        _, key_size_at = _number_at(buffer, offset_at)
        key_size, key_at = _number_at(buffer, key_size_at)
        value_size_at = key_at + max(key_size, 0)
        value_size, value_at = _number_at(buffer, value_size_at)
    except IndexError:
        return None
    if not (value_at + max(value_size, 0) + 1 == stop <= end and max(offset_at - time_at, key_size_at - offset_at) < 3):
        return None
    places = (stop, time_at, offset_at, key_size_at, key_at, value_size_at, value_at)
    size, time_at, offset_at, key_size_at, key_at, value_size_at, value_at = (place - begin for place in places)
    return _Shape(size, time_at, offset_at, key_size_at, key_at, key_size, value_size_at, value_at, value_size)


def _number_at(buffer: Buffer, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := buffer[at]) >= _GOES_ON:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
    value |= byte << shift
    return value >> 1 ^ -(value & 1), at + 1


def _have_shape(buffer: Buffer, begins: Integers, shape: _Shape) -> bool:
    """Whether all have the sizes of the first, and numbers as long as its: then all begin where they are thought to,
    since each begins where the one before it ends."""
    head = bytearray(shape.value_at if shape.key_size <= 0 else shape.key_at)
    head[: shape.time_at - 1] = bytes([_ALL]) * (shape.time_at - 1)
    head[shape.time_at : shape.key_size_at] = bytes([_GOES_ON]) * (shape.key_size_at - shape.time_at)
    head[shape.key_size_at :] = bytes([_ALL]) * (len(head) - shape.key_size_at)
    parts = [(at, bytes(head[at : at + 8])) for at in range(0, len(head), 8)]
    if shape.key_size > 0:
        parts.append((shape.value_size_at, bytes([_ALL]) * (shape.value_at - shape.value_size_at)))
    if parts[-1][0] + 8 > shape.size:
        return False
    words = np.ndarray(len(buffer) - 7, "<u8", buffer, strides=(1,))
    for at, mask in parts:
        found = words[begins + at]
        if ((found ^ found[0]) & np.uint64(int.from_bytes(mask, "little"))).any():
            return False
    counts_of_headers = np.frombuffer(buffer, np.uint8)[begins + (shape.size - 1)]
    return not counts_of_headers.any()


def _read_fixed(octets: Octets, at: Integers, width: int) -> Integers:
    """Numbers that all have one byte, or all two."""
    first = octets[at]
    return _OF_ONE_BYTE[first] if width == 1 else _of_two_bytes(first, octets[at + 1])


def _of_two_bytes(first: Octets, second: Octets) -> Integers:
    found: Integers = _OF_TWO_BYTES[(first & 127) | second.astype(np.uint16) << 7]
    return found


def read_any(buffer: Buffer, spans: Integers, counts: Integers) -> Fields:
    """Of records of any shape. Raises InvalidBatch."""
    octets: Octets = np.frombuffer(buffer, np.uint8)
    sizes, starts = read_numbers(octets, _Search(buffer, spans, counts).found())
    times, at = read_numbers(octets, starts + 1)
    offsets, at = read_numbers(octets, at)
    key_sizes, key_starts = read_numbers(octets, at)
    value_sizes, value_starts = read_numbers(octets, key_starts + np.maximum(key_sizes, 0))
    header_counts, at = read_numbers(octets, value_starts + np.maximum(value_sizes, 0))
    return Fields(times, offsets, key_starts, key_sizes, value_starts, value_sizes, header_counts, at, starts + sizes)


def read_numbers(octets: Octets, at: Integers) -> tuple[Integers, Integers]:
    """The number of variable length at each place, and the places behind them. Raises InvalidBatch.

    Mostly the same number takes as many bytes in every record, one or two: these are looked up.
    """
    _check_inside(octets, at)
    first = octets[at]
    if not len(first) or first.max() < _GOES_ON:
        return _OF_ONE_BYTE[first], at + 1
    if first.min() >= _GOES_ON:
        _check_inside(octets, at + 1)
        second = octets[at + 1]
        if second.max() < _GOES_ON:
            return _of_two_bytes(first, second), at + 2
    return _read_any_numbers(octets, at, first)


def _read_any_numbers(octets: Octets, at: Integers, first: Octets) -> tuple[Integers, Integers]:
    """Of any length; their first bytes are given."""
    value = (first & 127).astype(np.int64)
    at = at + 1
    going = np.flatnonzero(first >= _GOES_ON)
    shift = 7
    while len(going):
        if shift > _SHIFT_MAX:
            raise InvalidBatch("a number in a record has more than ten bytes")
        places = at[going]
        _check_inside(octets, places)
        byte = octets[places].astype(np.int64)
        value[going] |= (byte & 127) << shift
        at[going] = places + 1
        going = going[byte >= _GOES_ON]
        shift += 7
    return (value >> 1) & _UNSIGNED_MAX ^ -(value & 1), at


def _check_inside(octets: Octets, at: Integers) -> None:
    if len(at) and not (at.min() >= 0 and at.max() < len(octets)):
        raise InvalidBatch("a record claims more bytes than there are")


class _Search:
    """Looks for where records begin. In each batch the next one begins `at`, and so many are left."""

    def __init__(self, buffer: Buffer, spans: Integers, counts: Integers) -> None:
        self._buffer = buffer
        self._octets: Octets = np.frombuffer(buffer, np.uint8)
        self._at = spans[:, 0].copy()
        self._ends = spans[:, 1]
        self._left = counts.copy()
        self._begins = np.empty(int(counts.sum()), np.int64)
        self._places = np.cumsum(counts) - counts
        """Where in `begins` the next of each batch belongs."""
        self._running = np.flatnonzero(counts)

    def found(self) -> Integers:
        """Where each record begins, with its length. Raises InvalidBatch."""
        for _ in range(_RUNS_MAX):
            if len(self._running):
                self._follow_runs()
        self._walk()
        if not np.array_equal(self._at, self._ends):
            raise InvalidBatch("the records of a batch do not fill it, or go beyond it")
        return self._begins

    def _follow_runs(self) -> None:
        """In each batch all records that are as long as the next one, and follow each other."""
        which = self._running[self._ends[self._running] - self._at[self._running] >= _RECORD_BYTES_MIN]
        at, room = self._at[which], self._ends[which] - self._at[which]
        sizes, bodies = read_numbers(self._octets, at)
        widths, strides = bodies - at, bodies - at + sizes
        can_run = (sizes >= 0) & (widths <= 4) & (strides >= _RECORD_BYTES_MIN) & (strides <= room)
        runs = np.where(can_run, np.minimum(self._left[which], room // np.maximum(strides, 1)), 0)
        runs, numbers = self._proven(at, strides, widths, runs)
        self._begins[np.repeat(self._places[which], runs) + numbers] = (
            np.repeat(at, runs) + np.repeat(strides, runs) * numbers
        )
        self._at[which] += runs * strides
        self._places[which] += runs
        self._left[which] -= runs
        self._running = which[(runs >= _RUN_MIN) & (self._left[which] > 0)]

    def _proven(self, at: Integers, strides: Integers, widths: Integers, runs: Integers) -> tuple[Integers, Integers]:
        """How far the runs really go, which is to the first record of another length, byte for byte; and the number of
        each record in its run."""
        words = np.ndarray(len(self._buffer) - 3, "<u4", self._buffer, strides=(1,))
        numbers = np.arange(int(runs.sum())) - np.repeat(np.cumsum(runs) - runs, runs)
        places = np.repeat(at, runs) + np.repeat(strides, runs) * numbers
        differences = (words[places] ^ np.repeat(words[at], runs)) & np.repeat((1 << 8 * widths) - 1, runs)
        odd = np.flatnonzero(differences)[::-1]
        if not len(odd):
            return runs, numbers
        owners = np.repeat(np.arange(len(runs)), runs)
        shorter = runs.copy()
        shorter[owners[odd]] = numbers[odd]  # the first of several is set last
        return shorter, numbers[numbers < shorter[owners]]

    def _walk(self) -> None:
        for batch in np.flatnonzero(self._left).tolist():
            place, left = int(self._places[batch]), int(self._left[batch])
            begins = _walked(self._buffer, int(self._at[batch]), int(self._ends[batch]), left)
            self._begins[place : place + left] = begins
            self._at[batch] = self._ends[batch]


def _walked(buffer: Buffer, at: int, end: int, count: int) -> list[int]:
    """Where the records between the two places begin, one by one. Raises InvalidBatch."""
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
