"""What retention gives up. A partition is seen as pieces in order, each of which goes whole or stays whole."""

from collections.abc import Sequence
from typing import NamedTuple

from braidmq.log._policy import UNLIMITED, Policy


class Piece(NamedTuple):
    """A piece of a partition. One that is not settled, because not all of it was acknowledged, is never too old."""

    size_bytes: int
    latest_ms: int
    is_settled: bool = True


def pieces_expired(policy: Policy, pieces: Sequence[Piece], now_ms: int) -> int:
    """How many pieces at the beginning go. All may be too old; the last one is never too much."""
    if not policy.delete:
        return 0
    gone = 0
    if policy.retention_ms != UNLIMITED:
        oldest_kept_ms = now_ms - policy.retention_ms
        while gone < len(pieces) and pieces[gone].is_settled and pieces[gone].latest_ms < oldest_kept_ms:
            gone += 1
    if policy.retention_bytes != UNLIMITED:
        left_bytes = sum(piece.size_bytes for piece in pieces[gone:])
        while gone < len(pieces) - 1 and left_bytes - pieces[gone].size_bytes >= policy.retention_bytes:
            left_bytes -= pieces[gone].size_bytes
            gone += 1
    return gone
