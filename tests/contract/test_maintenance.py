"""Retention gives up what is too old or too much; compaction keeps the last value of each key.

Topics here have segments of one byte, so that every append begins a segment: what a log gives up or compacts by
segments is then the same for all of them. The last segment, which is still written to, is never compacted.
"""

import msgspec
import pytest

from braidmq.log import Bounds, GroupOffset, TimedOffset
from braidmq.model.errors import NotArchived
from braidmq.model.names import ARCHIVE_GROUP
from braidmq.records import Batch, Codec, Marker, build_batch, resealed, with_append_time
from contract.harness import BEGAN_MS, LogUnderTest, batch_of, keyed, marker, sent

SMALL = {"segment.bytes": "14"}
COMPACT = SMALL | {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "delete.retention.ms": "1000"}
HOUR_MS = 60 * 60 * 1000


async def test_what_is_too_old_goes(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_ms=HOUR_MS, settings=SMALL)
    (number,) = topic.partition_numbers
    for hours in range(4):
        await under_test.append(number, batch_of(b"%d" % hours, at_ms=BEGAN_MS + hours * HOUR_MS))
    under_test.clock.now_ms = BEGAN_MS + 3 * HOUR_MS
    await under_test.log.maintain()
    assert under_test.log.bounds(number) == Bounds(2, 4, 4)


async def test_retention_keeps_what_is_exactly_as_old_as_allowed(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_ms=HOUR_MS, settings=SMALL)
    (number,) = topic.partition_numbers
    await under_test.append(number, batch_of(b"a", at_ms=BEGAN_MS))
    under_test.clock.now_ms = BEGAN_MS + HOUR_MS
    await under_test.log.maintain()
    assert await under_test.values(number) == [b"a"]


async def test_even_the_last_message_goes_when_it_is_too_old_and_offsets_go_on(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_ms=HOUR_MS)
    (number,) = topic.partition_numbers
    await under_test.append_each(number, b"a", b"b")
    under_test.clock.now_ms += HOUR_MS + 1
    await under_test.log.maintain()
    assert under_test.log.bounds(number) == Bounds(2, 2, 2)
    assert (await under_test.append(number, batch_of(b"c", at_ms=under_test.clock.now_ms))).base_offset == 2
    await under_test.log.maintain()
    assert await under_test.values(number, 2) == [b"c"]


async def test_messages_without_a_time_are_as_old_as_their_storing(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_ms=HOUR_MS)
    (number,) = topic.partition_numbers
    await under_test.append(number, batch_of(b"a", at_ms=-1))
    under_test.clock.now_ms += HOUR_MS
    await under_test.log.maintain()
    assert under_test.log.bounds(number).start == 0
    under_test.clock.now_ms += 1
    await under_test.log.maintain()
    assert under_test.log.bounds(number).start == 1


async def test_something_young_in_front_keeps_what_is_old_behind_it(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_ms=HOUR_MS, settings=SMALL)
    (number,) = topic.partition_numbers
    await under_test.append(number, batch_of(b"young", at_ms=BEGAN_MS + HOUR_MS))
    await under_test.append(number, batch_of(b"old", at_ms=BEGAN_MS))
    under_test.clock.now_ms = BEGAN_MS + 2 * HOUR_MS
    await under_test.log.maintain()
    assert under_test.log.bounds(number).start == 0


async def test_what_is_too_much_goes_from_the_front(under_test: LogUnderTest) -> None:
    size = batch_of(b"x" * 100).size_bytes
    topic = await under_test.make_topic(retention_bytes=3 * size, settings=SMALL)
    (number,) = topic.partition_numbers
    await under_test.append_each(number, *[b"x" * 100] * 10)
    await under_test.log.maintain()
    assert under_test.log.bounds(number) == Bounds(7, 10, 10)


async def test_the_last_message_is_never_too_much(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_bytes=0, settings=SMALL)
    (number,) = topic.partition_numbers
    await under_test.append_each(number, b"a", b"b")
    await under_test.log.maintain()
    assert await under_test.values(number, 1) == [b"b"]
    assert under_test.log.bounds(number).start == 1


