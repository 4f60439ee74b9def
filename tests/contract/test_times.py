"""Looking up a time: the first record that is not older, or the latest of all; exact even inside a compressed batch."""

import pytest

from braidmq.log import TimedOffset
from braidmq.records import Batch, Codec, Marker, build_batch, resealed, with_append_time
from contract.harness import LogUnderTest, batch_of, marker, sent, timed


@pytest.mark.parametrize("codec", Codec)
async def test_a_time_inside_a_batch_is_found_exactly(under_test: LogUnderTest, codec: Codec) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, timed(100, 200, 300, codec=codec))
    await under_test.append(number, timed(400, 500, codec=codec))
    log = under_test.log
    assert await log.offset_for_time(number, 0) == TimedOffset(0, 100)
    assert await log.offset_for_time(number, 100) == TimedOffset(0, 100)
    assert await log.offset_for_time(number, 101) == TimedOffset(1, 200)
    assert await log.offset_for_time(number, 300) == TimedOffset(2, 300)
    assert await log.offset_for_time(number, 301) == TimedOffset(3, 400)
    assert await log.offset_for_time(number, 500) == TimedOffset(4, 500)
    assert await log.offset_for_time(number, 501) is None


async def test_an_empty_partition_has_no_time(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    assert await under_test.log.offset_for_time(number, 0) is None


@pytest.mark.parametrize("codec", Codec)
async def test_records_of_an_append_time_batch_all_have_its_time(under_test: LogUnderTest, codec: Codec) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, with_append_time(timed(1, 2, 3, codec=codec), 1000))
    await under_test.append(number, with_append_time(timed(9999, 2, codec=codec), 2000))
    assert await under_test.log.offset_for_time(number, 3) == TimedOffset(0, 1000)
    assert await under_test.log.offset_for_time(number, 1001) == TimedOffset(3, 2000)
    assert await under_test.log.offset_for_time(number, 2001) is None


async def test_times_out_of_order_give_the_first_offset_that_is_late_enough(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    for times in ((500, 100), (300,), (700, 600), (200, 800)):
        await under_test.append(number, timed(*times))
    wanted = [(50, 0, 500), (500, 0, 500), (501, 3, 700), (650, 3, 700), (701, 6, 800)]
    for timestamp_ms, offset, found_ms in wanted:
        assert await under_test.log.offset_for_time(number, timestamp_ms) == TimedOffset(offset, found_ms)


async def test_what_was_deleted_is_not_found(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, timed(900, 100, 200))
    await under_test.append(number, timed(300))
    await under_test.log.delete_records(number, 1)
    assert await under_test.log.offset_for_time(number, 0) == TimedOffset(1, 100)
    assert await under_test.log.offset_for_time(number, 250) == TimedOffset(3, 300)
    assert await under_test.log.offset_for_time(number, 301) is None


async def test_a_time_is_found_across_many_segments(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings={"segment.bytes": "14"})
    for at in range(20):
        await under_test.append(number, timed(at * 10, at * 10 + 5))
    for at in range(20):
        assert await under_test.log.offset_for_time(number, at * 10 + 1) == TimedOffset(2 * at + 1, at * 10 + 5)
    await under_test.log.delete_records(number, 11)
    assert await under_test.log.offset_for_time(number, 0) == TimedOffset(11, 55)


async def test_a_time_is_found_among_many_batches(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    padding = b"x" * 40_000
    for at in range(20):
        await under_test.append(number, batch_of(padding, at_ms=at * 10))
    for at in range(20):
        assert await under_test.log.offset_for_time(number, at * 10 - 9) == TimedOffset(at, at * 10)


async def test_negative_times_are_times(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, timed(-500, -100))
    assert await under_test.log.offset_for_time(number, -1000) == TimedOffset(0, -500)
    assert await under_test.log.offset_for_time(number, -100) == TimedOffset(1, -100)
    assert await under_test.log.offset_for_time(number, -99) is None


async def test_a_marker_has_a_time_too(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=0, transactional=True))
    await under_test.append(number, marker(Marker.COMMIT, at_ms=1 << 42))
    assert await under_test.log.offset_for_time(number, 1 << 42) == TimedOffset(1, 1 << 42)


async def test_a_batch_that_cannot_be_opened_answers_with_its_beginning(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, timed(100))
    broken = bytearray(build_batch([], base_offset=0).data) + b"no records"
    broken[22] |= Codec.ZSTD
    await under_test.append(number, _with_time(broken, 500))
    assert await under_test.log.offset_for_time(number, 200) == TimedOffset(1, 500)


@pytest.mark.parametrize("codec", Codec)
async def test_the_record_with_the_latest_time_is_found_exactly(under_test: LogUnderTest, codec: Codec) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, timed(100, 900, 300, codec=codec))
    await under_test.append(number, timed(400, 500, codec=codec))
    assert await under_test.log.latest_record(number) == TimedOffset(1, 900)
    await under_test.append(number, timed(800, 901, 901, codec=codec))
    await under_test.append(number, timed(901, codec=codec))
    assert await under_test.log.latest_record(number) == TimedOffset(6, 901)


async def test_an_empty_partition_has_no_latest_record(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    assert await under_test.log.latest_record(number) is None


async def test_the_latest_record_is_found_across_many_segments(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings={"segment.bytes": "14"})
    times = [10, 50, 20, 90, 30, 90, 40]
    for at_ms in times:
        await under_test.append(number, timed(at_ms, at_ms - 5))
    assert await under_test.log.latest_record(number) == TimedOffset(6, 90)
    await under_test.log.delete_records(number, 7)
    assert await under_test.log.latest_record(number) == TimedOffset(10, 90)
    await under_test.log.delete_records(number, 11)
    assert await under_test.log.latest_record(number) == TimedOffset(11, 85)


async def test_a_latest_record_that_was_deleted_inside_its_segment_is_not_found(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, timed(900, 100, 200))
    await under_test.append(number, timed(300, 150))
    await under_test.log.delete_records(number, 1)
    assert await under_test.log.latest_record(number) == TimedOffset(3, 300)
    await under_test.log.delete_records(number, 5)
    assert await under_test.log.latest_record(number) is None


async def test_the_latest_record_is_found_among_many_batches(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    padding = b"x" * 40_000
    for at in [*range(0, 100, 10), 500, *range(100, 200, 10)]:
        await under_test.append(number, batch_of(padding, at_ms=at))
    assert await under_test.log.latest_record(number) == TimedOffset(10, 500)


async def test_the_latest_of_negative_times_is_found(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, timed(-500, -100))
    await under_test.append(number, timed(-400))
    assert await under_test.log.latest_record(number) == TimedOffset(1, -100)


async def test_the_latest_record_is_found_after_a_restart(persistent: LogUnderTest) -> None:
    number = await persistent.make_partition()
    await persistent.append(number, timed(100, 900, 300))
    await persistent.append(number, timed(400))
    await persistent.reopen()
    assert await persistent.log.latest_record(number) == TimedOffset(1, 900)


def _with_time(data: bytearray, at_ms: int) -> Batch:
    return with_append_time(resealed(data), at_ms)
