"""Messages taken one by one: waiting, receipts, order, dead letters, limits, and what moves a group elsewhere."""

import asyncio
import tracemalloc
from typing import Any
from uuid import uuid4

import pytest

from braidmq.core.cursors import Ask, Beginning, CursorLimits, Delivered, Receipt
from braidmq.core.cursors._cursor import EXPIRED_MAX, PICTURE_STEP, Cursor, Found
from braidmq.core.filters import tag_filter
from braidmq.log import GroupOffset
from braidmq.model import TAG_HEADER, Topic
from braidmq.model.errors import HandleExpired, InvalidHandle, TooManyReceivers, UnknownMember, UnknownPartition
from braidmq.records import Record, build_batch
from braidmq.store import TopicChanged
from contract.harness import BEGAN_MS
from groups_support import settle
from simulator.cursor_world import GROUP, INVISIBLE_MS, CursorWorld

HOUR_MS = 3_600_000


@pytest.fixture
async def world() -> CursorWorld:
    return await CursorWorld().begin()


@pytest.fixture
async def ordered() -> CursorWorld:
    return await CursorWorld(ordered=True).begin()


def values(batch: list[Delivered]) -> list[bytes | None]:
    return [each.record.value for each in batch]


# Giving out and acknowledging.


async def test_a_message_is_one_receivers_until_it_is_acknowledged(world: CursorWorld) -> None:
    await world.write(1, b"a")
    (delivered,) = await world.receive()
    assert (delivered.attempt, delivered.partition) == (1, 0)
    assert await world.receive() == []
    world.acknowledge(delivered.receipt)
    await world.go_on(INVISIBLE_MS * 2)
    assert await world.receive() == []


async def test_a_message_whose_time_is_over_is_given_out_again(world: CursorWorld) -> None:
    await world.write(1, b"a")
    (first,) = await world.receive()
    await world.go_on(INVISIBLE_MS)
    (second,) = await world.receive()
    assert second.attempt == 2
    with pytest.raises(HandleExpired):
        world.acknowledge(first.receipt)
    world.acknowledge(second.receipt)


async def test_messages_come_from_all_partitions_the_oldest_of_each_first(world: CursorWorld) -> None:
    for number in (1, 2, 3):
        await world.write(number, b"%d-0" % number, b"%d-1" % number)
    batch = await world.receive(count_max=6)
    assert sorted(v or b"" for v in values(batch)) == [b"1-0", b"1-1", b"2-0", b"2-1", b"3-0", b"3-1"]
    assert {each.partition for each in batch} == {0, 1, 2}


async def test_one_partition_may_be_asked_for_and_must_exist(world: CursorWorld) -> None:
    await world.write(1, b"a")
    await world.write(2, b"b")
    assert values(await world.receive(partition=1)) == [b"b"]
    with pytest.raises(UnknownPartition):
        await world.receive(partition=3)


async def test_what_the_filter_does_not_want_is_done(world: CursorWorld) -> None:
    records = [Record(at, BEGAN_MS, None, tag, ((TAG_HEADER, tag),)) for at, tag in enumerate([b"A", b"B", b"A", b"B"])]
    await world.log.append([(1, build_batch(records))])
    world.written.update({(1, at): record.value or b"" for at, record in enumerate(records)})
    batch = await world.receive(chosen=tag_filter([b"B"]))
    assert values(batch) == [b"B", b"B"]
    for each in batch:
        world.acknowledge(each.receipt)
    (view,) = [each for each in world.cursors.views(GROUP.name) if each.number == 1]
    assert (view.floor, view.open, view.lag) == (4, 0, 0)


async def test_bytes_bound_a_batch(world: CursorWorld) -> None:
    await world.write(1, *[b"x" * 100] * 5)
    assert len(await world.receive(bytes_max=250)) in (2, 3)


# Receipts.


