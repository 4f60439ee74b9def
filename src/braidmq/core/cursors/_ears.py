"""Receivers that wait at several places at once, such as a consumer of many topics.

A line serves one topic, so they cannot stand in one. They are told instead that there may be something at one of their
places, and look for themselves; somebody else may have been quicker, and then they listen on.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from braidmq.core.cursors._words import Ask
from braidmq.log import Log
from braidmq.model import Topic

LOOK_S: Final = 10.0
"""How long nobody goes without looking, whatever is heard: clocks may jump."""

_Key = tuple[str, UUID]


OnNews = Callable[[int], None]
"""Called with the number of a partition in which something may have come."""


class Attention:
    """A standing wish to hear what may have become ready in some topics; ends with `cancel`."""

    def __init__(self, ears: "Ears", log: Log, group: str, topics: Sequence[Topic], on_news: OnNews) -> None:
        """Raises UnknownPartition."""
        self._watch = log.watch([number for topic in topics for number in topic.partition_numbers], on_news)
        self._ears = ears
        self._keys = [(group, topic.id) for topic in topics]
        for key, topic in zip(self._keys, topics, strict=True):
            ears.attending.setdefault(key, {})[self] = partial(_tell_each, on_news, topic.partition_numbers)

    def cancel(self) -> None:
        self._watch.cancel()
        for key in self._keys:
            heard = self._ears.attending.get(key, {})
            heard.pop(self, None)
            if not heard:
                self._ears.attending.pop(key, None)


def _tell_each(on_news: OnNews, numbers: Sequence[int]) -> None:
    for number in numbers:
        on_news(number)


class Ears:
    """Who listens to which group and topic."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._by_key: dict[_Key, set[asyncio.Event]] = {}
        self.attending: dict[_Key, dict[Attention, Callable[[], None]]] = {}
        """Who hears of each, whether it waits or not."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def count(self, group: str, topic_id: UUID) -> int:
        """How many listen here."""
        return len(self._by_key.get((group, topic_id), ()))

    @contextlib.contextmanager
    def listening(self, asks: Sequence[Ask]) -> Iterator[asyncio.Event]:
        """The event is set whenever one of the asks may find something, new messages in the log among it. Raises
        UnknownPartition."""
        news = asyncio.Event()
        numbers = {number for ask in asks for number in _numbers(ask)}
        watch = self._log.watch(numbers, lambda _: news.set())
        keys = {(ask.group, ask.topic.id) for ask in asks}
        for key in keys:
            self._by_key.setdefault(key, set()).add(news)
        self._count += 1
        try:
            yield news
        finally:
            self._count -= 1
            watch.cancel()
            for key in keys:
                self._leave(key, news)

    def tell(self, group: str, topic_id: UUID) -> None:
        """Something may have become ready."""
        for news in self._by_key.get((group, topic_id), ()):
            news.set()
        for tell in self.attending.get((group, topic_id), {}).values():
            tell()

    def tell_all(self, group: str | None = None) -> None:
        """All listeners, or all of a group, are to look."""
        for (listening_group, _), ears in self._by_key.items():
            if group in (None, listening_group):
                for news in ears:
                    news.set()
        for (attending_group, _), heard in self.attending.items():
            if group in (None, attending_group):
                for tell in heard.values():
                    tell()

    def _leave(self, key: _Key, news: asyncio.Event) -> None:
        ears = self._by_key[key]
        ears.discard(news)
        if not ears:
            del self._by_key[key]


async def wait_for_news(news: asyncio.Event, timeout_s: float) -> None:
    """Until there are some, or the time is over."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(min(timeout_s, LOOK_S)):
            await news.wait()


def _numbers(ask: Ask) -> Sequence[int]:
    numbers = ask.topic.partition_numbers
    return numbers if ask.partition is None else numbers[ask.partition : ask.partition + 1]
