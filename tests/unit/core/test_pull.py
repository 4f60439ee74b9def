"""Reading from an offset on: what is wanted, in order, within its limits; waiting that only a wanted message ends."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from braidmq.core import pull as pull_module
from braidmq.core.filters import Everything, Filter, tag_filter
from braidmq.core.pull import OPENED_WORTH, Pulled, Puller
from braidmq.log import Fetched
from braidmq.log.memory import MemoryLog
from braidmq.model import TAG_HEADER, Topic
from braidmq.model.errors import OffsetOutOfRange, UnknownPartition
from braidmq.records import Batch, Codec, Marker, Record, build_batch, build_marker, read_records, resealed
from contract.harness import BEGAN_MS, sent
from groups_support import settle

NUMBER = 1
PLENTY = 1 << 20
SOON_S = 5.0


class WatchedLog(MemoryLog):
    """Counts what is read from it."""

    def __init__(self) -> None:
        super().__init__(lambda: BEGAN_MS)
        self.reads = 0
        self.is_cold = False

    def read_now(self, *arguments: Any, **named: Any) -> Fetched | None:  # type: ignore[override]  # as a disk does
        self.reads += 1
        return None if self.is_cold else super().read_now(*arguments, **named)

    async def read(self, *arguments: Any, **named: Any) -> Fetched:
        self.reads += 1
        fetched = super().read_now(*arguments, **named)
        assert fetched is not None
        return fetched


class Desk:
    """A reader and the partition that it reads."""

    def __init__(self) -> None:
        self.log = WatchedLog()
        self.puller = Puller(self.log)
        self.topic = Topic(id=uuid4(), name="orders", partition_numbers=(NUMBER,), retention_ms=-1)

    async def write(self, *values: bytes, tag: bytes | None = None, batches: bool = False) -> None:
        headers = () if tag is None else ((TAG_HEADER, tag),)
        groups = [[value] for value in values] if batches else [list(values)]
        for group in groups:
            records = [Record(delta, BEGAN_MS, None, value, headers) for delta, value in enumerate(group)]
            await self.append(build_batch(records))

    async def append(self, batch: Batch) -> None:
        await self.log.append([(NUMBER, batch)])

    def now(self, offset: int = 0, chosen: Filter = Everything(), count: int = 100, size: int = PLENTY) -> Pulled:  # noqa: B008 - a value without a state
        pulled = self.puller.pull_now(NUMBER, offset, chosen, count_max=count, bytes_max=size)
        assert pulled is not None
        return pulled

    def wait(self, offset: int = 0, chosen: Filter = Everything(), wait_s: float = SOON_S) -> "asyncio.Task[Pulled]":  # noqa: B008
        return asyncio.create_task(
            self.puller.pull(NUMBER, offset, chosen, count_max=100, bytes_max=PLENTY, wait_s=wait_s)
        )


@pytest.fixture
async def desk() -> Desk:
    desk = Desk()
    await desk.log.create_topic(desk.topic)
    return desk


def values(pulled: Pulled) -> list[bytes | None]:
    return [record.value for record in pulled.records]


def tagged(*tags: bytes) -> Filter:
    return tag_filter(tags)


# What is there.


async def test_everything_comes_in_order_and_the_end_is_told(desk: Desk) -> None:
    await desk.write(b"a", b"b")
    await desk.write(b"c")
    pulled = desk.now()
    assert values(pulled) == [b"a", b"b", b"c"]
    assert [record.offset for record in pulled.records] == [0, 1, 2]
    assert pulled.next_offset == 3
    assert pulled.bounds == (0, 3, 3)


async def test_reading_begins_within_a_batch(desk: Desk) -> None:
    await desk.write(*(b"%d" % number for number in range(20)))
    assert values(desk.now(17)) == [b"17", b"18", b"19"]


async def test_a_number_of_messages_is_kept_to_and_nothing_is_left_out_or_read_twice(desk: Desk) -> None:
    await desk.write(*(b"%d" % number for number in range(10)))
    await desk.write(*(b"%d" % number for number in range(10, 20)))
    offset, seen = 0, []
    while offset < 20:
        pulled = desk.now(offset, count=3)
        assert 0 < len(pulled.records) <= 3
        seen += values(pulled)
        offset = pulled.next_offset
    assert seen == [b"%d" % number for number in range(20)]


async def test_a_size_is_kept_to_but_the_first_message_comes_however_large_it_is(desk: Desk) -> None:
    await desk.write(bytes(100), bytes(100), bytes(100))
    assert [len(value or b"") for value in values(desk.now(size=10))] == [100]
    assert len(desk.now(size=250).records) == 2
    assert desk.now(size=250).next_offset == 2


async def test_outside_of_what_is_kept_there_is_nothing_to_read(desk: Desk) -> None:
    await desk.write(b"a", b"b", b"c", batches=True)
    await desk.log.delete_records(NUMBER, 2)
    for offset in (-1, 0, 1, 4, 1 << 62):
        with pytest.raises(OffsetOutOfRange):
            desk.now(offset)
        with pytest.raises(OffsetOutOfRange):
            await desk.wait(offset)
    assert values(desk.now(2)) == [b"c"]
    assert values(desk.now(3)) == []


async def test_a_partition_that_does_not_exist_is_told(desk: Desk) -> None:
    with pytest.raises(UnknownPartition):
        desk.puller.pull_now(99, 0, Everything(), count_max=1, bytes_max=1)


async def test_what_is_not_in_memory_is_read_by_those_who_can_wait(desk: Desk) -> None:
    await desk.write(b"a")
    desk.log.is_cold = True
    assert desk.puller.pull_now(NUMBER, 0, Everything(), count_max=1, bytes_max=1) is None
    assert values(await desk.wait()) == [b"a"]


async def test_a_batch_that_its_producer_broke_is_passed_over(desk: Desk) -> None:
    await desk.write(b"a")
    broken = bytearray(build_batch([Record(0, BEGAN_MS, None, b"x" * 50)], codec=Codec.GZIP).data)
    broken[70:80] = bytes(10)
    await desk.append(resealed(broken))
    await desk.write(b"b")
    pulled = desk.now()
    assert values(pulled) == [b"a", b"b"]
    assert pulled.next_offset == 3


# Filters.


async def test_only_wanted_messages_come_and_the_others_are_passed(desk: Desk) -> None:
    await desk.write(b"x1", b"x2", tag=b"x")
    await desk.write(b"y1", tag=b"y")
    await desk.write(b"none")
    pulled = desk.now(chosen=tagged(b"y"))
    assert values(pulled) == [b"y1"]
    assert pulled.next_offset == 4


async def test_a_full_answer_goes_on_at_the_next_wanted_message(desk: Desk) -> None:
    for tag in (b"x", b"y", b"y", b"x"):
        await desk.write(tag, tag=tag)
    pulled = desk.now(chosen=tagged(b"x"), count=1)
    assert values(pulled) == [b"x"]
    assert values(desk.now(pulled.next_offset, tagged(b"x"), count=1)) == [b"x"]


async def test_one_call_looks_through_a_bounded_amount_and_says_how_far_it_came(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_module, "READ_BYTES", 2_000)
    monkeypatch.setattr(pull_module, "FIRST_READ_BYTES", 2_000)
    monkeypatch.setattr(pull_module, "LOOKED_AT_BYTES_MAX", 10_000)
    await desk.write(*(bytes(1000) for _ in range(50)), tag=b"x", batches=True)
    pulled = desk.now(chosen=tagged(b"y"))
    assert not pulled.records
    assert 5 <= pulled.next_offset <= 15


async def test_who_waits_looks_through_everything_once_and_goes_on_from_there(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_module, "READ_BYTES", 1)
    monkeypatch.setattr(pull_module, "FIRST_READ_BYTES", 1)
    monkeypatch.setattr(pull_module, "LOOKED_AT_BYTES_MAX", 10_000)
    await desk.write(*(bytes(1000) for _ in range(50)), tag=b"x", batches=True)
    waiting = desk.wait(chosen=tagged(b"y"))
    await settle()
    assert desk.log.reads == 50
    await desk.write(b"in vain", tag=b"x")
    await settle()
    assert desk.log.reads == 51
    assert not waiting.done()
    await desk.write(b"wanted", tag=b"y")
    pulled = await waiting
    assert values(pulled) == [b"wanted"]
    assert pulled.next_offset == 52


# Waiting.


async def test_the_first_message_ends_the_wait(desk: Desk) -> None:
    waiting = desk.wait()
    await settle()
    assert not waiting.done()
    await desk.write(b"a")
    assert values(await waiting) == [b"a"]


async def test_who_waited_in_vain_learns_how_far_it_looked(desk: Desk) -> None:
    waiting = desk.wait(chosen=tagged(b"y"), wait_s=0.05)
    await settle()
    await desk.write(b"in vain", tag=b"x")
    pulled = await waiting
    assert (values(pulled), pulled.next_offset) == ([], 1)


async def test_without_a_wait_nothing_is_waited_for(desk: Desk) -> None:
    assert values(await desk.wait(wait_s=0.0)) == []


async def test_a_wait_ends_with_its_partition(desk: Desk) -> None:
    waiting = desk.wait()
    await settle()
    await desk.log.delete_topic(desk.topic.id)
    with pytest.raises(UnknownPartition):
        await asyncio.wait_for(waiting, 1.0)


async def test_a_wait_that_is_given_up_leaves_no_watch_behind(desk: Desk) -> None:
    waiting = desk.wait()
    await settle()
    waiting.cancel()
    await settle()
    assert not desk.log._partitions[NUMBER].watchers


async def test_many_waits_for_one_partition_all_end(desk: Desk) -> None:
    waits = [desk.wait() for _ in range(50)]
    await settle()
    await desk.write(b"a")
    assert [values(await each) for each in waits] == [[b"a"]] * 50


async def test_who_only_wants_to_know_is_told_where_the_first_wanted_message_is(desk: Desk) -> None:
    waiting = asyncio.create_task(desk.puller.arrival(NUMBER, 0, tagged(b"y"), wait_s=SOON_S))
    await desk.write(b"in vain", b"in vain", tag=b"x")
    await settle()
    assert not waiting.done()
    await desk.write(b"wanted", tag=b"y")
    assert await waiting == 2
    assert await desk.puller.arrival(NUMBER, 0, tagged(b"z"), wait_s=0.0) == 3


async def test_who_wants_everything_learns_of_news_without_reading_it(desk: Desk) -> None:
    waiting = asyncio.create_task(desk.puller.arrival(NUMBER, 0, Everything(), wait_s=SOON_S))
    await settle()
    assert not waiting.done()
    await desk.write(b"a")
    assert await waiting == 0
    assert await desk.puller.arrival(NUMBER, 1, Everything(), wait_s=0.01) == 1
    assert desk.log.reads == 0
    with pytest.raises(OffsetOutOfRange):
        await desk.puller.arrival(NUMBER, 5, Everything(), wait_s=SOON_S)


# Transactions.


async def test_an_open_transaction_is_not_seen_and_nothing_behind_it(desk: Desk) -> None:
    await desk.write(b"before")
    await desk.append(sent(b"open", sequence=0, transactional=True))
    await desk.write(b"behind")
    pulled = desk.now()
    assert (values(pulled), pulled.next_offset) == ([b"before"], 1)
    waiting = desk.wait(1)
    await settle()
    assert not waiting.done()
    await desk.append(build_marker(Marker.COMMIT, producer_id=7, producer_epoch=0, timestamp_ms=BEGAN_MS))
    assert values(await waiting) == [b"open", b"behind"]


async def test_an_aborted_transaction_is_never_seen(desk: Desk) -> None:
    await desk.append(sent(b"aborted 1", sequence=0, transactional=True))
    await desk.write(b"plain")
    await desk.append(sent(b"aborted 2", sequence=1, transactional=True))
    await desk.append(build_marker(Marker.ABORT, producer_id=7, producer_epoch=0, timestamp_ms=BEGAN_MS))
    await desk.append(sent(b"kept", sequence=2, transactional=True))
    await desk.append(build_marker(Marker.COMMIT, producer_id=7, producer_epoch=0, timestamp_ms=BEGAN_MS))
    end = desk.log.bounds(NUMBER).end
    assert values(desk.now()) == [b"plain", b"kept"]
    for offset in range(end + 1):
        seen = values(desk.now(offset))
        assert seen == [each for each, at in ((b"plain", 1), (b"kept", 4)) if at >= offset]
    assert desk.now().next_offset == end


@pytest.mark.parametrize("read_bytes", [1, 200, 10_000])
async def test_aborted_transactions_of_many_producers_are_told_apart(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, read_bytes: int
) -> None:
    monkeypatch.setattr(pull_module, "READ_BYTES", read_bytes)
    monkeypatch.setattr(pull_module, "FIRST_READ_BYTES", read_bytes)
    expected = []
    for turn in range(6):
        for producer in (7, 8, 9):
            await desk.append(sent(b"%d-%d" % (producer, turn), sequence=turn, producer=producer, transactional=True))
        for producer in (9, 7, 8):
            kind = Marker.ABORT if (producer + turn) % 2 else Marker.COMMIT
            await desk.append(build_marker(kind, producer_id=producer, producer_epoch=0, timestamp_ms=BEGAN_MS))
        expected += [b"%d-%d" % (producer, turn) for producer in (7, 8, 9) if not (producer + turn) % 2]
    assert values(desk.now()) == expected


# What was opened.


async def test_a_batch_that_is_taken_in_pieces_is_opened_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []

    def counted(batch: Batch) -> list[Record]:
        opened.append(batch.base_offset)
        return read_records(batch)

    monkeypatch.setattr(pull_module, "read_records", counted)
    await desk.write(*(b"%d" % number for number in range(OPENED_WORTH)))
    await desk.write(b"alone")
    for offset in range(OPENED_WORTH + 1):
        desk.now(offset, count=1)
    assert opened.count(0) == 1
    assert desk.puller._opened_bytes > 0


async def test_what_is_kept_open_is_bounded_and_the_newest_stays(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_module, "OPENED_BYTES_MAX", 50_000)
    for _ in range(30):
        await desk.write(*(bytes(1000) for _ in range(OPENED_WORTH)))
    desk.now(count=10_000)
    puller = desk.puller
    assert 0 < puller._opened_bytes <= 50_000
    assert puller._opened_bytes == sum(size for _, size in puller._opened.values())
    assert (NUMBER, 29 * OPENED_WORTH) in puller._opened


async def test_two_readers_at_once_count_what_is_kept_open_once(desk: Desk) -> None:
    await desk.write(*(b"%d" % number for number in range(OPENED_WORTH)))
    await asyncio.gather(desk.wait(), desk.wait())
    puller = desk.puller
    assert puller._opened_bytes == sum(size for _, size in puller._opened.values())


async def test_what_is_packed_small_counts_by_what_it_is_when_it_is_open(desk: Desk) -> None:
    records = [Record(delta, BEGAN_MS, None, bytes(100_000)) for delta in range(OPENED_WORTH)]
    await desk.append(build_batch(records, codec=Codec.GZIP))
    desk.now()
    assert desk.puller._opened_bytes >= 100_000 * OPENED_WORTH
