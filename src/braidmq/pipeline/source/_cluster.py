"""The brokers, as far as reading needs them: which partitions there are, their offsets, and batches from them.

aiokafka's client does what every Kafka client must (addresses, TLS, SASL, versions, matching answers to requests); here
are the five questions that the source asks, asked again where a leader moved or a connection broke. Callers are plain
functions in Spark's worker processes: each question runs the event loop until it is answered.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from aiokafka import errors as kafka_errors
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.admin import DescribeConfigsRequest
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.offset import OffsetRequest

from braidmq.pipeline.errors import BrokerUnreachable, ReadFailed
from braidmq.pipeline.source._options import Connection, client_settings, fetch_setting

RETRY_LIMIT_S: Final = 60.0
_BACK_OFF_S: Final = 0.1
_BACK_OFF_MAX_S: Final = 2.0
_FETCH_BYTES: Final = 8 * 1024 * 1024
_FETCH_PARTITION_BYTES: Final = 4 * 1024 * 1024
_FETCH_WAIT_MS: Final = 500
_FETCH_PARTITIONS_MAX: Final = 256
_TOPIC_RESOURCE: Final = 2
_OFFSET_OUT_OF_RANGE: Final = 1
_UNKNOWN_TOPIC: Final = 3
_Answer = TypeVar("_Answer")


class Place(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"


class Fetched(NamedTuple):
    """What a broker gave of one partition. `data` is batches back to back, the last perhaps cut off."""

    place: Place
    out_of_range: bool
    readable_to: int
    aborted: Sequence[tuple[int, int]]
    data: bytes


class Stale(Exception):
    """A leader has moved, or is being chosen: ask again."""


class Cluster:
    """One client. Not for use by several threads."""

    def __init__(self, connection: Connection, *, read_committed: bool, retry_limit_s: float = RETRY_LIMIT_S) -> None:
        self._connection = connection
        self._isolation = int(read_committed)
        self._retry_limit_s = retry_limit_s
        self._loop = asyncio.new_event_loop()
        self._client: AIOKafkaClient | None = None
        self._leaders: dict[Place, int] = {}
        self._fetch_bytes = fetch_setting(connection, "fetch.max.bytes", _FETCH_BYTES)
        self._partition_bytes = fetch_setting(connection, "max.partition.fetch.bytes", _FETCH_PARTITION_BYTES)
        self._wait_ms = fetch_setting(connection, "fetch.wait.max.ms", _FETCH_WAIT_MS)

    def close(self) -> None:
        if self._client is not None:
            self._loop.run_until_complete(self._client.close())
            self._client = None
        self._loop.close()

    def partitions(self, topics: Collection[str] | None) -> dict[str, list[int]]:
        """The partitions of these topics that exist, or of all topics that are not the brokers' own."""
        return self._ask(lambda: self._partitions(topics))

    def offsets(self, times: Mapping[Place, int]) -> dict[Place, int]:
        """For each partition the first offset of this time or later: the start with EARLIEST, the end (of what is
        committed, if only that is read) with LATEST. -1 where nothing is so late, or there is no such partition."""
        return self._ask(lambda: self._offsets(times)) if times else {}

    def compacted(self, topics: Iterable[str]) -> set[str]:
        """Those of the topics in which messages give way to later ones of the same key, as far as one may know."""
        return self._ask(lambda: self._compacted(sorted(set(topics))))

    def begin_fetch(
        self, positions: Mapping[Place, int], partition_bytes: int | None = None
    ) -> "asyncio.Task[list[Fetched]]":
        """Ask for batches from these positions on; the request is on its way when this returns."""
        task = self._loop.create_task(
            self._retried(lambda: self._fetch(positions, partition_bytes or self._partition_bytes))
        )
        self._loop.run_until_complete(asyncio.sleep(0))
        return task

    def end_fetch(self, task: "asyncio.Task[list[Fetched]]") -> list[Fetched]:
        """What was asked for. It may be less than all partitions; empty when nothing came within the waiting time."""
        return self._loop.run_until_complete(task)

    def give_up(self, task: "asyncio.Task[list[Fetched]]") -> None:
        """Nobody waits for this answer any more."""
        task.cancel()
        self._loop.run_until_complete(asyncio.gather(task, return_exceptions=True))

    def _ask(self, question: Callable[[], Awaitable[_Answer]]) -> _Answer:
        return self._loop.run_until_complete(self._retried(question))

    async def _retried(self, question: Callable[[], Awaitable[_Answer]]) -> _Answer:
        deadline = time.monotonic() + self._retry_limit_s
        pause_s = _BACK_OFF_S
        while True:
            try:
                return await question()
            except (Stale, kafka_errors.KafkaError, OSError, TimeoutError) as error:
                if isinstance(error, kafka_errors.KafkaError) and not error.retriable:
                    raise ReadFailed(f"{self._connection.bootstrap}: {error!r}") from error
                self._leaders.clear()
                if time.monotonic() + pause_s > deadline:
                    raise BrokerUnreachable(
                        f"{self._connection.bootstrap}: no answer within {self._retry_limit_s:.0f} s, last {error!r}"
                    ) from error
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _BACK_OFF_MAX_S)

    async def _connected(self) -> AIOKafkaClient:
        if self._client is None:
            client = AIOKafkaClient(
                **({"client_id": "braid-pipeline"} | client_settings(self._connection)),
                bootstrap_servers=self._connection.bootstrap,
            )
            try:
                await client.bootstrap()
            except BaseException:
                await client.close()
                raise
            self._client = client
        return self._client

    async def _send(self, node: int | None, request: Any) -> Any:
        client = await self._connected()
        node = client.get_random_node() if node is None else node
        try:
            return await client.send(node, request)
        except kafka_errors.StaleMetadata as error:
            raise Stale(str(error)) from error

    async def _partitions(self, topics: Collection[str] | None) -> dict[str, list[int]]:
        named = None if topics is None else list(topics)
        answer = await self._send(None, MetadataRequest(named, allow_auto_topic_creation=False))
        client = await self._connected()
        client.cluster.update_metadata(answer)
        found: dict[str, list[int]] = {}
        for code, topic, is_internal, partitions in answer.topics:
            if code == _UNKNOWN_TOPIC or (named is None and is_internal):
                continue
            _check(code, topic)
            found[topic] = sorted(each[1] for each in partitions)
            self._leaders |= {Place(topic, each[1]): each[2] for each in partitions if each[2] >= 0}
        return found

    async def _by_leader(self, places: Iterable[Place]) -> dict[int, list[Place]]:
        wanted = list(places)
        if any(place not in self._leaders for place in wanted):
            known = await self._partitions({place.topic for place in wanted})
            wanted = [place for place in wanted if place.partition in known.get(place.topic, ())]
        by_leader: dict[int, list[Place]] = {}
        for place in wanted:
            if place not in self._leaders:
                raise Stale(f"{place} has no leader")
            by_leader.setdefault(self._leaders[place], []).append(place)
        return by_leader

    async def _offsets(self, times: Mapping[Place, int]) -> dict[Place, int]:
        found = dict.fromkeys(times, -1)
        for node, places in (await self._by_leader(times)).items():
            topics = _by_topic((place, (place.partition, times[place])) for place in places)
            answer = await self._send(node, OffsetRequest(-1, self._isolation, topics))
            for topic, partitions in answer.topics:
                for partition, code, _, offset, *_ in partitions:
                    _check(code, Place(topic, partition))
                    found[Place(topic, partition)] = offset
        return found

    async def _compacted(self, topics: Sequence[str]) -> set[str]:
        resources = [(_TOPIC_RESOURCE, topic, ["cleanup.policy"]) for topic in topics]
        answer = await self._send(None, DescribeConfigsRequest(resources))
        return {
            resource[3]
            for resource in answer.resources
            if any(entry[0] == "cleanup.policy" and "compact" in (entry[1] or "") for entry in resource[4])
        }

    async def _fetch(self, positions: Mapping[Place, int], partition_bytes: int) -> list[Fetched]:
        """From the leader of the first; the others have their turn when it is done."""
        by_leader = await self._by_leader(positions)
        first = next(iter(positions))
        node, places = next(((node, places) for node, places in by_leader.items() if first in places), (None, []))
        if node is None:
            raise ReadFailed(f"{first} does not exist any more")
        chosen = places[:_FETCH_PARTITIONS_MAX]
        topics = _by_topic((place, (place.partition, positions[place], partition_bytes)) for place in chosen)
        request = FetchRequest(self._wait_ms, 1, self._fetch_bytes, self._isolation, topics)
        answer = await self._send(node, request)
        return [_fetched(topic, partition) for topic, partitions in answer.topics for partition in partitions]


def _by_topic(pairs: Iterable[tuple[Place, tuple[int, ...]]]) -> list[tuple[str, list[tuple[int, ...]]]]:
    topics: dict[str, list[tuple[int, ...]]] = {}
    for place, values in pairs:
        topics.setdefault(place.topic, []).append(values)
    return list(topics.items())


def _fetched(topic: str, fields: Sequence[Any]) -> Fetched:
    """Version 4 and later: number, error, end, stable end, (log start), aborted, (preferred replica), batches."""
    partition, code, _, stable_end = fields[:4]
    place = Place(topic, partition)
    if code == _OFFSET_OUT_OF_RANGE:
        return Fetched(place, True, -1, (), b"")
    _check(code, place)
    aborted = next((each for each in fields[4:-1] if isinstance(each, list)), [])
    return Fetched(place, False, stable_end, aborted, fields[-1] or b"")


def _check(code: int, what: object) -> None:
    if code == 0:
        return
    error = kafka_errors.for_code(code)
    if error.retriable or code == _UNKNOWN_TOPIC:
        raise Stale(f"{what}: {error.__name__}")
    raise ReadFailed(f"{what}: {error.__name__}, {error.description}")