async def test_new_settings_count_from_the_next_maintenance_on(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_ms=-1)
    (number,) = topic.partition_numbers
    await under_test.append_each(number, b"a")
    under_test.clock.now_ms += 10 * HOUR_MS
    await under_test.log.maintain()
    assert under_test.log.bounds(number).start == 0
    await under_test.log.configure_topic(msgspec.structs.replace(topic, retention_ms=HOUR_MS))
    await under_test.log.maintain()
    assert under_test.log.bounds(number).start == 1


async def test_a_topic_that_is_only_compacted_keeps_what_is_old(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_ms=HOUR_MS, retention_bytes=0, settings=COMPACT)
    (number,) = topic.partition_numbers
    await under_test.append(number, keyed((b"k", b"v")))
    under_test.clock.now_ms += 10 * HOUR_MS
    await under_test.log.maintain()
    assert under_test.log.bounds(number) == Bounds(0, 1, 1)


REQUIRED = SMALL | {"braid.archive": "required"}


async def archive(under_test: LogUnderTest, number: int, offset: int) -> None:
    await under_test.log.commit_offsets(ARCHIVE_GROUP, {number: GroupOffset(offset)})


async def test_what_is_too_old_waits_for_the_archive_where_it_is_required(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_ms=HOUR_MS, settings=REQUIRED)
    (number,) = topic.partition_numbers
    await under_test.append_each(number, b"a", b"b", b"c")
    under_test.clock.now_ms += HOUR_MS + 1
    await under_test.log.maintain()
    assert under_test.log.bounds(number).start == 0
    assert under_test.log.held_bytes() == {number: 3 * batch_of(b"a").size_bytes}
    await archive(under_test, number, 2)
    await under_test.log.maintain()
    assert under_test.log.bounds(number).start == 2
    assert under_test.log.held_bytes() == {number: batch_of(b"a").size_bytes}
    await archive(under_test, number, 3)
    await under_test.log.maintain()
    assert under_test.log.bounds(number) == Bounds(3, 3, 3)
    assert not under_test.log.held_bytes()


async def test_what_is_too_much_waits_for_the_archive_where_it_is_required(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_bytes=0, settings=REQUIRED)
    (number,) = topic.partition_numbers
    await under_test.append_each(number, b"a", b"b", b"c", b"d")
    await archive(under_test, number, 2)
    await under_test.log.maintain()
    assert await under_test.values(number, 2) == [b"c", b"d"]
    assert under_test.log.bounds(number).start == 2


async def test_compaction_waits_for_the_archive_where_it_is_required(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT | REQUIRED)
    for value in (b"1", b"2", b"3", b"4"):
        await under_test.append(number, keyed((b"a", value)))
    assert sorted(await compacted(under_test, number)) == [0, 1, 2, 3]
    await archive(under_test, number, 2)
    assert sorted(await compacted(under_test, number)) == [1, 2, 3]


async def test_an_archive_that_stands_in_a_gap_is_not_left_before_the_start(under_test: LogUnderTest) -> None:
    """It would find its own place gone, and take that for a loss."""
    settings = COMPACT | REQUIRED | {"cleanup.policy": "compact,delete"}
    topic = await under_test.make_topic(retention_ms=HOUR_MS, settings=settings | {"segment.bytes": "1000"})
    (number,) = topic.partition_numbers
    for key, value in ((b"a", b"1"), (b"b", b"1"), (b"b", b"2"), (b"b", b"3")):
        await under_test.append(number, keyed((key, value)))
    # What was one segment becomes two, with nothing between them.
    await under_test.log.configure_topic(msgspec.structs.replace(topic, settings=settings))
    await under_test.append(number, keyed((b"last", b"")))
    await archive(under_test, number, 5)
    assert sorted(await compacted(under_test, number)) == [0, 3, 4]
    await archive(under_test, number, 2)
    under_test.clock.now_ms += HOUR_MS + 1
    await under_test.log.maintain()
    assert under_test.log.bounds(number).start <= 2
    await archive(under_test, number, 5)
    await under_test.log.maintain()
    assert under_test.log.bounds(number) == Bounds(5, 5, 5)


