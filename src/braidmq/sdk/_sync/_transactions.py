# Made by tools/unasync.py from ../_async: change it there.
"""Messages that count only when their sender's own work has: sent as halves, ended by a word, or by the answer to a
question where the word was lost.
"""

import logging
import uuid
from collections.abc import Callable
from types import TracebackType
from typing import Any

from braidmq.model import BraidError
from braidmq.model.errors import EndTooLate
from braidmq.sdk._backoff import Backoff
from braidmq.sdk._concurrency import Condition, Tasks, call
from braidmq.sdk._results import Question, Questions
from braidmq.sdk._sync._transport import Transport
from braidmq.sdk._targets import path_of
from braidmq.sdk.errors import Unreachable, Unsettled
from braidmq.sdk.values import Message, Sent

WAIT_S = 2.0

Check = Callable[[Message], bool | None]
"""True commits the message, False rolls it back, None is asked again later."""

Prepare = Callable[[str, dict[str, Any]], Sent]

_logger = logging.getLogger("braidmq.sdk")


class Transaction:
    """A half message around the work that it belongs to."""

    def __init__(
        self,
        prepare: "Prepare",
        transport: Transport,
        group: str,
        topic: str,
        message: dict[str, Any],
        is_checked: bool,
    ) -> None:
        self._prepare = prepare
        self._transport = transport
        self._group = group
        self._topic = topic
        self._message = message
        self._is_checked = is_checked
        self.half: str | None = None
        self.is_settled = False

    @property
    def id(self) -> str:
        """The message's id; worth keeping with the work, for the question that may come."""
        return str(self._message["id"])

    def __enter__(self) -> "Transaction":
        """The half is kept when the block begins. Raises what `send` raises."""
        self.half = (self._prepare(self._topic, self._message)).half
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.is_settled:
            return
        if kind is None:
            self.commit()
            return
        try:
            self.rollback()
        except BraidError as problem:
            _logger.warning("a half message was not rolled back; its producer will be asked: %s", problem.message)

    def commit(self) -> None:
        """The message counts. Where the node cannot be told, or is told too late, the producer's check is asked; a
        producer without one raises Unsettled."""
        try:
            self._end("commit")
        except (Unreachable, EndTooLate) as error:
            if not self._is_checked:
                raise Unsettled(f"the message {self.id} was not committed: {error.message}") from error
            _logger.warning("a half message is left to the producer's check: %s", error.message)

    def rollback(self) -> None:
        """The message never was."""
        self._end("rollback")

    def _end(self, word: str) -> None:
        path = path_of("halves", self.half, word)
        self._transport.send("POST", path, body={"group": self._group}, safe=True)
        self.is_settled = True


class Checks:
    """Answers what the node asks about halves, while the producer is open."""

    def __init__(self, transport: Transport, group: str | None, check: Check | None) -> None:
        self._transport = transport
        self._group = group
        self._check = check
        self._producer = uuid.uuid4().hex
        self._tasks = Tasks()
        self._closing = Condition()
        self._is_closing = False

    @property
    def is_on(self) -> bool:
        return self._group is not None and self._check is not None

    def start(self) -> None:
        """Begin, once, where there is somebody to ask."""
        if self.is_on and not len(self._tasks) and not self._is_closing:
            self._tasks.spawn(self._answer)

    def close(self) -> None:
        with self._closing:
            self._is_closing = True
            self._closing.notify_all()
        self._tasks.join(WAIT_S * 2)

    def _answer(self) -> None:
        backoff = Backoff()
        while not self._is_closing:
            try:
                for check in self._poll():
                    self._answer_one(check)
                backoff.reset()
            except BraidError as error:
                _logger.warning("questions about half messages cannot be heard: %s", error.message)
                with self._closing:
                    self._closing.wait_until(lambda: self._is_closing, backoff.next_s())

    def _poll(self) -> list[Question]:
        query = {"wait_s": WAIT_S, "producer": self._producer}
        path = path_of("producers", self._group, "checks")
        answer = self._transport.ask(Questions, "GET", path, query=query, wait_s=WAIT_S, retry_s=0)
        return answer.checks

    def _answer_one(self, check: Question) -> None:
        try:
            decision = call(self._check_function, check.message)
        except Exception:  # the user's own; the node asks again, so nothing is lost
            _logger.exception("the check of message %s failed; it will be asked again", check.message.id)
            return
        if decision is None:
            return
        path = path_of("halves", check.half, "commit" if decision else "rollback")
        self._transport.send("POST", path, body={"group": self._group, "asked": True}, safe=True)

    def _check_function(self, message: Message) -> Any:
        assert self._check is not None
        return self._check(message)
