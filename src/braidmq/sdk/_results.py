"""Answers of the node that clients look into; what this version does not know of is passed over."""

import msgspec

from braidmq.model import BraidError
from braidmq.sdk.values import ErrorView, Message, Sent


class SendResult(Sent, frozen=True, kw_only=True):
    """What became of one message."""

    id: str | None = None  # type: ignore[assignment]  # a message that was refused may have none
    error: ErrorView | None = None

    def outcome(self) -> Sent | BraidError:
        """The message's place, or why it was refused."""
        if self.error is not None:
            return self.error.as_error()
        return Sent(id=self.id or "", partition=self.partition, offset=self.offset, timer=self.timer, half=self.half)


class SendResults(msgspec.Struct, frozen=True, kw_only=True):
    """One for each message, in order."""

    results: list[SendResult]


class ReceiptResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one receipt."""

    receipt: str
    error: ErrorView | None = None


class ReceiptResults(msgspec.Struct, frozen=True, kw_only=True):
    """One for each receipt, in order."""

    results: list[ReceiptResult]


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The receipt that counts from now on."""

    receipt: str


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A half message whose producer is asked."""

    half: str
    checks: int
    message: Message


class Questions(msgspec.Struct, frozen=True, kw_only=True):
    """What a producer is asked."""

    checks: list[Question]


class Pulled(msgspec.Struct, frozen=True, kw_only=True):
    """Messages from an offset on."""

    items: list[Message]
    next_offset: int
    start_offset: int
    end_offset: int


class PartitionPlace(msgspec.Struct, frozen=True, kw_only=True):
    """How far a partition goes."""

    index: int
    start_offset: int
    stable_offset: int
    end_offset: int
