"""The five codecs of a batch's records. Decompression always has a bound: a small batch may claim to be a huge one.

Snappy comes in two dresses: raw blocks, and the framing of the Java library ("xerial") that most producers use.
"""

import enum
import struct
import zlib
from collections.abc import Callable

import cramjam

from braidmq.model.errors import InvalidBatch, UnsupportedCompression

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024
_LZ4_HEADER = bytes.fromhex("04224d18 6040 82")
"""Magic; version 1, independent blocks, no checksums; blocks of at most 64 KiB; the checksum of these two bytes."""
_LZ4_BLOCK_BYTES = 64 * 1024
_LZ4_PLAIN_BLOCK = 1 << 31
_LZ4_END = bytes(4)
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_FIRST_GUESS_BYTES = 64 * 1024
_BUFFER_TOO_SMALL = "failed to write whole buffer"
"""How cramjam tells a buffer that is too small from data that is broken, for which no larger one would help."""


class Codec(enum.IntEnum):
    """As numbered in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: Codec, data: bytes, level: int | None = None) -> bytes:
    """The bytes in the codec's own framing, as Kafka's clients expect it. `level` says how hard gzip and zstd
    try, in their own numbers."""
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            return zlib.compress(data, level=6 if level is None else level, wbits=_GZIP_WINDOW)
        case Codec.SNAPPY:
            return _compress_snappy(data)
        case Codec.LZ4:
            return _compress_lz4(data)
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=3 if level is None else level))


def decompress(codec: int, data: bytes, bytes_max: int) -> bytes:
    """What was compressed. Raises InvalidBatch when it is broken or larger than `bytes_max`."""
    match codec:
        case Codec.NONE:
            return data
        case Codec.GZIP:
            return _decompress_gzip(data, bytes_max)
        case Codec.SNAPPY:
            return _decompress_snappy(data, bytes_max)
        case Codec.LZ4:
            return _decompress_growing(cramjam.lz4.decompress_into, "lz4", data, bytes_max)
        case Codec.ZSTD:
            return _decompress_growing(cramjam.zstd.decompress_into, "zstd", data, bytes_max)
        case _:
            raise UnsupportedCompression(f"compression {codec} is not known; 0 to 4 are")


def _too_large(bytes_max: int) -> InvalidBatch:
    return InvalidBatch(f"the records are larger than {bytes_max} bytes when decompressed")


def _decompress_gzip(data: bytes, bytes_max: int) -> bytes:
    reader = zlib.decompressobj(_GZIP_WINDOW)
    try:
        out = reader.decompress(data, bytes_max + 1)
    except zlib.error as error:
        raise InvalidBatch(f"the gzip data is broken: {error}") from error
    if len(out) > bytes_max:
        raise _too_large(bytes_max)
    if not reader.eof:
        raise InvalidBatch("the gzip data ends too early")
    return out


def _compress_snappy(data: bytes) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (struct.pack(">i", len(block)), block)
    return b"".join(parts)


def _compress_lz4(data: bytes) -> bytes:
    """A frame of blocks that do not depend on each other: Kafka's Java clients read no other."""
    parts = [_LZ4_HEADER]
    for start in range(0, len(data), _LZ4_BLOCK_BYTES):
        plain = data[start : start + _LZ4_BLOCK_BYTES]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            parts += (struct.pack("<I", len(block)), block)
        else:
            parts += (struct.pack("<I", len(plain) | _LZ4_PLAIN_BLOCK), plain)
    parts.append(_LZ4_END)
    return b"".join(parts)


def _decompress_snappy(data: bytes, bytes_max: int) -> bytes:
    if not data.startswith(_XERIAL_MAGIC):
        return _decompress_snappy_block(data, bytes_max)
    blocks: list[bytes] = []
    taken_bytes = 0
    position = len(_XERIAL_HEADER)
    while position < len(data):
        if position + 4 > len(data):
            raise InvalidBatch("the snappy data ends inside a block's length")
        (size,) = struct.unpack_from(">i", data, position)
        position += 4
        if not 0 < size <= len(data) - position:
            raise InvalidBatch(f"a snappy block claims {size} bytes, here are {len(data) - position}")
        blocks.append(_decompress_snappy_block(data[position : position + size], bytes_max, taken_bytes))
        taken_bytes += len(blocks[-1])
        position += size
    return b"".join(blocks)


def _decompress_snappy_block(block: bytes, bytes_max: int, taken_bytes: int = 0) -> bytes:
    try:
        if taken_bytes + cramjam.snappy.decompress_raw_len(block) > bytes_max:
            raise _too_large(bytes_max)
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise InvalidBatch(f"the snappy data is broken: {error}") from error


def _decompress_growing(
    decompress_into: Callable[[bytes, bytearray], int], name: str, data: bytes, bytes_max: int
) -> bytes:
    """Into a buffer of a guessed size, then a larger one: the frames need not say how large they are, and may lie."""
    size = min(bytes_max, max(_FIRST_GUESS_BYTES, 8 * len(data)))
    while True:
        # One byte more than is allowed, so that a full buffer is told from one that was exactly enough.
        buffer = bytearray(size + 1)
        try:
            written = decompress_into(data, buffer)
        except cramjam.DecompressionError as error:
            if _BUFFER_TOO_SMALL not in str(error):
                raise InvalidBatch(f"the {name} data is broken: {error}") from error
            written = len(buffer)
        if written > size:
            if size == bytes_max:
                raise _too_large(bytes_max)
            size = min(bytes_max, size * 8)
            continue
        return bytes(memoryview(buffer)[:written])
