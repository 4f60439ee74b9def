"""Finding messages, reading them from an offset on, and sending one again.

Answers are honest: each says how much was looked through, whether that was all there is, and where to go on. By id and
key messages are found by the index; by time and offset the log itself is read, a bounded piece at a time.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple, Protocol

import msgspec
from msgspec import Meta

from braidmq.core.desk._index_search import Hits, IndexSearch, Wanted, parse_cursor
from braidmq.core.desk._named import LIMIT, checked_limit, named_message, named_partition, named_topic
from braidmq.core.desk._scan import Scan, Stop, Stretch
from braidmq.core.desk.message_views import MessageView, message_view
from braidmq.core.desk.sending import SendResult, new_id
from braidmq.core.filters import Everything, Filter
from braidmq.core.publish import Publisher
from braidmq.core.pull import Puller
from braidmq.core.query import Query
from braidmq.core.retry import Retries
from braidmq.core.shapes import check_readable, check_writable
from braidmq.core.telemetry import Outlet
from braidmq.log import Log
from braidmq.model import (
    ATTEMPT_HEADER,
    DEFAULT_INSTANCE,
    ID_HEADER,
    NEVER_MS,
    ORIGIN_ID_HEADER,
    RETRY_TOPIC_HEADER,
    Message,
    Topic,
)
from braidmq.model.errors import InvalidRequest
from braidmq.records import record_message

PULL_BYTES: Final = 4 << 20

_STOP: Final = re.compile(r"([0-9]{1,5})-([0-9]{1,13})")


class Scanned(msgspec.Struct, frozen=True, kw_only=True):
    """How far a search went."""

    messages: Annotated[int, Meta(examples=[120], description="How many messages were looked at.")]
    bytes: Annotated[int, Meta(examples=[61440], description="The size of their bodies.")]
    total: Annotated[
        int | None, Meta(examples=[120], description="How many there were to look at; null where an index was asked.")
    ] = None
    complete: Annotated[bool, Meta(examples=[True], description="Whether there is nothing more to be found.")]
    explanation: Annotated[str, Meta(examples=["All of the 120 messages of that time were looked at."])]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found. With `cursor` the same search goes on; null says that it is at its end."""

    items: list[MessageView]
    cursor: Annotated[str | None, Meta(examples=["0-120"])]
    scanned: Scanned


class PulledView(msgspec.Struct, frozen=True, kw_only=True):
    """Messages from an offset on, and where to go on."""

    items: list[MessageView]
    next_offset: Annotated[int, Meta(examples=[43])]
    start_offset: Annotated[int, Meta(examples=[0], description="Of the oldest message that is kept.")]
    stable_offset: Annotated[int, Meta(examples=[43], description="Readers see what is before it.")]
    end_offset: Annotated[int, Meta(examples=[43])]


class ResendAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a copy goes: to a topic (its own where none is named), or to one group alone."""

    topic: Annotated[str | None, Meta(examples=["orders"])] = None
    group: Annotated[str | None, Meta(examples=["billing"])] = None


class FindAsk(NamedTuple):
    """What to look for in a topic: an id; a key; a place and what follows it; or a range of time, both ends with it."""

    id: str | None = None
    key: str | None = None
    from_ms: int | None = None
    until_ms: int | None = None
    partition: int | None = None
    offset: int | None = None
    chosen: Filter = Everything()
    limit: int = LIMIT
    cursor: str | None = None
    with_base64: bool = False


class Catalog(Protocol):
    """Which topics there are; see `store.Catalog`."""

    def topic(self, instance: str, name: str) -> Topic | None: ...

    def topics(self) -> list[Topic]: ...


class Messages:
    """Messages that are in their topics."""

    def __init__(
        self,
        catalog: Catalog,
        log: Log,
        puller: Puller,
        query: Query,
        retries: Retries,
        publisher: Publisher,
        outlet: Outlet,
    ) -> None:
        self._catalog = catalog
        self._log = log
        self._puller = puller
        self._query = query
        self._search = IndexSearch(query)
        self._retries = retries
        self._publisher = publisher
        self._outlet = outlet

    # Finding.

    async def find(self, name: str, ask: FindAsk, *, instance: str = DEFAULT_INSTANCE) -> Found:
        """Raises UnknownTopic, UnknownPartition, InvalidRequest, IndexOff, and the log's errors."""
        topic = named_topic(self._catalog, name, instance)
        checked_limit(ask.limit)
        if sum(each is not None for each in (ask.id, ask.key, ask.partition)) > 1:
            raise InvalidRequest("a search is by one of id, key and partition (with offset); leave the others out")
        if ask.id is None and ask.key is None:
            return await self._by_scan(topic, ask)
        until_ms = NEVER_MS if ask.until_ms is None else ask.until_ms
        wanted = Wanted(ask.id, ask.key, ask.from_ms or 0, until_ms)
        return self._found(await self._search.in_topic(topic, wanted, ask.limit, ask.cursor), ask)

    async def _by_scan(self, topic: Topic, ask: FindAsk) -> Found:
        times_ms = (-1 if ask.from_ms is None else ask.from_ms, NEVER_MS if ask.until_ms is None else ask.until_ms)
        scan = Scan(self._puller, topic, ask.chosen, ask.limit, times_ms=times_ms)
        stop: Stop | None = None
        stretches = await self._stretches(topic, ask, times_ms)
        for stretch in stretches:
            stop = await scan.through(stretch)
            if stop is not None:
                break
        went = f"{scan.messages} messages ({scan.bytes} bytes) were looked through"
        scanned = Scanned(
            messages=scan.messages,
            bytes=scan.bytes,
            total=sum(max(0, each.end - each.begin) for each in stretches),
            complete=stop is None,
            explanation=f"{went}; that is all there is." if stop is None else f"{went}; go on with the cursor.",
        )
        cursor = None if stop is None else f"{stop.partition}-{stop.offset}"
        return Found(items=_views(scan.found, ask), cursor=cursor, scanned=scanned)

    async def _stretches(self, topic: Topic, ask: FindAsk, times_ms: tuple[int, int]) -> list[Stretch]:
        """What is to be looked through, in order."""
        first = parse_cursor(_STOP, ask.cursor) or (ask.partition or 0, -1 if ask.offset is None else ask.offset)
        named_partition(topic, first[0])
        partitions = range(first[0], len(topic.partition_numbers)) if ask.partition is None else (ask.partition,)
        found = []
        for partition in partitions:
            begin, end = await self._query.stretch(topic.partition_numbers[partition], *times_ms)
            found.append(Stretch(partition, max(begin, first[1]) if partition == first[0] else begin, end))
        return found

    async def find_everywhere(
        self,
        *,
        id: str | None = None,
        key: str | None = None,
        limit: int = LIMIT,
        cursor: str | None = None,
        instance: str = DEFAULT_INSTANCE,
        with_base64: bool = False,
    ) -> Found:
        """By id or key in all topics, in the order of their names. Raises InvalidRequest, IndexOff."""
        if (id is None) == (key is None):
            raise InvalidRequest("a search over all topics is by one of id and key")
        ask = FindAsk(limit=checked_limit(limit), with_base64=with_base64)
        topics = (each for each in self._catalog.topics() if each.instance == instance)
        return self._found(await self._search.in_topics(topics, Wanted(id, key), limit, cursor), ask)

    def _found(self, hits: Hits, ask: FindAsk) -> Found:
        """An answer from the index, with what the index does not have yet."""
        found, topics, cursor, is_more = hits
        behind = sum(each.behind for topic in topics for each in self._query.indexed_to(topic).values())
        where = "one topic" if len(topics) == 1 else f"{len(topics)} topics"
        parts = [f"Found by the index of {where}"]
        if behind:
            parts.append(f"{behind} messages are not in the index yet")
        if is_more:
            parts.append("there may be more" + ("; go on with the cursor" if cursor is not None else ""))
        scanned = Scanned(
            messages=len(found),
            bytes=sum(len(each.body or b"") for each in found),
            complete=not behind and not is_more,
            explanation="; ".join(parts) + ".",
        )
        return Found(items=_views(found, ask), cursor=cursor, scanned=scanned)

    # Reading.

    async def at(
        self,
        name: str,
        partition: int,
        offset: int,
        *,
        instance: str = DEFAULT_INSTANCE,
        with_base64: bool = False,
    ) -> MessageView:
        """Raises UnknownTopic, UnknownPartition, UnknownMessage."""
        topic = named_topic(self._catalog, name, instance)
        return message_view(await self._message(topic, partition, offset), with_base64=with_base64)

    async def pull(
        self,
        name: str,
        partition: int,
        *,
        offset: int | None = None,
        limit: int = LIMIT,
        wait_s: float = 0.0,
        chosen: Filter | None = None,
        instance: str = DEFAULT_INSTANCE,
        with_base64: bool = False,
    ) -> PulledView:
        """Messages from the offset on, or from the oldest; waits so long for the first that is wanted. Raises
        UnknownTopic, UnknownPartition, OffsetOutOfRange, NotPermitted, DamagedLog."""
        topic = named_topic(self._catalog, name, instance)
        number = named_partition(topic, partition)
        check_readable(topic)
        begin = self._log.bounds(number).start if offset is None else offset
        pulled = await self._puller.pull(
            number,
            begin,
            chosen or Everything(),
            count_max=checked_limit(limit),
            bytes_max=PULL_BYTES,
            wait_s=wait_s,
        )
        if pulled.records:
            size_bytes = sum(len(record.value or b"") for record in pulled.records)
            self._outlet.gave_records("", number, pulled.records, size_bytes)
        start, stable, end = self._log.bounds(number)
        messages = (record_message(record, topic.name, partition) for record in pulled.records)
        return PulledView(
            items=[message_view(each, with_base64=with_base64) for each in messages],
            next_offset=pulled.next_offset,
            start_offset=start,
            stable_offset=stable,
            end_offset=end,
        )

    # Sending again.

    async def resend(
        self, name: str, partition: int, offset: int, ask: ResendAsk, *, instance: str = DEFAULT_INSTANCE
    ) -> SendResult:
        """Append a copy, with the same id, to a topic, or give it to one group by its retry topic. Raises UnknownTopic,
        UnknownPartition, UnknownMessage, InvalidRequest, InvalidName, and what publishing raises."""
        if ask.topic is not None and ask.group is not None:
            raise InvalidRequest("a message is sent again to a topic or to a group; name one of them")
        source = named_topic(self._catalog, name, instance)
        message = _fresh(await self._message(source, partition, offset))
        if ask.group is not None:
            return await self._resend_to_group(source, message, ask.group)
        target = source if ask.topic is None else named_topic(self._catalog, ask.topic, instance)
        check_writable(target)
        published = await self._publisher.published(target, (message,))
        return SendResult(id=message.id, partition=published.partition, offset=published.offset)

    async def _resend_to_group(self, source: Topic, message: Message, group: str) -> SendResult:
        headers = {RETRY_TOPIC_HEADER: source.name, ORIGIN_ID_HEADER: message.id}
        sent = await self._retries.accept(
            group, message.with_headers(headers), attempts=0, delay_ms=0, instance=source.instance
        )
        return SendResult(id=sent.message_id)

    async def _message(self, topic: Topic, partition: int, offset: int) -> Message:
        return await named_message(self._query, self._log, topic, partition, offset)


def _fresh(message: Message) -> Message:
    """A copy that begins anew."""
    made = msgspec.structs.replace(message, topic="", partition=-1, offset=-1)
    return made.with_headers({ATTEMPT_HEADER: None, ID_HEADER: message.id or new_id()})


def _views(messages: Sequence[Message], ask: FindAsk) -> list[MessageView]:
    return [message_view(each, with_base64=ask.with_base64) for each in messages]
