"""Positions, resets, copies and deletions of groups' offsets; and a reset that members who are online cannot undo."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from braidmq.core.group_offsets import SETTLING_MS, GroupOffsets, Moved, Position, ResetBoard, Target
from braidmq.log import GroupOffset
from braidmq.log.memory import MemoryLog
from braidmq.model import Message, Topic
from braidmq.model.errors import GroupNotEmpty, StorageFull, TopicInUse, UnknownGroup, UnknownPartition
from braidmq.records import batch_messages
from groups_support import World, assemble

MEMBER_AT = 4


class Tools(World):
    """The tools, and members of a queue group as a protocol serves them."""

    def __init__(self) -> None:
        super().__init__()
        self.board = ResetBoard(self.clock)

    def start_tools(self) -> "Tools":
        self.board = ResetBoard(self.clock)
        self.tools = GroupOffsets(self.directory, self.log, self.groups, self.board)
        self.tools.restore()
        return self

    async def topic(self, name: str, sizes: Iterable[int]) -> Topic:
        """A topic with so many messages in each partition, a second apart."""
        listed = list(sizes)
        topic = self.directory.add(name, len(listed))
        await self.log.create_topic(topic)
        for number, size in zip(topic.partition_numbers, listed, strict=True):
            times = [self.clock.now_ms() + 1000 * nth for nth in range(size)]
            await self.log.append([(number, batch_messages([Message(body=b"x", born_ms=at)])) for at in times])
        return topic

    async def commit_as_member(self, group: str, number: int, offset: int) -> bool:
        """What a listener does with a member's commit; whether it counted."""
        if self.board.ignores(group, number, offset):
            return False
        await self.groups.commit(group, None, {number: GroupOffset(offset)})
        return True

    def read_as_member(self, group: str, number: int, offset: int) -> int:
        """What a listener does with a member's read: where the member goes on."""
        if (to := self.board.pending(group, number, offset)) is None:
            return offset
        self.board.taken(group, number)
        return to

    def committed(self, group: str, topic: Topic) -> list[int | None]:
        return [position.committed for position in self.tools.positions(group, topic)]


@pytest.fixture
async def world() -> Tools:
    world = Tools()
    await world.start()
    return world.start_tools()


@pytest.fixture
async def orders(world: Tools) -> Topic:
    return await world.topic("orders", (10, 5, 0))


async def test_positions_tell_how_far_a_group_has_come_and_how_much_is_left(world: Tools, orders: Topic) -> None:
    one, two, three = orders.partition_numbers
    await world.groups.commit("g", None, {one: GroupOffset(4), two: GroupOffset(99)})
    await world.log.delete_records(one, 6)
    at_ms = world.clock.now_ms()
    positions = world.tools.positions("g", orders)
    assert positions == [
        Position(0, one, 6, 10, 4, at_ms),
        Position(1, two, 0, 5, 99, at_ms),
        Position(2, three, 0, 0, None, -1),
    ]
    assert [position.lag for position in positions] == [4, 0, 0]
    assert [position.lag for position in world.tools.positions("new", orders)] == [4, 5, 0]
    assert world.tools.topics("g") == [orders]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (Target(), [0, 0, 0]),
        (Target(end=True), [10, 5, 0]),
        (Target(offset=7), [7, 5, 0]),
        (Target(offset=-3), [0, 0, 0]),
        (Target(time_ms=1_000_000 + 2_500), [3, 3, 0]),
        (Target(time_ms=0), [0, 0, 0]),
        (Target(time_ms=1 << 50), [10, 5, 0]),
    ],
)
async def test_a_group_is_set_to_start_end_offset_or_time(
    world: Tools, orders: Topic, target: Target, expected: list[int]
) -> None:
    await world.groups.commit("g", None, {orders.partition_numbers[0]: GroupOffset(4, "text")})
    moved = await world.tools.reset("g", orders, target)
    assert world.committed("g", orders) == expected
    numbers = orders.partition_numbers
    assert moved == [
        Moved("orders", nth, numbers[nth], 4 if nth == 0 else None, expected[nth]) for nth in range(len(numbers))
    ]
    assert not len(world.board)


async def test_a_group_is_set_in_some_partitions_only(world: Tools, orders: Topic) -> None:
    await world.tools.reset("g", orders, Target(end=True), partitions=[1, 1])
    assert world.committed("g", orders) == [None, 5, None]
    for index in (-1, 3):
        with pytest.raises(UnknownPartition):
            await world.tools.reset("g", orders, Target(), partitions=[index])


