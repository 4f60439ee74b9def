"""The brokers, as far as reading needs them: which partitions there are, their offsets, and batches from them.

Every question is asked again where a leader moved or a connection broke, until it is answered or the limit has passed.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from aiokafka import errors as kafka_errors

from braidmq.pipeline.errors import BrokerUnreachable, ReadFailed
from braidmq.pipeline.source._options import Connection, fetch_setting, read_security
from braidmq.pipeline.source._wire import (
    Answer,
    Api,
    BrokerConnection,
    array,
    by_topic,
    int8,
    int32,
    int64,
    text,
)

RETRY_LIMIT_S: Final = 60.0
_BACK_OFF_S: Final = 0.1
_BACK_OFF_MAX_S: Final = 2.0
_REQUEST_LIMIT_MS: Final = 40_000
_FETCH_BYTES: Final = 8 * 1024 * 1024
_FETCH_PARTITION_BYTES: Final = 8 * 1024 * 1024
_FETCH_WAIT_MS: Final = 500
_FETCH_PARTITIONS_MAX: Final = 256
_PORT: Final = "9092"
_TOPIC_RESOURCE: Final = 2
_OFFSET_OUT_OF_RANGE: Final = 1
_UNKNOWN_TOPIC: Final = 3
_Answered = TypeVar("_Answered")


class Place(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"


class Wanted(NamedTuple):
    """From which offset on batches are asked for, and how many bytes of them are of use."""

    position: int
    size_bytes: int


class Fetched(NamedTuple):
    """What a broker gave of one partition: batches back to back in the buffer from `start` to `end`, the last perhaps
    cut off. The buffer is good until the next answer is received."""

    place: Place
    out_of_range: bool
    readable_to: int
    aborted: Sequence[tuple[int, int]]
    buffer: bytearray
    start: int
    end: int


class Stale(Exception):
    """A leader has moved, or is being chosen: ask again."""


class Fetch:
    """A question for batches that is on its way; None where it could not be sent, and must be asked anew."""

    def __init__(self, wanted: Mapping[Place, Wanted], node: int | None = None) -> None:
        self.wanted = wanted
        self.node = node


class Cluster:
    """One client. Not for use by several threads."""

    def __init__(self, connection: Connection, *, read_committed: bool, retry_limit_s: float = RETRY_LIMIT_S) -> None:
        self._connection = connection
        self._security = read_security(connection)
        self._isolation = int(read_committed)
        self._retry_limit_s = retry_limit_s
        self._request_limit_s = fetch_setting(connection, "socket.timeout.ms", _REQUEST_LIMIT_MS) / 1000
        self._fetch_bytes = fetch_setting(connection, "fetch.max.bytes", _FETCH_BYTES)
        self._partition_bytes = fetch_setting(connection, "max.partition.fetch.bytes", _FETCH_PARTITION_BYTES)
        self._wait_ms = fetch_setting(connection, "fetch.wait.max.ms", _FETCH_WAIT_MS)
        self._open: dict[int, BrokerConnection] = {}
        self._addresses: dict[int, tuple[str, int]] = {}
        self._leaders: dict[Place, int] = {}

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def partitions(self, topics: Collection[str] | None) -> dict[str, list[int]]:
        """The partitions of these topics that exist, or of all topics that are not the brokers' own."""
        return self._retried(lambda: self._partitions(topics))

    def has(self, topic: str) -> bool:
        """Whether there is such a topic, or the brokers understand its name as one."""
        try:
            return bool(self.partitions([topic]))
        except ReadFailed:
            return False

    def offsets(self, times: Mapping[Place, int]) -> dict[Place, int]:
        """For each partition the first offset of this time or later: the start with EARLIEST, the end (of what is
        committed, if only that is read) with LATEST. -1 where nothing is so late, or there is no such partition."""
        return self._retried(lambda: self._offsets(times)) if times else {}

    def settings(self, topics: Iterable[str], name: str) -> dict[str, str]:
        """What this setting of the topics is, as far as one may know."""
        return self._retried(lambda: self._settings(sorted(set(topics)), name))

    def begin_fetch(self, wanted: Mapping[Place, Wanted]) -> Fetch:
        """Ask for batches; the request is on its way when this returns."""
        fetch = Fetch(wanted)
        try:
            self._send_fetch(fetch)
        except (Stale, OSError):
            self._start_over()
        return fetch

    def end_fetch(self, fetch: Fetch) -> list[Fetched]:
        """What was asked for. It may be less than all partitions; empty when nothing came within the waiting time."""
        return self._retried(lambda: self._receive_fetch(fetch))

    def give_up(self, fetch: Fetch) -> None:
        """Nobody waits for this answer any more."""
        if fetch.node is not None:
            self._drop(fetch.node)

    def _retried(self, question: Callable[[], _Answered]) -> _Answered:
        deadline = time.monotonic() + self._retry_limit_s
        pause_s = _BACK_OFF_S
        while True:
            try:
                return question()
            except (Stale, OSError) as error:
                self._start_over()
                if time.monotonic() + pause_s > deadline:
                    raise BrokerUnreachable(
                        f"{self._connection.bootstrap}: no answer within {self._retry_limit_s:.0f} s, last {error!r}"
                    ) from error
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _BACK_OFF_MAX_S)

    def _start_over(self) -> None:
        self.close()
        self._leaders.clear()
        self._addresses.clear()

    def _drop(self, node: int) -> None:
        if (connection := self._open.pop(node, None)) is not None:
            connection.close()

    def _connected(self, node: int) -> BrokerConnection:
        if node not in self._open:
            if node not in self._addresses:
                raise Stale(f"broker {node} has no address")
            self._open[node] = BrokerConnection(*self._addresses[node], self._security, self._request_limit_s)
        return self._open[node]

    def _any(self) -> BrokerConnection:
        """Any broker: one that is connected already, else the first of the given addresses that answers."""
        if self._open:
            return next(iter(self._open.values()))
        failures: list[str] = []
        for address in self._connection.bootstrap.split(","):
            host, _, port = address.strip().rpartition(":") if ":" in address else (address.strip(), "", _PORT)
            try:
                self._open[-1] = BrokerConnection(host.strip("[]"), int(port), self._security, self._request_limit_s)
                return self._open[-1]
            except OSError as error:
                failures.append(f"{address}: {error}")
        raise OSError("; ".join(failures))

    def _partitions(self, topics: Collection[str] | None) -> dict[str, list[int]]:
        names = None if topics is None else [text(topic) for topic in sorted(topics)]
        answer = self._any().ask(Api.METADATA, array(names) + int8(0))
        answer.int32()
        self._addresses = dict(answer.array(lambda: _read_broker(answer)))
        answer.text()
        answer.int32()
        found: dict[str, list[int]] = {}
        for code, topic, is_internal, leaders in answer.array(lambda: _read_topic(answer)):
            if code == _UNKNOWN_TOPIC or (topics is None and is_internal):
                continue
            _check(code, topic)
            found[topic] = sorted(leaders)
            self._leaders |= {Place(topic, number): leader for number, leader in leaders.items() if leader >= 0}
        return found

    def _by_leader(self, places: Iterable[Place]) -> dict[int, list[Place]]:
        wanted = list(places)
        if any(place not in self._leaders for place in wanted):
            known = self._partitions({place.topic for place in wanted})
            wanted = [place for place in wanted if place.partition in known.get(place.topic, ())]
        by_leader: dict[int, list[Place]] = {}
        for place in wanted:
            if place not in self._leaders:
                raise Stale(f"{place} has no leader")
            by_leader.setdefault(self._leaders[place], []).append(place)
        return by_leader

    def _offsets(self, times: Mapping[Place, int]) -> dict[Place, int]:
        found = dict.fromkeys(times, -1)
        for node, places in self._by_leader(times).items():
            body = by_topic([(place.topic, int32(place.partition) + int64(times[place])) for place in places])
            answer = self._connected(node).ask(Api.LIST_OFFSETS, int32(-1) + int8(self._isolation) + body)
            answer.int32()
            for topic, partitions in answer.array(lambda: (answer.text(), answer.array(lambda: _read_offset(answer)))):  # noqa: B023
                for partition, code, offset in partitions:
                    _check(code, Place(topic, partition))
                    found[Place(topic, partition)] = offset
        return found

    def _settings(self, topics: Sequence[str], name: str) -> dict[str, str]:
        resources = array(int8(_TOPIC_RESOURCE) + text(topic) + array([text(name)]) for topic in topics)
        answer = self._any().ask(Api.DESCRIBE_CONFIGS, resources + int8(0))
        answer.int32()
        told = answer.array(lambda: _read_resource(answer))
        return {topic: settings[name] for topic, settings in told if name in settings}

    def _send_fetch(self, fetch: Fetch) -> None:
        """To the leader of the first; the others have their turn when it is done."""
        by_leader = self._by_leader(fetch.wanted)
        first = next(iter(fetch.wanted))
        leaders = [node for node, places in by_leader.items() if first in places]
        if not leaders:
            raise ReadFailed(f"{first} does not exist any more")
        partitions = [
            (place.topic, self._asked(place, fetch.wanted[place]))
            for place in by_leader[leaders[0]][:_FETCH_PARTITIONS_MAX]
        ]
        limits = int32(-1) + int32(self._wait_ms) + int32(1) + int32(self._fetch_bytes) + int8(self._isolation)
        no_session = int32(0) + int32(-1)
        self._connected(leaders[0]).send(Api.FETCH, limits + no_session + by_topic(partitions) + array([]))
        fetch.node = leaders[0]

    def _asked(self, place: Place, wanted: Wanted) -> bytes:
        size_bytes = min(wanted.size_bytes, self._partition_bytes)
        return int32(place.partition) + int32(-1) + int64(wanted.position) + int64(-1) + int32(size_bytes)

    def _receive_fetch(self, fetch: Fetch) -> list[Fetched]:
        if fetch.node is None:
            self._send_fetch(fetch)
        assert fetch.node is not None
        node, fetch.node = fetch.node, None
        answer = self._connected(node).receive()
        answer.int32()
        _check(answer.int16(), "fetch")
        answer.int32()
        topics = answer.array(lambda: _read_fetched_topic(answer))
        return [fetched for partitions in topics for fetched in partitions]


