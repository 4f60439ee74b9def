"""The matrix: what each client writes, each other reads, and finds the same in it.

Kafka's Java client, confluent-kafka, RocketMQ's Java and Go clients, RocketMQ's Python client over gRPC, and HTTP each
write the same thirteen messages into a topic of their own; then each of them reads all topics. Body and properties are
the same for all; tag and keys are headers for Kafka clients; the record key is the sharding key, or else the first of
the keys; a message's time is when it was born; what was written in order is in order in each partition.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import httpx
import pytest
from confluent_kafka import Consumer, Producer

from compat_support import KAFKA, ROCKETMQ, RunProgram, jars
from running_node import RunningNode

ODD_TEXT = 'na\u00efve \u4e2d\u6587 \U0001f600 =;|"\\ \t end'
COUNT = 12
READ_LIMIT_S = 60
GRPC_PROGRAM = Path(__file__).parent / "rocketmq_grpc" / "matrix.py"
SEE_KEYS = ("kafka-java", "confluent-kafka", "http")
BY_OFFSET = ("kafka-java", "confluent-kafka", "rocketmq-java", "rocketmq-go", "http")
CLIENTS = (*BY_OFFSET, "rocketmq-grpc")
"""The last one reads message by message, and does not tell where a message lies."""

pytestmark = pytest.mark.timeout(300)


class Read(NamedTuple):
    """A message as a client finds it. Only clients of Kafka and HTTP see a record key."""

    topic: str
    body: str
    properties: dict[str, str]
    timestamp_ms: int
    partition: int
    offset: int
    key: str | None = None

    @property
    def number(self) -> int:
        return int(self.properties.get("number", COUNT))


def text(header: bytes) -> str:
    """A header's value; the one in which fields of only one wire travel is no text."""
    return header.decode(errors="replace")


class Client(Protocol):
    """One column and one row of the matrix."""

    def write(self, topic: str, name: str) -> None: ...

    def read(self, topics: list[str], group: str) -> Iterator[Read]: ...


class Program:
    """A client in a process of its own, which prints what it reads."""

    def __init__(self, run: RunProgram, command: list[str], address: str) -> None:
        self._run, self._command, self._address = run, command, address

    def write(self, topic: str, name: str) -> None:
        self._run([*self._command, "write", self._address, topic, name, str(COUNT), ODD_TEXT])

    def read(self, topics: list[str], group: str) -> Iterator[Read]:
        out = self._run([*self._command, "read", self._address, group, str(COUNT + 1), *topics])
        for line in out.splitlines():
            yield self._of(json.loads(line))

    @staticmethod
    def _of(facts: dict[str, Any]) -> Read:
        headers = {name: text(value.encode("latin-1")) for name, value in facts.get("latin1 headers", {}).items()}
        properties = facts.get("properties", headers)
        if "tags" in facts:
            assert (properties.get("TAGS") or None) == (facts["tags"] or None)
            assert (properties.get("KEYS") or None) == (facts["keys"] or None)
        where = facts.get("partition", -1), facts.get("offset", -1), facts.get("key")
        return Read(facts["topic"], facts["body"], properties, facts["timestamp"], *where)


