"""A 64-bit hash of many texts at once, by numpy. Hot path: runs for each message that is archived.

The index on disk is made of these numbers: a change here is a new version of the index.
"""

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes: TypeAlias = npt.NDArray[np.uint64]

ID: Final = 1
KEY: Final = 2

_WORD: Final = 8
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_FINAL: Final = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT: Final = np.uint64(29)
_MASKS: Final = np.array([(1 << (8 * count)) - 1 for count in range(_WORD + 1)], dtype=np.uint64)
_LONG_WORDS: Final = 32
"""Longer texts are hashed by their beginning and their length: what is found is always compared."""


def hashes(texts: pa.Array, kind: int) -> Hashes:
    """The hash of each text; what a null has is of no use."""
    if texts.type != pa.string():
        texts = texts.cast(pa.string())
    count = len(texts)
    result = np.full(count, kind, dtype=np.uint64) * _FINAL
    if count == 0:
        return result
    _, offset_buffer, data_buffer = texts.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int32)[texts.offset : texts.offset + count + 1].astype(np.int64)
    first = int(offsets[0])
    last = int(offsets[-1])
    body = b"" if data_buffer is None else memoryview(data_buffer)[first:last]
    octets = np.frombuffer(bytes(body) + bytes(_WORD), dtype=np.uint8)
    starts, sizes = offsets[:-1] - first, np.diff(offsets)
    rows: npt.NDArray[Any] = np.arange(count)
    for word in range(min(_LONG_WORDS, -(-int(sizes.max()) // _WORD))):
        rows = rows[sizes[rows] > word * _WORD]
        at = np.minimum(starts[rows] + word * _WORD, len(octets) - _WORD)
        words = octets[at[:, None] + np.arange(_WORD)].view("<u8")[:, 0]
        words &= _MASKS[np.minimum(sizes[rows] - word * _WORD, _WORD)]
        mixed = (result[rows] ^ words) * _FACTOR
        result[rows] = mixed ^ (mixed >> _SHIFT)
    result = (result ^ sizes.astype(np.uint64)) * _FINAL
    return result ^ (result >> _SHIFT)


def hash_of(text: str, kind: int) -> np.uint64:
    """The hash of one text."""
    return np.uint64(hashes(pa.array([text], pa.string()), kind)[0])
