"""Asking a consumer's program about itself: what its threads do now, and what it makes of one message.

Only some protocols can carry a question to their clients. Each of those offers an `Asker` for its own members; the
member of any other is refused in words that say so. A question is bounded by the time that its caller waits.
"""

from enum import StrEnum
from typing import NamedTuple, Protocol

from braidmq.core.members import Member, Members
from braidmq.model import Message
from braidmq.model.errors import MemberCannotAnswer, UnknownMember


class Outcome(StrEnum):
    """What became of a message that a consumer was to try."""

    CONSUMED = "consumed"
    FAILED = "failed"
    """The listener did not take it, or threw an error: in earnest, it would come again."""
    CORRUPT = "corrupt"
    """The client could not read it, or its listener said nothing."""


class Verdict(NamedTuple):
    """What a consumer says of a message that it tried."""

    outcome: Outcome
    remark: str


class Asker(Protocol):
    """Carries questions to the members of one protocol."""

    def reaches(self, member: Member) -> bool:
        """Whether this is one of its members."""
        ...

    async def stack_trace(self, member: Member, *, timeout_s: float) -> str:
        """Raises UnknownMember, MemberSilent, MemberCannotAnswer."""
        ...

    async def try_message(self, member: Member, message: Message, number: int, *, timeout_s: float) -> Verdict:
        """Let its listener work on a message that lies in the partition of this number. Raises the same."""
        ...


class Questions:
    """Made by the node; protocols add themselves when they listen."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._askers: list[Asker] = []

    def ask_through(self, asker: Asker) -> None:
        self._askers.append(asker)

    async def stack_trace(self, group: str, client_id: str, *, timeout_s: float) -> str:
        """What the threads of a consumer do. Raises UnknownMember, MemberSilent, MemberCannotAnswer."""
        member, asker = self._found(group, client_id)
        return await asker.stack_trace(member, timeout_s=timeout_s)

    async def try_message(
        self, group: str, client_id: str, message: Message, number: int, *, timeout_s: float
    ) -> Verdict:
        """Let a consumer work on one message now, whatever its group has done with it; its group's progress stays as
        it is. Raises the same."""
        member, asker = self._found(group, client_id)
        return await asker.try_message(member, message, number, timeout_s=timeout_s)

    def _found(self, group: str, client_id: str) -> tuple[Member, Asker]:
        member = self._members.consumer(group, client_id)
        if member is None:
            raise UnknownMember(
                f"{client_id[:255]!r} is not a connected member of the group {group[:255]!r} that could be asked;"
                " members of RocketMQ's protocols can be, at the node they are connected to",
                fix="Take a client_id from the list of the group's members, at the node that it is connected to.",
            )
        asker = next((each for each in self._askers if each.reaches(member)), None)
        if asker is None:
            raise MemberCannotAnswer(f"{client_id[:255]!r} speaks a protocol that has no questions for its clients")
        return member, asker
