# Made by tools/unasync.py from ../_async: change it there.
"""Reading the messages of a group: given to a function, or taken one by one.

Fetchers (one for each topic) wait at the node and fill a bounded inbox; workers, or the iterator, empty it. Closing
ends the fetchers, lets the workers finish what they are at, and gives everything else back to the group at once.
"""

import logging
import uuid
import zlib
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import msgspec

from braidmq.model import DEFAULT_INSTANCE, BraidError
from braidmq.sdk._backoff import Backoff
from braidmq.sdk._concurrency import Handler, Tasks, call
from braidmq.sdk._sync._inbox import Inbox
from braidmq.sdk._sync._received import Received, Settlements
from braidmq.sdk._sync._transport import Transport
from braidmq.sdk._targets import Target, new_client_id, path_of
from braidmq.sdk._tracing import handling
from braidmq.sdk.errors import Closed
from braidmq.sdk.values import EVERYTHING, Filter

COUNT_MAX = 256
RETRY_DELAYS_S = (1.0, 5.0, 10.0, 30.0, 60.0, 120.0)
"""How long a message rests whose handler has raised, by its attempts."""

_logger = logging.getLogger("braidmq.sdk")


class ReceivedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What a receiver was given."""

    messages: list[Received]


class Consumer:
    """A member of a group. Use it in a `with` block, or close it.

    A message is this consumer's for `invisible_s`; `prefetch` of each topic wait here at most. What the group is given
    again comes by its retry topic, too, unless `with_retries` is off. `ordered` is for groups that are ordered:
    messages with the same sharding key are worked on one after the other, whatever the concurrency. `client_id` is
    the name that operators see among the members of the group; without one it is made of host and process.
    """

    def __init__(
        self,
        target: Target = "http://127.0.0.1:8400",
        *,
        group: str,
        topics: str | Sequence[str],
        filter: Filter = EVERYTHING,
        instance: str = DEFAULT_INSTANCE,
        invisible_s: float = 60.0,
        prefetch: int = 32,
        ordered: bool = False,
        with_retries: bool = True,
        client_id: str | None = None,
        wait_s: float = 2.0,
        timeout_s: float = 10.0,
        retry_s: float = 10.0,
        drain_s: float = 30.0,
    ) -> None:
        """Raises Unreachable where the address is none."""
        self._transport = Transport(
            target, timeout_s=timeout_s, retry_s=retry_s, client_id=client_id or new_client_id()
        )
        self._group = group
        self._query = {"instance": instance}
        self._wanted = dict.fromkeys([topics] if isinstance(topics, str) else topics, filter)
        self._with_retries = with_retries
        self._invisible_s = invisible_s
        self._is_ordered = ordered
        self._wait_s = wait_s
        self._drain_s = drain_s
        self._inbox: Inbox[Received] = Inbox(min(prefetch, COUNT_MAX), _lane if ordered else None)
        self._settlements = Settlements(self._transport, group)
        self._fetchers, self._workers = Tasks(), Tasks()
        self._is_fetching = False
        self._is_closed = False

    def __enter__(self) -> "Consumer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    # Given to a function.

    def run(self, handler: Handler, *, concurrency: int = 1) -> None:
        """Gives each message to the handler until the consumer is stopped. What it returns from is acknowledged, unless
        it has said something else itself; what it raises for comes again later, and at last is a dead letter.

        Raises what waiting does not mend, such as UnknownTopic and InvalidFilter.
        """
        self.start(handler, concurrency=concurrency)
        self._inbox.wait_closed()
        self.close()
        if self._inbox.failure is not None:
            raise self._inbox.failure

    def start(self, handler: Handler, *, concurrency: int = 1) -> None:
        """As `run`, beside the caller; `close` ends it."""
        self._begin()
        for worker in range(concurrency):
            self._workers.spawn(self._work, handler, worker, concurrency)

    def stop(self) -> None:
        """Lets `run` and iterations end; safe inside a handler."""
        self._inbox.close()

    # Taken one by one.

    def __iter__(self) -> "Consumer":
        return self

    def __next__(self) -> Received:
        """The next message, which is to be acknowledged. Ends when the consumer is stopped."""
        message = self.next()
        if message is None:
            raise StopIteration
        return message

    def next(self, limit_s: float | None = None) -> Received | None:
        """The next message; None when none came in time, or when the consumer is stopped."""
        self._begin()
        while True:
            message = self._inbox.take(limit_s=limit_s)
            if message is None and self._inbox.failure is not None:
                raise self._inbox.failure
            if message is None or not message.is_expired:
                return message
            self._settlements.settled(message)

    def receive(self, topic: str, *, count_max: int = 16, wait_s: float = 0.0) -> list[Received]:
        """Messages of one topic, now or after a wait; without the inbox. Raises UnknownTopic, InvalidFilter."""
        return self._fetch(topic, min(count_max, COUNT_MAX), wait_s)

    def acknowledge(self, messages: Sequence[Received]) -> None:
        """They are done. Raises HandleExpired where one came too late; the others are done."""
        self._settlements.acknowledge_all(list(messages))

    # Ending.

    def close(self) -> None:
        """Ends; what was not worked on is the group's again at once."""
        self._is_closed = True
        self._inbox.close()
        self._fetchers.join(self._wait_s + self._drain_s)
        self._workers.join(self._drain_s)
        for message in list(self._settlements.held.values()):
            self._give_back(message)
        self._transport.close()

    def _give_back(self, message: Received) -> None:
        try:
            message.reject()
        except BraidError:  # it comes again by itself, when its time is over
            self._settlements.settled(message)

    # Fetching.

    def _begin(self) -> None:
        if self._is_closed and self._inbox.failure is None:
            raise Closed("the consumer is closed")
        if not self._is_fetching:
            self._is_fetching = True
            for topic in self._wanted:
                self._fetchers.spawn(self._fetch_all, topic)

    def _fetch_all(self, topic: str) -> None:
        backoff = Backoff()
        while room := self._inbox.room(topic):
            try:
                self._inbox.put(topic, self._fetch(topic, room, self._wait_s))
                backoff.reset()
            except BraidError as error:
                if not error.retriable:
                    self._inbox.close(error)
                    return
                _logger.warning("messages of %s cannot be had now: %s", topic, error.message)
                self._inbox.pause(backoff.next_s())
            except Exception as error:  # whoever waits for messages is told
                self._inbox.close(error)
                raise

    def _fetch(self, topic: str, count: int, wait_s: float) -> list[Received]:
        wanted = self._wanted.get(topic, EVERYTHING)
        ask = {
            "topic": topic,
            "filter": {"kind": wanted.kind, "expression": wanted.expression},
            "count_max": count,
            "wait_s": wait_s,
            "invisible_s": self._invisible_s,
            "attempt_id": uuid.uuid4().hex,
            "with_retries": self._with_retries,
        }
        path = path_of("groups", self._group, "receive")
        batch = self._transport.ask(ReceivedBatch, "POST", path, query=self._query, body=ask, safe=True, wait_s=wait_s)
        for message in batch.messages:
            self._settlements.hold(message, self._invisible_s)
        return batch.messages

    # Working.

    def _work(self, handler: Handler, worker: int, workers: int) -> None:
        while (message := self._inbox.take(worker, workers)) is not None:
            if message.is_expired:
                self._settlements.settled(message)
                continue
            try:
                self._handle(handler, message)
            except BraidError as error:
                _logger.warning("message %s of %s will come again: %s", message.id, message.topic, error.message)
                self._settlements.settled(message)

    def _handle(self, handler: Handler, message: Received) -> None:
        try:
            with handling(message, self._group):
                call(handler, message)
        except Exception:  # the user's own; the message is not lost, but comes again
            _logger.exception("message %s of %s could not be worked on", message.id, message.topic)
            if not message.is_settled:
                self._fail(message)
            return
        if not message.is_settled:
            message.ack()

    def _fail(self, message: Received) -> None:
        """In an ordered group those behind it go back, too: they are not to overtake it."""
        if self._is_ordered:
            for behind in self._inbox.drop(lambda each: _is_behind(each, message)):
                self._give_back(behind)
        message.reject(RETRY_DELAYS_S[min(message.attempt, len(RETRY_DELAYS_S)) - 1])


def _lane(message: Any) -> int:
    key = message.sharding_key
    return zlib.crc32(f"{message.topic} {message.partition}".encode() if key is None else key.encode())


def _is_behind(each: Any, failed: Any) -> bool:
    return (each.topic, each.partition) == (failed.topic, failed.partition) and each.offset > failed.offset