async def test_a_group_whose_members_have_joined_is_not_changed(world: Tools, orders: Topic) -> None:
    await assemble(world, world.member("one"))
    for online in (False, True):
        with pytest.raises(GroupNotEmpty, match="stop them first"):
            await world.tools.reset("g", orders, Target(end=True), online=online)
    assert world.committed("g", orders) == [None, None, None]
    assert not len(world.board)


# Members who are told by their reads.


async def test_a_reset_wins_over_what_members_commit_until_they_know_of_it(world: Tools, orders: Topic) -> None:
    number = orders.partition_numbers[0]
    assert await world.commit_as_member("g", number, MEMBER_AT)
    await world.tools.reset("g", orders, Target(), online=True)
    assert not await world.commit_as_member("g", number, MEMBER_AT + 1)
    assert world.read_as_member("g", number, MEMBER_AT + 2) == 0
    assert not await world.commit_as_member("g", number, MEMBER_AT + 2), "its offset of before is still under way"
    assert world.read_as_member("g", number, MEMBER_AT + 2) == MEMBER_AT + 2, "it is told once"
    assert world.committed("g", orders)[0] == 0
    assert await world.commit_as_member("g", number, 0), "it has taken up the offset"
    assert await world.commit_as_member("g", number, MEMBER_AT)
    assert world.committed("g", orders)[0] == MEMBER_AT


async def test_a_member_that_reads_where_it_was_sent_counts_again(world: Tools, orders: Topic) -> None:
    number = orders.partition_numbers[0]
    await world.tools.reset("g", orders, Target(offset=2), online=True)
    assert world.read_as_member("g", number, MEMBER_AT) == 2
    assert world.read_as_member("g", number, 2) == 2
    assert await world.commit_as_member("g", number, 3)


async def test_a_member_that_is_there_already_is_not_told(world: Tools, orders: Topic) -> None:
    number = orders.partition_numbers[0]
    await world.tools.reset("g", orders, Target(offset=2), online=True)
    assert world.board.pending("g", number, 2) is None
    assert await world.commit_as_member("g", number, 3)


async def test_a_member_that_says_nothing_of_what_it_was_told_counts_again_after_a_while(
    world: Tools, orders: Topic
) -> None:
    number = orders.partition_numbers[0]
    await world.tools.reset("g", orders, Target(), online=True)
    world.read_as_member("g", number, MEMBER_AT)
    await world.clock.advance(SETTLING_MS - 1)
    assert not await world.commit_as_member("g", number, MEMBER_AT)
    await world.clock.advance(1)
    assert await world.commit_as_member("g", number, MEMBER_AT)
    assert len(world.board) == 2, "the other partitions' members were not told yet"


async def test_other_groups_and_partitions_go_on(world: Tools, orders: Topic) -> None:
    one, two, _ = orders.partition_numbers
    await world.tools.reset("g", orders, Target(), partitions=[0], online=True)
    assert await world.commit_as_member("h", one, 3)
    assert await world.commit_as_member("g", two, 3)
    assert world.read_as_member("h", one, 3) == 3


async def test_a_reset_that_members_were_not_told_of_outlives_the_node(world: Tools, orders: Topic) -> None:
    one, two, _ = orders.partition_numbers
    await world.tools.reset("g", orders, Target(offset=1), online=True)
    world.read_as_member("g", two, 3)
    await world.commit_as_member("g", two, 1)
    await world.crash()
    world.start_tools()
    assert not await world.commit_as_member("g", one, MEMBER_AT)
    assert world.read_as_member("g", one, MEMBER_AT) == 1
    assert await world.commit_as_member("g", two, 2)