async def test_a_topic_whose_archive_is_only_wished_for_does_not_wait(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_ms=HOUR_MS, settings=SMALL | {"braid.archive": "on"})
    (number,) = topic.partition_numbers
    await under_test.append_each(number, b"a")
    under_test.clock.now_ms += HOUR_MS + 1
    await under_test.log.maintain()
    assert under_test.log.bounds(number).start == 1


async def test_nobody_deletes_what_a_required_archive_does_not_hold(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(settings=REQUIRED)
    (number,) = topic.partition_numbers
    await under_test.append_each(number, b"a", b"b", b"c")
    with pytest.raises(NotArchived, match="up to offset 0"):
        await under_test.log.delete_records(number, 1)
    await archive(under_test, number, 2)
    with pytest.raises(NotArchived, match="up to offset 2"):
        await under_test.log.delete_records(number, 3)
    assert await under_test.log.delete_records(number, 2) == 2
    assert await under_test.log.delete_records(number, 1) == 2


async def compacted(under_test: LogUnderTest, number: int) -> dict[int, tuple[bytes | None, bytes | None]]:
    """What is left after a maintenance: offset -> key, value."""
    await under_test.log.maintain()
    return {record.offset: (record.key, record.value) for record in await under_test.records(number)}


@pytest.mark.parametrize("codec", Codec)
async def test_the_last_value_of_each_key_stays_at_its_offset(under_test: LogUnderTest, codec: Codec) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    await under_test.append(number, keyed((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), codec=codec))
    await under_test.append(number, keyed((b"b", b"2"), (b"c", b"1"), codec=codec))
    await under_test.append(number, keyed((b"a", b"3"), codec=codec))
    await under_test.append(number, keyed((b"last", b""), codec=codec))
    left = await compacted(under_test, number)
    assert left == {3: (b"b", b"2"), 4: (b"c", b"1"), 5: (b"a", b"3"), 6: (b"last", b"")}
    assert under_test.log.bounds(number) == Bounds(0, 7, 7)


async def test_gaps_can_be_read_from_any_offset(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    for value in (b"1", b"2", b"3", b"4"):
        await under_test.append(number, keyed((b"k", value), (b"k", value + b"x")))
    assert set(await compacted(under_test, number)) == {5, 6, 7}
    for offset in range(5):
        assert (await under_test.records(number, offset))[0].offset == 5
    now = under_test.log.read_now(number, 0, 1)
    assert now is None or now.data


async def test_a_batch_keeps_its_range_of_offsets(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    await under_test.append(number, keyed((b"a", b"1"), (b"b", b"1"), (b"c", b"1")))
    await under_test.append(number, keyed((b"a", b"2"), (b"c", b"2")))
    await under_test.append(number, keyed((b"last", b"")))
    await under_test.log.maintain()
    first = (await under_test.batches(number))[0]
    assert (first.base_offset, first.last_offset, first.record_count) == (0, 2, 1)


async def test_records_without_a_key_stay(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    await under_test.append(number, keyed((None, b"1"), (None, b"2")))
    await under_test.append(number, keyed((b"last", b"")))
    assert set(await compacted(under_test, number)) == {0, 1, 2}


async def test_a_deletion_stays_until_slow_readers_had_their_time(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    await under_test.append(number, keyed((b"k", b"v")))
    await under_test.append(number, keyed((b"k", None)))
    await under_test.append(number, keyed((b"last", b"1")))
    assert await compacted(under_test, number) == {1: (b"k", None), 2: (b"last", b"1")}
    await under_test.append(number, keyed((b"last", b"2")))
    assert 1 in await compacted(under_test, number)
    under_test.clock.now_ms += 1001
    await under_test.append(number, keyed((b"last", b"3")))
    assert 1 not in await compacted(under_test, number)


async def test_a_deletion_that_was_never_compacted_stays_however_old(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    await under_test.append(number, keyed((b"k", None), at_ms=0))
    await under_test.append(number, keyed((b"last", b"")))
    assert 0 in await compacted(under_test, number)


async def test_values_from_before_an_earlier_compaction_are_superseded_too(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    for value in (b"1", b"2", b"3"):
        await under_test.append(number, keyed((b"k", value), (value, b"")))
        await under_test.log.maintain()
    await under_test.append(number, keyed((b"last", b"")))
    assert set(await compacted(under_test, number)) == {1, 3, 4, 5, 6}


async def test_nothing_is_compacted_before_enough_is_new(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT | {"min.cleanable.dirty.ratio": "0.9"})
    for at in range(10):
        await under_test.append(number, keyed((b"%d" % at, b"x" * 1000)))
    await under_test.log.maintain()
    await under_test.append(number, keyed((b"0", b"new")))
    await under_test.append(number, keyed((b"last", b"")))
    await under_test.log.maintain()
    (first,) = (await under_test.records(number))[:1]
    assert (first.offset, first.key) == (0, b"0")


async def test_what_is_younger_than_the_least_lag_stays_although_it_is_superseded(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT | {"min.compaction.lag.ms": str(HOUR_MS)})
    await under_test.append(number, keyed((b"k", b"1")))
    await under_test.append(number, keyed((b"k", b"2")))
    await under_test.append(number, keyed((b"k", b"3"), at_ms=BEGAN_MS + HOUR_MS))
    await under_test.append(number, keyed((b"last", b""), at_ms=BEGAN_MS + HOUR_MS))
    under_test.clock.now_ms += HOUR_MS - 1
    assert set(await compacted(under_test, number)) == {0, 1, 2, 3}
    under_test.clock.now_ms += 1
    assert set(await compacted(under_test, number)) == {1, 2, 3}
    under_test.clock.now_ms += HOUR_MS
    assert set(await compacted(under_test, number)) == {2, 3}


async def test_what_has_waited_for_the_greatest_lag_is_compacted_although_little_is_new(
    under_test: LogUnderTest,
) -> None:
    settings = COMPACT | {"min.cleanable.dirty.ratio": "1.0", "max.compaction.lag.ms": str(HOUR_MS)}
    number = await under_test.make_partition(settings=settings)
    for at in range(10):
        await under_test.append(number, keyed((b"%d" % at, b"x" * 1000)))
    await under_test.log.maintain()
    await under_test.append(number, keyed((b"0", b"new")))
    await under_test.append(number, keyed((b"last", b"")))
    under_test.clock.now_ms += HOUR_MS - 1
    assert 0 in await compacted(under_test, number)
    under_test.clock.now_ms += 1
    assert 0 not in await compacted(under_test, number)


async def test_what_an_aborted_transaction_wrote_goes(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    await under_test.append(number, keyed((b"k", b"kept")))
    await under_test.append(number, sent(b"aborted", sequence=0, key=b"k", transactional=True))
    await under_test.append(number, marker(Marker.ABORT))
    await under_test.append(number, keyed((b"last", b"")))
    left = await compacted(under_test, number)
    assert left[0] == (b"k", b"kept")
    assert 1 not in left
    assert await under_test.committed_values(number) == [b"kept", b""]


async def test_what_is_not_committed_is_untouched(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    await under_test.append(number, keyed((b"k", b"old")))
    await under_test.append(number, sent(b"open", sequence=0, key=b"k", transactional=True))
    await under_test.append(number, keyed((b"k", b"behind")))
    await under_test.append(number, keyed((b"last", b"")))
    assert set(await compacted(under_test, number)) == {0, 1, 2, 3}
    await under_test.append(number, marker(Marker.COMMIT))
    await under_test.append(number, keyed((b"last", b"")))
    left = await compacted(under_test, number)
    assert {0, 1}.isdisjoint(left)
    assert left[2] == (b"k", b"behind")


async def test_an_abort_whose_marker_is_gone_hides_nothing_of_its_producer(under_test: LogUnderTest) -> None:
    settings = COMPACT | {"segment.bytes": "100000", "segment.ms": "1"}
    number = await under_test.make_partition(settings=settings)
    await under_test.append(number, sent(b"aborted", sequence=0, key=b"k", transactional=True))
    await under_test.append(number, marker(Marker.ABORT))
    await under_test.append(number, sent(b"committed", sequence=1, key=b"k", transactional=True))
    await under_test.append(number, marker(Marker.COMMIT))
    for turn in range(3):
        under_test.clock.now_ms += 10_000
        await under_test.append(number, keyed((b"last", b"%d" % turn)))
        await under_test.log.maintain()
    assert 1 not in [batch.base_offset for batch in await under_test.batches(number)]
    assert b"committed" in await under_test.committed_values(number)


async def test_a_batch_that_cannot_be_opened_stays_and_stops_nothing(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    other = await under_test.make_partition(settings=COMPACT)
    await under_test.append(number, unreadable())
    for each in (number, other):
        await under_test.append(each, keyed((b"k", b"1")))
        await under_test.append(each, keyed((b"k", b"2")))
        await under_test.append(each, keyed((b"last", b"")))
    await under_test.log.maintain()
    assert [batch.base_offset for batch in await under_test.batches(number)] == [0, 2, 3]
    assert [batch.base_offset for batch in await under_test.batches(other)] == [1, 2]


def unreadable() -> Batch:
    data = bytearray(build_batch([], base_offset=0).data) + b"no records"
    data[22] |= Codec.ZSTD
    return resealed(data)


async def test_append_times_survive_compaction(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    await under_test.append(number, with_append_time(keyed((b"a", b"1"), (b"b", b"1")), BEGAN_MS + 5))
    await under_test.append(number, keyed((b"a", b"2"), at_ms=BEGAN_MS + 1))
    await under_test.append(number, keyed((b"last", b""), at_ms=BEGAN_MS + 9))
    await under_test.log.maintain()
    assert (await under_test.records(number))[0].timestamp_ms == BEGAN_MS + 5
    assert await under_test.log.offset_for_time(number, BEGAN_MS + 2) == TimedOffset(1, BEGAN_MS + 5)


async def test_producers_are_known_after_their_batches_were_compacted_away(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    await under_test.append(number, sent(b"1", sequence=0, key=b"k"))
    await under_test.append(number, keyed((b"k", b"2")))
    await under_test.append(number, keyed((b"last", b"")))
    assert set(await compacted(under_test, number)) == {1, 2}
    assert (await under_test.append(number, sent(b"1", sequence=0, key=b"k"))).duplicate
    assert (await under_test.append(number, sent(b"3", sequence=1, key=b"k"))).base_offset == 3


async def test_a_topic_may_be_compacted_and_have_a_retention(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_ms=HOUR_MS, settings=COMPACT | {"cleanup.policy": "compact, delete"})
    (number,) = topic.partition_numbers
    await under_test.append(number, keyed((b"old", b"1")))
    under_test.clock.now_ms += HOUR_MS + 1
    for value in (b"1", b"2", b"3"):
        await under_test.append(number, keyed((b"k", value), at_ms=under_test.clock.now_ms))
    await under_test.log.maintain()
    start, _, end = under_test.log.bounds(number)
    assert (start, end) == (1, 4)
    assert {record.offset for record in await under_test.records(number, start)} == {2, 3}


async def test_deleted_records_stay_deleted_when_a_topic_is_compacted(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    for at in range(6):
        await under_test.append(number, keyed((b"%d" % at, b"v"), (b"%d" % at, b"w")))
    await under_test.log.delete_records(number, 5)
    await under_test.log.maintain()
    assert under_test.log.bounds(number) == Bounds(5, 12, 12)
    assert [record.offset for record in await under_test.records(number, 5)] == [5, 7, 9, 10, 11]


async def test_what_compaction_took_is_not_the_latest_record(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings=COMPACT)
    for value, at_ms in ((b"a", BEGAN_MS + 900), (b"b", BEGAN_MS + 100)):
        await under_test.append(number, keyed((b"k", value), at_ms=at_ms))
    await under_test.append(number, keyed((b"last", b"1"), at_ms=BEGAN_MS))
    await under_test.log.maintain()
    assert await under_test.log.latest_record(number) == TimedOffset(1, BEGAN_MS + 100)
