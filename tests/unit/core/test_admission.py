"""What a topic takes, by its settings."""

from uuid import uuid4

import pytest

from braidmq.core.admission import Admission, Admissions, admission_of
from braidmq.model import Topic
from braidmq.model.errors import InvalidRecord, InvalidSetting, InvalidTimestamp, MessageTooLarge
from braidmq.model.topic_settings import UNLIMITED
from braidmq.records import Batch, Codec, Marker, Record, build_batch, build_marker, read_records

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


def topic(**settings: str) -> Topic:
    texts = {name.replace("_", "."): text for name, text in settings.items()}
    return Topic(id=uuid4(), name="orders", partition_numbers=(1,), settings=texts)


def batch_of(*values: bytes, at_ms: int = NOW_MS, key: bytes | None = b"k", codec: Codec = Codec.NONE) -> Batch:
    records = [Record(place, at_ms + place, key, value) for place, value in enumerate(values)]
    return build_batch(records, codec=codec, producer_id=7, producer_epoch=1, base_sequence=3)


def test_a_topic_that_says_nothing_takes_batches_as_they_come() -> None:
    assert admission_of(topic()) == Admission()
    batch = batch_of(b"a", codec=Codec.GZIP)
    assert Admission().admit(batch, NOW_MS) is batch


def test_a_batch_larger_than_the_topic_takes_is_refused() -> None:
    batch = batch_of(b"a" * 100)
    assert admission_of(topic(max_message_bytes=str(batch.size_bytes))).admit(batch, NOW_MS) is batch
    with pytest.raises(MessageTooLarge, match=str(batch.size_bytes)):
        admission_of(topic(max_message_bytes=str(batch.size_bytes - 1))).admit(batch, NOW_MS)


@pytest.mark.parametrize(
    ("settings", "before_ms", "after_ms"),
    [
        ({}, UNLIMITED, HOUR_MS),
        ({"message_timestamp_before_max_ms": "5", "message_timestamp_after_max_ms": "6"}, 5, 6),
        ({"message_timestamp_difference_max_ms": "7"}, 7, 7),
        ({"message_timestamp_difference_max_ms": "7", "message_timestamp_after_max_ms": "6"}, 7, 6),
        ({"message_timestamp_difference_max_ms": "7", "message_timestamp_before_max_ms": "5"}, 5, 7),
    ],
)
def test_the_older_setting_for_times_counts_where_the_newer_ones_are_not_set(
    settings: dict[str, str], before_ms: int, after_ms: int
) -> None:
    admission = admission_of(topic(**settings))
    assert (admission.before_max_ms, admission.after_max_ms) == (before_ms, after_ms)


def test_times_too_far_ahead_or_behind_are_refused() -> None:
    admission = admission_of(topic(message_timestamp_before_max_ms="1000", message_timestamp_after_max_ms="2000"))
    for at_ms in (NOW_MS - 1000, NOW_MS + 2000):
        admission.admit(batch_of(b"a", at_ms=at_ms), NOW_MS)
    for at_ms in (NOW_MS - 1001, NOW_MS + 2001):
        with pytest.raises(InvalidTimestamp):
            admission.admit(batch_of(b"a", at_ms=at_ms), NOW_MS)


def test_a_topic_with_times_of_storing_takes_any_time() -> None:
    admission = admission_of(topic(message_timestamp_type="LogAppendTime", message_timestamp_before_max_ms="1"))
    stored = admission.admit(batch_of(b"a", b"b", at_ms=5), NOW_MS)
    assert [record.timestamp_ms for record in read_records(stored)] == [NOW_MS, NOW_MS]
    assert stored.matches_checksum()


def test_a_compacted_topic_takes_no_message_without_a_key() -> None:
    for policy in ("compact", "compact,delete"):
        admission = admission_of(topic(cleanup_policy=policy))
        admission.admit(batch_of(b"a"), NOW_MS)
        with pytest.raises(InvalidRecord) as refused:
            admission.admit(batch_of(b"a", b"b", key=None), NOW_MS)
        assert list(refused.value.rejected) == [0, 1]


def test_clients_may_not_write_markers() -> None:
    marker = build_marker(Marker.COMMIT, producer_id=7, producer_epoch=0, timestamp_ms=NOW_MS)
    with pytest.raises(InvalidRecord):
        Admission().admit(marker, NOW_MS)


@pytest.mark.parametrize("given", Codec)
@pytest.mark.parametrize(
    ("wanted", "codec"),
    [
        ("uncompressed", Codec.NONE),
        ("gzip", Codec.GZIP),
        ("snappy", Codec.SNAPPY),
        ("lz4", Codec.LZ4),
        ("zstd", Codec.ZSTD),
    ],
)
def test_a_topic_keeps_batches_in_its_own_compression(given: Codec, wanted: str, codec: Codec) -> None:
    batch = batch_of(b"a" * 50, b"b" * 50, codec=given)
    stored = admission_of(topic(compression_type=wanted)).admit(batch, NOW_MS)
    assert stored.codec is codec
    assert read_records(stored) == read_records(batch)
    assert (stored.producer_id, stored.producer_epoch, stored.base_sequence) == (7, 1, 3)


@pytest.mark.parametrize(("codec", "low", "high"), [("gzip", "1", "9"), ("zstd", "-50", "19")])
def test_a_level_makes_batches_smaller(codec: str, low: str, high: str) -> None:
    batch = batch_of(*(b"%d orders of %d pieces" % (at * 7919, at) for at in range(500)))
    sizes = [
        admission_of(topic(compression_type=codec, **{f"compression_{codec}_level": level})).admit(batch, NOW_MS)
        for level in (low, high)
    ]
    assert sizes[0].size_bytes > sizes[1].size_bytes
    assert read_records(sizes[0]) == read_records(sizes[1]) == read_records(batch)


def test_rules_are_made_once_and_again_when_the_topic_changes() -> None:
    admissions = Admissions()
    first = topic()
    assert admissions.of(first) is admissions.of(first)
    changed = Topic(id=first.id, name="orders", partition_numbers=(1,), settings={"max.message.bytes": "5"})
    assert admissions.of(changed).bytes_max == 5
    admissions.forget(changed)
    assert admissions.of(first).bytes_max == 1_048_588


def test_a_setting_that_cannot_be_is_named() -> None:
    with pytest.raises(InvalidSetting, match=r"compression\.type"):
        admission_of(topic(compression_type="lzma"))
