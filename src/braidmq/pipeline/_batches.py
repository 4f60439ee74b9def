"""Record batches as a broker gives them, back to back in one buffer, their headers read all at a time. Hot path.

A header has fixed fields at fixed places, so the headers of all batches of an answer are one array with a name for each
field; what is to be known of a batch is a column of it, and no batch becomes an object of Python.
"""

import struct
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from braidmq.pipeline._fields import Buffer, Flags, Integers, Octets
from braidmq.records import BATCH_HEADER_BYTES, BATCH_OVERHEAD_BYTES, UNUSUAL_BITS, Batch, extend_checksum, parse_batch

Heads: TypeAlias = npt.NDArray[np.void]

HEAD: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
CODEC_BITS: Final = 0x07
APPEND_TIME_BIT: Final = 0x08
_MAGIC: Final = 2
_CHECKED_FROM: Final = 21
"""The checksum covers what is behind it."""
_LENGTH: Final = struct.Struct(">i")
_LENGTH_AT: Final = 8


class Batches(NamedTuple):
    """Where in the buffer each batch begins, and its header."""

    buffer: Buffer
    at: Integers
    heads: Heads

    def column(self, name: str) -> Integers:
        """A field of all headers."""
        return self.heads[name].astype(np.int64)

    def chosen(self, which: Any) -> "Batches":
        return Batches(self.buffer, self.at[which], self.heads[which])

    @property
    def sizes(self) -> Integers:
        return self.column("length") + BATCH_OVERHEAD_BYTES

    @property
    def last_offsets(self) -> Integers:
        return self.column("base_offset") + self.column("last_offset_delta")

    @property
    def offsets(self) -> int:
        """How many offsets they take together."""
        return int((self.column("last_offset_delta") + 1).sum())

    @property
    def is_compressed(self) -> Flags:
        found: Flags = self.heads["attributes"] & CODEC_BITS != 0
        return found

    def are_plain(self) -> bool:
        """Whether all are of this version, of no transaction, and have a record for every offset, from the first to the
        last without a gap."""
        heads, bases, deltas = self.heads, self.column("base_offset"), self.column("last_offset_delta")
        return bool(
            (heads["magic"] == _MAGIC).all()
            and not (heads["attributes"] & UNUSUAL_BITS).any()
            and (deltas >= 0).all()
            and np.array_equal(heads["record_count"], deltas + 1)
            and np.array_equal(bases[1:], (bases + deltas + 1)[:-1])
        )

    def each(self) -> Iterator[Batch]:
        """One by one, each a view of the buffer. Raises InvalidBatch for one that is none."""
        for at in self.at.tolist():
            yield parse_batch(self.buffer, at)

    def damaged(self) -> int | None:
        """The base offset of the first that does not match its checksum."""
        octets: Octets = np.frombuffer(self.buffer, np.uint8)
        ends = self.at + self.sizes
        for at, end, crc, offset in zip(
            (self.at + _CHECKED_FROM).tolist(),
            ends.tolist(),
            self.heads["crc"].tolist(),
            self.heads["base_offset"].tolist(),
            strict=True,
        ):
            # The library takes bytes, and arrays of numpy: these are not copied to be checked.
            checked: Any = octets[at:end]
            if extend_checksum(0, checked) != crc:
                return int(offset)
        return None


def find_batches(buffer: Buffer, start: int, end: int) -> Batches:
    """The whole batches from the start to the end. Brokers cut an answer where it is full, also in a batch."""
    found: list[int] = []
    length_at = _LENGTH.unpack_from
    at = start
    while end - at >= BATCH_HEADER_BYTES:
        (length,) = length_at(buffer, at + _LENGTH_AT)
        if not 0 <= length <= end - at - BATCH_OVERHEAD_BYTES:
            break
        found.append(at)
        at += length + BATCH_OVERHEAD_BYTES
    places = np.array(found, np.int64)
    if not found:
        return Batches(buffer, places, np.empty(0, HEAD))
    # As bytes, which are copied faster than fields.
    heads = np.ndarray(len(buffer) - HEAD.itemsize + 1, f"V{HEAD.itemsize}", buffer, strides=(1,))[places]
    return Batches(buffer, places, heads.view(HEAD))
