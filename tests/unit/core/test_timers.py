"""Delayed messages: in their topic at their time, not before, and once; taken back; never lost."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from kafka.partitioner.default import murmur2

from braidmq.core.delivery import Delivered
from braidmq.core.timers import DELAY_LEVELS_MS, DELAY_MAX_MS, level_delay_ms
from braidmq.model import BORN_HEADER, Message, Topic
from braidmq.model.errors import (
    DelayTooLong,
    InvalidHandle,
    MessageTooLarge,
    StorageFull,
    StoreFailed,
    TooLateToRecall,
    UnknownTimer,
    UnknownTopic,
)
from deferral_support import CountedLog, Place, log_of
from groups_support import settle

MINUTE_MS = 60_000


@pytest.fixture(params=[False, True], ids=["alone", "shared"])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    """With a store that only this node uses, or one that others may use, too."""
    place = Place(CountedLog, is_shared=request.param)
    await place.start()
    yield place
    await place.close()


@pytest.fixture
async def topic(place: Place) -> Topic:
    return await place.topics.make("orders", 2)


async def delay(place: Place, topic: Topic, body: bytes, delay_ms: int, **more: Any) -> str:
    due_ms = place.clock.now_ms() + delay_ms
    taken = await place.timers.add(topic, Message.create(body, **more), due_ms, partition=0)
    assert taken.handle is not None
    await settle()
    return taken.handle


def count(place: Place, name: str) -> float:
    return next(metric.value for metric in place.timers.metrics() if metric.name == f"braid_timers_{name}")


# In time.


async def test_a_message_comes_at_its_time_and_not_before(place: Place, topic: Topic) -> None:
    await delay(place, topic, b"late", 1000)
    await place.clock.advance(999)
    assert place.bodies(topic) == []
    await place.clock.advance(1)
    assert place.bodies(topic) == [b"late"]
    assert not place.timer_rows.by_id
    await place.clock.advance(10 * MINUTE_MS)
    assert place.bodies(topic) == [b"late"]


async def test_an_earlier_message_that_is_added_later_is_not_late(place: Place, topic: Topic) -> None:
    for delay_ms in (50_000, 5_000, 500):
        await delay(place, topic, b"%d" % delay_ms, delay_ms)
    for waited_ms, bodies in ((500, [b"500"]), (4_500, [b"500", b"5000"])):
        await place.clock.advance(waited_ms)
        assert place.bodies(topic) == bodies


async def test_a_message_whose_time_has_come_is_appended_at_once(place: Place, topic: Topic) -> None:
    for due_ms in (place.clock.now_ms(), place.clock.now_ms() - 1, 0, -5):
        taken = await place.timers.add(topic, Message(body=b"now"), due_ms, partition=1)
        assert taken.handle is None
        assert isinstance(taken.delivered, Delivered)
        assert taken.delivered.partition == 1
        assert place.messages(topic, 1)[-1].id == taken.message_id
    assert len(place.messages(topic, 1)) == 4
    assert not place.timer_rows.by_id


async def test_forty_days_are_possible_and_more_is_refused(place: Place, topic: Topic) -> None:
    await delay(place, topic, b"far", DELAY_MAX_MS)
    with pytest.raises(DelayTooLong, match="the most is 3456000 s"):
        await delay(place, topic, b"too far", DELAY_MAX_MS + 1)
    place.clock.at_ms += DELAY_MAX_MS - 20_000
    await place.clock.advance(19_999)
    assert place.bodies(topic) == []
    await place.clock.advance(1)
    assert place.bodies(topic) == [b"far"]


async def test_a_message_keeps_all_it_had_and_its_record_is_of_the_day_it_came(place: Place, topic: Topic) -> None:
    born_ms = place.clock.now_ms() - 5
    await delay(place, topic, b"b", 5000, tag="t", keys=["k"], id="my id", properties={"p": "v"}, born_ms=born_ms)
    await place.clock.advance(5000)
    (message,) = place.messages(topic)
    assert (message.id, message.tag, message.keys, message.key) == ("my id", "t", ("k",), b"k")
    assert message.properties["p"] == "v"
    assert message.born_ms == place.clock.now_ms()
    assert message.header(BORN_HEADER) == b"%d" % born_ms


async def test_messages_of_one_key_go_where_a_kafka_producer_would_send_them(place: Place) -> None:
    topic = await place.topics.make("wide", 16)
    for number in range(20):
        message = Message(body=b"x", key=b"key %d" % number)
        await place.timers.add(topic, message, place.clock.now_ms() + 10)
    await place.clock.advance(10)
    for partition in range(16):
        for message in place.messages(topic, partition):
            assert murmur2(message.key or b"") % (1 << 31) % 16 == partition
    assert sum(len(place.messages(topic, partition)) for partition in range(16)) == 20


# Many.


async def test_many_at_once_share_appends_and_come_in_order(place: Place, topic: Topic) -> None:
    for number in range(600):
        await delay(place, topic, b"%d" % number, 1000)
    log_of(place).appends = 0
    await place.clock.advance(1000)
    assert place.bodies(topic) == [b"%d" % number for number in range(600)]
    assert log_of(place).appends == 2
    assert log_of(place).batches == 2


async def test_messages_that_fall_due_one_after_the_other_share_turns(place: Place, topic: Topic) -> None:
    for number in range(100):
        await delay(place, topic, b"%d" % number, 1000 + number)
    log_of(place).appends = 0
    for _ in range(115):
        await place.clock.advance(10)
    assert place.bodies(topic) == [b"%d" % number for number in range(100)]
    assert log_of(place).appends <= 6


async def test_a_message_that_falls_due_alone_does_not_wait_for_others(place: Place, topic: Topic) -> None:
    await delay(place, topic, b"alone", 1000)
    await place.clock.advance(1000)
    assert place.bodies(topic) == [b"alone"]


async def test_what_does_not_fit_one_batch_of_the_topic_goes_in_several(place: Place) -> None:
    topic = await place.topics.make("small", max_message_bytes="1000")
    for _ in range(10):
        await delay(place, topic, b"x" * 300, 10)
    await place.clock.advance(10)
    assert len(place.messages(topic)) == 10
    assert 1 < log_of(place).batches < 10


async def test_a_message_that_its_topic_does_not_take_is_refused_at_once(place: Place) -> None:
    topic = await place.topics.make("small", max_message_bytes="1000")
    with pytest.raises(MessageTooLarge):
        await delay(place, topic, b"x" * 2000, 10)
    assert not place.timer_rows.by_id


async def test_an_idle_service_looks_seldom(place: Place, topic: Topic) -> None:
    await delay(place, topic, b"far", 60 * MINUTE_MS)
    place.timer_rows.claims = 0
    await place.clock.advance(50 * MINUTE_MS)
    assert place.timer_rows.claims == 0


# Taking back.


async def test_a_message_is_recalled_once(place: Place, topic: Topic) -> None:
    handle = await delay(place, topic, b"no", 1000, id="the id")
    other = await place.topics.make("other")
    with pytest.raises(UnknownTimer):
        await place.timers.recall(handle, topic=other)
    assert (await place.timers.recall(handle, topic=topic)).message_id == "the id"
    with pytest.raises(UnknownTimer):
        await place.timers.recall(handle)
    await place.clock.advance(1000)
    assert place.bodies(topic) == []


async def test_after_the_delivery_it_is_too_late(place: Place, topic: Topic) -> None:
    handle = await delay(place, topic, b"yes", 1000)
    await place.clock.advance(1000)
    with pytest.raises(TooLateToRecall):
        await place.timers.recall(handle)


async def test_while_it_is_being_delivered_it_is_too_late(
    place: Place, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = await delay(place, topic, b"yes", 1000)
    goes_on, deliver = asyncio.Event(), place.delivery.deliver

    async def deliver_slowly(parcels: Any) -> Any:
        await goes_on.wait()
        return await deliver(parcels)

    monkeypatch.setattr(place.delivery, "deliver", deliver_slowly)
    await place.clock.advance(1000)
    with pytest.raises(TooLateToRecall):
        await place.timers.recall(handle)
    goes_on.set()
    await settle()
    assert place.bodies(topic) == [b"yes"]
    assert not place.timer_rows.by_id


async def test_what_may_have_been_appended_cannot_be_recalled(place: Place, topic: Topic) -> None:
    """The log has it, but the row could not be removed."""
    handle = await delay(place, topic, b"yes", 1000)
    place.timer_rows.deletes_fail = True
    await place.clock.advance(1000)
    with pytest.raises(TooLateToRecall):
        await place.timers.recall(handle)
    place.timer_rows.deletes_fail = False
    await place.clock.advance(5 * MINUTE_MS)
    assert place.bodies(topic) == [b"yes"]
    assert not place.timer_rows.by_id


@pytest.mark.parametrize("handle", ["", "x", "0" * 31, "G" * 32, "{" + "0" * 32 + "}", "0" * 32 + "\n"])
async def test_a_handle_that_nobody_was_given_is_refused(place: Place, handle: str) -> None:
    with pytest.raises(InvalidHandle):
        await place.timers.recall(handle)


# When something fails.


async def test_a_message_that_could_not_be_kept_is_not_answered(place: Place, topic: Topic) -> None:
    place.timer_rows.is_failing = True
    with pytest.raises(StoreFailed):
        await delay(place, topic, b"x", 10)


async def test_a_store_that_comes_back_is_caught_up_with(place: Place, topic: Topic) -> None:
    await delay(place, topic, b"x", 10)
    place.timer_rows.is_failing = True
    await place.clock.advance(10_000)
    assert place.bodies(topic) == []
    assert count(place, "failures") > 5
    place.timer_rows.is_failing = False
    await place.clock.advance(1_000)
    assert place.bodies(topic) == [b"x"]


async def test_while_the_disk_is_full_messages_wait_and_can_be_recalled(place: Place, topic: Topic) -> None:
    handle = await delay(place, topic, b"back", 10)
    await delay(place, topic, b"kept", 10)
    log_of(place).refusal = StorageFull()
    await place.clock.advance(30_000)
    await place.timers.recall(handle)
    log_of(place).refusal = None
    await place.clock.advance(1_000)
    assert place.bodies(topic) == [b"kept"]


async def test_what_was_too_late_to_recall_is_recalled_when_the_disk_has_refused_it(
    place: Place, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = await delay(place, topic, b"back", 10)
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    with monkeypatch.context() as patch:
        patch.setattr(place.log, "append", lambda _: answer)
        await place.clock.advance(10)
        with pytest.raises(TooLateToRecall):
            await place.timers.recall(handle)
        answer.set_result([StorageFull()])
        await settle()
    await place.timers.recall(handle)
    await place.clock.advance(MINUTE_MS)
    assert place.bodies(topic) == []
    assert not place.timer_rows.by_id


async def test_what_an_earlier_life_may_have_delivered_cannot_be_recalled_while_the_disk_is_full(
    place: Place, topic: Topic
) -> None:
    handle = await delay(place, topic, b"there", 10)
    place.timer_rows.deletes_fail = True
    await place.clock.advance(10)
    assert place.bodies(topic) == [b"there"]
    log_of(place).refusal = StorageFull()
    await place.restart()
    place.timer_rows.deletes_fail = False
    for _ in range(3):
        with pytest.raises(TooLateToRecall):
            await place.timers.recall(handle)
        await place.clock.advance(MINUTE_MS)


async def test_a_message_without_its_topic_is_parked_and_can_be_released_or_cancelled(
    place: Place, topic: Topic
) -> None:
    handles = [await delay(place, topic, body, 10) for body in (b"a", b"b")]
    other = await place.topics.make("other")
    await delay(place, other, b"not held up", 10)
    await place.topics.delete(topic)
    await place.clock.advance(MINUTE_MS)
    parked = await place.timers.page(parked=True)
    assert [timer.id.hex for timer in parked] == handles
    assert all("unknown_topic" in timer.parked for timer in parked)
    assert place.bodies(other) == [b"not held up"]
    assert count(place, "parked") == 2
    timer, message = await place.timers.find(handles[0])
    assert (timer.topic, message.body) == ("orders", b"a")
    await place.timers.release(handles[0], other)
    await settle()
    assert place.bodies(other) == [b"not held up", b"a"]
    await place.timers.cancel(handles[1])
    assert await place.timers.page() == []
    with pytest.raises(UnknownTimer):
        await place.timers.release(handles[1], other)


async def test_a_topic_that_is_known_a_moment_later_gets_its_messages(place: Place, topic: Topic) -> None:
    await delay(place, topic, b"x", 10)
    del place.topics.by_id[topic.id]
    await place.clock.advance(5_000)
    place.topics.by_id[topic.id] = topic
    await place.clock.advance(10_000)
    assert place.bodies(topic) == [b"x"]


async def test_a_message_for_a_topic_that_does_not_exist_is_refused_when_it_is_due_at_once(place: Place) -> None:
    topic = await place.topics.make("gone")
    await place.topics.delete(topic)
    with pytest.raises(UnknownTopic):
        await place.timers.add(topic, Message(body=b"x"), 0)


async def test_a_topic_that_takes_no_such_message_any_more_does_not_hold_up_others(place: Place) -> None:
    topic = await place.topics.make("orders")
    await delay(place, topic, b"keyless", 10)
    await delay(place, topic, b"keyed", 10, keys=["k"])
    compacted = await place.topics.make("compacted", cleanup_policy="compact")
    place.topics.by_id[topic.id] = Topic(
        id=topic.id, name="orders", partition_numbers=compacted.partition_numbers, settings=compacted.settings
    )
    await place.clock.advance(10)
    assert place.bodies(compacted) == [b"keyed"]
    assert [timer.parked for timer in await place.timers.page(parked=True)] == [
        "invalid_record: a compacted topic takes no message without a key"
    ]


# Lives.


async def test_the_next_life_delivers_what_the_last_one_kept(place: Place, topic: Topic) -> None:
    await delay(place, topic, b"soon", 1000)
    await delay(place, topic, b"missed", 10)
    await place.close()
    await place.clock.advance(500)
    await place.restart()
    assert place.bodies(topic) == [b"missed"]
    await place.clock.advance(500)
    assert place.bodies(topic) == [b"missed", b"soon"]


async def test_a_kill_between_append_and_removal_appends_again_with_the_same_id(place: Place, topic: Topic) -> None:
    await delay(place, topic, b"twice", 10)
    place.timer_rows.deletes_fail = True
    await place.clock.advance(10)
    await place.close()
    place.timer_rows.deletes_fail = False
    await place.restart()
    first, second = place.messages(topic)
    assert first.id == second.id is not None
    assert not place.timer_rows.by_id


# Listing.


async def test_operators_page_through_what_waits(place: Place, topic: Topic) -> None:
    other = await place.topics.make("other")
    began_ms = place.clock.now_ms()
    for number in range(1, 11):
        await delay(place, topic if number % 2 else other, b"%d" % number, number * 1000)
    first = await place.timers.page(topic=topic, limit=2)
    assert [timer.due_ms - began_ms for timer in first] == [1000, 3000]
    rest = await place.timers.page(topic=topic, after=first[-1].id.hex)
    assert [timer.due_ms - began_ms for timer in rest] == [5000, 7000, 9000]
    between = await place.timers.page(from_ms=began_ms + 3000, until_ms=began_ms + 6000)
    assert [timer.due_ms - began_ms for timer in between] == [3000, 4000, 5000]


async def test_operators_cancel_what_waits_for_a_topic_in_a_range_of_time(place: Place, topic: Topic) -> None:
    other = await place.topics.make("other")
    began_ms = place.clock.now_ms()
    for number in range(1, 11):
        await delay(place, topic, b"%d" % number, number * 1000)
    await delay(place, other, b"other", 5000)
    from_ms, until_ms = began_ms + 3000, began_ms + 9000
    for cancelled in (4, 2, 0):
        assert cancelled == await place.timers.cancel_many(topic=topic, from_ms=from_ms, until_ms=until_ms, limit=4)
    await place.clock.advance(20_000)
    assert place.bodies(topic) == [b"1", b"2", b"9", b"10"]
    assert place.bodies(other) == [b"other"]
    assert count(place, "cancelled") == 6


def test_the_eighteen_levels() -> None:
    minute = 60
    levels = [1, 5, 10, 30, *(minute * n for n in range(1, 11)), 20 * minute, 30 * minute, 60 * minute, 120 * minute]
    assert [level_ms // 1000 for level_ms in DELAY_LEVELS_MS] == levels
    assert len(levels) == 18
    assert [level_delay_ms(level) for level in (-1, 0, 1, 18, 19, 99)] == [0, 0, 1000, 7_200_000, 7_200_000, 7_200_000]
