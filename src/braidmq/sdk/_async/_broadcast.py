"""Reading everything of some topics, whoever else reads it: each reader keeps its own offsets.

Partitions are fetched from an offset on and worked on in order. There is no group at the node, so there are no retries:
what a handler raises for is logged and passed over.
"""

import logging
import zlib
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal

from braidmq.model import DEFAULT_INSTANCE, BraidError
from braidmq.model.errors import OffsetOutOfRange
from braidmq.sdk._async._inbox import AsyncInbox
from braidmq.sdk._async._transport import AsyncTransport
from braidmq.sdk._backoff import Backoff
from braidmq.sdk._concurrency import AsyncHandler, AsyncTasks, async_call
from braidmq.sdk._results import PartitionPlace, Pulled
from braidmq.sdk._targets import Target, path_of
from braidmq.sdk._tracing import handling
from braidmq.sdk.offsets import MemoryOffsets, Offsets
from braidmq.sdk.values import EVERYTHING, Filter, Message

Begin = Literal["latest", "earliest"]

_logger = logging.getLogger("braidmq.sdk")


class AsyncBroadcastConsumer:
    """Reads all of these topics. `begin` counts where `offsets` knows nothing: at the end, or at the oldest message.
    The partitions are those that there are when it begins."""

    def __init__(
        self,
        target: Target = "http://127.0.0.1:8400",
        *,
        topics: str | Sequence[str],
        offsets: Offsets | None = None,
        begin: Begin = "latest",
        filter: Filter = EVERYTHING,
        instance: str = DEFAULT_INSTANCE,
        prefetch: int = 100,
        wait_s: float = 2.0,
        timeout_s: float = 10.0,
        retry_s: float = 10.0,
        drain_s: float = 30.0,
    ) -> None:
        """Raises Unreachable where the address is none."""
        self._transport = AsyncTransport(target, timeout_s=timeout_s, retry_s=retry_s)
        self._topics = [topics] if isinstance(topics, str) else list(topics)
        self._offsets = offsets or MemoryOffsets()
        self._begin_at = begin
        self._query = {"instance": instance, "filter": filter.expression, "filter_kind": filter.kind}
        self._wait_s = wait_s
        self._drain_s = drain_s
        self._inbox: AsyncInbox[Message] = AsyncInbox(min(prefetch, 1_000), _lane)
        self._fetchers, self._workers = AsyncTasks(), AsyncTasks()
        self._is_fetching = False

    async def __aenter__(self) -> "AsyncBroadcastConsumer":
        """The place to begin at is found when the block begins. Raises UnknownTopic, Unreachable."""
        await self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def run(self, handler: AsyncHandler, *, concurrency: int = 1) -> None:
        """Gives each message to the handler, those of a partition in order, until it is stopped."""
        await self._begin()
        for worker in range(concurrency):
            self._workers.spawn(self._work, handler, worker, concurrency)
        await self._inbox.wait_closed()
        await self.aclose()
        if self._inbox.failure is not None:
            raise self._inbox.failure

    async def stop(self) -> None:
        """Lets `run` and iterations end; safe inside a handler."""
        await self._inbox.aclose()

    def __aiter__(self) -> "AsyncBroadcastConsumer":
        return self

    async def __anext__(self) -> Message:
        """The next message; call `done` with it to go on behind it another time."""
        message = await self.next()
        if message is None:
            raise StopAsyncIteration
        return message

    async def next(self, limit_s: float | None = None) -> Message | None:
        """The next message; None when none came in time, or when it is stopped."""
        await self._begin()
        message = await self._inbox.take(limit_s=limit_s)
        if message is None and self._inbox.failure is not None:
            raise self._inbox.failure
        return message

    def done(self, message: Message) -> None:
        """This one and those before it in its partition need not come again."""
        self._offsets.save(message.topic, message.partition, message.offset + 1)

    async def aclose(self) -> None:
        await self._inbox.aclose()
        await self._fetchers.join(self._wait_s + self._drain_s)
        await self._workers.join(self._drain_s)
        await self._transport.aclose()

    async def _begin(self) -> None:
        if self._is_fetching:
            return
        self._is_fetching = True
        for topic in self._topics:
            path = path_of("topics", topic, "partitions")
            for place in await self._transport.ask(
                list[PartitionPlace], "GET", path, query={"instance": self._query["instance"]}
            ):
                self._fetchers.spawn(self._fetch_all, topic, place.index, self._first(topic, place))

    def _first(self, topic: str, place: PartitionPlace) -> int:
        kept = self._offsets.load(topic, place.index)
        if kept is not None:
            return kept
        return place.stable_offset if self._begin_at == "latest" else place.start_offset

    async def _fetch_all(self, topic: str, partition: int, offset: int) -> None:
        source, backoff = f"{topic}/{partition}", Backoff()
        while room := await self._inbox.room(source):
            try:
                pulled = await self._fetch(topic, partition, offset, room)
                await self._inbox.put(source, pulled.items)
                offset = pulled.next_offset
                backoff.reset()
            except OffsetOutOfRange:
                offset = await self._oldest(topic, partition)
                _logger.warning("%s begins at %d now: what was before is not kept any more", source, offset)
            except BraidError as error:
                if not error.retriable:
                    await self._inbox.aclose(error)
                    return
                _logger.warning("messages of %s cannot be had now: %s", source, error.message)
                await self._inbox.pause(backoff.next_s())
            except Exception as error:  # whoever waits for messages is told
                await self._inbox.aclose(error)
                raise

    async def _fetch(self, topic: str, partition: int, offset: int | None, limit: int) -> Pulled:
        query: dict[str, Any] = {**self._query, "limit": limit, "wait_s": self._wait_s, "offset": offset}
        path = path_of("topics", topic, "partitions", partition, "messages")
        return await self._transport.ask(Pulled, "GET", path, query=query, wait_s=self._wait_s)

    async def _oldest(self, topic: str, partition: int) -> int:
        return (await self._fetch(topic, partition, None, 1)).start_offset

    async def _work(self, handler: AsyncHandler, worker: int, workers: int) -> None:
        while (message := await self._inbox.take(worker, workers)) is not None:
            try:
                with handling(message, ""):
                    await async_call(handler, message)
            except Exception:  # the user's own; a broadcast has no retries, as the opening says
                _logger.exception("message %s of %s was passed over", message.id, message.topic)
            self.done(message)


def _lane(message: Any) -> int:
    return zlib.crc32(f"{message.topic} {message.partition}".encode())