async def test_receipts_cannot_be_made_up(world: CursorWorld) -> None:
    await world.write(1, b"a")
    (delivered,) = await world.receive()
    number, offset, serial, seal = delivered.receipt
    for forged in (
        Receipt(number, offset, serial, seal ^ 1),
        Receipt(number, offset, serial + 1, seal),
        Receipt(number, offset + 1, serial, seal),
        Receipt(1 << 40, offset, serial, seal),
        Receipt(number, offset, serial, -1),
        Receipt(number, offset, serial, 1 << 70),
    ):
        with pytest.raises(InvalidHandle):
            world.cursors.acknowledge(GROUP.name, forged)
    with pytest.raises(InvalidHandle):
        world.cursors.acknowledge("others", delivered.receipt)


async def test_a_receipt_is_good_once(world: CursorWorld) -> None:
    await world.write(1, b"a")
    (delivered,) = await world.receive()
    world.acknowledge(delivered.receipt)
    with pytest.raises(HandleExpired):
        world.acknowledge(delivered.receipt)


async def test_extending_gives_a_new_receipt_and_more_time(world: CursorWorld) -> None:
    await world.write(1, b"a")
    (delivered,) = await world.receive()
    longer = world.cursors.extend(GROUP.name, delivered.receipt, 10_000)
    with pytest.raises(HandleExpired):
        world.acknowledge(delivered.receipt)
    await world.go_on(INVISIBLE_MS * 3)
    assert await world.receive() == []
    world.acknowledge(longer)


async def test_a_receipt_outlives_the_node(world: CursorWorld) -> None:
    await world.write(1, b"a")
    (delivered,) = await world.receive()
    await world.peace()
    await world.die()
    assert await world.receive() == []
    world.acknowledge(delivered.receipt)
    await world.go_on(INVISIBLE_MS * 2)
    assert await world.receive() == []


async def test_attempts_outlive_the_node(world: CursorWorld) -> None:
    await world.write(1, b"a")
    await world.receive()
    await world.go_on(INVISIBLE_MS)
    await world.receive()
    await world.peace()
    await world.die()
    await world.go_on(INVISIBLE_MS)
    (third,) = await world.receive()
    assert third.attempt == 3


async def test_a_suspended_delivery_does_not_count(world: CursorWorld) -> None:
    await world.write(1, b"a")
    (delivered,) = await world.receive()
    world.cursors.extend(GROUP.name, delivered.receipt, 0, counts=False)
    (again,) = await world.receive()
    assert again.attempt == 1


# Waiting.


async def wait_for(world: CursorWorld, **more: Any) -> "asyncio.Task[list[Delivered]]":
    task = asyncio.create_task(world.receive(wait_s=30.0, **more))
    await settle()
    return task


async def test_a_new_message_ends_the_wait(world: CursorWorld) -> None:
    waiting = await wait_for(world)
    assert not waiting.done()
    await world.write(2, b"a")
    assert values(await waiting) == [b"a"]


async def test_a_deadline_that_is_missed_ends_the_wait_of_another_at_that_moment(world: CursorWorld) -> None:
    await world.write(1, b"a")
    await world.receive()
    waiting = await wait_for(world)
    await world.go_on(INVISIBLE_MS - 1)
    assert not waiting.done()
    await world.go_on(2)
    assert values(await waiting) == [b"a"]


async def test_a_message_that_is_rejected_ends_the_wait_after_its_delay(world: CursorWorld) -> None:
    await world.write(1, b"a")
    (delivered,) = await world.receive(invisible_ms=60_000)
    waiting = await wait_for(world)
    world.cursors.extend(GROUP.name, delivered.receipt, 100)
    await world.go_on(99)
    assert not waiting.done()
    await world.go_on(2)
    assert (await waiting)[0].attempt == 2


async def test_one_message_ends_one_wait(world: CursorWorld) -> None:
    waits = [await wait_for(world) for _ in range(3)]
    await world.write(1, b"a")
    await settle()
    assert [each.done() for each in waits] == [True, False, False]
    await world.write(1, b"b", b"c")
    await settle()
    assert waits[1].done()
    waits[2].cancel()


