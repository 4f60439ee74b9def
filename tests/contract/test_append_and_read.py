"""What is appended gets the next offsets, and is read back as whole batches."""

import asyncio

import pytest

from braidmq.log import Appended, Bounds
from braidmq.model.errors import OffsetOutOfRange, UnknownPartition
from braidmq.records import Codec, parse_batch
from contract.harness import BEGAN_MS, LogUnderTest, batch_of, stored_batches

NOWHERE = 999


async def test_offsets_are_given_without_gaps(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    first = await under_test.append(number, batch_of(b"a", b"b", b"c"))
    second = await under_test.append(number, batch_of(b"d"))
    assert first == Appended(0, 2, BEGAN_MS, 0)
    assert second == Appended(3, 3, BEGAN_MS, 0)
    assert under_test.log.bounds(number) == Bounds(0, 4, 4)


async def test_a_new_partition_is_empty(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    assert under_test.log.bounds(number) == Bounds(0, 0, 0)
    assert not (await under_test.read(number)).data


async def test_every_entry_gets_its_own_answer_in_order(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(partitions=2)
    one, two = topic.partition_numbers
    entries = [(one, batch_of(b"a")), (NOWHERE, batch_of(b"x")), (two, batch_of(b"b", b"c")), (one, batch_of(b"d"))]
    results = await under_test.log.append(entries)
    assert results[0] == Appended(0, 0, BEGAN_MS, 0)
    assert isinstance(results[1], UnknownPartition)
    assert results[2] == Appended(0, 1, BEGAN_MS, 0)
    assert results[3] == Appended(1, 1, BEGAN_MS, 0)


async def test_a_call_without_entries_is_answered(under_test: LogUnderTest) -> None:
    assert await under_test.log.append([]) == []


async def test_the_answer_names_the_start_of_the_partition(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, batch_of(b"a", b"b"))
    await under_test.log.delete_records(number, 1)
    assert (await under_test.append(number, batch_of(b"c"))).start_offset == 1


async def test_the_answer_names_the_time_of_storing(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    under_test.clock.now_ms += 5
    assert (await under_test.append(number, batch_of(b"a", at_ms=1))).append_ms == BEGAN_MS + 5


async def test_a_batch_is_kept_byte_for_byte_but_for_offset_and_leader_epoch(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, b"before")
    batch = batch_of(b"a", b"b", codec=Codec.ZSTD)
    await under_test.append(number, batch)
    (stored,) = stored_batches(await under_test.read(number, 1))
    assert (stored.base_offset, stored.leader_epoch) == (1, 0)
    assert bytes(stored.data)[16:] == bytes(batch.data)[16:]


async def test_a_batch_may_come_as_a_view_of_a_larger_buffer(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    buffer = bytearray(b"padding" + bytes(batch_of(b"a").data) + b"more")
    await under_test.append(number, parse_batch(memoryview(buffer)[:-4], 7))
    buffer[:] = bytes(len(buffer))
    assert await under_test.values(number) == [b"a"]


async def test_partitions_know_nothing_of_each_other(under_test: LogUnderTest) -> None:
    one, two = (await under_test.make_topic(partitions=2)).partition_numbers
    await under_test.append_each(one, b"a", b"b")
    await under_test.append_each(two, b"c")
    assert await under_test.values(one) == [b"a", b"b"]
    assert await under_test.values(two) == [b"c"]


async def test_a_read_inside_a_batch_begins_with_that_batch(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, batch_of(b"a", b"b", b"c"))
    await under_test.append(number, batch_of(b"d", b"e"))
    assert await under_test.values(number, 2) == [b"a", b"b", b"c", b"d", b"e"]
    assert await under_test.values(number, 4) == [b"d", b"e"]


async def test_a_read_gives_at_least_one_batch_though_it_is_larger_than_the_limit(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, b"a" * 300_000, b"b")
    for bytes_max in (0, 1, 60, 61, 1000):
        (batch,) = stored_batches(await under_test.read(number, 0, bytes_max))
        assert batch.base_offset == 0


async def test_a_read_gives_no_more_than_the_limit(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, *[b"x" * 100] * 20)
    size = batch_of(b"x" * 100).size_bytes
    for count in (1, 2, 7):
        for spare in (0, size - 1):
            got = await under_test.read(number, 3, count * size + spare)
            assert [batch.base_offset for batch in stored_batches(got)] == list(range(3, 3 + count))


async def test_a_read_at_the_end_is_empty(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, b"a")
    assert not (await under_test.read(number, 1)).data
    now = under_test.log.read_now(number, 1, 1000)
    assert now is not None
    assert not now.data


@pytest.mark.parametrize("offset", [-1, 0, 1, 5, 1 << 40])
async def test_a_read_outside_of_the_partition_is_refused_with_its_bounds(
    under_test: LogUnderTest, offset: int
) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, b"a", b"b", b"c", b"d")
    await under_test.log.delete_records(number, 2)
    with pytest.raises(OffsetOutOfRange) as refused:
        await under_test.read(number, offset)
    assert (refused.value.start_offset, refused.value.end_offset) == (2, 4)
    with pytest.raises(OffsetOutOfRange):
        under_test.log.read_now(number, offset, 1000)


async def test_what_read_now_gives_is_what_read_gives(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, *[b"x" * 1000] * 10)
    for offset in range(10):
        for bytes_max in (0, 3000, 100_000):
            now = under_test.log.read_now(number, offset, bytes_max)
            # None says that the disk would have to be waited for.
            assert now is None or bytes(now.data) == bytes((await under_test.read(number, offset, bytes_max)).data)


async def test_an_unknown_partition_is_refused_by_every_call(under_test: LogUnderTest) -> None:
    log = under_test.log
    with pytest.raises(UnknownPartition):
        log.bounds(NOWHERE)
    with pytest.raises(UnknownPartition):
        log.read_now(NOWHERE, 0, 100)
    with pytest.raises(UnknownPartition):
        await log.read(NOWHERE, 0, 100)
    with pytest.raises(UnknownPartition):
        await log.offset_for_time(NOWHERE, 0)
    with pytest.raises(UnknownPartition):
        log.watch([NOWHERE], print)
    with pytest.raises(UnknownPartition):
        await log.wait({NOWHERE: 0}, timeout_s=0)
    with pytest.raises(UnknownPartition):
        await log.delete_records(NOWHERE, 0)


async def test_an_answered_append_is_seen_at_once(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    for offset in range(50):
        await under_test.append(number, batch_of(b"%d" % offset))
        assert under_test.log.bounds(number).end == offset + 1
        assert await under_test.values(number, offset) == [b"%d" % offset]


async def test_appends_of_many_tasks_keep_the_order_of_each(under_test: LogUnderTest) -> None:
    numbers = (await under_test.make_topic(partitions=3)).partition_numbers

    async def send(sender: int) -> None:
        for at in range(40):
            await under_test.append(numbers[(sender + at) % 3], batch_of(b"%d:%d" % (sender, at)))

    await asyncio.gather(*(send(sender) for sender in range(10)))
    for number in numbers:
        seen = [tuple(map(int, str(value, "ascii").split(":"))) for value in await under_test.values(number) if value]
        for sender in range(10):
            own = [at for who, at in seen if who == sender]
            assert own == sorted(own)
    assert sum(under_test.log.bounds(number).end for number in numbers) == 400


async def test_appends_that_nobody_waited_for_are_stored_in_the_order_of_the_calls(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    futures = [under_test.log.append([(number, batch_of(b"%d" % at))]) for at in range(200)]
    await asyncio.gather(*futures)
    assert await under_test.values(number) == [b"%d" % at for at in range(200)]


async def test_a_caller_who_goes_away_harms_nobody(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    futures = [under_test.log.append([(number, batch_of(b"%d" % at))]) for at in range(10)]
    for future in futures[::2]:
        future.cancel()
    answered = [(await future)[0] for future in futures[1::2]]
    assert [answer.base_offset for answer in answered if isinstance(answer, Appended)] == [1, 3, 5, 7, 9]
    await under_test.append(number, batch_of(b"after"))
    assert await under_test.values(number) == [*(b"%d" % at for at in range(10)), b"after"]


async def test_readers_of_one_place_see_it_whole_while_others_write(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings={"segment.bytes": "5000"})
    count = 150

    async def write() -> None:
        for at in range(count):
            await under_test.append(number, batch_of(b"%d" % at, b"x" * 200))

    async def follow() -> list[int]:
        offset, seen = 0, []
        while offset < 2 * count:
            assert await under_test.log.wait({number: offset}, timeout_s=20)
            for batch in stored_batches(await under_test.read(number, offset, 3000)):
                seen.append(batch.base_offset)
                offset = batch.last_offset + 1
        return seen

    _, *all_seen = await asyncio.gather(write(), follow(), follow())
    assert all_seen == [list(range(0, 2 * count, 2))] * 2


async def test_the_size_of_a_partition_is_that_of_its_batches(under_test: LogUnderTest) -> None:
    one, two = (await under_test.make_topic(partitions=2)).partition_numbers
    first, second = batch_of(b"a"), batch_of(b"b", b"c" * 500)
    await under_test.append(one, first)
    await under_test.append(one, second)
    assert under_test.log.size_bytes(one) == first.size_bytes + second.size_bytes
    assert under_test.log.size_bytes(two) == 0
    with pytest.raises(UnknownPartition):
        under_test.log.size_bytes(99)


async def test_the_size_goes_down_with_what_is_deleted(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition(settings={"segment.bytes": "14"})
    await under_test.append_each(number, b"a", b"b", b"c")
    before = under_test.log.size_bytes(number)
    await under_test.log.delete_records(number, 2)
    assert 0 < under_test.log.size_bytes(number) < before


async def test_the_room_of_a_log_is_no_less_than_what_is_free_of_it(under_test: LogUnderTest) -> None:
    room = await under_test.log.room()
    assert room.total_bytes >= room.free_bytes
