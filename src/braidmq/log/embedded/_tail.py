"""Batches that are in the journal or on their way there, but not in their segment's file yet. Hot path.

A batch is kept as its producer sent it. Its offset and leader epoch, which lie in its first bytes, are put in front of
the rest when it goes to the file or to a reader: most are written once, many together, and by compiled code.
"""

from collections.abc import Iterable
from typing import NamedTuple

from braidmq.records import BATCH_OVERHEAD_BYTES, PREFIX_BYTES, batch_prefix

LEADER_EPOCH = 0
"""The only one there is on one machine."""


class TailBatch(NamedTuple):
    """A batch, and the offset it was given."""

    base_offset: int
    data: bytes | memoryview
    size_bytes: int


def tail_buffers(batches: Iterable[TailBatch]) -> list[bytes | memoryview]:
    """The batches as they are stored."""
    buffers: list[bytes | memoryview] = []
    for base_offset, data, size_bytes in batches:
        prefix = batch_prefix(base_offset, size_bytes - BATCH_OVERHEAD_BYTES, LEADER_EPOCH)
        buffers += (prefix, memoryview(data)[PREFIX_BYTES:])
    return buffers
