"""New messages of a topic as they come, for people who watch.

The log is the buffer: nothing is gathered for a watcher who is slow. Each round shows the newest messages, so many of
each partition; what came before them in the meantime is passed over, and the watcher is told how many that were.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from braidmq.core.desk._named import Catalog, named_topic
from braidmq.core.desk.message_views import MessageView, message_view
from braidmq.core.filters import Filter
from braidmq.core.pull import Puller
from braidmq.core.shapes import check_readable
from braidmq.log import Log
from braidmq.model import DEFAULT_INSTANCE, Topic
from braidmq.model.errors import OffsetOutOfRange, UnknownPartition
from braidmq.records import record_message

ROUND_MESSAGES: Final = 100
"""How many of each partition a round shows at most."""
ROUND_BYTES: Final = 1 << 20
ROUND_S: Final = 0.2
HEARTBEAT_S: Final = 15.0


class TailEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that came; none are a sign of life."""

    items: list[MessageView]
    skipped: Annotated[int, Meta(examples=[0], description="How many were passed over since the last event.")] = 0


class Tail:
    """Follows topics."""

    def __init__(
        self,
        catalog: Catalog,
        log: Log,
        puller: Puller,
        *,
        round_messages: int = ROUND_MESSAGES,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self._catalog = catalog
        self._log = log
        self._puller = puller
        self._round_messages = round_messages
        self._heartbeat_s = heartbeat_s

    def follow(
        self, name: str, chosen: Filter, stopping: asyncio.Event, *, instance: str = DEFAULT_INSTANCE
    ) -> AsyncIterator[TailEvent]:
        """What comes from now on, until `stopping` is set or the topic is gone. Raises UnknownTopic, NotPermitted, at
        once."""
        topic = named_topic(self._catalog, name, instance)
        check_readable(topic)
        positions = {number: self._log.bounds(number).stable for number in topic.partition_numbers}
        return self._follow(topic, chosen, stopping, positions)

    async def _follow(
        self, topic: Topic, chosen: Filter, stopping: asyncio.Event, positions: dict[int, int]
    ) -> AsyncIterator[TailEvent]:
        news = asyncio.Event()
        news.set()
        watch = self._log.watch(topic.partition_numbers, lambda _: news.set())
        loop = asyncio.get_running_loop()
        try:
            yield TailEvent(items=[])
            told_s = loop.time()
            while await self._has_more(news, stopping, told_s + self._heartbeat_s - loop.time()):
                event = await self._round(topic, chosen, positions)
                if event.items or event.skipped or loop.time() - told_s >= self._heartbeat_s:
                    yield event
                    told_s = loop.time()
                await _pause(stopping)
        except (OffsetOutOfRange, UnknownPartition):
            return  # the topic was deleted
        finally:
            watch.cancel()

    async def _has_more(self, news: asyncio.Event, stopping: asyncio.Event, timeout_s: float) -> bool:
        """Waits until something may have come, or a sign of life is due; False when it is over."""
        waits = {asyncio.ensure_future(news.wait()), asyncio.ensure_future(stopping.wait())}
        try:
            await asyncio.wait(waits, timeout=max(timeout_s, 0), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        news.clear()
        return not stopping.is_set()

    async def _round(self, topic: Topic, chosen: Filter, positions: dict[int, int]) -> TailEvent:
        items: list[MessageView] = []
        skipped = 0
        for partition, number in enumerate(topic.partition_numbers):
            stable = self._log.bounds(number).stable
            begin = max(positions[number], stable - self._round_messages)
            skipped += begin - positions[number]
            pulled = await self._puller.pull(
                number, begin, chosen, count_max=self._round_messages, bytes_max=ROUND_BYTES
            )
            positions[number] = pulled.next_offset
            items += [message_view(record_message(each, topic.name, partition)) for each in pulled.records]
        return TailEvent(items=items, skipped=skipped)


async def _pause(stopping: asyncio.Event) -> None:
    """Between two rounds, unless it is over."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(ROUND_S):
            await stopping.wait()
