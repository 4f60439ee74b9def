"""CRC-32C, of whole buffers and of what lies behind a beginning of fixed length. Hot path: once for every batch.

The library takes nothing but bytes (what is compiled of ours takes any buffer, see `_crc32c.pyx`), and a batch's
checksum leaves out its first bytes: without more, each batch would be copied just to be checked. But a checksum can be
begun anywhere: begun with the right value, it is zero behind those first bytes, just as if it only began there. The
right value follows from their own checksum, by a linear map that depends on their number alone.
"""

from collections.abc import Callable
from typing import Final

import google_crc32c

try:
    from braidmq.records import _crc32c
except ImportError:  # not compiled here, or not for this processor
    CHECKS_VIEWS = False
else:
    CHECKS_VIEWS = True

_BITS: Final = 32

extend_checksum: Callable[[int, bytes | memoryview], int] = _crc32c.extend if CHECKS_VIEWS else google_crc32c.extend
"""CRC-32C of what came before and the bytes. Only with `CHECKS_VIEWS` may they be a view."""


def checksum(data: bytes, before: int = 0) -> int:
    """CRC-32C of the bytes, or of what came before and the bytes."""
    return extend_checksum(before, data)


class ChecksumBehind:
    """CRC-32C of bytes without the first `skipped` of them."""

    def __init__(self, skipped: int) -> None:
        self._skipped = skipped
        columns = _inverted(_columns(skipped))
        self._tables = [
            [_combined(columns[8 * byte : 8 * byte + 8], value) for value in range(256)] for byte in range(_BITS // 8)
        ]

    def __call__(self, data: bytes) -> int:
        passed = extend_checksum(0, data[: self._skipped])
        low, second, third, high = self._tables
        beginning = low[passed & 255] ^ second[passed >> 8 & 255] ^ third[passed >> 16 & 255] ^ high[passed >> 24]
        return extend_checksum(beginning, data)


def _columns(length: int) -> list[int]:
    """What each bit of the value that a checksum begins with makes of its end, so many bytes later."""
    zeroes = bytes(length)
    neutral = extend_checksum(0, zeroes)
    return [extend_checksum(1 << bit, zeroes) ^ neutral for bit in range(_BITS)]


def _inverted(columns: list[int]) -> list[int]:
    """The map backwards, by elimination over bits: from the end to the beginning."""
    rows = [(column, 1 << bit) for bit, column in enumerate(columns)]
    for bit in range(_BITS):
        pivot = next(at for at in range(bit, _BITS) if rows[at][0] >> bit & 1)
        rows[bit], rows[pivot] = rows[pivot], rows[bit]
        end, beginning = rows[bit]
        for at in range(_BITS):
            if at != bit and rows[at][0] >> bit & 1:
                rows[at] = rows[at][0] ^ end, rows[at][1] ^ beginning
    return [beginning for _, beginning in rows]


def _combined(columns: list[int], value: int) -> int:
    result = 0
    for bit, column in enumerate(columns):
        if value >> bit & 1:
            result ^= column
    return result
