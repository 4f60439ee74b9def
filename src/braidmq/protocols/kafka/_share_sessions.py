"""Share sessions: what a share consumer takes messages from, and the messages that are with it.

A session is its member's, on one connection; requests and answers name only what has changed. Every request carries the
next epoch, so that none is done twice. When a session ends, what its member holds is ready for others at once. A member
that begins anew keeps what it holds.

A session that its member closes gives back what was not worked on, and that was no attempt. One whose connection is
lost, or whose member fell silent, may have been ended by the very message that it was given: there it counts, so that
such a message is in the dead letters some time and not with one consumer after the other for ever.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, NamedTuple

from braidmq.core.cursors import Cursors, Delivered, Receipt
from braidmq.model.errors import HandleExpired, InvalidHandle
from braidmq.protocols.kafka._bound import Bound, BoundTo
from braidmq.protocols.kafka.codec import ErrorCode, Uuid

SESSIONS_MAX: Final = 10_000
FINAL_EPOCH: Final = -1
INITIAL_EPOCH: Final = 0
_EPOCH_MAX: Final = (1 << 31) - 1

Interest = tuple[Uuid, int]
"""Topic id and partition index."""
HeldKey = tuple[int, int]
"""Partition number and offset."""


class Held(NamedTuple):
    """A message that is with the member until then."""

    receipt: Receipt
    due_ms: int


class ShareSession(Bound):
    """One member's; see the module's opening."""

    def __init__(self, sessions: "ShareSessions", group: str, member_id: str, bound_to: BoundTo) -> None:
        self.group = group
        self.member_id = member_id
        self.epoch = 1
        self.interests: OrderedDict[Interest, None] = OrderedDict()
        """In the order in which they are served."""
        self.held: dict[HeldKey, Held] = {}
        """The oldest first."""
        self.is_ended = False
        self._sessions = sessions
        self._bound_to = bound_to
        bound_to.add(self)

    def advance(self) -> None:
        self.epoch = 1 if self.epoch == _EPOCH_MAX else self.epoch + 1

    def served(self, interests: Iterable[Interest]) -> None:
        """Who got data goes to the end of the line."""
        for each in interests:
            if each in self.interests:
                self.interests.move_to_end(each)

    def hold(self, batch: Iterable[Delivered], now_ms: int, lock_ms: int) -> None:
        """These are with the member from now on; those whose time was over before are not."""
        while self.held and (oldest := next(iter(self.held.items())))[1].due_ms <= now_ms:
            del self.held[oldest[0]]
        for each in batch:
            self.keep(each.receipt, now_ms + lock_ms)

    def keep(self, receipt: Receipt, due_ms: int) -> None:
        """The member has the message under this receipt, until then."""
        key = (receipt.number, receipt.offset)
        self.held.pop(key, None)
        self.held[key] = Held(receipt, due_ms)

    def lose(self) -> None:
        """Its connection is gone."""
        self._sessions.end(self, counts=True)

    def unbind(self) -> None:
        self.is_ended = True
        self._bound_to.discard(self)


class ShareSessions:
    """The sessions of this node."""

    def __init__(self, cursors: Cursors) -> None:
        self._cursors = cursors
        self._by_member: dict[tuple[str, str], ShareSession] = {}

    def __len__(self) -> int:
        return len(self._by_member)

    def open(self, group: str, member_id: str, bound_to: BoundTo) -> ShareSession | ErrorCode:
        """A new session in place of the one that the member had, if any; or why not."""
        before = self._by_member.get((group, member_id))
        if before is None and len(self._by_member) >= SESSIONS_MAX:
            return ErrorCode.SHARE_SESSION_LIMIT_REACHED
        session = ShareSession(self, group, member_id, bound_to)
        if before is not None:
            session.held = before.held
            before.unbind()
        self._by_member[group, member_id] = session
        return session

    def resume(self, group: str, member_id: str, epoch: int) -> ShareSession | ErrorCode:
        """The session, one step further, unless this is its last request; or why not."""
        session = self._by_member.get((group, member_id))
        if session is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        if epoch == FINAL_EPOCH:
            return session
        if epoch != session.epoch:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        session.advance()
        return session

    def end(self, session: ShareSession, *, counts: bool) -> None:
        """What the member holds is ready for others; `counts` says whether it was an attempt."""
        if session.is_ended:
            return
        session.unbind()
        del self._by_member[session.group, session.member_id]
        for held in session.held.values():
            with contextlib.suppress(HandleExpired, InvalidHandle):
                self._cursors.extend(session.group, held.receipt, 0, counts=counts)
        session.held.clear()

    def depart(self, group: str, member_id: str) -> None:
        """The member is not in its group any more."""
        session = self._by_member.get((group, member_id))
        if session is not None:
            self.end(session, counts=True)