def _read_broker(answer: Answer) -> tuple[int, tuple[str, int]]:
    node, host, port = answer.int32(), answer.text(), answer.int32()
    answer.text()
    return node, (host, port)


def _read_topic(answer: Answer) -> tuple[int, str, bool, dict[int, int]]:
    code, topic, is_internal = answer.int16(), answer.text(), bool(answer.int8())
    return code, topic, is_internal, dict(answer.array(lambda: _read_leader(answer)))


def _read_leader(answer: Answer) -> tuple[int, int]:
    answer.int16()
    partition, leader = answer.int32(), answer.int32()
    answer.array(answer.int32)
    answer.array(answer.int32)
    return partition, leader


def _read_offset(answer: Answer) -> tuple[int, int, int]:
    partition, code = answer.int32(), answer.int16()
    answer.int64()
    return partition, code, answer.int64()


def _read_resource(answer: Answer) -> tuple[str, dict[str, str]]:
    answer.int16()
    answer.text()
    answer.int8()
    return answer.text(), dict(answer.array(lambda: _read_setting(answer)))


def _read_setting(answer: Answer) -> tuple[str, str]:
    name, value = answer.text(), answer.text()
    for _ in range(3):
        answer.int8()
    answer.array(lambda: (answer.text(), answer.text(), answer.int8()))
    return name, value


def _read_fetched_topic(answer: Answer) -> list[Fetched]:
    topic = answer.text()
    return answer.array(lambda: _read_fetched(answer, topic))


def _read_fetched(answer: Answer, topic: str) -> Fetched:
    place, code = Place(topic, answer.int32()), answer.int16()
    answer.int64()
    readable_to = answer.int64()
    answer.int64()
    aborted = answer.array(lambda: (answer.int64(), answer.int64()))
    start, end = answer.span()
    if code != _OFFSET_OUT_OF_RANGE:
        _check(code, place)
    return Fetched(place, code == _OFFSET_OUT_OF_RANGE, readable_to, aborted, answer.buffer, start, end)


def _check(code: int, what: object) -> None:
    if code == 0:
        return
    error = kafka_errors.for_code(code)
    if error.retriable or code == _UNKNOWN_TOPIC:
        raise Stale(f"{what}: {error.__name__}")
    raise ReadFailed(f"{what}: {error.__name__}, {error.description}")
