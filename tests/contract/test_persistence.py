"""What a log that keeps its data has after it was closed and opened again: everything."""

import asyncio

import msgspec
import pytest

from braidmq.log import AbortedTransaction, Bounds, GroupOffset, TimedOffset
from braidmq.model.errors import OffsetOutOfRange, OutOfOrderSequence, ProducerFenced, UnknownPartition
from braidmq.records import Codec, Marker
from contract.harness import BEGAN_MS, LogUnderTest, batch_of, keyed, marker, sent, timed

SMALL = {"segment.bytes": "14"}
COMPACT = SMALL | {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "delete.retention.ms": "1000"}


async def test_messages_and_offsets_survive(persistent: LogUnderTest) -> None:
    one, two = (await persistent.make_topic(partitions=2)).partition_numbers
    for codec in Codec:
        await persistent.append(one, batch_of(b"a", b"b", codec=codec))
    await persistent.append_each(two, b"c" * 200_000)
    before = [bytes(batch.data) for batch in await persistent.batches(one)]
    await persistent.reopen()
    assert [bytes(batch.data) for batch in await persistent.batches(one)] == before
    assert await persistent.values(two) == [b"c" * 200_000]
    assert persistent.log.bounds(one) == Bounds(0, 10, 10)
    assert (await persistent.append(one, batch_of(b"d"))).base_offset == 10


async def test_many_segments_survive(persistent: LogUnderTest) -> None:
    number = await persistent.make_partition(settings=SMALL)
    values = [b"%d" % at for at in range(30)]
    await persistent.append_each(number, *values)
    for _ in range(2):
        await persistent.reopen()
        assert await persistent.values(number) == values
        assert await persistent.values(number, 17) == values[17:]


async def test_an_empty_partition_survives(persistent: LogUnderTest) -> None:
    number = await persistent.make_partition()
    await persistent.reopen()
    assert persistent.log.bounds(number) == Bounds(0, 0, 0)
    assert (await persistent.append(number, batch_of(b"a"))).base_offset == 0


async def test_producers_survive(persistent: LogUnderTest) -> None:
    number = await persistent.make_partition()
    await persistent.append(number, sent(b"a", sequence=0, epoch=1))
    first = await persistent.append(number, sent(b"b", b"c", sequence=1, epoch=1))
    persistent.clock.now_ms += 1000
    await persistent.reopen()
    assert await persistent.append(number, sent(b"b", b"c", sequence=1, epoch=1)) == first._replace(duplicate=True)
    assert isinstance(await persistent.try_append(number, sent(b"z", sequence=9, epoch=1)), OutOfOrderSequence)
    assert isinstance(await persistent.try_append(number, sent(b"z", sequence=3, epoch=0)), ProducerFenced)
    assert (await persistent.append(number, sent(b"d", sequence=3, epoch=1))).base_offset == 3


async def test_the_last_five_batches_of_a_producer_survive(persistent: LogUnderTest) -> None:
    """Any of them may be the one whose answer the producer never saw."""
    number = await persistent.make_partition()
    batches = [sent(b"%d" % sequence, sequence=sequence) for sequence in range(7)]
    appended = [await persistent.append(number, batch) for batch in batches]
    await persistent.reopen()
    for batch, first in list(zip(batches, appended, strict=True))[-5:]:
        assert await persistent.append(number, batch) == first._replace(duplicate=True)
    assert await persistent.values(number) == [b"%d" % sequence for sequence in range(7)]
    assert not (await persistent.append(number, sent(b"7", sequence=7))).duplicate


async def test_an_open_transaction_survives(persistent: LogUnderTest) -> None:
    number = await persistent.make_partition()
    await persistent.append_each(number, b"before")
    await persistent.append(number, sent(b"a", sequence=0, transactional=True))
    await persistent.append_each(number, b"behind")
    await persistent.reopen()
    assert persistent.log.bounds(number) == Bounds(0, 1, 3)
    await persistent.append(number, marker(Marker.ABORT))
    assert await persistent.committed_values(number) == [b"before", b"behind"]


async def test_aborted_transactions_survive(persistent: LogUnderTest) -> None:
    number = await persistent.make_partition()
    for sequence, kind in enumerate([Marker.ABORT, Marker.COMMIT, Marker.ABORT]):
        await persistent.append(number, sent(b"%d" % sequence, sequence=sequence, transactional=True))
        await persistent.append(number, marker(kind))
    await persistent.reopen()
    assert (await persistent.read(number, committed=True)).aborted == (
        AbortedTransaction(7, 0),
        AbortedTransaction(7, 4),
    )
    assert await persistent.committed_values(number) == [b"1"]


async def test_the_start_survives(persistent: LogUnderTest) -> None:
    number = await persistent.make_partition()
    await persistent.append(number, batch_of(b"a", b"b", b"c"))
    await persistent.append_each(number, b"d")
    await persistent.log.delete_records(number, 2)
    await persistent.reopen()
    assert persistent.log.bounds(number) == Bounds(2, 4, 4)
    with pytest.raises(OffsetOutOfRange):
        await persistent.read(number, 1)
    assert await persistent.values(number, 2) == [b"a", b"b", b"c", b"d"]


async def test_a_partition_that_was_emptied_goes_on_where_it_was(persistent: LogUnderTest) -> None:
    number = await persistent.make_partition()
    await persistent.append_each(number, b"a", b"b")
    await persistent.log.delete_records(number, 2)
    await persistent.reopen()
    assert persistent.log.bounds(number) == Bounds(2, 2, 2)
    assert (await persistent.append(number, batch_of(b"c"))).base_offset == 2