class Confluent:
    """confluent-kafka, in this process."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def write(self, topic: str, name: str) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap})
        for at in range(COUNT):
            headers = {"TAGS": f"tag{at % 3}", "KEYS": f"key{at % 4} second", "number": str(at), "odd": ODD_TEXT}
            if at % 2 == 0:
                headers["__SHARDINGKEY"] = "shard"
            encoded: list[tuple[str, str | bytes | None]] = [(key, text.encode()) for key, text in headers.items()]
            key = "shard" if at % 2 == 0 else f"key{at % 4}"
            producer.produce(topic, f"{name} {at} {ODD_TEXT}".encode(), key.encode(), headers=encoded)
            assert producer.flush(READ_LIMIT_S) == 0
        producer.produce(topic, b"plain", b"only-key")
        assert producer.flush(READ_LIMIT_S) == 0

    def read(self, topics: list[str], group: str) -> Iterator[Read]:
        consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
        try:
            consumer.subscribe(topics)
            found, deadline = 0, time.monotonic() + READ_LIMIT_S
            while found < (COUNT + 1) * len(topics) and time.monotonic() < deadline:
                message = consumer.poll(0.5)
                if message is None:
                    continue
                assert message.error() is None, message.error()
                found += 1
                key, body = message.key(), message.value()
                assert body is not None
                headers = cast("list[tuple[str, bytes]]", message.headers() or [])
                properties = {name: text(value) for name, value in headers}
                yield Read(
                    str(message.topic()), body.decode(), properties, message.timestamp()[1],
                    int(message.partition() or 0), int(message.offset() or 0), None if key is None else key.decode(),
                )  # fmt: skip
        finally:
            consumer.close()


class Http:
    """HTTP, in this process; messages are received one by one, and acknowledged."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/api/v1"

    def _post(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        answer = httpx.post(self._url + path, json=asked, timeout=READ_LIMIT_S)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def write(self, topic: str, name: str) -> None:
        for at in range(COUNT):
            message: dict[str, Any] = {"body": f"{name} {at} {ODD_TEXT}", "tag": f"tag{at % 3}"}
            message |= {"keys": [f"key{at % 4}", "second"], "properties": {"number": str(at), "odd": ODD_TEXT}}
            if at % 2 == 0:
                message["sharding_key"] = "shard"
            self._post(f"/topics/{topic}/messages", message)
        self._post(f"/topics/{topic}/messages", {"body": "plain", "keys": ["only-key"]})

    def read(self, topics: list[str], group: str) -> Iterator[Read]:
        for topic in topics:
            found, deadline = 0, time.monotonic() + READ_LIMIT_S
            while found < COUNT + 1 and time.monotonic() < deadline:
                given = self._post(f"/groups/{group}/receive", {"topic": topic, "wait_s": 5})["messages"]
                found += len(given)
                yield from map(self._of, given)
                if given:
                    self._post(f"/groups/{group}/acknowledge", {"receipts": [each["receipt"] for each in given]})

    @staticmethod
    def _of(given: dict[str, Any]) -> Read:
        properties = {each["name"]: each["value"] or "" for each in given["headers"]}
        assert given["tag"] == properties.get("TAGS")
        assert given["keys"] == properties.get("KEYS", "only-key").split()
        where = given["partition"], given["offset"], given["key"]
        return Read(given["topic"], given["body"], properties, given["born_ms"], *where)


class Matrix(NamedTuple):
    """Everything that was read: by reader and writer, in the order of reading; and when each writer wrote."""

    cells: dict[tuple[str, str], list[Read]]
    written_ms: dict[str, tuple[int, int]]


@pytest.fixture(scope="module")
def clients(
    rocketmq_broker: RunningNode,
    run: RunProgram,
    go_client: str,
    require_tool: Callable[[str, str], object],
    compile_java: Callable[[str, str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Client]:
    require_tool("javac", "compiles the programs")
    require_tool("mvn", "fetches the Java clients")
    home = tmp_path_factory.mktemp("home")
    java = ["java", "-XX:TieredStopAtLevel=1", f"-Duser.home={home}", "-Drocketmq.client.logUseSlf4j=true", "-cp"]
    kafka = compile_java("KafkaMatrix", jars(f"kafka-clients-{KAFKA}", f"org.apache.kafka:kafka-clients:{KAFKA}"))
    rocketmq = compile_java(
        "RocketMQMatrix", jars(f"rocketmq-client-{ROCKETMQ}", f"org.apache.rocketmq:rocketmq-client:{ROCKETMQ}")
    )
    return {
        "kafka-java": Program(run, [*java, kafka, "KafkaMatrix"], rocketmq_broker.bootstrap),
        "confluent-kafka": Confluent(rocketmq_broker.bootstrap),
        "rocketmq-java": Program(run, [*java, rocketmq, "RocketMQMatrix"], rocketmq_broker.name_server),
        "rocketmq-go": Program(run, [go_client], rocketmq_broker.name_server),
        "http": Http(rocketmq_broker.url),
        "rocketmq-grpc": Program(run, [sys.executable, str(GRPC_PROGRAM)], rocketmq_broker.grpc_address),
    }


@pytest.fixture(scope="module")
def matrix(clients: dict[str, Client]) -> Matrix:
    topics = {name: f"matrix-{name}-{os.getpid()}" for name in CLIENTS}
    written_ms: dict[str, tuple[int, int]] = {}
    for name, client in clients.items():
        began_ms = int(time.time() * 1000)
        client.write(topics[name], name)
        written_ms[name] = began_ms, int(time.time() * 1000)
    cells: dict[tuple[str, str], list[Read]] = {(reader, writer): [] for reader in CLIENTS for writer in CLIENTS}
    for reader, client in clients.items():
        writers = {topic: writer for writer, topic in topics.items()}
        for message in client.read(list(topics.values()), f"matrix-{reader}-{os.getpid()}"):
            cells[reader, writers[message.topic]].append(message)
    return Matrix(cells, written_ms)


@pytest.mark.parametrize("writer", CLIENTS)
@pytest.mark.parametrize("reader", CLIENTS)
def test_what_one_client_writes_another_reads(matrix: Matrix, reader: str, writer: str) -> None:
    read = matrix.cells[reader, writer]
    assert sorted(message.number for message in read) == list(range(COUNT + 1))
    for message in read:
        at = message.number
        if at == COUNT:
            assert (message.body, message.properties.get("TAGS")) == ("plain", None)
            if reader.startswith("rocketmq"):
                assert message.properties["KEYS"] == "only-key"
            continue
        assert message.body == f"{writer} {at} {ODD_TEXT}"
        keys = f"key{at % 4}" if writer == "rocketmq-grpc" else f"key{at % 4} second"
        odd = ODD_TEXT.replace("\t", "") if writer == "rocketmq-grpc" else ODD_TEXT
        expected = {"TAGS": f"tag{at % 3}", "KEYS": keys, "number": str(at), "odd": odd}
        if at % 2 == 0:
            expected["__SHARDINGKEY"] = "shard"
        assert message.properties.items() >= expected.items()
        assert ("__SHARDINGKEY" in message.properties) == (at % 2 == 0)


@pytest.mark.parametrize("writer", CLIENTS)
@pytest.mark.parametrize("reader", SEE_KEYS)
def test_the_record_key_is_the_sharding_key_or_else_the_first_of_the_keys(
    matrix: Matrix, reader: str, writer: str
) -> None:
    for message in matrix.cells[reader, writer]:
        at = message.number
        assert message.key == ("only-key" if at == COUNT else "shard" if at % 2 == 0 else f"key{at % 4}")


@pytest.mark.parametrize("writer", CLIENTS)
@pytest.mark.parametrize("reader", BY_OFFSET)
def test_each_partition_is_read_in_the_order_of_writing(matrix: Matrix, reader: str, writer: str) -> None:
    read = sorted(matrix.cells[reader, writer], key=lambda message: message.partition)
    for _, partition in groupby(read, key=lambda message: message.partition):
        found = [(message.number, message.offset) for message in partition]
        assert found == sorted(found)
        assert [offset for _, offset in found] == list(range(len(found)))


@pytest.mark.parametrize("writer", CLIENTS)
def test_all_agree_on_where_a_message_is_and_when_it_was_born(matrix: Matrix, writer: str) -> None:
    began_ms, ended_ms = matrix.written_ms[writer]
    if writer == "rocketmq-grpc":
        began_ms -= began_ms % 1000  # this client tells whole seconds
    seen = [
        {message.number: (message.partition, message.offset, message.timestamp_ms) for message in read}
        for (reader, written_by), read in matrix.cells.items()
        if written_by == writer and reader in BY_OFFSET
    ]
    assert all(each == seen[0] for each in seen)
    assert all(began_ms <= timestamp_ms <= ended_ms for _, _, timestamp_ms in seen[0].values())
