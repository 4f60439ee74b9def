"""Searching by id and key, page by page: in one topic, or in one topic after the other.

The index gives the newest messages first and knows no cursors. So a page goes on at the time of the last message that
was shown, behind as many of that millisecond as were shown already.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from braidmq.core.query import RESULTS_MAX, Query
from braidmq.model import NEVER_MS, Message, Topic
from braidmq.model.errors import InvalidRequest

TOPICS_MAX: Final = 1_000
SEARCH_S: Final = 5.0
"""In how many topics a search over all of them looks, and how long, before it says how far it came."""

_BEFORE: Final = re.compile(r"([0-9]{1,19})-([0-9]{1,4})")


class Wanted(NamedTuple):
    """An id or a key, and for a key the times, both with it."""

    id: str | None = None
    key: str | None = None
    from_ms: int = 0
    until_ms: int = NEVER_MS


class Hits(NamedTuple):
    """What was found in which topics; with `cursor` the search goes on, and without one `is_more` says that not all
    could be shown."""

    messages: list[Message]
    topics: Sequence[Topic]
    cursor: str | None
    is_more: bool


class IndexSearch:
    """Asks the index."""

    def __init__(self, query: Query) -> None:
        self._query = query

    async def in_topic(self, topic: Topic, wanted: Wanted, limit: int, cursor: str | None) -> Hits:
        """Raises InvalidRequest, IndexOff."""
        until_ms, skipped = parse_cursor(_BEFORE, cursor) or (wanted.until_ms, 0)
        count = limit + skipped + 1
        if wanted.id is not None:
            found = await self._query.by_id(topic, wanted.id, count)
        else:
            found = await self._query.by_key(topic, wanted.key or "", wanted.from_ms, until_ms, count)
        shown = found[skipped : skipped + limit]
        is_more = len(found) >= min(count, RESULTS_MAX)
        if not is_more or not shown:
            return Hits(shown, (topic,), None, is_more)
        if wanted.id is not None:
            return Hits(shown, (topic,), f"0-{skipped + len(shown)}", is_more)
        last_ms = shown[-1].born_ms
        same = sum(each.born_ms == last_ms for each in found[: skipped + limit])
        return Hits(shown, (topic,), f"{last_ms}-{same}", is_more)

    async def in_topics(self, topics: Iterable[Topic], wanted: Wanted, limit: int, cursor: str | None) -> Hits:
        """In the order of their names. Raises InvalidRequest, IndexOff."""
        name, _, inner = (cursor or "").partition("/")
        left = sorted((each for each in topics if each.name >= name), key=lambda each: each.name)
        deadline_s = asyncio.get_running_loop().time() + SEARCH_S
        found: list[Message] = []
        for at, topic in enumerate(left):
            if at >= TOPICS_MAX or len(found) >= limit or asyncio.get_running_loop().time() > deadline_s:
                return Hits(found, left[:at], f"{topic.name}/", is_more=True)
            begun = inner if inner and topic.name == name else None
            hits = await self.in_topic(topic, wanted, limit - len(found), begun)
            found += hits.messages
            if hits.cursor is not None:
                return Hits(found, left[: at + 1], f"{topic.name}/{hits.cursor}", is_more=True)
        return Hits(found, left, None, is_more=False)


def parse_cursor(shape: re.Pattern[str], cursor: str | None) -> tuple[int, int] | None:
    """Raises InvalidRequest."""
    if cursor is None:
        return None
    if (found := shape.fullmatch(cursor)) is None:
        raise InvalidRequest("cursor: it is not one of this search; take it from the answer before, as it is")
    return int(found[1]), int(found[2])