async def test_what_comes_for_one_who_has_gone_is_for_the_next(world: CursorWorld) -> None:
    gone = await wait_for(world)
    stays = await wait_for(world)
    gone.cancel()
    await world.write(1, b"a")
    assert values(await stays) == [b"a"]
    assert (await stays)[0].attempt == 1


async def test_a_wait_ends_with_nothing_when_its_time_is_over(world: CursorWorld) -> None:
    assert await world.receive(wait_s=0.01) == []


async def test_so_many_may_wait_and_no_more() -> None:
    world = await CursorWorld(limits=CursorLimits(waiting_max=1)).begin()
    waiting = await wait_for(world)
    with pytest.raises(TooManyReceivers):
        await world.receive(wait_s=1)
    waiting.cancel()


async def test_who_waits_for_another_partition_is_not_served_in_vain(world: CursorWorld) -> None:
    other = await wait_for(world, partition=1)
    this = await wait_for(world, partition=0)
    await world.write(1, b"a")
    assert values(await this) == [b"a"]
    assert not other.done()
    await world.write(2, b"b")
    assert values(await other) == [b"b"]


# In order.


async def test_a_key_is_with_one_receiver_at_a_time_and_others_go_on(ordered: CursorWorld) -> None:
    await ordered.write(1, b"a0", b"a1", b"a2", key=b"a")
    await ordered.write(1, b"b0", key=b"b")
    first = await ordered.receive(count_max=2)
    assert values(first) == [b"a0", b"a1"]
    assert values(await ordered.receive()) == [b"b0"]
    assert await ordered.receive() == []
    for each in first:
        ordered.acknowledge(each.receipt)
    assert values(await ordered.receive()) == [b"a2"]


async def test_what_failed_comes_again_before_what_is_behind_it(ordered: CursorWorld) -> None:
    await ordered.write(1, b"a0", b"a1", b"a2", key=b"a")
    first, second = await ordered.receive(count_max=2)
    ordered.acknowledge(second.receipt)
    ordered.cursors.extend(GROUP.name, first.receipt, 100)
    assert await ordered.receive() == []
    await ordered.go_on(101)
    assert values(await ordered.receive()) == [b"a0", b"a1", b"a2"]


async def test_what_was_acknowledged_before_its_turn_is_done_with_the_one_before_it(ordered: CursorWorld) -> None:
    await ordered.write(1, b"a0", b"a1", b"a2", key=b"a")
    first, second = await ordered.receive(count_max=2)
    ordered.acknowledge(second.receipt)
    with pytest.raises(HandleExpired):
        ordered.acknowledge(second.receipt)
    ordered.acknowledge(first.receipt)
    assert values(await ordered.receive()) == [b"a2"]


async def test_what_comes_again_for_the_sake_of_another_is_not_counted_as_an_attempt(ordered: CursorWorld) -> None:
    await ordered.write(1, b"a0", b"a1", key=b"a")
    first, second = await ordered.receive()
    ordered.acknowledge(second.receipt)
    ordered.cursors.extend(GROUP.name, first.receipt, 100)
    await ordered.go_on(101)
    assert [delivered.attempt for delivered in await ordered.receive()] == [2, 1]


async def test_the_end_of_a_key_ends_the_wait_for_its_next(ordered: CursorWorld) -> None:
    await ordered.write(1, b"a0", b"a1", key=b"a")
    (first,) = await ordered.receive(count_max=1)
    waiting = await wait_for(ordered)
    assert not waiting.done()
    ordered.acknowledge(first.receipt)
    assert values(await waiting) == [b"a1"]


