import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import Consumer, TopicPartition

from archive_support import TIME, Archived, of_version_1, row
from braidmq.pipeline import archive
from braidmq.pipeline.archive import _replay
from braidmq.pipeline.errors import InvalidOption
from pipeline_support import LIMIT_S, Broker
from running_node import RunningNode

pytestmark = pytest.mark.timeout(120)

Got = list[tuple[int, str | bytes | None, dict[str, str | bytes | None]]]


def everything_in(node: RunningNode, topic: str, partitions: int) -> Got:
    consumer = Consumer(
        {
            "bootstrap.servers": node.bootstrap,
            "group.id": "reader",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    result: Got = []
    try:
        for number in range(partitions):
            consumer.assign([TopicPartition(topic, number, 0)])
            while True:
                (message,) = consumer.consume(1, 20)
                error = message.error()
                if error is not None:
                    assert error.name() == "_PARTITION_EOF", error
                    break
                result.append((number, message.value(), dict(message.headers() or [])))
    finally:
        consumer.close()
    return result


@pytest.fixture
def history(tmp_path: Path) -> Archived:
    made = Archived(tmp_path)
    for number in range(4):
        offsets = range(number * 50, number * 50 + 50)
        made.add([row("orders", partition, offset) for partition in range(2) for offset in offsets])
    return made


def test_history_comes_back_in_its_order(node: RunningNode, make_topic: Callable[..., str], history: Archived) -> None:
    into = make_topic(2)
    told: list[tuple[int, int]] = []
    done = archive.replay(
        history.path,
        topic="orders",
        into=into,
        bootstrap=node.bootstrap,
        progress=lambda sent, total: told.append((sent, total)),
        chunk=30,
    )
    assert done.sent == 400
    assert told[-1] == (400, 400)
    got = everything_in(node, into, 2)
    assert [(number, value) for number, value, _ in got] == [
        (partition, f"orders {partition} {offset}".encode()) for partition in range(2) for offset in range(200)
    ]
    headers = got[0][2]
    assert headers["__replay"] == b"orders 0 0"
    assert headers["a"] == b"1"
    assert headers["BORN_TIMESTAMP"] == str(int(TIME.timestamp() * 1000)).encode()


Repeated = list[tuple[str, str | bytes | None]]
TWICE: Repeated = [("a", b"1"), ("via", b"x"), ("a", b"2"), ("empty", None), ("via", b"y")]


def test_headers_that_repeat_come_back_as_they_were(
    node: RunningNode, make_topic: Callable[..., str], tmp_path: Path
) -> None:
    """Also where files of the time before lie between the others."""
    archived = an_archive_of_both_versions(tmp_path)
    into = make_topic(1)
    done = archive.replay(archived.path, topic="orders", into=into, bootstrap=node.bootstrap)
    assert done.sent == 20
    own = ("BORN_TIMESTAMP", "__replay")
    got = [[header for header in headers if header[0] not in own] for headers in headers_in(node, into)]
    assert got == [[("a", b"1")]] * 10 + [TWICE if at % 2 else [("a", b"1")] for at in range(10, 20)]


def an_archive_of_both_versions(path: Path) -> Archived:
    of_version_1(path, [row("orders", 0, at) for at in range(10)])
    archived = Archived(path)
    pairs = [{"name": name, "value": value} for name, value in TWICE]
    archived.add([row("orders", 0, at, **({"repeated_headers": pairs} if at % 2 else {})) for at in range(10, 20)])
    return archived


def headers_in(node: RunningNode, topic: str) -> list[Repeated]:
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "r", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return [list(cast("Repeated", message.headers() or [])) for message in consumer.consume(20, 20)]
    finally:
        consumer.close()


def test_a_part_of_the_history_goes_into_fewer_partitions(
    node: RunningNode, make_topic: Callable[..., str], history: Archived
) -> None:
    into = make_topic(1)
    start, end = TIME + timedelta(seconds=10), TIME + timedelta(seconds=20)
    done = archive.replay(history.path, topic="orders", into=into, bootstrap=node.bootstrap, start=start, end=end)
    assert done.sent == archive.count(history.path, topic="orders", start=start, end=end) == 20
    assert [value for _, value, _ in everything_in(node, into, 1)] == [
        f"orders {partition} {offset}".encode() for partition in range(2) for offset in range(10, 20)
    ]


class Cut(Exception):
    """The power went."""


def test_a_replay_that_was_cut_off_goes_on_and_leaves_nothing_twice(
    node: RunningNode, make_topic: Callable[..., str], history: Archived, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = make_topic(2)

    def run() -> archive.Replayed:
        return archive.replay(history.path, topic="orders", into=into, bootstrap=node.bootstrap, chunk=30)

    whole = _replay._Target._transaction
    for allowed in (0, 3, 5):
        left = [allowed]

        def cut(
            self: _replay._Target, messages: list[_replay._Message], after: _replay._Position, left: list[int] = left
        ) -> None:
            """Cut off between two chunks, or in the midst of one, when its messages are in the log already."""
            if left[0] == 0:
                self._producer.begin_transaction()
                for message in messages:
                    self._producer.produce(self._into, message.value, partition=message.partition)
                self._producer.flush(20)
                raise Cut
            left[0] -= 1
            whole(self, messages, after)

        monkeypatch.setattr(_replay._Target, "_transaction", cut)
        with pytest.raises(Cut):
            run()
    monkeypatch.undo()
    done = run()
    assert (done.sent, done.already) == (170, 230)
    assert run().sent == 0
    got = [(number, value) for number, value, _ in everything_in(node, into, 2)]
    assert got == [
        (partition, f"orders {partition} {offset}".encode()) for partition in range(2) for offset in range(200)
    ]


def test_a_replay_is_repeated_only_under_another_name(
    node: RunningNode, make_topic: Callable[..., str], history: Archived
) -> None:
    into = make_topic(1)
    sent = [
        archive.replay(history.path, topic="orders", into=into, bootstrap=node.bootstrap, name=name).sent
        for name in ("", "", "again")
    ]
    assert sent == [400, 0, 400]


def test_a_topic_that_was_made_anew_is_filled_anew(node: RunningNode, broker: Broker, history: Archived) -> None:
    into = broker.topic()
    for _ in range(2):
        assert archive.replay(history.path, topic="orders", into=into, bootstrap=node.bootstrap).sent == 400
        broker.admin.delete_topics([into])[into].result(LIMIT_S)
        broker.make(into)


def test_large_messages_are_held_and_sent_a_few_at_a_time(
    node: RunningNode, make_topic: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than the database may hold at once, and more than the client may."""
    monkeypatch.setattr(_replay, "CHUNK_BYTES", 1_500_000)
    chunks: list[int] = []
    transaction = _replay._Target._transaction

    def noted(self: _replay._Target, messages: list[_replay._Message], after: _replay._Position) -> None:
        chunks.append(len(messages))
        transaction(self, messages, after)

    monkeypatch.setattr(_replay._Target, "_transaction", noted)
    sizes = [400_000, 400_000, 400_000, 400_000, 900_000, 900_000, 10, 10]
    made, into = Archived(tmp_path), make_topic(1)
    made.add([row("orders", 0, at, value=os.urandom(size)) for at, size in enumerate(sizes)])
    kafka = {"queue.buffering.max.kbytes": "1024"}
    done = archive.replay(made.path, topic="orders", into=into, bootstrap=node.bootstrap, kafka=kafka)
    assert done.sent == len(sizes)
    assert chunks == [3, 2, 3, 0]
    assert [len(value or b"") for _, value, _ in everything_in(node, into, 1)] == sizes


def test_a_topic_to_replay_into_must_exist(node: RunningNode, history: Archived) -> None:
    with pytest.raises(InvalidOption, match="create it first"):
        archive.replay(history.path, topic="orders", into="nowhere", bootstrap=node.bootstrap)
