"""Finding messages by place, id, key and time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from braidmq.core.query import IndexLimits, Query
from braidmq.core.query import _query as query_module
from braidmq.log import Fetched
from braidmq.log.embedded import RealDisk
from braidmq.log.memory import MemoryLog
from braidmq.model import Message, Topic
from braidmq.model.errors import DamagedLog, IndexOff
from braidmq.records import Marker, Record, build_batch, build_marker, parse_batch, resealed
from query_support import SMALL, Topics, crash, indexer_of, numbered, publish, started
from running_node import WaitFor

Start = Callable[..., Awaitable[Query]]


@pytest.fixture
def topics() -> Topics:
    return Topics(MemoryLog())


@pytest.fixture
async def start(topics: Topics, tmp_path: Path) -> AsyncIterator[Start]:
    """A life of the index on the same disk; the one before it is closed, or just left."""
    lives: list[Query] = []

    async def start(limits: IndexLimits = SMALL, *, clean: bool = True) -> Query:
        if lives:
            await (lives.pop().close() if clean else crash(lives.pop()))
        lives.append(await started(topics, RealDisk(tmp_path), limits))
        return lives[-1]

    yield start
    for query in lives:
        await query.close()


def files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "ranges").iterdir() if path.name != "open")


def bodies(messages: list[Message]) -> list[bytes | None]:
    return [message.body for message in messages]


async def fill(topics: Topics, topic: Topic, count: int) -> None:
    for at in range(0, count, 20):
        number = topic.partition_numbers[at // 20 % len(topic.partition_numbers)]
        await publish(topics.log, number, *numbered(at))


async def test_what_was_just_sent_is_found_by_id_key_and_place(topics: Topics, start: Start) -> None:
    query = await start()
    topic = await topics.create("orders", 2)
    number = topic.partition_numbers[1]
    sent = Message.create(b"x", id="ID1", keys=["k1", "k2"], sharding_key="s", born_ms=7)
    offset = await publish(topics.log, number, Message.create(b"other"), sent)
    for found in (
        await query.by_id(topic, "ID1"),
        await query.by_key(topic, "k1"),
        await query.by_key(topic, "k2"),
        await query.by_key(topic, "s"),
        [await query.at(number, offset + 1)],
    ):
        (message,) = found
        assert message is not None
        assert (message.topic, message.partition, message.offset) == ("orders", 1, offset + 1)
        assert (message.body, message.id, message.born_ms) == (b"x", "ID1", 7)
    assert await query.by_id(topic, "k1") == await query.by_key(topic, "ID1") == []
    assert await query.at(number, 99) is await query.at(77, 0) is None


async def test_messages_of_producers_that_know_only_keys_are_found_by_them(topics: Topics, start: Start) -> None:
    query = await start()
    topic = await topics.create("orders")
    await topics.log.append([(1, build_batch([Record(0, 5, b"plain", b"v"), Record(1, 5, None, b"w")]))])
    assert bodies(await query.by_key(topic, "plain")) == [b"v"]


@pytest.mark.parametrize("restart", ["not", "clean", "crashed"])
async def test_all_of_many_are_found_in_files_and_memory(
    topics: Topics, start: Start, tmp_path: Path, restart: str
) -> None:
    query = await start()
    topic = await topics.create("orders", 3)
    await fill(topics, topic, 600)
    assert bodies(await query.by_id(topic, "id-0")) == [b"0"]
    assert len(files(tmp_path)) > 5
    if restart != "not":
        query = await start(clean=restart == "clean")
    for n in range(0, 600, 7):
        assert bodies(await query.by_id(topic, f"id-{n}")) == [b"%d" % n]
        assert bodies(await query.by_key(topic, f"own-{n}")) == [b"%d" % n]
    assert {each.behind for each in query.indexed_to(topic).values()} == {0}


async def test_a_key_gives_the_newest_first_within_its_times(topics: Topics, start: Start) -> None:
    query = await start()
    topic = await topics.create("orders", 3)
    await fill(topics, topic, 600)
    assert bodies(await query.by_key(topic, "key-3", limit=3)) == [b"593", b"583", b"573"]
    found = bodies(await query.by_key(topic, "key-3", 1100, 1143, limit=100))
    assert found == [b"143", b"133", b"123", b"113", b"103"]
    assert await query.by_key(topic, "key-3", 5000, 6000) == []
    assert len(await query.by_key(topic, "key-3", limit=1000)) == 60


async def test_times_are_paged_through(topics: Topics, start: Start) -> None:
    query = await start()
    topic = await topics.create("orders", 3)
    await fill(topics, topic, 600)
    found: list[Message] = []
    after = None
    while page := await query.by_time(topic, 1095, 1305, limit=50, after=after):
        found += page
        after = topic.partition_numbers[page[-1].partition], page[-1].offset
    assert len(found) == len({(each.partition, each.offset) for each in found})
    assert sorted(int(each.body or b"") for each in found) == list(range(95, 306))


async def test_what_was_aborted_or_is_not_committed_yet_is_not_found(topics: Topics, start: Start) -> None:
    query = await start()
    topic = await topics.create("orders")

    async def send(value: bytes, producer: int, sequence: int = 0) -> None:
        records = [Record(0, 1, b"k", value)]
        batch = build_batch(records, producer_id=producer, producer_epoch=0, base_sequence=sequence, transactional=True)
        await topics.log.append([(1, batch)])

    async def end(marker: Marker, producer: int) -> None:
        await topics.log.append([(1, build_marker(marker, producer_id=producer, producer_epoch=0, timestamp_ms=1))])

    await send(b"aborted", 1)
    await end(Marker.ABORT, 1)
    await send(b"committed", 1, 1)
    await end(Marker.COMMIT, 1)
    await send(b"open", 2)
    assert bodies(await query.by_key(topic, "k")) == [b"committed"]
    assert await query.at(1, 0) is None
    assert await query.at(1, 1) is None
    assert await query.at(1, 4) is None
    await end(Marker.COMMIT, 2)
    assert bodies(await query.by_key(topic, "k")) == [b"open", b"committed"]


async def test_ranges_that_retention_removed_are_removed(topics: Topics, start: Start, tmp_path: Path) -> None:
    query = await start()
    topic = await topics.create("orders")
    await fill(topics, topic, 600)
    await query.by_id(topic, "id-0")
    before = len(files(tmp_path))
    await topics.log.delete_records(1, 400)
    assert await query.by_id(topic, "id-1") == []
    indexer_of(query).index.tidy()
    assert 0 < len(files(tmp_path)) < before / 2
    query = await start()
    assert bodies(await query.by_id(topic, "id-400")) == [b"400"]
    assert bodies(await query.by_id(topic, "id-599")) == [b"599"]


async def test_a_deleted_topic_leaves_nothing(topics: Topics, start: Start, tmp_path: Path, wait_for: WaitFor) -> None:
    query = await start()
    topic, other = await topics.create("orders"), await topics.create("other")
    await fill(topics, topic, 600)
    await query.by_id(topic, "id-0")
    await topics.delete(topic)
    assert await query.by_id(other, "id-0") == []
    assert await query.at(1, 0) is None
    await asyncio.to_thread(wait_for, lambda: not files(tmp_path))


async def test_topics_that_come_and_go_leave_no_watches(topics: Topics, start: Start, wait_for: WaitFor) -> None:
    index = indexer_of(await start()).index
    (staying,) = (await topics.create("staying")).partition_numbers
    await asyncio.to_thread(wait_for, lambda: list(index.partitions) == [staying])
    for at in range(5):
        passing = await topics.create(f"passing-{at}", 2)
        await asyncio.to_thread(wait_for, lambda: len(index.partitions) == 3)
        await topics.delete(passing)
        await asyncio.to_thread(wait_for, lambda: list(index.partitions) == [staying])
    assert [list(numbers) for numbers, _ in index._watches] == [[staying]]


async def test_a_topic_deleted_while_nobody_looked_leaves_nothing(topics: Topics, start: Start, tmp_path: Path) -> None:
    query = await started(topics, RealDisk(tmp_path))
    topic = await topics.create("orders")
    await fill(topics, topic, 600)
    await query.by_id(topic, "id-0")
    await crash(query)
    await topics.delete(topic)
    assert files(tmp_path)
    await start()
    assert not files(tmp_path)


@pytest.mark.parametrize("damage", ["head", "entries", "cut", "gone", "empty"])
async def test_a_damaged_file_is_found_out_and_made_again(
    topics: Topics, start: Start, tmp_path: Path, damage: str
) -> None:
    query = await start()
    topic = await topics.create("orders")
    await fill(topics, topic, 600)
    await query.by_id(topic, "id-0")
    query = await start()
    file = files(tmp_path)[2]
    data = bytearray(file.read_bytes())
    whole = bytes(data)
    if damage == "gone":
        file.unlink()
    else:
        data[20 if damage == "head" else -5] ^= 0x40
        file.write_bytes(b"" if damage == "empty" else data[: -12 if damage == "cut" else None])
    for n in range(0, 600, 7):
        assert bodies(await query.by_id(topic, f"id-{n}")) == [b"%d" % n]
    assert file.read_bytes() == whole
    assert {metric.name: metric.value for metric in query.metrics()}["braid_query_damaged_files"] == 1


async def test_a_file_that_is_missing_at_the_start_is_made_again(topics: Topics, start: Start, tmp_path: Path) -> None:
    query = await start()
    topic = await topics.create("orders")
    await fill(topics, topic, 600)
    await query.by_id(topic, "id-0")
    for place in (0, 3, -1):
        file = files(tmp_path)[place]
        file.unlink()
        query = await start()
        for n in range(0, 600, 7):
            assert bodies(await query.by_id(topic, f"id-{n}")) == [b"%d" % n]


async def test_what_memory_held_is_kept_over_a_clean_stop(topics: Topics, start: Start) -> None:
    await start(IndexLimits(share=1.0))
    topic = await topics.create("orders")
    await fill(topics, topic, 600)
    query = await start(IndexLimits(share=1.0))
    query = await start(IndexLimits(share=1.0))
    assert bodies(await query.by_id(topic, "id-599")) == [b"599"]
    query = await start(IndexLimits(share=1.0))
    assert indexer_of(query).records == 0
    assert bodies(await query.by_id(topic, "id-599")) == [b"599"]
    assert indexer_of(query).records == 0


async def test_an_index_that_knows_more_than_the_log_forgets_it(topics: Topics, start: Start, tmp_path: Path) -> None:
    """As after a loss of power, when the log was not synced."""
    query = await start()
    topic = await topics.create("orders")
    await fill(topics, topic, 600)
    await query.by_id(topic, "id-0")
    log = MemoryLog()
    await log.create_topic(topic)
    for at in range(0, 100, 20):
        await publish(log, 1, *numbered(at))
    topics.log = log
    query = await start()
    for at in range(100, 700, 20):
        await publish(log, 1, *numbered(at + 1000))
    for n in (*range(0, 100, 7), *range(1100, 1700, 7)):
        assert bodies(await query.by_id(topic, f"id-{n}")) == [b"%d" % n]
    assert await query.by_id(topic, "id-150") == []


async def test_memory_is_bounded_by_writing_the_largest_range(topics: Topics, start: Start, tmp_path: Path) -> None:
    query = await start(IndexLimits(memory_bytes=12 * 500, share=1.0))
    topic = await topics.create("orders", 4)
    await fill(topics, topic, 2000)
    assert bodies(await query.by_id(topic, "id-5")) == [b"5"]
    assert indexer_of(query).index.memory_bytes() <= 12 * 600
    assert len(files(tmp_path)) >= 6
    for n in range(0, 2000, 37):
        assert bodies(await query.by_id(topic, f"id-{n}")) == [b"%d" % n]


async def test_colliding_fingerprints_give_no_false_answers(
    topics: Topics, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braidmq.core.query._ranges.IS_COMPILED", False)
    monkeypatch.setattr("braidmq.core.query._ranges.fingerprint", lambda _: b"collided")
    monkeypatch.setattr(query_module, "fingerprint", lambda _: b"collided")
    query = await start()
    topic = await topics.create("orders")
    await fill(topics, topic, 200)
    assert bodies(await query.by_id(topic, "id-77")) == [b"77"]
    assert bodies(await query.by_key(topic, "own-77")) == [b"77"]
    assert await query.by_id(topic, "id-200") == []


async def test_a_batch_that_its_producer_broke_does_not_stop_the_index(topics: Topics, start: Start) -> None:
    query = await start()
    topic = await topics.create("orders")
    data = bytearray(build_batch([Record(0, 0, b"k", b"v" * 50)]).data)
    data[61:] = b"\xff" * (len(data) - 61)
    await topics.log.append([(1, resealed(data))])
    await publish(topics.log, 1, *numbered(0))
    assert bodies(await query.by_id(topic, "id-3")) == [b"3"]


@pytest.mark.parametrize("limits", [SMALL, IndexLimits(share=1.0)], ids=["in files", "in memory"])
async def test_a_large_batch_is_taken_in_whole(topics: Topics, start: Start, limits: IndexLimits) -> None:
    query = await start(limits)
    topic = await topics.create("orders")
    await publish(topics.log, 1, *numbered(0, 5000))
    for n in (0, 600, 700, 1400, 2500, 4999):
        assert bodies(await query.by_id(topic, f"id-{n}")) == [b"%d" % n]


async def test_a_full_disk_is_waited_out(
    topics: Topics, start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wait_for: WaitFor
) -> None:
    monkeypatch.setattr("braidmq.core.query._indexer.RETRY_S", 0.05)
    failing = True
    write = RealDisk.rename

    def rename(self: RealDisk, old: str, new: str) -> None:
        if failing:
            raise OSError(28, "No space left on device")
        write(self, old, new)

    monkeypatch.setattr(RealDisk, "rename", rename)
    query = await start()
    topic = await topics.create("orders")
    await fill(topics, topic, 600)
    await asyncio.to_thread(wait_for, lambda: indexer_of(query).failures > 1)
    assert not files(tmp_path)
    failing = False
    assert bodies(await query.by_id(topic, "id-599")) == [b"599"]
    assert len(files(tmp_path)) > 5


async def test_without_an_index_messages_are_found_by_place_and_time(topics: Topics) -> None:
    query = Query(topics.log, topics, None)
    await query.start()
    topic = await topics.create("orders")
    await fill(topics, topic, 60)
    message = await query.at(1, 5)
    assert message is not None
    assert message.body == b"5"
    assert bodies(await query.by_time(topic, 1003, 1004)) == [b"3", b"4"]
    for question in (query.by_id(topic, "id-5"), query.by_key(topic, "own-5")):
        with pytest.raises(IndexOff, match=r"query\.index"):
            await question
    assert not list(query.metrics())
    await query.close()


class DamagedMemoryLog(MemoryLog):
    """Refuses some offsets, as a log does whose disk lost a part of it."""

    def __init__(self) -> None:
        super().__init__()
        self.damaged: set[int] = set()

    def read_now(self, number: int, offset: int, bytes_max: int, *, committed: bool = False) -> Fetched:
        fetched = super().read_now(number, offset, bytes_max, committed=committed)
        kept = bytearray()
        position = 0
        while position < len(fetched.data):
            batch = parse_batch(fetched.data, position)
            position += batch.size_bytes
            if self.damaged.intersection(range(max(batch.base_offset, offset), batch.last_offset + 1)):
                if not kept:
                    raise DamagedLog("as the test wants it", offset=offset)
                break
            kept += batch.data
        return Fetched(bytes(kept), fetched.aborted)


async def test_what_is_damaged_in_the_log_is_passed_over(tmp_path: Path) -> None:
    log = DamagedMemoryLog()
    topics = Topics(log)
    topic = await topics.create("orders")
    await fill(topics, topic, 600)
    log.damaged = {*range(100, 180), *range(300, 320), *range(340, 360)}
    query = await started(topics, RealDisk(tmp_path))
    for n in range(0, 600, 10):
        assert bodies(await query.by_id(topic, f"id-{n}")) == ([] if n in log.damaged else [b"%d" % n])
    assert indexer_of(query).records == 600 - len(log.damaged)
    await query.close()