async def test_asking_again_with_the_same_word_gives_the_same_messages(ordered: CursorWorld) -> None:
    await ordered.write(1, b"a0", b"a1", key=b"a")
    first = await ordered.receive(attempt_id="one")
    assert await ordered.receive(attempt_id="one") == first
    assert await ordered.receive(attempt_id="two") == []
    for each in first:
        ordered.cursors.acknowledge(GROUP.name, each.receipt)
    assert await ordered.receive(attempt_id="one") == []


async def test_order_outlives_the_node(ordered: CursorWorld) -> None:
    await ordered.write(1, b"a0", b"a1", key=b"a")
    await ordered.receive(count_max=1)
    await ordered.peace()
    await ordered.die()
    assert await ordered.receive() == []
    await ordered.go_on(INVISIBLE_MS)
    assert values(await ordered.receive()) == [b"a0", b"a1"]


# Dead letters.


async def test_after_its_last_attempt_a_message_is_dead(world: CursorWorld) -> None:
    await world.write(1, b"a")
    for attempt in range(1, GROUP.attempts_max + 2):
        (delivered,) = await world.receive()
        assert delivered.attempt == attempt
        await world.go_on(INVISIBLE_MS)
    assert await world.receive() == []
    await settle()
    assert world.graveyard.dead == {(1, 0): 1}
    assert world.cursors.views(GROUP.name)[0].floor == 1


async def test_a_receiver_may_bury_a_message(world: CursorWorld) -> None:
    await world.write(1, b"a")
    (delivered,) = await world.receive()
    await world.cursors.bury(GROUP.name, delivered.receipt)
    assert world.graveyard.dead == {(1, 0): 1}
    with pytest.raises(HandleExpired):
        await world.cursors.bury(GROUP.name, delivered.receipt)


async def test_a_burial_that_fails_is_tried_again(world: CursorWorld) -> None:
    await world.write(1, b"a")
    world.graveyard.is_failing = True
    for _ in range(GROUP.attempts_max + 1):
        await world.receive()
        await world.go_on(INVISIBLE_MS)
    await world.receive()
    await settle()
    assert not world.graveyard.dead
    world.graveyard.is_failing = False
    await world.go_on(2_000)
    await world.receive()
    await settle()
    assert world.graveyard.dead == {(1, 0): 1}


# Renewal.


class Consumer:
    """Lives until it is told otherwise."""

    is_alive = True


async def test_messages_are_renewed_while_their_holder_lives_and_not_for_ever() -> None:
    world = await CursorWorld(limits=CursorLimits(renewal_ms=1_000, renewed_max_ms=5_000)).begin()
    await world.write(1, b"a", b"b")
    holder = Consumer()
    first, second = await world.receive(holder=holder)
    for _ in range(4):
        await world.go_on(1_000)
        assert await world.receive() == []
    world.acknowledge(first.receipt)
    holder.is_alive = False
    await world.go_on(1_000)
    assert values(await world.receive(holder=Consumer())) == [b"b"]
    with pytest.raises(HandleExpired):
        world.acknowledge(second.receipt)
    await world.go_on(6_000)
    assert values(await world.receive()) == [b"b"]


# Limits and moves.


async def test_a_group_that_does_not_answer_is_given_no_more_than_it_may_hold() -> None:
    world = await CursorWorld(limits=CursorLimits(open_max=10)).begin()
    await world.write(1, *[b"x"] * 50)
    taken = await world.receive(count_max=10, invisible_ms=60_000)
    assert len(taken) == 10
    waiting = await wait_for(world)
    assert not waiting.done()
    world.acknowledge(taken[3].receipt)
    assert len(await waiting) >= 1


async def test_a_million_messages_acknowledged_in_any_order_leave_nothing_behind(world: CursorWorld) -> None:
    for _ in range(40):
        await world.write(1, *[b"x"] * 500)
    held: list[Delivered] = []
    for _ in range(20):
        held += await world.receive(count_max=1000, invisible_ms=3_600_000)
    assert len(held) == 20_000
    world.random.shuffle(held)
    for each in held:
        world.acknowledge(each.receipt)
    (view,) = [each for each in world.cursors.views(GROUP.name) if each.number == 1]
    assert (view.floor, view.open, view.lag) == (20_000, 0, 0)
    await world.peace()
    assert sum(map(len, world.rows.changes[GROUP.name, 1])) < 1000


