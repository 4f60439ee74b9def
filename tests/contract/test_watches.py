"""Hearing of new data, and the end of a log."""

import asyncio
import gc
import inspect
import weakref
from collections.abc import Callable
from uuid import uuid4

import msgspec
import pytest

from braidmq.log import GroupOffset, Log
from braidmq.log.embedded._partition import PartitionLog
from braidmq.log.memory import MemoryPartition
from braidmq.model import Topic
from braidmq.model.errors import LogClosed
from contract.harness import LogUnderTest, batch_of, sent, until


async def test_a_watch_hears_of_every_partition_it_names_and_no_other(under_test: LogUnderTest) -> None:
    one, two, three = (await under_test.make_topic(partitions=3)).partition_numbers
    heard: list[tuple[int, int]] = []
    log = under_test.log
    watch = log.watch([one, two], lambda number: heard.append((number, log.bounds(number).end)))
    await under_test.append_each(one, b"a")
    await under_test.append_each(three, b"x")
    await under_test.append_each(two, b"b")
    await until(lambda: heard == [(one, 1), (two, 1)])
    watch.cancel()


async def test_a_cancelled_watch_hears_nothing_more(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    heard: list[int] = []
    other: list[int] = []
    watch = under_test.log.watch([number], heard.append)
    staying = under_test.log.watch([number], other.append)
    watch.cancel()
    watch.cancel()
    await under_test.append_each(number, b"a")
    await until(lambda: other == [number])
    assert heard == []
    staying.cancel()


async def test_a_watch_hears_of_the_end_of_its_partition(under_test: LogUnderTest) -> None:
    kept, deleted = await under_test.make_topic(), await under_test.make_topic()
    (number,) = deleted.partition_numbers
    heard: list[int] = []
    watch = under_test.log.watch([*kept.partition_numbers, number], heard.append)
    await under_test.log.delete_topic(deleted.id)
    await until(lambda: heard == [number])
    watch.cancel()


async def test_what_a_partition_held_goes_with_it_although_it_is_watched(under_test: LogUnderTest) -> None:
    kept, deleted = await under_test.make_topic(), await under_test.make_topic()
    (number,) = deleted.partition_numbers
    others = len(held(number)) - 1
    watch = under_test.log.watch([*kept.partition_numbers, number], lambda _: None)
    await under_test.append_each(number, b"a", b"b")
    assert len(held(number)) == others + 1
    await under_test.log.delete_topic(deleted.id)
    assert len(held(number)) == others
    watch.cancel()


def held(number: int) -> list[object]:
    """What this process has of the partition, and of others of its number that earlier tests left behind."""
    gc.collect()
    kinds = (PartitionLog, MemoryPartition)
    return [each for each in gc.get_objects() if isinstance(each, kinds) and each.number == number]


class Ear:
    """Holds the watch that it listens to."""

    def __init__(self, under_test: LogUnderTest, number: int) -> None:
        self.watch = under_test.log.watch([number], self.hear)

    def hear(self, number: int) -> None: ...


async def test_who_has_heard_enough_goes_at_once(under_test: LogUnderTest) -> None:
    """Without waiting for the collector: there is one for every fetch that has to wait."""
    (number,) = (await under_test.make_topic()).partition_numbers
    ear = Ear(under_test, number)
    ear.watch.cancel()
    gone = weakref.ref(ear)
    gc.disable()
    try:
        del ear
        assert gone() is None
    finally:
        gc.enable()


async def test_a_wait_ends_with_its_partition(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic()
    (number,) = topic.partition_numbers
    waiting = asyncio.create_task(under_test.log.wait({number: 0}, timeout_s=30))
    await asyncio.sleep(0)
    await under_test.log.delete_topic(topic.id)
    assert await waiting


async def test_what_was_refused_or_known_already_is_no_news(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, sent(b"a", sequence=0))
    heard: list[int] = []
    watch = under_test.log.watch([number], heard.append)
    await asyncio.sleep(0)
    heard.clear()
    await under_test.append(number, sent(b"a", sequence=0))
    await under_test.try_append(number, sent(b"z", sequence=9))
    await under_test.append(number, sent(b"b", sequence=1))
    await until(lambda: heard == [number])
    watch.cancel()


async def test_a_wait_ends_at_once_where_there_is_data(under_test: LogUnderTest) -> None:
    one, two = (await under_test.make_topic(partitions=2)).partition_numbers
    await under_test.append_each(two, b"a")
    assert await under_test.log.wait({one: 0, two: 0}, timeout_s=30)


async def test_a_wait_ends_when_data_comes(under_test: LogUnderTest) -> None:
    one, two = (await under_test.make_topic(partitions=2)).partition_numbers
    waiting = asyncio.ensure_future(under_test.log.wait({one: 0, two: 1}, timeout_s=30))
    await under_test.append_each(two, b"too early")
    assert not waiting.done()
    await under_test.append_each(two, b"in time")
    assert await waiting


async def test_a_wait_in_vain_says_so(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    assert not await under_test.log.wait({number: 0}, timeout_s=0.01)
    assert not await under_test.log.wait({}, timeout_s=0.01)


async def test_a_cancelled_wait_leaves_nothing_behind(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    waiting = asyncio.ensure_future(under_test.log.wait({number: 0}, timeout_s=30))
    staying = asyncio.ensure_future(under_test.log.wait({number: 0}, timeout_s=30))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await under_test.append_each(number, b"a")
    assert await staying


async def test_appends_under_way_are_finished_by_close(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    futures = [under_test.log.append([(number, batch_of(b"a"))]) for _ in range(20)]
    await under_test.log.close()
    assert [(await future)[0].base_offset for future in futures] == list(range(20))  # type: ignore[union-attr]


async def test_closing_again_changes_nothing(under_test: LogUnderTest) -> None:
    await under_test.log.close()
    await under_test.log.close()


async def test_a_closed_log_takes_nothing(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.log.close()
    assert isinstance(await under_test.try_append(number, batch_of(b"a")), LogClosed)
    with pytest.raises(LogClosed):
        await under_test.log.commit_offsets("g", {number: GroupOffset(1)})


CALLS: dict[str, Callable[[Log, Topic], object]] = {
    "bounds": lambda log, topic: log.bounds(topic.partition_numbers[0]),
    "read_now": lambda log, topic: log.read_now(topic.partition_numbers[0], 0, 100),
    "read": lambda log, topic: log.read(topic.partition_numbers[0], 0, 100),
    "offset_for_time": lambda log, topic: log.offset_for_time(topic.partition_numbers[0], 0),
    "watch": lambda log, topic: log.watch(topic.partition_numbers, print),
    "wait": lambda log, topic: log.wait({topic.partition_numbers[0]: 0}, timeout_s=1),
    "create_topic": lambda log, topic: log.create_topic(msgspec.structs.replace(topic, id=uuid4())),
    "expand_topic": lambda log, topic: log.expand_topic(msgspec.structs.replace(topic, partition_numbers=(1, 2))),
    "configure_topic": lambda log, topic: log.configure_topic(msgspec.structs.replace(topic, retention_ms=5)),
    "delete_topic": lambda log, topic: log.delete_topic(topic.id),
    "delete_records": lambda log, topic: log.delete_records(topic.partition_numbers[0], 0),
    "maintain": lambda log, _: log.maintain(),
    "fetch_offsets": lambda log, _: log.fetch_offsets("g"),
    "delete_offsets": lambda log, _: log.delete_offsets("g"),
    "groups_with_offsets": lambda log, _: log.groups_with_offsets(),
}


@pytest.mark.parametrize("call", CALLS)
async def test_a_closed_log_refuses_every_call_clearly(under_test: LogUnderTest, call: str) -> None:
    topic = await under_test.make_topic()
    await under_test.append_each(topic.partition_numbers[0], b"a")
    await under_test.log.close()

    async def run() -> None:
        answer = CALLS[call](under_test.log, topic)
        if inspect.isawaitable(answer):
            await answer

    with pytest.raises(LogClosed):
        await run()