async def test_a_reset_that_cannot_be_kept_changes_nothing(
    world: Tools, orders: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = orders.partition_numbers[0]
    await world.tools.reset("g", orders, Target(offset=1), online=True)

    async def full(*_: Any) -> None:
        raise StorageFull

    monkeypatch.setattr(MemoryLog, "commit_offsets", full)
    with pytest.raises(StorageFull):
        await world.tools.reset("g", orders, Target(offset=3), online=True)
    assert world.board.pending("g", number) == 1


async def test_a_commit_that_comes_while_a_reset_is_being_kept_is_ignored(
    world: Tools, orders: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = orders.partition_numbers[0]
    commit = MemoryLog.commit_offsets

    async def slow(log: MemoryLog, group: str, offsets: Any) -> None:
        await asyncio.sleep(0)
        await commit(log, group, offsets)

    monkeypatch.setattr(MemoryLog, "commit_offsets", slow)
    resetting = asyncio.create_task(world.tools.reset("g", orders, Target(), online=True))
    while not len(world.board):  # noqa: ASYNC110 - the task makes it true
        await asyncio.sleep(0)
    assert not await world.commit_as_member("g", number, MEMBER_AT)
    await resetting
    assert world.committed("g", orders)[0] == 0


async def test_a_reset_of_a_group_that_has_gone_takes_earlier_ones_off_the_board(world: Tools, orders: Topic) -> None:
    await world.tools.reset("g", orders, Target(offset=1), online=True)
    await world.tools.reset("g", orders, Target(offset=2))
    assert not len(world.board)
    assert world.committed("g", orders) == [2, 2, 0]


# Copies and deletions.


async def test_a_group_goes_on_where_another_is(world: Tools, orders: Topic) -> None:
    bills = await world.topic("bills", (3,))
    one, two, three = orders.partition_numbers
    (bill,) = bills.partition_numbers
    await world.groups.commit("g", None, {one: GroupOffset(4), two: GroupOffset(2), bill: GroupOffset(3)})
    await world.groups.commit("h", None, {one: GroupOffset(9), three: GroupOffset(0)})
    moved = await world.tools.clone("g", "h", topic=orders)
    assert moved == [Moved("orders", 0, one, 9, 4), Moved("orders", 1, two, None, 2)]
    assert world.committed("h", orders) == [4, 2, 0]
    assert world.committed("h", bills) == [None]
    await world.tools.clone("g", "h", online=True)
    assert world.committed("h", bills) == [3]
    assert world.board.pending("h", bill) == 3
    assert await world.tools.clone("nobody", "h") == []


async def test_offsets_are_forgotten_for_a_topic_or_all(world: Tools, orders: Topic) -> None:
    bills = await world.topic("bills", (3,))
    await world.tools.reset("g", orders, Target(end=True), online=True)
    await world.tools.reset("g", bills, Target(end=True))
    moved = await world.tools.delete("g", orders)
    assert [(each.partition, each.before, each.after) for each in moved] == [(0, 10, None), (1, 5, None), (2, 0, None)]
    assert not len(world.board)
    assert world.committed("g", bills) == [3]
    await world.tools.delete("g")
    assert world.committed("g", bills) == [None]
    with pytest.raises(UnknownGroup):
        await world.tools.delete("g")


async def test_offsets_that_joined_members_use_are_not_forgotten_and_that_is_said(world: Tools, orders: Topic) -> None:
    await world.tools.reset("g", orders, Target(end=True), partitions=[0])
    await assemble(world, world.member("one"))
    (moved,) = await world.tools.delete("g", orders)
    assert (moved.before, moved.after, type(moved.refusal)) == (10, 10, TopicInUse)


async def test_offsets_in_topics_that_are_gone_are_not_copied(world: Tools, orders: Topic) -> None:
    await world.tools.reset("g", orders, Target(end=True))
    world.directory.remove("orders")
    assert await world.tools.clone("g", "h") == []
    assert world.tools.topics("g") == []
    assert {moved.topic for moved in await world.tools.delete("g")} == {""}


# What would be.


@pytest.mark.parametrize("target", [Target(), Target(end=True), Target(offset=7), Target(shift=-3), Target(shift=99)])
async def test_a_plan_is_what_a_reset_does_and_moves_nothing(world: Tools, orders: Topic, target: Target) -> None:
    await world.groups.commit("g", None, {orders.partition_numbers[0]: GroupOffset(4)})
    planned = await world.tools.plan("g", orders, target)
    assert world.committed("g", orders) == [4, None, None]
    assert await world.tools.reset("g", orders, target) == planned
    assert world.committed("g", orders) == [each.after for each in planned]


async def test_a_group_is_shifted_from_where_it_is(world: Tools, orders: Topic) -> None:
    await world.groups.commit("g", None, {orders.partition_numbers[0]: GroupOffset(4)})
    assert [each.after for each in await world.tools.plan("g", orders, Target(shift=2))] == [6, 2, 0]


async def test_a_plan_says_why_nothing_would_move(world: Tools, orders: Topic) -> None:
    await assemble(world, world.member("one"))
    planned = await world.tools.plan("g", orders, Target(end=True))
    assert [each.after for each in planned] == [10, 5, 0]
    assert all(isinstance(each.refusal, GroupNotEmpty) for each in planned)