async def test_how_far_a_group_has_come_is_its_offset(world: CursorWorld) -> None:
    await world.write(1, b"a", b"b", b"c")
    batch = await world.receive()
    world.acknowledge(batch[0].receipt)
    world.acknowledge(batch[2].receipt)
    await world.go_on(2_000)
    assert world.log.fetch_offsets(GROUP.name)[1].offset == 1
    await world.cursors.close()
    assert world.log.fetch_offsets(GROUP.name)[1].offset == 1


async def test_a_group_begins_where_it_was_by_other_means(world: CursorWorld) -> None:
    await world.write(1, b"a", b"b", b"c")
    await world.log.commit_offsets(GROUP.name, {1: GroupOffset(2)})
    assert values(await world.receive()) == [b"c"]


@pytest.mark.parametrize(
    ("beginning", "seen"), [(Beginning.START, [b"a"]), (Beginning.YOUNG, [b"a"]), (Beginning.END, [])]
)
async def test_a_new_group_begins_where_it_is_told(world: CursorWorld, beginning: Beginning, seen: list[bytes]) -> None:
    await world.write(1, b"a")
    assert values(await world.receive(beginning=beginning)) == seen


async def test_an_operators_reset_moves_the_group(world: CursorWorld) -> None:
    await world.write(1, b"a", b"b")
    batch = await world.receive()
    for each in batch:
        world.cursors.acknowledge(GROUP.name, each.receipt)
    await world.go_on(2_000)
    assert world.log.fetch_offsets(GROUP.name)[1].offset == 2
    await world.log.commit_offsets(GROUP.name, {1: GroupOffset(0)})
    assert values(await world.receive()) == [b"a", b"b"]


async def test_a_reset_on_the_board_moves_a_group_that_has_messages_out(world: CursorWorld) -> None:
    await world.write(1, b"a", b"b")
    (first, _) = await world.receive()
    world.resets.put(GROUP.name, 1, 1)
    await world.log.commit_offsets(GROUP.name, {1: GroupOffset(1)})
    assert values(await world.receive()) == [b"b"]
    with pytest.raises(HandleExpired):
        world.cursors.acknowledge(GROUP.name, first.receipt)


async def test_what_the_log_has_let_go_of_is_not_waited_for(world: CursorWorld) -> None:
    await world.write(1, b"a", b"b", b"c")
    await world.receive(count_max=2)
    await world.log.delete_records(1, 2)
    assert values(await world.receive()) == [b"c"]
    assert world.cursors.views(GROUP.name)[0].floor == 2


async def test_a_topic_that_is_gone_takes_its_cursors_with_it(world: CursorWorld) -> None:
    await world.write(1, b"a")
    await world.receive()
    await world.peace()
    assert world.rows.changes
    world.listeners[0](TopicChanged(1, world.orders, None))
    await world.peace()
    assert not world.rows.changes
    assert world.cursors.views(GROUP.name) == []


async def test_a_topic_that_grows_is_read_in_its_new_partitions_too(world: CursorWorld) -> None:
    grown = Topic(id=world.orders.id, name="orders", partition_numbers=(1, 2, 3, 4), retention_ms=-1)
    await world.log.expand_topic(grown)
    world.orders = grown
    waiting = await wait_for(world)
    await world.write(4, b"d")
    assert values(await waiting) == [b"d"]


async def test_another_topic_of_the_same_group_is_apart(world: CursorWorld) -> None:
    other = Topic(id=uuid4(), name="others", partition_numbers=(9,), retention_ms=-1)
    await world.log.create_topic(other)
    await world.write(1, b"a")
    await world.log.append([(9, build_batch([Record(0, BEGAN_MS, None, b"o")]))])
    batch = await world.cursors.receive(Ask(group=GROUP.name, topic=other))
    assert values(batch) == [b"o"]
    assert values(await world.receive()) == [b"a"]


