"""A topic that is deleted and made anew under its name: its archive stops, loudly, and nothing of it is given up."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaException, TopicPartition
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from braidmq.pipeline import archive
from braidmq.pipeline._brokers import topic_ids
from braidmq.pipeline.archive import _topics
from braidmq.pipeline.archive._marks import set_marks
from braidmq.pipeline.archive._sink import ArchiveStreamWriter
from braidmq.pipeline.archive._topics import move_marks, remade
from braidmq.pipeline.errors import TopicRemade
from braidmq.pipeline.run import Driver, Plan
from braidmq.pipeline.status import JobState
from braidmq.pipeline.tables import Range, SinkOptions, State, Written
from pipeline_support import LIMIT_S, Broker
from running_node import WaitFor

pytestmark = pytest.mark.timeout(300)


def make_anew(broker: Broker, topic: str) -> None:
    broker.admin.delete_topics([topic])[topic].result(LIMIT_S)
    broker.make(topic, 1, braid_archive="required")


def run_once(spark: SparkSession, broker: Broker, path: Path, *topics: str) -> None:
    query = archive.start(spark, bootstrap=broker.bootstrap, path=str(path), topics=topics, trigger="once")
    query.awaitTermination()


def covered(path: Path, topic: str) -> int | None:
    return archive.messages_table(path).state(archive.APP).covered.end((topic, 0))


def mark(broker: Broker, topic: str) -> int:
    return archive.read_marks(broker.bootstrap).get((topic, 0), 0)


def delete_records(broker: Broker, topic: str, before: int) -> None:
    place = TopicPartition(topic, 0, before)
    broker.admin.delete_records([place])[place].result(LIMIT_S)


@pytest.fixture
def two_topics(spark: SparkSession, broker: Broker, tmp_path: Path) -> tuple[str, str]:
    """Archived: five messages of the first, five of the other. Then the first is made anew."""
    first, other = broker.topic(braid_archive="required"), broker.topic(braid_archive="required")
    for topic in (first, other):
        broker.send(topic, [f"old {at}" for at in range(5)])
    run_once(spark, broker, tmp_path / "archive", first, other)
    assert (mark(broker, first), mark(broker, other)) == (5, 5)
    make_anew(broker, first)
    return first, other


@pytest.mark.parametrize("count", [3, 9])
def test_the_others_are_archived_on_and_what_is_new_cannot_be_deleted_unarchived(
    spark: SparkSession, broker: Broker, tmp_path: Path, two_topics: tuple[str, str], count: int
) -> None:
    first, other = two_topics
    broker.send(first, [f"new {at}" for at in range(count)])
    broker.send(other, ["more"])
    set_marks(broker.bootstrap, {(first, 0): 3})  # as an earlier version left it
    plan = Plan(bootstrap=broker.bootstrap, root=str(tmp_path), jobs=("archive", "audit"), topics=(first, other))
    found = Driver(spark, plan).run_once()
    assert found["archive"].state is JobState.FAILED
    assert f"{first} is NOT archived" in found["archive"].detail
    assert "NOT SOUND, 1 findings" in found["audit"].detail
    assert (covered(tmp_path / "archive", other), mark(broker, other)) == (6, 6)
    assert (covered(tmp_path / "archive", first), mark(broker, first)) == (5, 0)
    with pytest.raises(KafkaException, match="Policy violation"):
        delete_records(broker, first, 1)
    assert archive.refresh_marks(str(tmp_path / "archive"), broker.bootstrap) >= 1
    assert mark(broker, first) == 0
    with pytest.raises(TopicRemade, match=f"{first} was deleted and made anew"):
        run_once(spark, broker, tmp_path / "archive", first)


def test_a_running_job_commits_nothing_of_the_new_one(
    spark: SparkSession, broker: Broker, tmp_path: Path, wait_for: WaitFor
) -> None:
    topic = broker.topic(braid_archive="required")
    broker.send(topic, ["old"])
    path = tmp_path / "archive"
    query = archive.start(spark, bootstrap=broker.bootstrap, path=str(path), topics=[topic], trigger="3 seconds")
    try:
        wait_for(lambda: covered(path, topic) == 1, 60)
        make_anew(broker, topic)
        broker.send(topic, ["new 0", "new 1"])
        with pytest.raises(
            StreamingQueryException, match=r"does not exist any more|was it made anew|was deleted and made anew"
        ):
            query.awaitTermination(60)
    finally:
        query.stop()
    assert (covered(path, topic), mark(broker, topic)) == (1, 0)


def test_a_batch_that_was_read_of_the_new_one_is_not_committed(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic()
    ids = topic_ids(broker.bootstrap, [topic], {})
    options = {
        "archive": str(tmp_path),
        "bootstrap": broker.bootstrap,
        "app": archive.APP,
        "epoch": "1",
        "lineage": "1",
    }
    writer = ArchiveStreamWriter(SinkOptions(options | {"topicIds": msgspec.json.encode(ids).decode()}))
    batch = Written(ranges=[Range(topic, 0, 0, 1, 1)])
    assert writer.topic_ids(batch) == ids
    make_anew(broker, topic)
    with pytest.raises(TopicRemade, match=topic):
        writer.commit([batch], 0)
    assert covered(tmp_path, topic) is None
    broker.admin.delete_topics([topic])[topic].result(LIMIT_S)
    assert writer.topic_ids(batch) == {}, "what is gone has said its last"


def test_where_no_ids_are_known_a_log_that_ends_too_early_tells(broker: Broker) -> None:
    topic, other = broker.topic(), broker.topic()
    for each in (topic, other):
        broker.send(each, ["0", "1"])
    state = State()
    state.covered.intervals = {(topic, 0): ((0, 3),), (other, 0): ((0, 2),)}
    found = remade(state, broker.bootstrap, [topic, other], {})
    assert list(found) == [topic]
    assert f"{topic}-0 ends at 2, and the archive has it up to 3" in found[topic]
    assert move_marks(state, broker.bootstrap, [topic, other], {}) == {}
    assert (mark(broker, topic), mark(broker, other)) == (0, 2)


def test_a_topic_that_is_made_anew_while_marks_are_set_keeps_none(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(bootstrap: str, ends: Mapping[tuple[str, int], int], settings: Mapping[str, str]) -> dict[Any, str]:
        if ends.get((topic, 0)):
            make_anew(broker, topic)
        return set_marks(bootstrap, ends, settings)

    topic = broker.topic(braid_archive="required")
    broker.send(topic, ["0", "1"])
    state = State(topic_ids=topic_ids(broker.bootstrap, [topic], {}))
    state.covered.intervals = {(topic, 0): ((0, 2),)}
    monkeypatch.setattr(_topics, "set_marks", too_late)
    move_marks(state, broker.bootstrap, [topic], {})
    assert mark(broker, topic) == 0
