"""One member of a group that assigns by itself, and what it waits for."""

import asyncio
from collections.abc import Iterable
from typing import TypeVar

from braidmq.core.groups._rows import ClassicMemberRow
from braidmq.core.groups._words import Join, Joined, MemberView, Protocol, Synced
from braidmq.core.timing import Deadline
from braidmq.model import BraidError
from braidmq.model.errors import RebalanceInProgress

T = TypeVar("T")


class Member:
    """`session` is when it counts as gone. `is_new` until it was first told of a generation."""

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "id",
        "instance_id",
        "is_new",
        "joining",
        "protocol_type",
        "protocols",
        "rebalance_ms",
        "session",
        "session_ms",
        "syncing",
    )

    def __init__(self, member_id: str, join: Join, session: Deadline) -> None:
        self.id = member_id
        self.instance_id = join.instance_id
        self.client_id = join.client_id
        self.client_host = join.client_host
        self.protocol_type = join.protocol_type
        self.session = session
        self.assignment = b""
        self.is_new = True
        self.joining: asyncio.Future[Joined] | None = None
        self.syncing: asyncio.Future[Synced] | None = None
        self._take(join)

    @classmethod
    def restored(cls, member_id: str, row: ClassicMemberRow, protocol_type: str, session: Deadline) -> "Member":
        """The member as it was kept."""
        join = Join(
            group="",
            member_id=member_id,
            instance_id=row.instance_id,
            client_id=row.client_id,
            client_host=row.client_host,
            session_ms=row.session_ms,
            rebalance_ms=row.rebalance_ms,
            protocol_type=protocol_type,
            protocols=tuple(Protocol(name, metadata) for name, metadata in row.protocols),
        )
        member = cls(member_id, join, session)
        member.assignment = row.assignment
        member.is_new = False
        return member

    def row(self, assignment: bytes) -> ClassicMemberRow:
        """What is kept of the member, with this assignment."""
        return ClassicMemberRow(
            instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            session_ms=self.session_ms,
            rebalance_ms=self.rebalance_ms,
            protocols=_pairs(self.protocols),
            assignment=assignment,
        )

    @property
    def is_waiting(self) -> bool:
        """It cannot send heartbeats, because we have not answered."""
        return self.joining is not None or self.syncing is not None

    @property
    def protocol_names(self) -> frozenset[str]:
        return frozenset(each.name for each in self.protocols)

    def metadata(self, protocol: str) -> bytes:
        """What the member says about itself in the protocol."""
        return next((each.metadata for each in self.protocols if each.name == protocol), b"")

    def rejoin(self, join: Join) -> "asyncio.Future[Joined]":
        """What the member waits for from now on. Somebody who waited in its name before need not wait any more."""
        self.answer_join(RebalanceInProgress())
        self._take(join)
        self.joining = asyncio.get_running_loop().create_future()
        return self.joining

    def resync(self) -> "asyncio.Future[Synced]":
        self.answer_sync(RebalanceInProgress())
        self.syncing = asyncio.get_running_loop().create_future()
        return self.syncing

    def answer_join(self, answer: Joined | BraidError) -> bool:
        """Whether somebody waited for it."""
        waiting, self.joining = self.joining, None
        return _answer(waiting, answer)

    def answer_sync(self, answer: Synced | BraidError) -> bool:
        waiting, self.syncing = self.syncing, None
        return _answer(waiting, answer)

    def end(self, error: BraidError) -> None:
        """The member is out."""
        self.session.cancel()
        self.answer_join(error)
        self.answer_sync(error)

    def view(self, protocol: str) -> MemberView:
        """The member as it is shown in a group with this protocol, or with none yet."""
        return MemberView(
            self.id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.metadata(protocol) if protocol else b"",
            self.assignment if protocol else b"",
        )

    def _take(self, join: Join) -> None:
        self.protocols = join.protocols
        self.session_ms = join.session_ms
        self.rebalance_ms = join.rebalance_ms


def _answer(waiting: "asyncio.Future[T] | None", answer: T | BraidError) -> bool:
    if waiting is None:
        return False
    if not waiting.done():
        if isinstance(answer, BraidError):
            waiting.set_exception(answer)
            waiting.exception()  # seen: the client may be gone, and then nobody asks
        else:
            waiting.set_result(answer)
    return True


def _pairs(protocols: Iterable[Protocol]) -> tuple[tuple[str, bytes], ...]:
    return tuple((each.name, each.metadata) for each in protocols)
