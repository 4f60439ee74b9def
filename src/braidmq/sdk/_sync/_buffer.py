# Made by tools/unasync.py from ../_async: change it there.
"""Messages that go out beside their senders: a bounded buffer, and one sender that empties it in order.

There is one sender and it sends one batch at a time, so that messages of one topic arrive in the order in which they
were handed over. What piles up meanwhile goes in the next batch together.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from braidmq.model import BraidError
from braidmq.sdk._concurrency import Condition, Future, Tasks, future, settle
from braidmq.sdk.errors import BufferFull, Closed
from braidmq.sdk.values import Sent

BATCH_MAX = 128
"""So many that the node keeps its answer for a repetition."""
BATCH_BYTES_MAX = 2 << 20

WhenFull = Literal["wait", "raise"]
Send = Callable[[str, list[dict[str, Any]]], list[Sent | BraidError]]


class _Waiting(NamedTuple):
    topic: str
    message: dict[str, Any]
    size: int
    future: "Future[Sent]"


class Buffer:
    """`send` is given the topic and the messages of each batch."""

    def __init__(self, send: "Send", *, most: int, when_full: WhenFull) -> None:
        self._send = send
        self._most = most
        self._when_full = when_full
        self._waiting: deque[_Waiting] = deque()
        self._changed = Condition()
        self._tasks = Tasks()
        self._is_sending = False
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, topic: str, message: dict[str, Any], size: int) -> "Future[Sent]":
        """What will become of the message. Waits for room, or raises BufferFull; raises Closed."""
        with self._changed:
            if len(self._waiting) >= self._most and self._when_full == "raise" and not self._is_closed:
                raise BufferFull(f"{self._most} messages wait to be sent (buffer_max)")
            self._changed.wait_until(lambda: self._is_closed or len(self._waiting) < self._most)
            if self._is_closed:
                raise Closed("the producer is closed")
            waiting = _Waiting(topic, message, size, future())
            self._waiting.append(waiting)
            self._begin()
            return waiting.future

    def flush(self, limit_s: float | None = None) -> bool:
        """Whether all that was handed over has been sent or refused, after so long a wait at most."""
        with self._changed:
            return self._changed.wait_until(self._is_idle, limit_s)

    def close(self, limit_s: float) -> None:
        """Sends what waits; what cannot be sent in time has Closed for an answer."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self.flush(limit_s)
        with self._changed:
            while self._waiting:
                settle(self._waiting.popleft().future, Closed("the producer was closed before this was sent"))
        self._tasks.join(limit_s)

    def _is_idle(self) -> bool:
        return not self._waiting and not self._is_sending

    def _begin(self) -> None:
        if not self._is_sending:
            self._is_sending = True
            self._tasks.spawn(self._empty)

    def _empty(self) -> None:
        while batch := self._next():
            self._send_batch(batch)

    def _next(self) -> list[_Waiting]:
        """The next batch, of one topic; none ends the sender."""
        with self._changed:
            batch: list[_Waiting] = []
            size = 0
            while self._waiting and len(batch) < BATCH_MAX:
                first = self._waiting[0]
                size += first.size
                if batch and (first.topic != batch[0].topic or size > BATCH_BYTES_MAX):
                    break
                batch.append(self._waiting.popleft())
            self._is_sending = bool(batch)
            self._changed.notify_all()
            return batch

    def _send_batch(self, batch: list[_Waiting]) -> None:
        outcomes: list[Sent | BraidError]
        try:
            outcomes = self._send(batch[0].topic, [each.message for each in batch])
        except BraidError as error:
            outcomes = [error] * len(batch)
        except BaseException as error:  # a cancellation, too: whoever waits for these messages is told
            for each in batch:
                settle(each.future, Closed(f"the sender was ended: {error!r}"))
            raise
        for each, outcome in zip(batch, outcomes, strict=True):
            settle(each.future, outcome)
