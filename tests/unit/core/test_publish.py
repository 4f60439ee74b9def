"""Publishing: one append a turn, one batch a partition; what is refused is nowhere, what is answered is kept."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

from braidmq.core.admission import Admissions
from braidmq.core.publish import Published, Publisher, PublishLimits
from braidmq.model import BraidError, Message, Topic, TopicKind
from braidmq.model.errors import (
    DelayTooLong,
    InvalidBatch,
    InvalidMessage,
    InvalidRecord,
    MessageTooLarge,
    StorageFull,
    UnknownPartition,
    WrongMessageKind,
)
from braidmq.records import Batch, Packed
from contract.harness import BEGAN_MS
from deferral_support import GROUP, CountedLog, Place, log_of
from groups_support import settle
from packed_support import packed

DAY_MS = 24 * 60 * 60 * 1000


class Desk:
    """A publisher with all that it works on, and what its senders were told."""

    def __init__(self, limits: PublishLimits | None = None) -> None:
        self.place = Place(CountedLog)
        self.log = log_of(self.place)
        self.publisher = Publisher(
            self.log, Admissions(), self.place.timers, self.place.halves, self.place.clock.now_ms, limits=limits
        )
        self.told: list[Published | BraidError] = []

    async def topic(self, partitions: int = 1, kind: TopicKind = TopicKind.MIXED, **settings: str) -> Topic:
        topic = replace(
            await self.place.topics.make(f"t{len(self.place.topics.by_id)}", partitions, **settings), kind=kind
        )
        self.place.topics.by_id[topic.id] = topic
        return topic

    def send(self, topic: Topic, *messages: Message, partition: int = -1) -> None:
        self.publisher.publish(topic, messages, self.told.append, partition=partition)

    def bodies(self, topic: Topic, partition: int = 0) -> list[bytes | None]:
        return self.place.bodies(topic, partition)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    await desk.place.start()
    yield desk
    await desk.place.close()


def said(body: bytes, **more: str) -> Message:
    return Message.create(body, born_ms=BEGAN_MS, **more)  # type: ignore[arg-type]  # words by name


# The turn.


async def test_all_that_comes_in_one_turn_is_one_append_with_one_batch_for_each_partition(desk: Desk) -> None:
    orders, bills = await desk.topic(2), await desk.topic(1)
    for number in range(10):
        desk.send(orders, said(b"%d" % number), partition=number % 2)
        desk.send(bills, said(b"%d" % number))
    assert desk.log.appends == 0, "nothing is written before the turn is over"
    await settle()
    assert (desk.log.appends, desk.log.batches) == (1, 3)
    assert desk.bodies(orders, 0) == [b"0", b"2", b"4", b"6", b"8"]
    assert desk.bodies(bills) == [b"%d" % number for number in range(10)]


async def test_each_sender_is_told_its_own_place(desk: Desk) -> None:
    topic = await desk.topic(2)
    desk.send(topic, said(b"a"), said(b"b"), partition=1)
    desk.send(topic, said(b"c"), partition=1)
    desk.send(topic, said(b"d"), partition=0)
    await settle()
    assert desk.told == [Published(1, 0), Published(1, 2), Published(0, 0)]
    desk.send(topic, said(b"e"), partition=1)
    await settle()
    assert desk.told[-1] == Published(1, 3)
    assert desk.log.appends == 2


async def test_a_sender_that_sends_when_it_is_told_gets_the_next_turn(desk: Desk) -> None:
    topic = await desk.topic()

    def again(fate: Published | BraidError) -> None:
        desk.told.append(fate)
        desk.send(topic, said(b"second"))

    desk.publisher.publish(topic, (said(b"first"),), again)
    await settle()
    assert desk.told == [Published(0, 0), Published(0, 1)]


async def test_who_waits_gets_the_place_or_the_refusal(desk: Desk) -> None:
    topic = await desk.topic()
    assert await desk.publisher.published(topic, (said(b"a"),)) == Published(0, 0)
    desk.log.refusal = StorageFull()
    with pytest.raises(StorageFull):
        await desk.publisher.published(topic, (said(b"b"),))


async def test_who_stops_waiting_disturbs_nobody(desk: Desk) -> None:
    topic = await desk.topic()
    waiting = asyncio.create_task(desk.publisher.published(topic, (said(b"a"),)))
    await asyncio.sleep(0)
    waiting.cancel()
    desk.send(topic, said(b"b"))
    await settle()
    assert desk.told == [Published(0, 1)]
    assert desk.bodies(topic) == [b"a", b"b"]


# Refusals.


async def test_what_the_log_refuses_is_told_to_every_sender(desk: Desk) -> None:
    topic = await desk.topic(2)
    desk.log.refusal = StorageFull()
    desk.send(topic, said(b"a"), partition=0)
    desk.send(topic, said(b"b"), partition=1)
    await settle()
    assert desk.told == [desk.log.refusal, desk.log.refusal]


async def test_a_partition_that_is_gone_refuses_only_its_own(desk: Desk) -> None:
    gone, there = await desk.topic(), await desk.topic()
    desk.send(gone, said(b"a"))
    desk.send(there, said(b"b"))
    await desk.log.delete_topic(gone.id)
    await settle()
    (refusal,) = [fate for fate in desk.told if isinstance(fate, BraidError)]
    assert isinstance(refusal, UnknownPartition)
    assert desk.bodies(there) == [b"b"]


async def test_messages_of_one_call_stand_or_fall_together(desk: Desk) -> None:
    topic = await desk.topic(cleanup_policy="compact")
    keyed = Message(body=b"keyed", key=b"k", born_ms=BEGAN_MS)
    desk.send(topic, keyed, said(b"no key"), keyed)
    desk.send(topic, keyed)
    await settle()
    refused, kept = desk.told
    assert isinstance(refused, InvalidRecord)
    assert kept == Published(0, 0)
    assert desk.bodies(topic) == [b"keyed"]


async def test_what_is_refused_in_a_turn_holds_up_no_other(desk: Desk) -> None:
    topic = await desk.topic(max_message_bytes="1000")
    fates: dict[int, Published | BraidError] = {}
    for size in (10, 2000, 20, 3000, 30):
        desk.publisher.publish(topic, (said(bytes(size)),), partial(fates.__setitem__, size))
    await settle()
    assert {size for size, fate in fates.items() if isinstance(fate, MessageTooLarge)} == {2000, 3000}
    assert [fates[size] for size in (10, 20, 30)] == [Published(0, 0), Published(0, 1), Published(0, 2)]
    assert [len(body or b"") for body in desk.bodies(topic)] == [10, 20, 30]


async def test_messages_of_one_call_are_never_spread_over_batches(desk: Desk) -> None:
    topic = await desk.topic(max_message_bytes="1000")
    desk.send(topic, *(said(bytes(400)) for _ in range(5)))
    await settle()
    assert isinstance(desk.told[0], MessageTooLarge)
    assert desk.bodies(topic) == []


async def test_senders_that_are_too_much_for_one_batch_are_all_served(desk: Desk) -> None:
    topic = await desk.topic(max_message_bytes="1000")
    for _ in range(5):
        desk.send(topic, said(bytes(400)))
    await settle()
    assert desk.told == [Published(0, offset) for offset in range(5)]
    assert desk.log.appends == 1


async def test_a_time_that_no_record_can_have_refuses_only_its_message(desk: Desk) -> None:
    topic, other = await desk.topic(), await desk.topic()
    desk.send(topic, said(b"a"))
    desk.send(topic, Message(body=b"never", born_ms=1 << 63))
    desk.send(other, said(b"b"))
    await settle()
    refused = [fate for fate in desk.told if isinstance(fate, BraidError)]
    assert len(desk.told) == 3, "everybody was told something"
    assert [type(each) for each in refused] == [InvalidBatch]
    assert (desk.bodies(topic), desk.bodies(other)) == ([b"a"], [b"b"])


async def test_settings_of_a_topic_that_make_no_sense_refuse_its_messages_alone(desk: Desk) -> None:
    broken, sound = await desk.topic(), await desk.topic()
    nonsense = replace(broken, settings={"max.message.bytes": "many"})
    desk.send(nonsense, said(b"a"))
    desk.send(sound, said(b"b"))
    await settle()
    assert sum(isinstance(fate, BraidError) for fate in desk.told) == 1
    assert desk.bodies(sound) == [b"b"]


# What a message may be.


async def test_a_body_has_a_limit_and_so_have_the_bodies_of_one_call(desk: Desk) -> None:
    topic = await desk.topic()
    limit = desk.publisher.limits.body_bytes_max
    with pytest.raises(MessageTooLarge):
        desk.send(topic, said(bytes(limit + 1)))
    with pytest.raises(MessageTooLarge):
        desk.send(topic, said(bytes(limit)), said(b"x"))
    desk.send(topic, said(bytes(limit)))
    await settle()
    assert desk.told == [Published(0, 0)]


async def test_messages_that_wait_have_a_smaller_limit(desk: Desk) -> None:
    topic = await desk.topic()
    large = said(bytes(desk.publisher.limits.deferred_bytes_max + 1))
    with pytest.raises(MessageTooLarge):
        await desk.publisher.publish_at(topic, large, BEGAN_MS + 1000)
    with pytest.raises(MessageTooLarge):
        await desk.publisher.prepare(topic, large, group=GROUP)
    assert not desk.place.timer_rows.by_id
    assert not desk.place.half_rows.by_id


@pytest.mark.parametrize("kind", [TopicKind.FIFO, TopicKind.DELAY, TopicKind.TRANSACTION])
async def test_a_topic_of_another_kind_takes_no_plain_message(desk: Desk, kind: TopicKind) -> None:
    topic = await desk.topic(kind=kind)
    with pytest.raises(InvalidMessage):
        desk.send(topic, said(b"plain"))
    await settle()
    assert desk.bodies(topic) == []


async def test_an_ordered_topic_takes_messages_that_say_where_they_belong(desk: Desk) -> None:
    topic = await desk.topic(2, TopicKind.FIFO)
    desk.send(topic, said(b"a", sharding_key="k"))
    desk.send(topic, said(b"b"), partition=1)
    await settle()
    assert not any(isinstance(fate, BraidError) for fate in desk.told)


async def test_a_plain_topic_takes_no_ordered_message(desk: Desk) -> None:
    with pytest.raises(WrongMessageKind):
        desk.send(await desk.topic(kind=TopicKind.NORMAL), said(b"a", sharding_key="k"))


async def test_one_message_of_the_wrong_kind_refuses_the_whole_call(desk: Desk) -> None:
    topic = await desk.topic(kind=TopicKind.NORMAL)
    with pytest.raises(WrongMessageKind):
        desk.send(topic, said(b"a"), said(b"b", sharding_key="k"))
    await settle()
    assert desk.log.appends == 0


@pytest.mark.parametrize(
    ("kind", "delays", "halves"),
    [
        (TopicKind.NORMAL, False, False),
        (TopicKind.FIFO, False, False),
        (TopicKind.DELAY, True, False),
        (TopicKind.TRANSACTION, False, True),
        (TopicKind.MIXED, True, True),
    ],
)
async def test_only_topics_of_their_kind_take_messages_that_wait(
    desk: Desk, kind: TopicKind, delays: bool, halves: bool
) -> None:
    topic = await desk.topic(kind=kind)

    async def is_taken(call: Coroutine[Any, Any, object]) -> bool:
        try:
            await call
        except WrongMessageKind:
            return False
        return True

    assert await is_taken(desk.publisher.publish_at(topic, said(b"a"), BEGAN_MS + 1000)) is delays
    assert await is_taken(desk.publisher.prepare(topic, said(b"a"), group=GROUP)) is halves


async def test_a_message_for_later_comes_at_its_time_and_one_too_far_ahead_is_refused(desk: Desk) -> None:
    topic = await desk.topic(2)
    taken = await desk.publisher.publish_at(topic, said(b"later", id="m1"), BEGAN_MS + 5000, partition=1)
    assert (taken.message_id, taken.delivered) == ("m1", None)
    with pytest.raises(DelayTooLong):
        await desk.publisher.publish_at(topic, said(b"never"), BEGAN_MS + 41 * DAY_MS)
    await desk.place.clock.advance(5000)
    assert desk.bodies(topic, 1) == [b"later"]


async def test_a_half_is_in_its_topic_once_its_producer_says_so(desk: Desk) -> None:
    topic = await desk.topic()
    handle, _ = await desk.publisher.prepare(topic, said(b"half"), group=GROUP)
    await settle()
    assert desk.bodies(topic) == []
    await desk.place.halves.end(handle, commit=True, group=GROUP)
    assert desk.bodies(topic) == [b"half"]


# Partitions.


async def test_messages_with_one_sharding_key_go_to_one_partition_in_order(desk: Desk) -> None:
    topic = await desk.topic(4)
    for number in range(40):
        desk.send(topic, said(b"%d" % number, sharding_key=f"k{number % 5}"))
        if number % 7 == 0:
            await settle()
    await settle()
    places: dict[str | None, set[int]] = {}
    for partition in range(4):
        order: dict[str | None, list[int]] = {}
        for message in desk.place.messages(topic, partition):
            places.setdefault(message.sharding_key, set()).add(partition)
            order.setdefault(message.sharding_key, []).append(int(message.body or b""))
        assert all(numbers == sorted(numbers) for numbers in order.values())
    assert len(places) == 5
    assert all(len(partitions) == 1 for partitions in places.values())


async def test_other_messages_take_turns(desk: Desk) -> None:
    topic = await desk.topic(4)
    for number in range(8):
        desk.send(topic, said(b"%d" % number))
    await settle()
    assert [len(desk.bodies(topic, partition)) for partition in range(4)] == [2, 2, 2, 2]


async def test_a_partition_that_the_topic_does_not_have_is_refused(desk: Desk) -> None:
    topic = await desk.topic(2)
    with pytest.raises(UnknownPartition):
        desk.send(topic, said(b"a"), partition=2)
    with pytest.raises(UnknownPartition):
        await desk.publisher.publish_at(topic, said(b"a"), BEGAN_MS + 1000, partition=2)
    with pytest.raises(UnknownPartition):
        await desk.publisher.prepare(topic, said(b"a"), group=GROUP, partition=2)
    assert not desk.place.timer_rows.by_id
    assert not desk.place.half_rows.by_id


# Messages that are records already.


@pytest.fixture
def packing(require_compiled: Callable[[str], ModuleType]) -> None:
    require_compiled("braidmq.records._packing")


def offer(
    desk: Desk, topic: Topic, *messages: Message, partition: int = 0, largest_bytes: int = 1, sharded: bool = False
) -> bool:
    return desk.publisher.publish_packed(
        topic,
        packed(*messages),
        desk.told.append,
        partition=partition,
        largest_bytes=largest_bytes,
        with_sharding_key=sharded,
    )


@pytest.mark.usefixtures("packing")
async def test_packed_messages_share_a_batch_and_are_told_together(desk: Desk) -> None:
    topic = await desk.topic(2)
    assert offer(desk, topic, said(b"a"), said(b"b"), partition=1)
    assert offer(desk, topic, said(b"c"), partition=1)
    await settle()
    assert (desk.log.appends, desk.log.batches) == (1, 1)
    assert desk.bodies(topic, 1) == [b"a", b"b", b"c"]
    assert desk.told == [Published(1, 0), Published(1, 2)]


@pytest.mark.usefixtures("packing")
async def test_packed_messages_and_others_keep_their_order(desk: Desk) -> None:
    topic = await desk.topic()
    offer(desk, topic, said(b"a", tag="t"), said(b"b"))
    desk.send(topic, said(b"c"))
    offer(desk, topic, said(b"d"))
    await settle()
    assert desk.log.batches == 1
    assert desk.bodies(topic) == [b"a", b"b", b"c", b"d"]
    assert desk.told == [Published(0, 0), Published(0, 2), Published(0, 3)]


@pytest.mark.usefixtures("packing")
async def test_packed_messages_that_are_refused_hold_up_no_others(desk: Desk) -> None:
    topic = await desk.topic(max_message_bytes="400")
    offer(desk, topic, said(b"a"))
    offer(desk, topic, said(b"x" * 300), said(b"y" * 300))
    offer(desk, topic, said(b"z" * 200))
    await settle()
    refused, *others = desk.told
    assert isinstance(refused, MessageTooLarge)
    assert others == [Published(0, 0), Published(0, 1)]
    assert desk.bodies(topic) == [b"a", b"z" * 200]


@pytest.mark.usefixtures("packing")
async def test_a_topic_that_asks_for_keys_looks_into_packed_messages(desk: Desk) -> None:
    topic = await desk.topic(cleanup_policy="compact")
    offer(desk, topic, said(b"a", keys=["k"]))  # type: ignore[arg-type]  # words by name
    offer(desk, topic, said(b"b"))
    await settle()
    assert isinstance(desk.told[0], InvalidRecord)
    assert desk.told[1] == Published(0, 0)


@pytest.mark.usefixtures("packing")
@pytest.mark.parametrize(
    ("kind", "sharded", "is_taken"),
    [
        (TopicKind.MIXED, True, True),
        (TopicKind.NORMAL, False, True),
        (TopicKind.NORMAL, True, False),
        (TopicKind.FIFO, False, True),
        (TopicKind.DELAY, False, False),
        (TopicKind.TRANSACTION, False, False),
        (TopicKind.PRIORITY, False, False),
        (TopicKind.LITE, False, False),
    ],
)
async def test_what_a_topic_does_not_take_at_once_is_not_taken_packed(
    desk: Desk, kind: TopicKind, sharded: bool, is_taken: bool
) -> None:
    topic = await desk.topic(kind=kind)
    assert offer(desk, topic, said(b"a"), sharded=sharded) is is_taken
    await settle()
    assert len(desk.told) == is_taken


@pytest.mark.usefixtures("packing")
async def test_packed_messages_for_nowhere_or_too_large_are_left_to_the_others(desk: Desk) -> None:
    topic = await desk.topic()
    assert not offer(desk, topic, said(b"a"), partition=1)
    assert not offer(desk, topic, said(b"a"), largest_bytes=desk.publisher.limits.body_bytes_max + 1)
    await settle()
    assert desk.told == []
    assert desk.log.appends == 0


# What is counted.


class Counting:
    """A tally that keeps what was refused, by sender."""

    def __init__(self) -> None:
        self.lots: list[list[bytes | None]] = []

    def stored(self, number: int, batch: Batch) -> None: ...

    def refused(self, number: int, batch: Batch) -> None: ...

    def refused_lots(self, _: int, lots: Iterable[Sequence[Message] | Packed]) -> None:
        for lot in lots:
            assert not isinstance(lot, Packed)
            self.lots.append([message.body for message in lot])


@pytest.mark.parametrize("is_full", [False, True], ids=["a limit", "a full disk"])
async def test_what_is_refused_is_counted_by_sender(desk: Desk, is_full: bool) -> None:
    tally = Counting()
    place = desk.place
    desk.publisher = Publisher(desk.log, Admissions(), place.timers, place.halves, place.clock.now_ms, tally=tally)
    topic = await desk.topic(max_message_bytes="100000" if is_full else "100")
    desk.log.refusal = StorageFull() if is_full else None
    desk.send(topic, said(b"a" * 200), said(b"b" * 200))
    desk.send(topic, said(b"c" * 200))
    await settle()
    assert [type(each) for each in desk.told] == [StorageFull if is_full else MessageTooLarge] * 2
    assert tally.lots == [[b"a" * 200, b"b" * 200], [b"c" * 200]]
