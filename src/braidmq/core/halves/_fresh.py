"""Halves that were prepared here a moment ago, in memory. Hot path: nearly all halves end while they are among these.

What is in here is also in the store; nobody looks at it there before its time has come, so until then this node alone
decides. How it ended is remembered for those who say it again.
"""

from collections import OrderedDict
from typing import Final, NamedTuple
from uuid import UUID

from braidmq.model import Half

MARGIN_MS: Final = 1_000
"""How long before others may look at a half it is not fresh any more."""
BYTES_MAX: Final = 32 << 20
ENDED_MAX: Final = 50_000


class EndedHalf(NamedTuple):
    """What is remembered of a half that has ended."""

    group: str
    message_id: str
    commit: bool
    until_ms: int
    """How long it is remembered."""


class FreshHalves:
    """Bounded: what has no room here ends by way of the store."""

    def __init__(self) -> None:
        self._halves: dict[UUID, Half] = {}
        self._bytes = 0
        self._ended: OrderedDict[UUID, EndedHalf] = OrderedDict()

    def add(self, half: Half) -> bool:
        """False where there is no room for it."""
        if self._bytes + half.size_bytes > BYTES_MAX:
            return False
        self._halves[half.id] = half
        self._bytes += half.size_bytes
        return True

    def find(self, half_id: UUID, now_ms: int) -> Half | None:
        """The half, if it is this node's alone to decide about."""
        half = self._halves.get(half_id)
        return half if half is not None and now_ms < half.wake_ms - MARGIN_MS else None

    def end(self, half: Half, until_ms: int, *, commit: bool) -> None:
        """From here on its end is known, until then."""
        self._remove(half.id)
        self._ended[half.id] = EndedHalf(half.group, half.message_id, commit, until_ms)
        if len(self._ended) > ENDED_MAX:
            self._ended.popitem(last=False)

    def reopen(self, half: Half) -> None:
        """Its end could not be carried out."""
        self._ended.pop(half.id, None)
        self.add(half)

    def forget_end(self, half_id: UUID) -> None:
        """It ends by way of the store."""
        self._ended.pop(half_id, None)

    def ended(self, half_id: UUID, now_ms: int) -> EndedHalf | None:
        ended = self._ended.get(half_id)
        return ended if ended is not None and now_ms < ended.until_ms else None

    def expire(self, now_ms: int) -> list[Half]:
        """Let go of those that are in the store's hands."""
        gone = [half for half in self._halves.values() if now_ms >= half.wake_ms - MARGIN_MS]
        for half in gone:
            self._remove(half.id)
        while self._ended and next(iter(self._ended.values())).until_ms <= now_ms:
            self._ended.popitem(last=False)
        return gone

    def _remove(self, half_id: UUID) -> None:
        half = self._halves.pop(half_id, None)
        if half is not None:
            self._bytes -= half.size_bytes
