"""What retention gives up. A partition is seen as pieces in order, each of which goes whole or stays whole.

A policy may name a group that everything waits for: what this group has not come behind stays, however old and however
much it is, and how much that is, is told.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from braidmq.log._policy import UNLIMITED, Policy
from braidmq.log._port import GroupOffset
from braidmq.model.errors import NotArchived
from braidmq.model.topic_settings import UNLIMITED as EVERYTHING


class Piece(NamedTuple):
    """A piece of a partition. One that is not settled, because not all of it was acknowledged, is never too old. It
    ends where the next begins: who is waited for may stand in a gap that compaction left, and must find itself there.
    """

    size_bytes: int
    latest_ms: int
    is_settled: bool = True
    end_offset: int = 0


class Expired(NamedTuple):
    """How many pieces at the beginning go, and how much more would have gone if nobody had to be waited for."""

    gone: int
    held_bytes: int


GroupsOffsets = Mapping[str, Mapping[int, GroupOffset]]


def free_offset(policy: Policy, groups: GroupsOffsets, number: int) -> int:
    """Up to where a partition may lose what it holds: as far as the group has come that is waited for."""
    if not policy.waits_for:
        return EVERYTHING
    committed = groups.get(policy.waits_for, {}).get(number)
    return 0 if committed is None else committed.offset


def check_free(policy: Policy, groups: GroupsOffsets, number: int, before_offset: int) -> None:
    """Whether all before the offset may go. Raises NotArchived."""
    free = free_offset(policy, groups, number)
    if before_offset > free:
        raise NotArchived(
            f"what lies before offset {before_offset} cannot be deleted: the topic's archive is required, and holds it"
            f" up to offset {free} only"
        )


def expired_and_held(policy: Policy, pieces: Sequence[Piece], now_ms: int, free: int) -> Expired:
    """What goes, of that which lies before the offset `free`."""
    due = pieces_expired(policy, pieces, now_ms)
    gone = 0
    while gone < due and pieces[gone].end_offset <= free:
        gone += 1
    return Expired(gone, sum(piece.size_bytes for piece in pieces[gone:due]))


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
