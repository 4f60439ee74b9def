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
from braidmq.sdk._async._inbox import AsyncInbox
from braidmq.sdk._async._received import AsyncReceived, AsyncSettlements
from braidmq.sdk._async._transport import AsyncTransport
from braidmq.sdk._backoff import Backoff
from braidmq.sdk._concurrency import AsyncHandler, AsyncTasks, async_call
from braidmq.sdk._targets import Target, new_client_id, path_of
from braidmq.sdk._tracing import handling
from braidmq.sdk.errors import Closed
from braidmq.sdk.values import EVERYTHING, Filter

COUNT_MAX = 256
RETRY_DELAYS_S = (1.0, 5.0, 10.0, 30.0, 60.0, 120.0)
"""How long a message rests whose handler has raised, by its attempts."""

_logger = logging.getLogger("braidmq.sdk")


class AsyncReceivedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What a receiver was given."""

    messages: list[AsyncReceived]


class AsyncConsumer:
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
        self._transport = AsyncTransport(
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
        self._inbox: AsyncInbox[AsyncReceived] = AsyncInbox(min(prefetch, COUNT_MAX), _lane if ordered else None)
        self._settlements = AsyncSettlements(self._transport, group)
        self._fetchers, self._workers = AsyncTasks(), AsyncTasks()
        self._is_fetching = False
        self._is_closed = False

    async def __aenter__(self) -> "AsyncConsumer":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    # Given to a function.

    async def run(self, handler: AsyncHandler, *, concurrency: int = 1) -> None:
        """Gives each message to the handler until the consumer is stopped. What it returns from is acknowledged, unless
        it has said something else itself; what it raises for comes again later, and at last is a dead letter.

        Raises what waiting does not mend, such as UnknownTopic and InvalidFilter.
        """
        self.start(handler, concurrency=concurrency)
        await self._inbox.wait_closed()
        await self.aclose()
        if self._inbox.failure is not None:
            raise self._inbox.failure

    def start(self, handler: AsyncHandler, *, concurrency: int = 1) -> None:
        """As `run`, beside the caller; `aclose` ends it."""
        self._begin()
        for worker in range(concurrency):
            self._workers.spawn(self._work, handler, worker, concurrency)

    async def stop(self) -> None:
        """Lets `run` and iterations end; safe inside a handler."""
        await self._inbox.aclose()

    # Taken one by one.

    def __aiter__(self) -> "AsyncConsumer":
        return self

    async def __anext__(self) -> AsyncReceived:
        """The next message, which is to be acknowledged. Ends when the consumer is stopped."""
        message = await self.next()
        if message is None:
            raise StopAsyncIteration
        return message

    async def next(self, limit_s: float | None = None) -> AsyncReceived | None:
        """The next message; None when none came in time, or when the consumer is stopped."""
        self._begin()
        while True:
            message = await self._inbox.take(limit_s=limit_s)
            if message is None and self._inbox.failure is not None:
                raise self._inbox.failure
            if message is None or not message.is_expired:
                return message
            self._settlements.settled(message)

    async def receive(self, topic: str, *, count_max: int = 16, wait_s: float = 0.0) -> list[AsyncReceived]:
        """Messages of one topic, now or after a wait; without the inbox. Raises UnknownTopic, InvalidFilter."""
        return await self._fetch(topic, min(count_max, COUNT_MAX), wait_s)

    async def acknowledge(self, messages: Sequence[AsyncReceived]) -> None:
        """They are done. Raises HandleExpired where one came too late; the others are done."""
        await self._settlements.acknowledge_all(list(messages))

    # Ending.

    async def aclose(self) -> None:
        """Ends; what was not worked on is the group's again at once."""
        self._is_closed = True
        await self._inbox.aclose()
        await self._fetchers.join(self._wait_s + self._drain_s)
        await self._workers.join(self._drain_s)
        for message in list(self._settlements.held.values()):
            await self._give_back(message)
        await self._transport.aclose()

    async def _give_back(self, message: AsyncReceived) -> None:
        try:
            await message.reject()
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

    async def _fetch_all(self, topic: str) -> None:
        backoff = Backoff()
        while room := await self._inbox.room(topic):
            try:
                await self._inbox.put(topic, await self._fetch(topic, room, self._wait_s))
                backoff.reset()
            except BraidError as error:
                if not error.retriable:
                    await self._inbox.aclose(error)
                    return
                _logger.warning("messages of %s cannot be had now: %s", topic, error.message)
                await self._inbox.pause(backoff.next_s())
            except Exception as error:  # whoever waits for messages is told
                await self._inbox.aclose(error)
                raise

    async def _fetch(self, topic: str, count: int, wait_s: float) -> list[AsyncReceived]:
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
        batch = await self._transport.ask(
            AsyncReceivedBatch, "POST", path, query=self._query, body=ask, safe=True, wait_s=wait_s
        )
        for message in batch.messages:
            self._settlements.hold(message, self._invisible_s)
        return batch.messages

    # Working.

    async def _work(self, handler: AsyncHandler, worker: int, workers: int) -> None:
        while (message := await self._inbox.take(worker, workers)) is not None:
            if message.is_expired:
                self._settlements.settled(message)
                continue
            try:
                await self._handle(handler, message)
            except BraidError as error:
                _logger.warning("message %s of %s will come again: %s", message.id, message.topic, error.message)
                self._settlements.settled(message)

    async def _handle(self, handler: AsyncHandler, message: AsyncReceived) -> None:
        try:
            with handling(message, self._group):
                await async_call(handler, message)
        except Exception:  # the user's own; the message is not lost, but comes again
            _logger.exception("message %s of %s could not be worked on", message.id, message.topic)
            if not message.is_settled:
                await self._fail(message)
            return
        if not message.is_settled:
            await message.ack()

    async def _fail(self, message: AsyncReceived) -> None:
        """In an ordered group those behind it go back, too: they are not to overtake it."""
        if self._is_ordered:
            for behind in await self._inbox.drop(lambda each: _is_behind(each, message)):
                await self._give_back(behind)
        await message.reject(RETRY_DELAYS_S[min(message.attempt, len(RETRY_DELAYS_S)) - 1])


def _lane(message: Any) -> int:
    key = message.sharding_key
    return zlib.crc32(f"{message.topic} {message.partition}".encode() if key is None else key.encode())


def _is_behind(each: Any, failed: Any) -> bool:
    return (each.topic, each.partition) == (failed.topic, failed.partition) and each.offset > failed.offset
