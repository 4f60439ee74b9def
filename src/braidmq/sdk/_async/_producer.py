"""Sending messages.

Every send carries a key by which the node knows it again, so that it is repeated after a lost answer without making a
second message; only `send_oneway` is sent once, and nobody asks what became of it.
"""

import logging
import uuid
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Unpack

import msgspec

from braidmq.model import DEFAULT_INSTANCE, BraidError
from braidmq.model.errors import AnswerNotKept
from braidmq.sdk._async._buffer import BATCH_BYTES_MAX, BATCH_MAX, AsyncBuffer, WhenFull
from braidmq.sdk._async._transactions import AsyncCheck, AsyncChecks, AsyncTransaction
from braidmq.sdk._async._transport import AsyncTransport
from braidmq.sdk._concurrency import AsyncFuture
from braidmq.sdk._results import SendResults
from braidmq.sdk._targets import Target, path_of
from braidmq.sdk._tracing import sending
from braidmq.sdk.values import Body, Outgoing, SendOptions, Sent, at_a_moment, wire

_logger = logging.getLogger("braidmq.sdk")


class AsyncProducer:
    """Sends to one node. Use it in a `with` block, or close it: what waits in its buffer is sent then.

    `group` and `check` are for transactions: the node asks `check` what became of a message of this group whose
    producer said nothing. `when_full` says what `send_async` does when `buffer_max` messages wait already.
    """

    def __init__(
        self,
        target: Target = "http://127.0.0.1:8400",
        *,
        instance: str = DEFAULT_INSTANCE,
        group: str | None = None,
        check: AsyncCheck | None = None,
        timeout_s: float = 10.0,
        retry_s: float = 30.0,
        buffer_max: int = 1_000,
        when_full: WhenFull = "wait",
    ) -> None:
        """Raises Unreachable where the address is none."""
        self._transport = AsyncTransport(target, timeout_s=timeout_s, retry_s=retry_s)
        self._query = {"instance": instance}
        self._group = group
        self._retry_s = retry_s
        self._buffer = AsyncBuffer(self._send_batch, most=buffer_max, when_full=when_full)
        self._checks = AsyncChecks(self._transport, group, check)

    async def __aenter__(self) -> "AsyncProducer":
        self._checks.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Sends what waits, and ends."""
        await self._buffer.aclose(self._retry_s)
        await self._checks.aclose()
        await self._transport.aclose()

    async def send(self, topic: str, body: Body, **options: Unpack[SendOptions]) -> Sent:
        """The message is kept when this returns. Raises UnknownTopic, InvalidMessage, MessageTooLarge and whatever else
        the node refuses it for; Unreachable when nobody answered for `retry_s`."""
        message = wire(Outgoing(body=body, **options))
        with sending(topic, [message]):
            return (await self._post(topic, message, retry_s=None))[0]

    async def send_many(self, topic: str, messages: Iterable[Outgoing | bytes | str]) -> list[Sent | BraidError]:
        """What became of each, in order: they stand each for itself. Raises what is wrong with all of them."""
        wired = [wire(each if isinstance(each, Outgoing) else Outgoing(body=each)) for each in messages]
        outcomes: list[Sent | BraidError] = []
        for batch in _batches(wired):
            outcomes += await self._send_batch(topic, batch)
        return outcomes

    async def send_async(self, topic: str, body: Body, **options: Unpack[SendOptions]) -> "AsyncFuture[Sent]":
        """Hands the message over, and gives a future of what becomes of it (`add_done_callback` calls back). They are
        sent in this order. Waits while the buffer is full, or raises BufferFull; raises Closed."""
        message = at_a_moment(wire(Outgoing(body=body, **options)))
        return await self._buffer.add(topic, message, len(msgspec.json.encode(message)))

    async def flush(self) -> None:
        """Until all that was handed over by `send_async` has been sent or refused."""
        await self._buffer.flush()

    async def send_oneway(self, topic: str, body: Body, **options: Unpack[SendOptions]) -> None:
        """Sends once, and does not say whether the node could keep it: only for what may be lost."""
        message = wire(Outgoing(body=body, **options))
        with sending(topic, [message]):
            try:
                await self._transport.send(
                    "POST", path_of("topics", topic, "messages"), query=self._query, body=message, retry_s=0
                )
            except BraidError as error:
                _logger.debug("a message was lost on its way to %s: %s", topic, error.message)

    def transaction(
        self, topic: str, body: Body, *, immunity_s: int | None = None, **options: Unpack[SendOptions]
    ) -> AsyncTransaction:
        """A message that counts when the `with` block ends well, and never was when it raises.

        For this the producer needs a group, and should have a `check`: where the word at the end of the block is lost,
        the node asks for it. Nobody is asked before `immunity_s` are over.
        """
        if self._group is None:
            raise ValueError("transactions need a producer with a group: Producer(url, group='payments', check=...)")
        message = wire(Outgoing(body=body, **options))
        message["transaction"] = {"group": self._group}
        if immunity_s is not None:
            message["transaction"]["immunity_s"] = immunity_s
        self._checks.start()
        return AsyncTransaction(self._prepare, self._transport, self._group, topic, message, self._checks.is_on)

    async def cancel(self, timer: str) -> None:
        """Takes a delayed message back. Raises UnknownTimer, TooLateToRecall."""
        await self._transport.send("DELETE", path_of("timers", timer))

    async def send_encoded(self, topic: str, content: bytes, key: str) -> list[Sent | BraidError]:
        """A request with many messages, as it is, under a key of the caller's: the same twice is one. For relays."""
        answer = await self._transport.ask(
            SendResults, "POST", path_of("topics", topic, "messages"), query=self._query, body=content, key=key
        )
        return [each.outcome() for each in answer.results]

    async def _prepare(self, topic: str, message: dict[str, Any]) -> Sent:
        with sending(topic, [message]):
            return (await self._post(topic, message, retry_s=None))[0]

    async def _send_batch(self, topic: str, messages: list[dict[str, Any]]) -> list[Sent | BraidError]:
        """Repeats those that may succeed later; so each is sent or refused in the end, and none twice."""
        with sending(topic, messages):
            outcomes = await self._post_many(topic, messages)
            again = [place for place, each in enumerate(outcomes) if isinstance(each, BraidError) and each.retriable]
            if again:
                for place, outcome in zip(
                    again, await self._post_many(topic, [messages[place] for place in again]), strict=True
                ):
                    outcomes[place] = outcome
        return outcomes

    async def _post_many(self, topic: str, messages: list[dict[str, Any]]) -> list[Sent | BraidError]:
        try:
            return await self.send_encoded(topic, msgspec.json.encode({"messages": messages}), uuid.uuid4().hex)
        except AnswerNotKept:
            return [Sent(id=message["id"]) for message in messages]

    async def _post(self, topic: str, message: dict[str, Any], *, retry_s: float | None) -> list[Sent]:
        answer = await self._transport.ask(
            SendResults,
            "POST",
            path_of("topics", topic, "messages"),
            query=self._query,
            body=message,
            key=uuid.uuid4().hex,
            retry_s=retry_s,
        )
        outcome = answer.results[0].outcome()
        if isinstance(outcome, BraidError):
            raise outcome
        return [outcome]


def _batches(messages: list[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    """As many together as a request should hold."""
    batch: list[dict[str, Any]] = []
    size = 0
    for message in messages:
        length = len(msgspec.json.encode(message))
        if batch and (len(batch) == BATCH_MAX or size + length > BATCH_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += length
    if batch:
        yield batch