async def test_rows_that_cannot_be_kept_are_kept_whole_later(world: CursorWorld) -> None:
    world.rows.is_failing = True
    await world.write(1, b"a", b"b")
    first, _ = await world.receive()
    world.acknowledge(first.receipt)
    await world.go_on(200)
    assert not world.rows.changes
    world.rows.is_failing = False
    await world.peace()
    await world.die()
    await world.go_on(INVISIBLE_MS)
    assert values(await world.receive()) == [b"b"]


async def test_offsets_that_cannot_be_committed_keep_nobody_from_going_on(
    world: CursorWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise UnknownMember

    monkeypatch.setattr(world.offsets, "commit", refuse)
    await world.write(1, b"a", b"b")
    first, _ = await world.receive()
    world.acknowledge(first.receipt)
    for _ in range(5):
        await world.go_on(2_000)
    assert len(world.rows.changes[GROUP.name, 1]) < 4, "nothing is kept again and again"
    await world.die()
    assert values(await world.receive()) == [b"b"]


def open_cursor(count: int, due_ms: int = 10) -> Cursor:
    """With so many messages out."""
    cursor = Cursor(0, renewal_ms=1_000)
    cursor.look(count, [Found(offset) for offset in range(count)])
    while (message := cursor.take_ready()) is not None:
        cursor.give(message, due_ms=due_ms)
    return cursor


def test_very_many_that_are_due_at_once_come_back_in_several_goes() -> None:
    cursor = open_cursor(2 * EXPIRED_MAX + 1)
    assert [cursor.expire(10) for _ in range(4)] == [EXPIRED_MAX, EXPIRED_MAX, 1, 0]
    assert cursor.out_count == 0
    assert cursor.next_due_ms is None


def test_a_message_that_stays_open_keeps_nothing_of_those_that_were_done_behind_it() -> None:
    cursor = Cursor(0, renewal_ms=1_000)
    tracemalloc.start()
    try:
        for offset in range(50_000):
            cursor.look(offset + 1, [Found(offset)])
            message = cursor.take_ready()
            assert message is not None
            cursor.give(message, due_ms=43_200_000 + offset)
            if offset:
                cursor.acknowledge(message)
                cursor.take_changes()
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (cursor.floor, cursor.open_count, cursor.next_due_ms) == (0, 1, 43_200_000)
    assert held_bytes < 300_000


def test_a_picture_in_parts_knows_what_changes_between_them() -> None:
    count = 2 * PICTURE_STEP + 1
    cursor = open_cursor(count)
    parts = []
    for nth, part in enumerate(cursor.picture()):
        parts.append(part)
        for offset in (nth, count - 1 - nth):
            message = cursor.find(offset)
            assert message is not None
            cursor.acknowledge(message)
    assert len(parts) == 3
    cursor.look(count + 1, [Found(count)])
    known = Cursor.restored([*parts, cursor.take_changes()], renewal_ms=1_000)
    assert (known.next, known.floor, known.open_count, known.out_count) == (count + 1, 3, count - 5, count - 6)
    assert known.first_ready() == count


async def test_a_group_that_holds_much_is_not_kept_whole_again_and_again() -> None:
    world = await CursorWorld(limits=CursorLimits(open_max=10_000)).begin()
    await world.write(1, *[b"x"] * 5_000)
    batch = await world.receive(count_max=5_000, invisible_ms=HOUR_MS)
    await world.peace()
    began = world.rows.kept_bytes
    for delivered in batch[:300]:
        world.acknowledge(delivered.receipt)
        await world.peace()
    assert world.rows.kept_bytes - began < 300 * 50
    await world.die()
    await world.go_on(HOUR_MS)
    assert world.cursors.counts_out() == {GROUP.name: 4_700}