async def test_a_partition_that_retention_emptied_goes_on_where_it_was(persistent: LogUnderTest) -> None:
    topic = await persistent.make_topic(retention_ms=1000)
    (number,) = topic.partition_numbers
    await persistent.append_each(number, b"a", b"b")
    await persistent.reopen()
    persistent.clock.now_ms += 1001
    await persistent.log.maintain()
    assert persistent.log.bounds(number) == Bounds(2, 2, 2)
    for _ in range(2):
        await persistent.reopen()
        assert persistent.log.bounds(number) == Bounds(2, 2, 2)
    assert (await persistent.append(number, batch_of(b"c"))).base_offset == 2
    await persistent.reopen()
    assert await persistent.values(number, 2) == [b"c"]


async def test_times_are_found_after_opening(persistent: LogUnderTest) -> None:
    number = await persistent.make_partition()
    for at in range(10):
        await persistent.append(number, timed(at * 10, at * 10 + 5))
    await persistent.reopen()
    for at in range(10):
        assert await persistent.log.offset_for_time(number, at * 10 + 1) == TimedOffset(2 * at + 1, at * 10 + 5)


async def test_group_offsets_survive(persistent: LogUnderTest) -> None:
    one, two = (await persistent.make_topic(partitions=2)).partition_numbers
    committed = {one: GroupOffset(5, "metadata é", 3, 1234), two: GroupOffset(0)}
    await persistent.log.commit_offsets("kept", committed)
    await persistent.log.commit_offsets("some", committed)
    await persistent.log.delete_offsets("some", [one])
    await persistent.log.commit_offsets("gone", committed)
    await persistent.log.delete_offsets("gone")
    await persistent.reopen()
    assert persistent.log.fetch_offsets("kept") == committed
    assert persistent.log.fetch_offsets("some") == {two: GroupOffset(0)}
    assert sorted(persistent.log.groups_with_offsets()) == ["kept", "some"]


async def test_topics_survive_with_their_settings_and_deleted_ones_stay_away(persistent: LogUnderTest) -> None:
    kept = await persistent.make_topic()
    expanded = msgspec.structs.replace(
        kept, retention_ms=1000, partition_numbers=kept.partition_numbers + persistent.plan_topic().partition_numbers
    )
    await persistent.log.expand_topic(expanded)
    gone = await persistent.make_topic()
    for number in (*expanded.partition_numbers, *gone.partition_numbers):
        await persistent.append_each(number, b"a")
    await persistent.log.commit_offsets("g", {gone.partition_numbers[0]: GroupOffset(1)})
    await persistent.log.delete_topic(gone.id)
    await persistent.reopen()
    assert [await persistent.values(number) for number in expanded.partition_numbers] == [[b"a"], [b"a"]]
    with pytest.raises(UnknownPartition):
        persistent.log.bounds(gone.partition_numbers[0])
    assert list(persistent.log.groups_with_offsets()) == []
    persistent.clock.now_ms += 1001
    await persistent.log.maintain()
    assert persistent.log.bounds(expanded.partition_numbers[0]).start == 1


async def test_a_topic_made_again_under_a_new_id_is_the_new_one(persistent: LogUnderTest) -> None:
    old = await persistent.make_topic()
    await persistent.append_each(old.partition_numbers[0], b"old")
    await persistent.log.delete_topic(old.id)
    new = await persistent.make_topic()
    await persistent.append_each(new.partition_numbers[0], b"new")
    await persistent.reopen()
    assert await persistent.values(new.partition_numbers[0]) == [b"new"]
    await persistent.log.delete_topic(old.id)
    assert await persistent.values(new.partition_numbers[0]) == [b"new"]


async def test_compaction_goes_on_where_it_was(persistent: LogUnderTest) -> None:
    number = await persistent.make_partition(settings=COMPACT)
    await persistent.append(number, keyed((b"k", b"1"), (b"other", b"1")))
    await persistent.append(number, keyed((b"k", None)))
    await persistent.append(number, keyed((b"last", b"1")))
    await persistent.log.maintain()
    await persistent.reopen()
    assert [record.offset for record in await persistent.records(number)] == [1, 2, 3]
    persistent.clock.now_ms = BEGAN_MS + 1001
    await persistent.append(number, keyed((b"last", b"2")))
    await persistent.log.maintain()
    await persistent.reopen()
    assert [record.offset for record in await persistent.records(number)] == [1, 3, 4]
    assert persistent.log.bounds(number) == Bounds(0, 5, 5)


async def test_a_topic_made_again_after_a_cancelled_try_survives(persistent: LogUnderTest) -> None:
    first, second = persistent.plan_topic(), persistent.plan_topic()
    going_on = asyncio.ensure_future(persistent.log.create_topic(first))
    cancelled = asyncio.ensure_future(persistent.log.create_topic(second))
    await asyncio.sleep(0)
    cancelled.cancel()
    await going_on
    await persistent.log.create_topic(second)
    await persistent.append_each(second.partition_numbers[0], b"a")
    await persistent.reopen()
    assert await persistent.values(second.partition_numbers[0]) == [b"a"]


async def test_what_was_appended_while_closing_began_survives(persistent: LogUnderTest) -> None:
    number = await persistent.make_partition()
    futures = [persistent.log.append([(number, batch_of(b"%d" % at))]) for at in range(20)]
    await persistent.reopen()
    await asyncio.gather(*futures)
    assert await persistent.values(number) == [b"%d" % at for at in range(20)]
