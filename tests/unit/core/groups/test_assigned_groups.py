"""Groups that we assign to: members come to what they are to hold without ever holding the same."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from braidmq.core.groups import GroupKind, GroupLimits, GroupState, Leaver, MemberIdentity, Pulse
from braidmq.log import GroupOffset
from braidmq.model import Group
from braidmq.model.errors import (
    BraidError,
    EpochFenced,
    GroupFull,
    GroupNotEmpty,
    InstanceFenced,
    InstanceUnreleased,
    InvalidExpression,
    InvalidHeartbeat,
    StaleEpoch,
    StaleGeneration,
    StoreFailed,
    TopicInUse,
    UnknownAssignor,
    UnknownGroup,
    UnknownMember,
)
from braidmq.model.group_settings import CONSUME, OFF
from groups_support import Holder, World, assemble, converge, numbers, settle


@pytest.fixture
async def world() -> World:
    world = await World().start()
    world.directory.add("orders", 6)
    return world


def state(world: World) -> GroupState:
    view = world.groups.find("g")
    assert view is not None
    return view.state


# Coming and going.


async def test_a_first_member_gets_everything_at_once(world: World) -> None:
    one = Holder(world, "one")
    answer = await one.join()
    assert (answer.member_id, answer.epoch, answer.heartbeat_ms) == ("one", 1, 5_000)
    assert one.held == numbers(world)
    assert state(world) is GroupState.STABLE


async def test_a_heartbeat_without_news_is_answered_without_an_assignment_and_without_a_write(world: World) -> None:
    one = Holder(world, "one")
    await one.join()
    writes = world.keeper.writes
    assert (await one.beat()).assigned is None
    assert world.keeper.writes == writes
    assert (await one.beat(full=True)).assigned == numbers(world), "who says everything is told everything"


async def test_a_second_member_gets_its_share_when_the_first_has_given_it_up(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two")
    await one.join()
    assert (await two.join()).assigned == frozenset()
    assert two.epoch == 2
    assert state(world) is GroupState.RECONCILING
    one.is_slow = True
    told = await one.beat()
    assert told.assigned is not None
    assert len(told.assigned) == 3
    assert (told.epoch, one.held) == (1, numbers(world)), "it stays in its epoch while it holds what it is not to"
    await two.beat()
    assert two.held == frozenset(), "nothing is given that another holds"
    one.held = told.assigned
    assert (await one.beat()).epoch == 2
    await two.beat()
    assert two.held == numbers(world) - one.held
    assert state(world) is GroupState.STABLE


async def test_a_member_that_leaves_frees_its_share_at_once(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two")
    await one.join()
    await two.join()
    await converge(one, two)
    answer = await two.leave()
    assert (answer.epoch, answer.assigned) == (-1, None)
    assert state(world) is GroupState.ASSIGNING
    await one.beat()
    assert one.held == numbers(world)
    with pytest.raises(UnknownMember):
        await Holder(world, "two").leave()


async def test_a_silent_member_is_out_after_its_session(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two")
    await one.join()
    await two.join()
    await converge(one, two)
    for _ in range(9):
        await world.clock.advance(5_000)
        await one.beat()
    await one.beat()
    assert one.held == numbers(world)
    with pytest.raises(UnknownMember):
        await two.beat()


async def test_a_group_may_set_its_own_pace(world: World) -> None:
    paced = {"consumer.session.timeout.ms": "2000", "consumer.heartbeat.interval.ms": "500"}
    world.directory.save_group(Group(name="g", settings=paced))
    one, two = Holder(world, "one"), Holder(world, "two")
    assert (await one.join()).heartbeat_ms == 500
    await two.join()
    await converge(one, two)
    for _ in range(4):
        await world.clock.advance(500)
        await one.beat()
    with pytest.raises(UnknownMember):
        await two.beat()
    world.directory.save_group(Group(name="g"))
    assert (await one.beat(full=True)).heartbeat_ms == 5_000


async def test_a_member_that_does_not_give_up_in_time_is_out(world: World) -> None:
    one, two = Holder(world, "one", rebalance_ms=10_000), Holder(world, "two")
    await one.join()
    await two.join()
    one.is_slow = True
    await one.beat()
    for _ in range(2):
        await world.clock.advance(5_000)
        await two.beat()
        try:
            await one.beat()
        except UnknownMember:
            break
    await two.beat()
    assert two.held == numbers(world)
    with pytest.raises(UnknownMember):
        await one.beat()


async def test_a_group_that_all_have_left_is_empty_and_goes_on_counting(world: World) -> None:
    one = Holder(world, "one")
    await one.join()
    await one.leave()
    assert state(world) is GroupState.EMPTY
    assert (await one.join()).epoch > 1


async def test_a_full_group_takes_nobody(world: World) -> None:
    world.limits = GroupLimits(members_max=1)
    await world.crash()
    await Holder(world, "one").join()
    with pytest.raises(GroupFull):
        await Holder(world, "two").join()


# Epochs.


async def test_a_member_of_another_epoch_is_fenced_and_joins_again(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two")
    await one.join()
    await two.join()
    await converge(one, two)
    share = one.held
    one.epoch += 1
    with pytest.raises(EpochFenced):
        await one.beat()
    assert (await one.join()).epoch == two.epoch
    assert one.held == share


async def test_a_member_that_lost_an_answer_is_told_again(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two")
    await one.join()
    await two.join()
    await one.beat()
    await one.beat()
    before = two.pulse()
    await two.beat()
    again = await world.groups.pulse(before)
    assert (again.epoch, again.assigned) == (two.epoch, two.held)


async def test_a_member_in_the_epoch_before_that_holds_more_than_it_should_is_fenced(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two")
    await one.join()
    await two.join()
    before = one.pulse()
    await converge(one, two)
    with pytest.raises(EpochFenced):
        await world.groups.pulse(before)


# Topics.


async def test_new_partitions_topics_and_deletions_are_followed(world: World) -> None:
    one = Holder(world, "one", topics=("orders", "later"))
    await one.join()
    world.directory.grow("orders", 8)
    await one.beat()
    assert one.held == numbers(world)
    later = world.directory.add("later", 2)
    world.directory.add("other", 2)
    await one.beat()
    assert one.held == numbers(world) | set(later.partition_numbers)
    world.directory.remove("later")
    await converge(one)
    assert one.held == numbers(world)


async def test_topics_that_nobody_here_reads_change_nothing(world: World) -> None:
    one = Holder(world, "one")
    await one.join()
    world.directory.add("other", 2)
    world.directory.grow("other", 4)
    world.directory.remove("other")
    assert (await one.beat()).epoch == 1


async def test_a_member_reads_something_else(world: World) -> None:
    world.directory.add("other", 2)
    one = Holder(world, "one")
    await one.join()
    one.topics = ("other",)
    await one.beat(full=True)
    await converge(one)
    assert one.held == numbers(world, "other")


async def test_a_pattern_finds_the_topics_of_today_and_tomorrow(world: World) -> None:
    world.directory.add("order", 1)
    one = Holder(world, "one", topics=None, pattern="or.*s|new-[0-9]+")
    await one.join()
    assert one.held == numbers(world)
    world.directory.add("new-1", 2)
    world.directory.add("new-x", 2)
    await one.beat()
    assert one.held == numbers(world) | numbers(world, "new-1")
    one.pattern, one.topics = "", ("order",)
    await one.beat(full=True)
    await converge(one)
    assert one.held == numbers(world, "order")


async def test_a_pattern_and_names_go_together(world: World) -> None:
    world.directory.add("other", 2)
    one = Holder(world, "one", topics=("orders",), pattern="oth.r")
    await one.join()
    assert one.held == numbers(world) | numbers(world, "other")


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", r"(a)\1", "x{2000}{2000}", "a" * 5_000])
async def test_a_pattern_that_cannot_be_read_is_refused_and_leaves_no_group_behind(world: World, pattern: str) -> None:
    with pytest.raises(InvalidExpression):
        await Holder(world, "one", topics=None, pattern=pattern).join()
    assert world.groups.find("g") is None


async def test_a_pattern_made_to_take_for_ever_takes_no_time(world: World) -> None:
    world.directory.add("a" * 200 + "!", 1)
    one = Holder(world, "one", topics=None, pattern="(a+)+(a+)+(a+)+b")
    await one.join()
    assert one.held == frozenset()


@pytest.mark.parametrize("assignor", ["uniform", "range", None])
async def test_members_choose_the_assignor_by_vote(world: World, assignor: str | None) -> None:
    one, two = Holder(world, "one", assignor=assignor), Holder(world, "two", assignor=assignor)
    await one.join()
    await two.join()
    await converge(one, two)
    view = world.groups.find_consumer("g")
    assert view is not None
    assert view.assignor == (assignor or "uniform")
    if assignor == "range":
        assert one.held == frozenset(sorted(numbers(world))[:3])


# Instances.


async def test_an_instance_that_left_for_a_while_returns_to_its_share(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two", instance_id="i")
    await one.join()
    await two.join()
    await converge(one, two)
    share, epoch = two.held, two.epoch
    assert (await two.leave(for_a_while=True)).epoch == -2
    await one.beat()
    assert one.held == numbers(world) - share, "its share waits for it"
    again = Holder(world, "three", instance_id="i")
    assert (await again.join()).epoch == epoch
    assert again.held == share
    two.epoch = epoch
    with pytest.raises(InstanceFenced):
        await two.beat()


async def test_an_instance_that_does_not_return_is_out_after_its_session(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two", instance_id="i")
    await one.join()
    await two.join()
    await converge(one, two)
    await two.leave(for_a_while=True)
    for _ in range(9):
        await world.clock.advance(5_000)
        await one.beat()
    await one.beat()
    assert one.held == numbers(world)


async def test_an_instance_that_is_here_is_not_replaced(world: World) -> None:
    one = Holder(world, "one", instance_id="i")
    await one.join()
    with pytest.raises(InstanceUnreleased):
        await Holder(world, "two", instance_id="i").join()
    await one.join()
    with pytest.raises(UnknownMember):
        await Holder(world, "one", instance_id="k").leave()


async def test_an_instance_returns_under_its_own_id(world: World) -> None:
    one = Holder(world, "one", instance_id="i")
    await one.join()
    await one.leave(for_a_while=True)
    await one.join()
    assert one.held == numbers(world)


async def test_an_administrator_removes_an_instance(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two", instance_id="i")
    await one.join()
    await two.join()
    fates = await world.groups.leave("g", [Leaver("", "i"), Leaver("", "none"), Leaver("one")])
    assert [type(fate) for fate in fates] == [type(None), UnknownMember, UnknownMember]
    await converge(one)
    assert one.held == numbers(world)


# What does not fit.


async def test_a_heartbeat_that_says_too_little_is_refused(world: World) -> None:
    fine = Holder(world, "one").pulse(full=True)
    for wrong in (
        {"group": ""},
        {"member_id": ""},
        {"instance_id": " "},
        {"rack": ""},
        {"epoch": -3},
        {"epoch": -2},
        {"rebalance_ms": -1},
        {"held": None},
        {"held": frozenset({1})},
        {"topics": None},
        {"topics": ()},
    ):
        given = {name: getattr(fine, name) for name in fine.__struct_fields__} | wrong
        with pytest.raises(InvalidHeartbeat):
            await world.groups.pulse(Pulse(**given))
    with pytest.raises(UnknownAssignor):
        await Holder(world, "one", assignor="sticky").join()
    assert world.groups.all() == []


async def test_a_member_of_a_group_that_is_not_there_is_told_so(world: World) -> None:
    one = Holder(world, "one")
    one.epoch = 5
    with pytest.raises(UnknownGroup):
        await one.beat()
    with pytest.raises(UnknownGroup):
        await one.leave()


async def test_a_group_is_of_any_kind_when_it_is_empty(world: World) -> None:
    classic, holder = world.member("one"), Holder(world, "two")
    await assemble(world, classic)
    await world.groups.commit("g", classic.identity, {min(numbers(world)): GroupOffset(5)})
    await world.groups.leave("g", [Leaver(classic.member_id)])
    await holder.join()
    view = world.groups.find("g")
    assert view is not None
    assert view.kind is GroupKind.CONSUMER
    assert world.groups.offsets("g")[min(numbers(world))].offset == 5, "offsets stay"
    with pytest.raises(UnknownMember):
        world.groups.heartbeat("g", MemberIdentity("two", holder.epoch))
    await holder.leave()
    await assemble(world, world.member("three"))
    await world.crash()
    view = world.groups.find("g")
    assert view is not None
    assert (view.kind, view.state) == (GroupKind.CLASSIC, GroupState.STABLE)


# Offsets.


async def test_members_commit_and_fetch_in_their_epoch_only(world: World) -> None:
    one = Holder(world, "one")
    await one.join()
    offsets = {min(numbers(world)): GroupOffset(1)}
    await world.groups.commit("g", one.identity, offsets)
    world.groups.check_fetch("g", "one", one.epoch)
    world.groups.check_fetch("g", None, -1)
    with pytest.raises(StaleEpoch):
        await world.groups.commit("g", MemberIdentity("one", one.epoch + 1), offsets)
    with pytest.raises(StaleEpoch):
        world.groups.check_fetch("g", "one", 7)
    with pytest.raises(UnknownMember):
        world.groups.check_fetch("g", "two", 1)
    for nobody in (None, MemberIdentity("two", 1), MemberIdentity("")):
        with pytest.raises(UnknownMember):
            await world.groups.commit("g", nobody, offsets)
    with pytest.raises(StaleGeneration):
        await world.groups.commit_in_transaction("g", 7, MemberIdentity("one", 9), offsets)
    await world.groups.commit_in_transaction("g", 7, one.identity, offsets)
    for somebody in (MemberIdentity("two"), MemberIdentity("", instance_id="two")):
        with pytest.raises(UnknownMember):
            await world.groups.commit_in_transaction("g", 7, somebody, offsets)
    for anybody in (None, MemberIdentity("")):
        await world.groups.commit_in_transaction("g", 7, anybody, offsets)
    await one.leave()
    await world.groups.commit("g", None, offsets)


async def test_groups_are_deleted_when_they_are_empty_and_offsets_where_nobody_reads(world: World) -> None:
    world.directory.add("other", 1)
    one = Holder(world, "one", pattern="ord.*", topics=None)
    await one.join()
    mine, free = min(numbers(world)), min(numbers(world, "other"))
    await world.groups.commit("g", one.identity, {mine: GroupOffset(1), free: GroupOffset(1)})
    fates = await world.groups.delete_offsets("g", [mine, free])
    assert (type(fates[mine]), fates[free]) == (TopicInUse, None)
    with pytest.raises(GroupNotEmpty):
        await world.groups.delete("g")
    await one.leave()
    await world.groups.delete("g")
    await world.crash()
    assert world.groups.all() == []


async def test_unused_groups_and_offsets_expire(world: World) -> None:
    one = Holder(world, "one")
    await one.join()
    await world.groups.commit("g", one.identity, {min(numbers(world)): GroupOffset(1)})
    await one.leave()
    await world.clock.advance(7 * 86_400_000 + world.limits.sweep_ms)
    assert world.groups.all() == []
    assert world.keeper.rows == {}


# Restarts, and a store that does not keep.


async def test_members_do_not_notice_a_restart(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two", instance_id="i", topics=None, pattern="ord.*")
    await one.join()
    await two.join()
    await converge(one, two)
    before = world.groups.find_consumer("g")
    epochs, shares = (one.epoch, two.epoch), (one.held, two.held)
    await world.crash()
    assert world.groups.find_consumer("g") == before
    await converge(one, two)
    assert ((one.epoch, two.epoch), (one.held, two.held)) == (epochs, shares)
    await world.clock.advance(46_000)
    assert state(world) is GroupState.EMPTY, "sessions began anew, and ended"


async def test_a_restart_in_the_middle_of_giving_up_changes_nothing(world: World) -> None:
    one, two = Holder(world, "one", rebalance_ms=50_000), Holder(world, "two")
    await one.join()
    await two.join()
    one.is_slow = True
    told = await one.beat()
    assert told.assigned is not None
    await world.crash()
    await two.beat()
    assert two.held == frozenset()
    one.held = told.assigned
    await converge(one, two)
    assert one.held | two.held == numbers(world)


async def test_topics_that_changed_while_nobody_looked_are_seen_after_a_restart(world: World) -> None:
    one = Holder(world, "one")
    await one.join()
    world.directory.grow("orders", 8)
    await world.crash()
    await one.beat()
    assert one.held == numbers(world)


async def test_nothing_is_told_that_is_not_kept(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two")
    await one.join()
    world.keeper.is_failing = True
    with pytest.raises(StoreFailed):
        await two.join()
    with pytest.raises(StoreFailed):
        await one.beat()
    await world.crash()
    world.keeper.is_failing = False
    await one.beat()
    assert one.held == numbers(world)
    two.epoch = 2
    with pytest.raises(UnknownMember):
        await two.beat()


async def test_what_is_built_on_a_change_that_was_not_kept_is_not_told(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two")
    await one.join()
    await two.join()
    await one.beat()
    world.keeper.is_holding = True
    releasing = one.beat()
    taking = two.beat()
    outcome: list[object] = []

    async def note(answer: object) -> None:
        try:
            outcome.append(await answer)  # type: ignore[misc]
        except BraidError as error:
            outcome.append(error)

    tasks = [asyncio.ensure_future(note(releasing)), asyncio.ensure_future(note(taking))]
    await settle()
    world.keeper.is_failing = True
    world.keeper.release(1)
    await settle()
    world.keeper.is_failing = world.keeper.is_holding = False
    world.keeper.release()
    await asyncio.gather(*tasks)
    assert [type(each) for each in outcome] == [StoreFailed, StoreFailed]
    await world.crash()
    await converge(one, two)
    assert one.held | two.held == numbers(world)
    assert one.held.isdisjoint(two.held)


async def keep_only_the_second(world: World, *changes: Coroutine[Any, Any, object]) -> None:
    """These changes are begun, the store fails the first, keeps the second, and the process ends."""
    world.keeper.is_holding = world.keeper.is_failing = True
    tasks = [asyncio.ensure_future(change) for change in changes]
    await settle()
    world.keeper.release(1)
    await settle()
    world.keeper.is_failing = False
    world.keeper.release(1)
    await settle()
    await world.crash()
    await asyncio.gather(*tasks, return_exceptions=True)
    world.keeper.is_holding = False


async def test_a_share_is_not_kept_for_two_members_where_only_the_first_ones_going_fails_to_be_kept(
    world: World,
) -> None:
    one, two = Holder(world, "one"), Holder(world, "two")
    await one.join()
    await keep_only_the_second(world, one.leave(), two.join())
    await two.join()
    await one.join()
    assert one.held.isdisjoint(two.held)
    await converge(one, two)
    assert one.held | two.held == numbers(world)


async def test_a_new_group_whose_first_write_fails_is_kept_as_a_whole_by_the_second(world: World) -> None:
    world.directory.add("others", 2)
    one, two = Holder(world, "one"), Holder(world, "two", topics=("others",))
    await keep_only_the_second(world, one.join(), two.join())
    view = world.groups.find_consumer("g")
    assert view is not None
    assert {member.member_id: member.assigned for member in view.members} == {
        "one": numbers(world),
        "two": numbers(world, "others"),
    }


# Pausing.


def paused(name: str, *, is_paused: bool = True) -> Group:
    return Group(name=name, settings={CONSUME: OFF} if is_paused else {})


async def test_members_of_a_paused_group_give_up_everything_and_get_it_back(world: World) -> None:
    one, two = Holder(world, "one"), Holder(world, "two")
    await one.join()
    await two.join()
    await converge(one, two)
    world.directory.save_group(paused("g"))
    await converge(one, two)
    assert one.held | two.held == frozenset()
    world.directory.save_group(paused("g", is_paused=False))
    await converge(one, two)
    assert one.held | two.held == numbers(world)


async def test_a_member_that_joins_a_paused_group_waits(world: World) -> None:
    world.directory.save_group(paused("g"))
    one = Holder(world, "one")
    await one.join()
    assert one.held == frozenset()
    world.directory.save_group(paused("other"))
    await one.beat()
    assert one.held == frozenset()


async def test_a_group_is_still_paused_after_a_restart(world: World) -> None:
    world.directory.save_group(paused("g"))
    await world.crash()
    one = Holder(world, "one")
    await one.join()
    assert one.held == frozenset()
