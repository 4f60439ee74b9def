"""What is kept of a cursor: changes, each with what is open now among the messages that changed, and what is done."""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import msgspec

Entry = tuple[int, int, int, int, int]
"""Of an open message: offset, lane, attempts, serial, and when it is due or 0."""

_DECODER: Final = msgspec.msgpack.Decoder(tuple[int, list[Entry], list[tuple[int, int]]])
_encode: Final = msgspec.msgpack.Encoder().encode


class Open(Protocol):
    """What is kept of a message that is not done."""

    lane: int
    attempts: int
    serial: int
    due_ms: int


def write_change(next_offset: int, offsets: Iterable[int], still_open: Mapping[int, Open]) -> bytes:
    """Those of the offsets that are not open are done."""
    kept: list[Entry] = []
    gone: list[list[int]] = []
    for offset in offsets:
        message = still_open.get(offset)
        if message is not None:
            kept.append((offset, message.lane, message.attempts, message.serial, message.due_ms))
        elif gone and gone[-1][1] == offset:
            gone[-1][1] = offset + 1
        else:
            gone.append([offset, offset + 1])
    return _encode((next_offset, kept, gone))


def read_changes(changes: Iterable[bytes]) -> tuple[int, list[Entry]]:
    """The next offset, and what is open, in order, after changes in the order in which they were kept."""
    messages: dict[int, Entry] = {}
    next_offset = 0
    for change in changes:
        next_offset, kept, gone = _DECODER.decode(change)
        for first, until in gone:
            for offset in range(first, until):
                messages.pop(offset, None)
        messages.update((entry[0], entry) for entry in kept)
    return next_offset, sorted(messages.values())
