"""Every setting of a topic: its limits, its default, and the way between texts and a topic's fields."""

from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.model import DEFAULT_RETENTION_MS, Topic
from braidmq.model.errors import InvalidSetting
from braidmq.model.topic_settings import (
    CLEANUP_POLICY,
    MIN_CLEANABLE_DIRTY_RATIO,
    RETENTION_MS,
    TOPIC_SETTINGS,
    UNLIMITED,
    check_texts,
    fields_of,
    texts_of,
    topic_setting,
)

KAFKA_4_NAMES = [
    "cleanup.policy",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "delete.retention.ms",
    "file.delete.delay.ms",
    "flush.messages",
    "flush.ms",
    "follower.replication.throttled.replicas",
    "index.interval.bytes",
    "leader.replication.throttled.replicas",
    "local.retention.bytes",
    "local.retention.ms",
    "max.compaction.lag.ms",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
    "min.cleanable.dirty.ratio",
    "min.compaction.lag.ms",
    "min.insync.replicas",
    "preallocate",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "remote.storage.enable",
    "retention.bytes",
    "retention.ms",
    "segment.bytes",
    "segment.index.bytes",
    "segment.jitter.ms",
    "segment.ms",
    "unclean.leader.election.enable",
]


def topic_with(texts: dict[str, str]) -> Topic:
    return Topic(id=uuid4(), name="orders", partition_numbers=(1,), **fields_of(texts)._asdict())


def test_every_setting_that_kafka_4_lists_is_listed_and_those_of_the_archive() -> None:
    listed = [setting.name for setting in TOPIC_SETTINGS.values() if setting.listed]
    assert listed == ["braid.archive", "braid.archive.retention.ms", *KAFKA_4_NAMES]


@pytest.mark.parametrize("name", TOPIC_SETTINGS)
def test_a_setting_can_have_its_default_and_says_what_it_is_for(name: str) -> None:
    setting = topic_setting(name)
    check_texts({name: setting.default})
    assert setting.documentation.endswith(".")
    assert setting.honoured or setting.documentation.startswith(("Kept without effect: ", "Cannot be turned on: "))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nope", "1"),
        ("segment.ms", "0"),
        ("segment.ms", "abc"),
        ("segment.ms", ""),
        ("segment.ms", "1_000"),
        ("segment.ms", "1.0"),
        ("segment.ms", "٣"),
        ("segment.ms", str(1 << 63)),
        ("segment.bytes", str(1 << 31)),
        ("segment.bytes", "13"),
        ("retention.ms", "-2"),
        ("retention.bytes", "-2"),
        ("max.message.bytes", "-1"),
        ("min.cleanable.dirty.ratio", "1.1"),
        ("min.cleanable.dirty.ratio", "nan"),
        ("min.cleanable.dirty.ratio", "half"),
        ("cleanup.policy", "shred"),
        ("cleanup.policy", "delete,shred"),
        ("cleanup.policy", "delete,"),
        ("compression.type", "lzma"),
        ("compression.type", "GZIP"),
        ("compression.gzip.level", "0"),
        ("compression.gzip.level", "10"),
        ("compression.zstd.level", "23"),
        ("message.timestamp.type", "Whenever"),
        ("preallocate", "yes"),
        ("min.insync.replicas", "0"),
        ("leader.replication.throttled.replicas", "everything"),
        ("remote.storage.enable", "true"),
    ],
)
def test_what_a_topic_cannot_have_is_refused_by_name_and_value(name: str, text: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        check_texts({name: text})
    assert name in refused.value.message
    assert name == "nope" or text in refused.value.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("retention.ms", " -1 "),
        ("retention.ms", "+5"),
        ("segment.ms", str(UNLIMITED)),
        ("cleanup.policy", "compact, delete"),
        ("cleanup.policy", ""),
        ("preallocate", "TRUE"),
        ("compression.gzip.level", "-1"),
        ("compression.zstd.level", "-5"),
        ("min.cleanable.dirty.ratio", ".5"),
        ("min.cleanable.dirty.ratio", "1e-3"),
        ("leader.replication.throttled.replicas", "*"),
        ("leader.replication.throttled.replicas", "0:1,1:1"),
        ("message.timestamp.difference.max.ms", "5"),
        ("message.format.version", "2.8"),
    ],
)
def test_what_kafka_takes_is_taken(name: str, text: str) -> None:
    check_texts({name: text})


def test_the_least_lag_may_not_be_more_than_the_greatest() -> None:
    check_texts({"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "5"})
    with pytest.raises(InvalidSetting, match=r"min\.compaction\.lag\.ms \(6\).*max\.compaction\.lag\.ms \(5\)"):
        check_texts({"min.compaction.lag.ms": "6", "max.compaction.lag.ms": "5"})


def test_values_are_read_out_of_texts_or_are_the_defaults() -> None:
    assert CLEANUP_POLICY.read({"cleanup.policy": "compact, delete"}) == ("compact", "delete")
    assert CLEANUP_POLICY.read({"cleanup.policy": ""}) == ()
    assert CLEANUP_POLICY.read({}) == ("delete",)
    assert MIN_CLEANABLE_DIRTY_RATIO.read({}) == 0.5
    assert RETENTION_MS.read({}) == DEFAULT_RETENTION_MS


def test_retention_lies_in_the_fields_of_a_topic() -> None:
    topic = topic_with({"retention.ms": "5000", "retention.bytes": "-1", "segment.ms": "7"})
    assert (topic.retention_ms, topic.retention_bytes) == (5000, -1)
    assert texts_of(topic) == {"retention.ms": "5000", "retention.bytes": "-1", "segment.ms": "7"}


def test_a_default_that_somebody_set_is_told_from_one_that_nobody_set() -> None:
    assert texts_of(topic_with({"retention.ms": RETENTION_MS.default})) == {"retention.ms": RETENTION_MS.default}
    assert texts_of(topic_with({})) == {}


def test_a_retention_that_another_protocol_gave_is_among_the_texts() -> None:
    topic = Topic(id=uuid4(), name="orders", partition_numbers=(1,), retention_ms=7, settings={"retention.ms": "8"})
    assert texts_of(topic) == {"retention.ms": "7"}


@given(
    st.dictionaries(st.sampled_from([name for name in KAFKA_4_NAMES if name.endswith("ms")]), st.integers(1, UNLIMITED))
)
def test_what_was_read_can_be_written_back(numbers: dict[str, int]) -> None:
    texts = {name: str(number) for name, number in numbers.items() if not name.endswith("compaction.lag.ms")}
    topic = topic_with(texts)
    assert texts_of(topic) == texts
    assert fields_of(texts_of(topic)) == (topic.retention_ms, topic.retention_bytes, topic.settings)
