# Made by tools/unasync.py from ../_async: change it there.
"""A message that is a receiver's for a while, and the ways to say what became of it."""

import time
from collections import deque
from typing import Any

from braidmq.model import BraidError
from braidmq.model.errors import HandleExpired
from braidmq.sdk._concurrency import Condition, future, result, settle
from braidmq.sdk._results import Receipt, ReceiptResults
from braidmq.sdk._sync._transport import Transport
from braidmq.sdk._targets import path_of
from braidmq.sdk.errors import Unreachable
from braidmq.sdk.values import Message

RECEIPTS_MAX = 1_024


class Received(Message, kw_only=True):
    """A message of a group. It comes again when nobody has acknowledged it in time."""

    receipt: str
    attempt: int
    invisible_until_ms: int
    is_settled: bool = False
    _expires_s: float = 0.0
    _desk: Any = None

    @property
    def is_expired(self) -> bool:
        """Whether its time is over: it is, or will be, somebody else's."""
        return time.monotonic() >= self._expires_s

    def ack(self) -> None:
        """It is done. Raises HandleExpired where its time was over: it will come again."""
        self._desk.acknowledge(self)

    def extend(self, invisible_s: float) -> None:
        """More time for it, from now on. Raises HandleExpired."""
        self._desk.put_off(self, "extend", {"invisible_s": invisible_s}, invisible_s)

    def reject(self, delay_s: float = 0.0) -> None:
        """It could not be worked on, and comes again after this time, until its group allows no more."""
        self._desk.put_off(self, "reject", {"delay_s": delay_s}, None)

    def bury(self) -> None:
        """Nobody will be able to work on it: to the group's dead letters."""
        self._desk.bury(self)


class Settlements:
    """Tells the node what became of the messages of a group. Acknowledgements that come while others are on
    their way go together in the next request."""

    def __init__(self, transport: Transport, group: str) -> None:
        self._transport = transport
        self._path = ("groups", group)
        self._pending: deque[tuple[str, Any]] = deque()
        self._telling = Condition()
        self.held: dict[int, Received] = {}

    def hold(self, message: Received, invisible_s: float) -> None:
        """The message is here until it is settled."""
        message._desk = self
        message._expires_s = time.monotonic() + invisible_s
        self.held[id(message)] = message

    def settled(self, message: Received) -> None:
        message.is_settled = True
        self.held.pop(id(message), None)

    def acknowledge(self, message: Received) -> None:
        """Raises HandleExpired, Unreachable."""
        told = future()
        self._pending.append((message.receipt, told))
        with self._telling:
            while not told.done():
                self._tell()
        try:
            result(told)
        except HandleExpired:
            self.settled(message)
            raise
        self.settled(message)

    def acknowledge_all(self, messages: list[Received]) -> None:
        """Raises HandleExpired where the time of one was over; the others are done."""
        failure: BaseException | None = None
        for begin in range(0, len(messages), RECEIPTS_MAX):
            part = messages[begin : begin + RECEIPTS_MAX]
            for message, outcome in zip(part, self._outcomes([each.receipt for each in part]), strict=True):
                self.settled(message)
                failure = failure or outcome
        if failure is not None:
            raise failure

    def put_off(self, message: Received, word: str, said: dict[str, Any], invisible_s: float | None) -> None:
        """Raises HandleExpired, Unreachable."""
        answer = self._transport.ask(
            Receipt, "POST", path_of(*self._path, word), body={"receipt": message.receipt, **said}
        )
        message.receipt = answer.receipt
        if invisible_s is None:
            self.settled(message)
        else:
            message._expires_s = time.monotonic() + invisible_s

    def bury(self, message: Received) -> None:
        """Raises HandleExpired, Unreachable."""
        self._transport.send("POST", path_of(*self._path, "bury"), body={"receipt": message.receipt})
        self.settled(message)

    def _tell(self) -> None:
        batch = [self._pending.popleft() for _ in range(min(len(self._pending), RECEIPTS_MAX))]
        outcomes: list[BaseException | None]
        try:
            outcomes = self._outcomes([receipt for receipt, _ in batch])
        except BraidError as error:
            outcomes = [error] * len(batch)
        except BaseException as error:  # a cancellation, too: whoever waits for these receipts is told
            for _, told in batch:
                settle(told, Unreachable(f"the request was given up: {error!r}"))
            raise
        for (_, told), outcome in zip(batch, outcomes, strict=True):
            settle(told, outcome)

    def _outcomes(self, receipts: list[str]) -> list[BaseException | None]:
        answer = self._transport.ask(
            ReceiptResults, "POST", path_of(*self._path, "acknowledge"), body={"receipts": receipts}, safe=True
        )
        return [None if each.error is None else each.error.as_error() for each in answer.results]
