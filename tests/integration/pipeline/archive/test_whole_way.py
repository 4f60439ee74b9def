"""The whole way of many messages: sent by several kinds of clients, archived, gone from the log, found, sent again."""

import asyncio
from collections import Counter
from collections.abc import Callable

import httpx
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from braidmq.pipeline import archive
from braidmq.pipeline.archive._rewriting import read_file
from braidmq.pipeline.audit import audit
from braidmq.protocols.rocketmq.codec import BatchedMessage
from braidmq.protocols.rocketmq.codec.messages import write_properties
from rocketmq_peer import Peer
from running_node import RunningNode

KAFKA, IN_TRANSACTIONS, ROCKETMQ, HTTP = 90_000, 50_000, 40_000, 20_000
PARTITIONS = 4
BATCH = 500

pytestmark = pytest.mark.timeout(600)


def sent_by_kafka(node: RunningNode, topic: str) -> list[bytes]:
    producer = Producer({"bootstrap.servers": node.bootstrap, "linger.ms": 20})
    bodies = [b"kafka %d" % at for at in range(KAFKA)]
    for at, body in enumerate(bodies):
        headers: list[tuple[str, str | bytes | None]] = [("UNIQ_KEY", b"K%d" % at)]
        producer.produce(topic, body, key=b"order-%d" % (at % 1000), headers=headers, partition=at % PARTITIONS)
        producer.poll(0)
    assert producer.flush(60) == 0
    return bodies


def sent_in_transactions(node: RunningNode, topic: str) -> list[bytes]:
    """Of every five transactions one is aborted."""
    producer = Producer({"bootstrap.servers": node.bootstrap, "transactional.id": f"tx-{topic}", "linger.ms": 20})
    producer.init_transactions(30)
    committed: list[bytes] = []
    size = IN_TRANSACTIONS // 20
    for number in range(25):
        producer.begin_transaction()
        bodies = [b"transaction %d %d" % (number, at) for at in range(size)]
        for at, body in enumerate(bodies):
            producer.produce(topic, body, partition=at % PARTITIONS)
            producer.poll(0)
        if number % 5 == 4:
            producer.flush(60)
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)
            committed += bodies
    return committed


async def sent_by_rocketmq(node: RunningNode, topic: str) -> list[bytes]:
    host, port = node.ready["listeners"]["rocketmq"][0]
    peer = Peer(*await asyncio.open_connection(host, port))
    bodies = [b"rocketmq %d" % at for at in range(ROCKETMQ)]
    for first in range(0, ROCKETMQ, BATCH):
        batch = [
            BatchedMessage(body=body, properties=write_properties({"UNIQ_KEY": f"R{first + at}", "TAGS": "paid"}))
            for at, body in enumerate(bodies[first : first + BATCH])
        ]
        answer = await peer.publish_batch(topic, batch, queueId=first // BATCH % PARTITIONS)
        assert answer.code == 0, answer.remark
    await peer.close()
    return bodies


def sent_by_http(node: RunningNode, topic: str) -> list[bytes]:
    bodies = [b"http %d" % at for at in range(HTTP)]
    with httpx.Client(base_url=f"{node.url}/api/v1", timeout=60) as client:
        for first in range(0, HTTP, BATCH):
            messages = [
                {"body": body.decode(), "id": f"H{first + at}", "tag": "web"}
                for at, body in enumerate(bodies[first : first + BATCH])
            ]
            answer = client.post(f"/topics/{topic}/messages", json={"messages": messages})
            assert answer.status_code == 200, answer.text
            assert not any(result["error"] for result in answer.json()["results"])
    return bodies


def archive_all(spark: SparkSession, node: RunningNode, path: str, *topics: str) -> None:
    query = archive.start(spark, bootstrap=node.bootstrap, path=path, topics=topics, trigger="once")
    query.awaitTermination()


def bodies_of(path: str, topic: str) -> Counter[bytes]:
    folders = archive.Folders(path)
    found: Counter[bytes] = Counter()
    for file in archive.messages_table(path).files():
        rows = read_file(folders.messages, file, ["topic", "value"]).to_pylist()
        found.update(row["value"] for row in rows if row["topic"] == topic)
    return found


def test_two_hundred_thousand_messages_go_all_the_way(
    spark: SparkSession, node: RunningNode, make_topic: Callable[..., str], archive_path: str
) -> None:
    topic = make_topic(PARTITIONS, **{"braid.archive": "required"})
    into = make_topic(PARTITIONS)
    sent = sent_by_kafka(node, topic) + sent_in_transactions(node, topic)
    sent += asyncio.run(sent_by_rocketmq(node, topic)) + sent_by_http(node, topic)
    assert len(sent) == KAFKA + IN_TRANSACTIONS + ROCKETMQ + HTTP == 200_000
    archive_all(spark, node, archive_path, topic)
    assert bodies_of(archive_path, topic) == Counter(sent)

    admin = AdminClient({"bootstrap.servers": node.bootstrap})
    marks = {place: end for place, end in archive.read_marks(node.bootstrap).items() if place[0] == topic}
    assert len(marks) == PARTITIONS
    gone = [TopicPartition(topic, partition, end) for (_, partition), end in marks.items()]
    for future in admin.delete_records(gone).values():
        future.result(30)

    for message_id, body in (
        ("K7", b"kafka 7"),
        (f"K{KAFKA - 1}", b"kafka %d" % (KAFKA - 1)),
        ("R4711", b"rocketmq 4711"),
        ("H1234", b"http 1234"),
    ):
        assert [each.value for each in archive.find(archive_path, id=message_id)] == [body]
    (found,) = archive.find(archive_path, id="R1")
    assert (found.protocol, found.tag) == ("rocketmq", "paid")
    (found,) = archive.find(archive_path, id="H1")
    assert (found.protocol, found.tag) == ("http", "web")
    assert len(archive.find(archive_path, key="order-5", limit=1000)) == KAFKA // 1000

    replayed = archive.replay(archive_path, topic=topic, into=into, bootstrap=node.bootstrap)
    assert (replayed.sent, replayed.already) == (len(sent), 0)
    archive_all(spark, node, archive_path, topic, into)
    assert bodies_of(archive_path, into) == Counter(sent)
    report = audit(archive_path, bootstrap=node.bootstrap)
    assert report.findings == []
    archive.close_searchers()
