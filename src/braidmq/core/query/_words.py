"""The words that a message is found by, and the fingerprints that stand for them. Hot path of indexing."""

import struct
import zlib
from collections.abc import Iterable
from typing import Final

from braidmq.model import ID_HEADER, KEYS_HEADER
from braidmq.records import Record, extend_checksum

KEYS_MAX: Final = 32
"""By so many of its keys a message is found; a text of a thousand words is no list of keys."""
FINGERPRINT_BYTES: Final = 8

_fingerprint = struct.Struct(">II").pack


def fingerprint(word: bytes) -> bytes:
    """64 bits, from two checksums of different making. It need not withstand an enemy: what is found is compared."""
    return _fingerprint(extend_checksum(0, word), zlib.crc32(word))


def id_of(record: Record) -> bytes | None:
    """The message's unique id; where the header repeats, the last counts."""
    for name, value in reversed(record.headers):
        if name == ID_HEADER:
            return value
    return None


def keys_of(record: Record) -> list[bytes]:
    """The record key, and the words of the header KEYS."""
    keys: list[bytes] = []
    for name, value in reversed(record.headers):
        if name == KEYS_HEADER:
            keys = (value or b"").split(maxsplit=KEYS_MAX)[:KEYS_MAX]
            break
    if record.key is not None and record.key not in keys:
        keys.append(record.key)
    return keys


def words_of(record: Record) -> Iterable[bytes]:
    """All that the message is found by."""
    words: list[bytes] = []
    unique_id: bytes | None = None
    for name, value in record.headers:
        if name == ID_HEADER:
            unique_id = value
        elif name == KEYS_HEADER:
            words = (value or b"").split(maxsplit=KEYS_MAX)[:KEYS_MAX]
    if record.key is not None and record.key not in words:
        words.append(record.key)
    if unique_id is not None:
        words.append(unique_id)
    return words
