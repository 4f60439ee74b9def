"""Replay: history of a topic from the archive back into a topic, by the Kafka protocol, without a message twice.

Messages go in chunks. A chunk is one transaction, and the position after it is committed in the same transaction, as
the offset of a group of this replay: a replay that was cut off goes on behind the last whole chunk, and whoever reads
committed messages sees each once. The transactional id fences off a replay of the same that still runs.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from braidmq.model import BORN_HEADER, BraidError
from braidmq.model.names import REPLAY_GROUP_PREFIX
from braidmq.pipeline._brokers import topics_at
from braidmq.pipeline.archive._layout import Folders, by_schema
from braidmq.pipeline.errors import BrokerUnreachable, InvalidOption
from braidmq.pipeline.tables import LiveFile, Table

REPLAY_HEADER: Final = "__replay"
"""Where a message was in the archive: topic, partition and offset, with spaces between them."""
CHUNK: Final = 2_000
CHUNK_BYTES: Final = 32 * 1024 * 1024
"""No chunk has more bytes of bodies, and no more are held at once, unless one message has more."""
_WINDOW_OFFSETS: Final = 20_000
_FULL_S: Final = 0.1
_ANSWER_LIMIT_S: Final = 30.0
_ATTEMPTS: Final = 5
_COLUMNS: Final = '"partition", "offset", "key", "value", headers, store_time, born_time, repeated_headers'
_OLD_COLUMNS: Final = '"partition", "offset", "key", "value", headers, store_time, born_time, NULL'
"""Of files from before headers could come twice."""

_SIZES: Final = '"offset", coalesce(octet_length("value"), 0) + coalesce(octet_length("key"), 0)'
_IN_ORDER: Final = 'AND "partition" = ? AND "offset" >= ? AND "offset" < ? ORDER BY "offset"'

Progress = Callable[[int, int], None]
"""Told how many messages are in the topic, and how many there will be."""


class ReplayFailed(BraidError):
    """The replay was cut off. Start it again: it goes on where it ended."""

    code = "replay_failed"
    retriable = True


class Replayed(msgspec.Struct, frozen=True):
    """What a replay did."""

    sent: int
    already: int
    """Those that an earlier run of the same replay had sent."""


class _Position(msgspec.Struct):
    """Partitions before this one are done, and this one up to before `next`."""

    partition: int = 0
    next: int = 0
    sent: int = 0
    end_ms: int | None = None
    done: bool = False


class _Message(msgspec.Struct):
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, str | bytes | None]]

    @property
    def size_bytes(self) -> int:
        return len(self.key or b"") + len(self.value or b"")


def replay(
    path: str | Path,
    *,
    topic: str,
    into: str,
    bootstrap: str,
    start: datetime | None = None,
    end: datetime | None = None,
    progress: Progress | None = None,
    name: str = "",
    kafka: Mapping[str, str] | None = None,
    chunk: int = CHUNK,
) -> Replayed:
    """Sends the messages of `topic` that were stored from `start` to before `end` to the topic `into`, each partition
    in its order, to the partition of the same number as far as there is one. The same call again goes on where the
    last one ended, and does nothing when that was the end; with another `name` it begins anew.

    Raises InvalidOption where the topic `into` does not exist, BrokerUnreachable, ReplayFailed.
    """
    settings = dict(kafka or {})
    partitions = _partitions(bootstrap, settings, into)
    archive = _Archive(path, topic)
    target = _Target(bootstrap, settings, into, partitions, _identity(path, topic, into, start, end, name))
    try:
        position = target.begin()
        if position.end_ms is None:
            position.end_ms = int((_utc(end) or datetime.now(UTC)).timestamp() * 1000)
        archive.open(_utc(start), datetime.fromtimestamp(position.end_ms / 1000, UTC))
        return _run(archive, target, position, progress, chunk)
    finally:
        target.close()
        archive.close()


def count(path: str | Path, *, topic: str, start: datetime | None = None, end: datetime | None = None) -> int:
    """How many messages a replay of this time would send, from its beginning."""
    archive = _Archive(path, topic)
    try:
        archive.open(_utc(start), _utc(end) or datetime.now(UTC))
        return archive.total
    finally:
        archive.close()


def _run(archive: "_Archive", target: "_Target", position: _Position, progress: Progress | None, size: int) -> Replayed:
    already = position.sent
    total = archive.total
    if not position.done:
        for messages in archive.chunks(position, size):
            target.send(messages, position)
            if progress is not None:
                progress(position.sent, total)
        position.done = True
        target.send([], position)
    if progress is not None:
        progress(position.sent, total)
    return Replayed(position.sent - already, already)


def _identity(path: str | Path, topic: str, into: str, start: datetime | None, end: datetime | None, name: str) -> str:
    parts = [str(Folders(path).root), topic, into, str(_utc(start)), str(_utc(end)), name]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _utc(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _partitions(bootstrap: str, settings: Mapping[str, str], topic: str) -> int:
    found = topics_at(bootstrap, settings).get(topic)
    if not found:
        raise InvalidOption(f"there is no topic {topic} to replay into; create it first")
    return len(found)


class _Archive:
    """The messages of one topic, partition by partition, in the order of their offsets."""

    def __init__(self, path: str | Path, topic: str) -> None:
        self._table = Table.open(Folders(path).messages)
        self._topic = topic
        self._connection = duckdb.connect(":memory:", config={"memory_limit": "1GB", "threads": 1})
        self._connection.execute("SET TimeZone = 'UTC'")
        self._files: list[LiveFile] = []
        self._times: list[Any] = []
        self._bounds: list[tuple[int, int, int]] = []
        self.total = 0

    def close(self) -> None:
        self._connection.close()

    def open(self, start: datetime | None, end: datetime) -> None:
        self._times = [start or datetime(1970, 1, 1, tzinfo=UTC), end]
        self._files = [
            file
            for file in self._table.files()
            if file.low["topic"] <= self._topic <= file.high["topic"]
            and file.low["store_time"] < end
            and file.high["store_time"] >= self._times[0]
        ]
        rows = self._query(
            '"partition", min("offset"), max("offset"), count(*)', 'GROUP BY "partition"', self._files, []
        )
        self._bounds = sorted((partition, first, last) for partition, first, last, _ in rows)
        self.total = sum(row[3] for row in rows)

    def _query(self, columns: str, rest: str, files: list[LiveFile], more: list[Any]) -> list[Any]:
        if not files:
            return []
        paths = [str(self._table.path / file.path) for file in files]
        # The words of this statement are all ours; what a user said is in the parameters.
        statement = (
            f"SELECT {columns} FROM read_parquet(?, hive_partitioning = false) "  # noqa: S608
            f"WHERE topic = ? AND store_time >= ? AND store_time < ? {rest}"
        )
        return self._connection.execute(statement, [paths, self._topic, *self._times, *more]).fetchall()

    def chunks(self, position: _Position, size: int) -> Iterator[list[_Message]]:
        waiting: list[_Message] = []
        waiting_bytes = 0
        for message in self._messages(position.partition, position.next):
            is_full = len(waiting) >= size or waiting_bytes + message.size_bytes > CHUNK_BYTES
            if waiting and (is_full or waiting[-1].partition != message.partition):
                yield waiting
                waiting, waiting_bytes = [], 0
            waiting.append(message)
            waiting_bytes += message.size_bytes
        if waiting:
            yield waiting

    def _messages(self, from_partition: int, from_offset: int) -> Iterator[_Message]:
        for partition, first, last in self._bounds:
            if partition < from_partition:
                continue
            begin = max(first, from_offset) if partition == from_partition else first
            for low in range(begin, last + 1, _WINDOW_OFFSETS):
                high = min(low + _WINDOW_OFFSETS, last + 1)
                files = [file for file in self._files if file.low["offset"] < high and file.high["offset"] >= low]
                for first_of, end_of in self._small(files, partition, low, high):
                    yield from self._between(files, partition, first_of, end_of)

    def _small(self, files: list[LiveFile], partition: int, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The offsets in parts whose bodies can be held at once: these are put in order, and so are all in memory."""
        first, size = low, 0
        for offset, size_bytes in self._query(_SIZES, _IN_ORDER, files, [partition, low, high]):
            if size and size + size_bytes > CHUNK_BYTES:
                yield first, offset
                first, size = offset, 0
            size += size_bytes
        yield first, high

    def _between(self, files: list[LiveFile], partition: int, low: int, high: int) -> Iterator[_Message]:
        new, old = by_schema(files)
        rows = self._query(_COLUMNS, _IN_ORDER, new, [partition, low, high])
        rows += self._query(_OLD_COLUMNS, _IN_ORDER, old, [partition, low, high])
        for row in sorted(rows, key=lambda row: row[1]) if new and old else rows:
            yield _message(self._topic, row)


