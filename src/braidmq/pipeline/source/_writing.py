"""`df.write.format("braid")` and `df.writeStream`: rows become messages.

At least once: a message that was acknowledged is stored, but a task that Spark runs again sends its rows again. An
idempotent producer sends within a task each row once and in order. A row that could not be stored fails the task.
"""

import atexit
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, MapType, StringType, StructField, StructType

from braidmq.model import KEYS_HEADER, TAG_HEADER
from braidmq.pipeline.errors import InvalidOption, SendFailed
from braidmq.pipeline.source._options import Connection, read_connection, refuse_unknown

_KNOWN: Final = {"bootstrap", "topic", "checkpointLocation"}
_SETTINGS: Final[dict[str, str | bool]] = {
    "client.id": "braid-pipeline",
    "enable.idempotence": "true",
    "acks": "all",
    "linger.ms": "20",
    "delivery.report.only.error": True,
}
_FIXED: Final = {"enable.idempotence", "acks", "delivery.report.only.error", "bootstrap.servers"}
_POLL_S: Final = 0.1
_FLUSH_S: Final = 1.0
_Bytes: Final = (BinaryType, StringType)


class Sink(msgspec.Struct, frozen=True):
    """Where rows go."""

    connection: Connection
    topic: str | None


def read_sink(options: Mapping[str, str], schema: StructType, overwrite: bool) -> Sink:
    """Raises InvalidOption for options and columns that cannot be written."""
    refuse_unknown(options, _KNOWN)
    lowered = {name.lower(): value for name, value in options.items()}
    connection = read_connection(lowered, check_settings=False)
    if changed := _FIXED & set(connection.settings):
        raise InvalidOption(
            f"kafka.{', kafka.'.join(sorted(changed))} cannot be changed: nothing may be lost on the way"
        )
    if overwrite:
        raise InvalidOption('a topic is only ever added to: use .mode("append")')
    topic = lowered.get("topic")
    _check_columns(schema, topic)
    try:
        Producer(_settings(connection))
    except KafkaException as error:
        raise InvalidOption(f"librdkafka does not take the options kafka.*: {error.args[0].str()}") from error
    return Sink(connection, topic)


def _check_columns(schema: StructType, topic: str | None) -> None:
    wanted: dict[str, tuple[type[DataType], ...]] = {
        "value": _Bytes, "key": _Bytes, "headers": (MapType,),
        "repeated_headers": (ArrayType,), "keys": (ArrayType,), "tag": (StringType,),
        "partition": (IntegerType,), "topic": (StringType,),
    }  # fmt: skip
    for field in schema.fields:
        kinds = wanted.get(field.name)
        if kinds is None:
            raise InvalidOption(f"the sink has no column {field.name}; it has {', '.join(wanted)}: select those")
        if not isinstance(field.dataType, kinds) or (field.name == "repeated_headers" and not _is_pairs(field)):
            raise InvalidOption(
                f"the column {field.name} is {field.dataType.simpleString()}, which cannot be sent as such"
            )
    if "value" not in schema.names:
        raise InvalidOption("there is no column value to send")
    if topic is None and "topic" not in schema.names:
        raise InvalidOption("say where to send with the option topic, or with a column of this name")


def _is_pairs(field: StructField) -> bool:
    """Whether it is an array of names and values, as the source gives it."""
    kind = field.dataType.elementType if isinstance(field.dataType, ArrayType) else None
    return isinstance(kind, StructType) and kind.names == ["name", "value"]


class Sent(WriterCommitMessage):
    """What a task has sent."""

    def __init__(self, rows: int) -> None:
        self.rows = rows


class BraidWriter(DataSourceArrowWriter):
    """Of a batch."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return Sent(send_all(self._sink, iterator))


class BraidStreamWriter(DataSourceStreamArrowWriter):
    """Of a stream."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return Sent(send_all(self._sink, iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """All is stored when a task ends."""

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """What was sent stays; the rows come again with the next try of the micro-batch."""


def send_all(sink: Sink, batches: Iterator[pa.RecordBatch]) -> int:
    """How many rows were sent, all of them stored. Raises SendFailed."""
    failures: list[tuple[str, KafkaError]] = []
    rows = 0
    try:
        producer = _producer(sink.connection)
        for batch in batches:
            rows += batch.num_rows
            _send(producer, batch, sink.topic, failures)
            if failures:
                break
        while producer.flush(_FLUSH_S):
            if failures:
                break
    except KafkaException as error:
        _forget(sink.connection)
        raise SendFailed(f"{sink.connection.bootstrap}: {error}") from error
    if failures:
        _forget(sink.connection)
        topic, failure = failures[0]
        raise SendFailed(f"{topic}: {len(failures)} messages were not stored, the first because of: {failure.str()}")
    return rows


def _send(producer: Producer, batch: pa.RecordBatch, topic: str | None, failures: list[tuple[str, KafkaError]]) -> None:
    def failed(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append((message.topic() or "", error))

    count = batch.num_rows
    columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
    nothing: list[Any] = [None] * count
    values, tags, all_keys = columns["value"], columns.get("tag", nothing), columns.get("keys", nothing)
    record_keys, all_headers = columns.get("key", nothing), columns.get("headers", nothing)
    all_repeated = columns.get("repeated_headers", nothing)
    partitions, topics = columns.get("partition", nothing), columns.get("topic", [topic] * count)
    for row in range(count):
        keys = all_keys[row]
        record_key = record_keys[row]
        if record_key is None and keys:
            record_key = keys[0]
        arguments: dict[str, Any] = {"on_delivery": failed}
        if partitions[row] is not None:
            arguments["partition"] = partitions[row]
        if headers := _headers(all_headers[row], all_repeated[row], tags[row], keys):
            arguments["headers"] = headers
        where = topics[row] if topics[row] is not None else topic
        if where is None:
            raise SendFailed("a row has no topic, and there is no option topic for such rows")
        while True:
            try:
                producer.produce(where, values[row], record_key, **arguments)
                break
            except BufferError:
                producer.poll(_POLL_S)
    producer.poll(0)


def _headers(
    given: list[tuple[str, Any]] | None,
    repeated: list[dict[str, Any]] | None,
    tag: str | None,
    keys: list[str] | None,
) -> list[tuple[str, Any]]:
    headers = list(given or ()) if repeated is None else [(each["name"], each["value"]) for each in repeated]
    for name, text in ((TAG_HEADER, tag), (KEYS_HEADER, " ".join(keys) if keys else None)):
        if text is not None:
            headers = [header for header in headers if header[0] != name]
            headers.append((name, text.encode()))
    return headers


_open: dict[tuple[str, ...], Producer] = {}


def _producer(connection: Connection) -> Producer:
    """The producer that this worker process keeps: making one takes longer than a small micro-batch."""
    if connection.identity not in _open:
        _open[connection.identity] = Producer(_settings(connection))
    return _open[connection.identity]


def _settings(connection: Connection) -> dict[str, str | bool]:
    return {**_SETTINGS, **connection.settings, "bootstrap.servers": connection.bootstrap}


def _forget(connection: Connection) -> None:
    if (producer := _open.pop(connection.identity, None)) is not None:
        producer.purge()
        producer.flush(_FLUSH_S)


@atexit.register
def _close_all() -> None:
    while _open:
        _open.popitem()[1].flush(_FLUSH_S)