def _message(topic: str, row: Any) -> _Message:
    partition, offset, key, value, headers, store_time, born_time, repeated = row
    found: list[tuple[str, str | bytes | None]] = list((headers or {}).items())
    if repeated is not None:
        found = [(each["name"], each["value"]) for each in repeated]
    if not any(name == BORN_HEADER for name, _ in found):
        found.append((BORN_HEADER, str(int((born_time or store_time).timestamp() * 1000)).encode()))
    found = [header for header in found if header[0] != REPLAY_HEADER]
    found.append((REPLAY_HEADER, f"{topic} {partition} {offset}".encode()))
    return _Message(partition, offset, key, value, found)


class _Target:
    """The topic that the messages go to, and the position that is committed with them."""

    def __init__(self, bootstrap: str, settings: Mapping[str, str], into: str, partitions: int, identity: str) -> None:
        common = {"bootstrap.servers": bootstrap, "log_level": 0, **settings}
        self._into = into
        self._partitions = partitions
        self._place = TopicPartition(into, 0)
        self._consumer = Consumer(
            common
            | {
                "group.id": f"{REPLAY_GROUP_PREFIX}{identity}",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        self._producer = Producer(
            common
            | {"transactional.id": f"{REPLAY_GROUP_PREFIX}{identity}", "linger.ms": "20", "compression.type": "zstd"}
        )

    def begin(self) -> _Position:
        """Fences off who did the same until now, and reads how far it came."""
        try:
            self._producer.init_transactions(_ANSWER_LIMIT_S)
            (found,) = self._consumer.committed([self._place], timeout=_ANSWER_LIMIT_S)
        except KafkaException as error:
            raise BrokerUnreachable(f"the replay did not begin: {error}") from error
        if found.offset < 0 or not found.metadata:
            return _Position()
        return msgspec.json.decode(found.metadata, type=_Position)

    def send(self, messages: list[_Message], position: _Position) -> None:
        """One transaction: these messages, and the position behind them."""
        after = msgspec.structs.replace(position, sent=position.sent + len(messages))
        if messages:
            after.partition, after.next = messages[-1].partition, messages[-1].offset + 1
        for attempt in range(_ATTEMPTS):
            try:
                self._transaction(messages, after)
                break
            except KafkaException as error:
                self._abort(error.args[0], last=attempt == _ATTEMPTS - 1)
        position.partition, position.next, position.sent = after.partition, after.next, after.sent

    def _transaction(self, messages: list[_Message], after: _Position) -> None:
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                failed.append(error)

        self._producer.begin_transaction()
        for message in messages:
            while True:
                try:
                    self._producer.produce(
                        self._into,
                        message.value,
                        message.key,
                        message.partition % self._partitions,
                        headers=message.headers,
                        on_delivery=delivered,
                    )
                    break
                except BufferError:
                    # The client holds as much as it may: some of it has to be sent first.
                    self._producer.poll(_FULL_S)
        self._producer.flush(_ANSWER_LIMIT_S)
        if failed:
            raise KafkaException(failed[0])
        metadata = msgspec.json.encode(after).decode()
        place = TopicPartition(self._into, 0, after.sent, metadata)
        self._producer.send_offsets_to_transaction([place], self._consumer.consumer_group_metadata(), _ANSWER_LIMIT_S)
        self._producer.commit_transaction(_ANSWER_LIMIT_S)

    def _abort(self, error: KafkaError, *, last: bool) -> None:
        """Takes a transaction back that can be tried again; whatever else happened ends the replay."""
        if error.fatal() or last or not (error.txn_requires_abort() or error.retriable()):
            raise ReplayFailed(f"the replay into {self._into} was cut off: {error.str()}. Start it again")
        try:
            self._producer.abort_transaction(_ANSWER_LIMIT_S)
        except KafkaException as second:
            raise ReplayFailed(f"the replay into {self._into} was cut off: {second}. Start it again") from second

    def close(self) -> None:
        self._consumer.close()
