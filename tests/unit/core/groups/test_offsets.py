"""How far groups have come: who may say so, how long it is kept, and what a transaction has to do with it."""

import pytest

from braidmq.core.groups import METADATA_LENGTH_MAX, Leaver, MemberIdentity, Protocol
from braidmq.log import GroupOffset
from braidmq.model.errors import (
    GroupNotEmpty,
    InstanceFenced,
    InvalidGroup,
    MetadataTooLarge,
    RebalanceInProgress,
    StaleGeneration,
    StoreFailed,
    TopicInUse,
    UnknownGroup,
    UnknownMember,
)
from groups_support import SESSION_MS, World, assemble

DAY_MS = 24 * 60 * 60 * 1000
PRODUCER = 77


@pytest.fixture
async def world() -> World:
    world = await World().start()
    world.directory.add("orders")
    return world


def number(world: World, topic: str = "orders", index: int = 0) -> int:
    return world.directory.by_name[topic].partition_numbers[index]


def offset_of(world: World, group: str = "g", topic: str = "orders") -> int | None:
    found = world.groups.offsets(group).get(number(world, topic))
    return None if found is None else found.offset


async def commit(world: World, at: int, member: MemberIdentity | None = None, group: str = "g") -> None:
    await world.groups.commit(group, member, {number(world): GroupOffset(at, "text", 3)})


async def commit_in_transaction(
    world: World, at: int, member: MemberIdentity | None = None, producer_id: int = PRODUCER
) -> None:
    await world.groups.commit_in_transaction("g", producer_id, member, {number(world): GroupOffset(at)})


async def leave(world: World, member_id: str) -> None:
    assert await world.groups.leave("g", [Leaver(member_id)]) == [None]


# Who commits.


async def test_a_member_commits_and_everything_it_said_is_found(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    await commit(world, 5, one.identity)
    assert world.groups.offsets("g") == {number(world): GroupOffset(5, "text", 3, world.clock.now_ms())}


async def test_without_a_member_offsets_are_committed_only_while_nobody_works(world: World) -> None:
    await commit(world, 1)
    one = world.member("one")
    await assemble(world, one)
    for nobody in (None, MemberIdentity(""), MemberIdentity("", -1, None)):
        with pytest.raises(UnknownMember):
            await commit(world, 2, nobody)
    await leave(world, one.member_id)
    await commit(world, 3)
    assert offset_of(world) == 3


async def test_a_stranger_a_fenced_instance_and_a_stale_member_commit_nothing(world: World) -> None:
    one, two = world.member("one"), world.member("two", instance_id="i")
    await assemble(world, one, two)
    await world.member("two", instance_id="i").join()
    with pytest.raises(UnknownMember):
        await commit(world, 1, MemberIdentity("stranger", one.generation))
    with pytest.raises(InstanceFenced):
        await commit(world, 1, two.identity)
    with pytest.raises(StaleGeneration):
        await commit(world, 1, MemberIdentity(one.member_id, one.generation - 1))
    with pytest.raises(StaleGeneration):
        await commit(world, 1, MemberIdentity(one.member_id, -1))
    assert offset_of(world) is None


async def test_members_commit_what_they_have_done_before_they_join_again_but_not_between_join_and_assignment(
    world: World,
) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one)
    joining = await two.begin_join()
    await commit(world, 8, one.identity)
    await one.join()
    await joining
    with pytest.raises(RebalanceInProgress):
        await commit(world, 9, one.identity)
    assert offset_of(world) == 8


async def test_a_commit_is_as_good_as_a_heartbeat(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    for _ in range(5):
        await world.clock.advance(SESSION_MS - 1)
        await commit(world, 1, one.identity)
    one.heartbeat()


async def test_a_member_of_a_group_that_is_not_there_commits_nothing(world: World) -> None:
    with pytest.raises(UnknownGroup):
        await commit(world, 1, MemberIdentity("m", 3))
    await commit(world, 1, MemberIdentity("m", -1))
    assert offset_of(world) == 1


async def test_long_metadata_is_refused(world: World) -> None:
    fits = GroupOffset(1, "x" * METADATA_LENGTH_MAX)
    await world.groups.commit("g", None, {number(world): fits})
    with pytest.raises(MetadataTooLarge):
        await world.groups.commit("g", None, {number(world): fits._replace(metadata=fits.metadata + "x")})


# What is deleted.


async def test_a_deleted_group_is_gone_with_its_offsets(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    await commit(world, 1, one.identity)
    with pytest.raises(GroupNotEmpty):
        await world.groups.delete("g")
    await leave(world, one.member_id)
    await world.groups.delete("g")
    assert world.groups.find("g") is None
    assert offset_of(world) is None
    with pytest.raises(UnknownGroup):
        await world.groups.delete("g")
    await world.crash()
    assert world.groups.find("g") is None


async def test_a_group_that_only_has_offsets_is_shown_and_deleted_like_others(world: World) -> None:
    await commit(world, 1)
    assert [view.name for view in world.groups.all()] == ["g"]
    await world.groups.delete("g")
    assert world.groups.all() == []


async def test_offsets_in_topics_that_members_read_are_not_deleted(world: World) -> None:
    world.directory.add("other")
    one = world.member("one")
    await assemble(world, one)
    theirs, free = number(world), number(world, "other")
    await world.groups.commit("g", one.identity, {theirs: GroupOffset(1), free: GroupOffset(2)})
    fates = await world.groups.delete_offsets("g", [theirs, free])
    assert isinstance(fates[theirs], TopicInUse)
    assert fates[free] is None
    assert set(world.groups.offsets("g")) == {theirs}
    await leave(world, one.member_id)
    assert await world.groups.delete_offsets("g", [theirs]) == {theirs: None}
    assert world.groups.offsets("g") == {}


async def test_offsets_of_members_that_do_not_say_what_they_read_are_not_deleted(world: World) -> None:
    connect = world.member("one", protocol_type="connect")
    await assemble(world, connect)
    with pytest.raises(GroupNotEmpty):
        await world.groups.delete_offsets("g", [number(world)])
    unreadable = world.member("two", group="h", protocols=(Protocol("range", b"?"),))
    await assemble(world, unreadable)
    fates = await world.groups.delete_offsets("h", [number(world)])
    assert isinstance(fates[number(world)], TopicInUse)


async def test_offsets_of_a_group_that_is_not_there_are_not_deleted(world: World) -> None:
    with pytest.raises(UnknownGroup):
        await world.groups.delete_offsets("g", [number(world)])


# What expires.


async def test_offsets_of_an_empty_group_expire_so_long_after_its_last_member_left(world: World) -> None:
    one = world.member("one", session_ms=1_800_000)
    await assemble(world, one)
    await commit(world, 1, one.identity)
    for _ in range(8 * 24 * 3):
        await world.clock.advance(1_200_000)
        one.heartbeat()
    await leave(world, one.member_id)
    await world.clock.advance(7 * DAY_MS - 1)
    assert offset_of(world) == 1
    await world.clock.advance(world.limits.sweep_ms + 1)
    assert offset_of(world) is None
    assert world.groups.find("g") is None, "a group without members and offsets is forgotten"
    assert world.keeper.rows == {}


@pytest.mark.parametrize("group", ["__braid.archive", "__braid.replay.0f3a"])
async def test_how_far_the_archive_and_its_replays_are_does_not_expire(world: World, group: str) -> None:
    await commit(world, 5, group=group)
    await commit(world, 5)
    await world.clock.advance(30 * DAY_MS)
    assert (offset_of(world, group), offset_of(world)) == (5, None)


async def test_offsets_committed_without_members_expire_by_their_own_time(world: World) -> None:
    await commit(world, 1)
    await world.clock.advance(5 * DAY_MS)
    await commit(world, 2)
    await world.clock.advance(5 * DAY_MS)
    assert offset_of(world) == 2
    await world.clock.advance(3 * DAY_MS)
    assert world.groups.all() == []


async def test_a_stable_group_loses_offsets_only_in_topics_that_it_does_not_read_any_more(world: World) -> None:
    world.directory.add("other")
    one = world.member("one", session_ms=1_800_000)
    await assemble(world, one)
    await world.groups.commit(
        "g", one.identity, {number(world): GroupOffset(1), number(world, "other"): GroupOffset(2)}
    )
    for _ in range(8 * 24 * 3):
        await world.clock.advance(1_200_000)
        one.heartbeat()
    assert set(world.groups.offsets("g")) == {number(world)}


async def test_an_empty_group_counts_from_its_last_member_across_a_restart(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    await commit(world, 1, one.identity)
    await leave(world, one.member_id)
    await world.clock.advance(4 * DAY_MS)
    await world.crash()
    await world.clock.advance(2 * DAY_MS)
    assert offset_of(world) == 1
    await world.clock.advance(2 * DAY_MS)
    assert offset_of(world) is None


# Transactions.


async def test_offsets_in_a_transaction_count_when_it_is_committed(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    await commit_in_transaction(world, 5, one.identity)
    assert offset_of(world) is None
    assert world.groups.has_pending("g", number(world))
    assert not world.groups.has_pending("g", number(world, index=1))
    assert not world.groups.has_pending("other", number(world))
    await world.groups.end_transaction(PRODUCER, commit=True)
    assert offset_of(world) == 5
    assert not world.groups.has_pending("g", number(world))


async def test_offsets_in_a_transaction_that_is_aborted_never_count(world: World) -> None:
    await commit(world, 1)
    await commit_in_transaction(world, 5)
    await world.groups.end_transaction(PRODUCER, commit=False)
    assert offset_of(world) == 1
    assert not world.groups.has_pending("g", number(world))
    await world.groups.end_transaction(PRODUCER, commit=True)
    assert offset_of(world) == 1


async def test_an_end_that_is_repeated_changes_nothing(world: World) -> None:
    await commit_in_transaction(world, 5)
    await world.groups.end_transaction(PRODUCER, commit=True)
    await world.clock.advance(1)
    await commit(world, 9)
    await world.groups.end_transaction(PRODUCER, commit=True)
    assert offset_of(world) == 9


async def test_transactions_of_two_producers_do_not_mix(world: World) -> None:
    await commit_in_transaction(world, 5, producer_id=1)
    await commit_in_transaction(world, 6, producer_id=2)
    await world.groups.end_transaction(1, commit=True)
    assert offset_of(world) == 5
    assert world.groups.has_pending("g", number(world))
    await world.groups.end_transaction(2, commit=True)
    assert offset_of(world) == 6


async def test_a_later_word_in_the_same_transaction_counts(world: World) -> None:
    await commit_in_transaction(world, 5)
    await commit_in_transaction(world, 8)
    await world.groups.end_transaction(PRODUCER, commit=True)
    assert offset_of(world) == 8


async def test_a_commit_outside_of_the_transaction_that_came_later_stays(world: World) -> None:
    await commit_in_transaction(world, 5)
    await commit(world, 9)
    await world.groups.end_transaction(PRODUCER, commit=True)
    assert offset_of(world) == 9


@pytest.mark.parametrize("commits", [True, False])
async def test_pending_offsets_outlive_the_process(world: World, commits: bool) -> None:
    await commit_in_transaction(world, 5)
    await world.crash()
    assert world.groups.has_pending("g", number(world))
    await world.groups.end_transaction(PRODUCER, commit=commits)
    await world.crash()
    assert offset_of(world) == (5 if commits else None)
    assert not world.groups.has_pending("g", number(world))


async def test_a_process_that_ends_between_the_two_steps_of_an_end_is_made_good_by_repeating_it(world: World) -> None:
    await commit_in_transaction(world, 5)
    world.keeper.is_failing = True
    with pytest.raises(StoreFailed):
        await world.groups.end_transaction(PRODUCER, commit=True)
    assert offset_of(world) == 5
    world.keeper.is_failing = False
    await world.crash()
    await world.groups.end_transaction(PRODUCER, commit=True)
    assert offset_of(world) == 5
    assert world.keeper.pending == {}


async def test_members_are_checked_in_transactions_as_everywhere(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    with pytest.raises(StaleGeneration):
        await commit_in_transaction(world, 1, MemberIdentity(one.member_id, 99))
    with pytest.raises(UnknownMember):
        await commit_in_transaction(world, 1, MemberIdentity("stranger", one.generation))
    with pytest.raises(StaleGeneration):
        await world.groups.commit_in_transaction("none", 1, MemberIdentity("m", 1), {})
    with pytest.raises(InvalidGroup):
        await world.groups.commit_in_transaction("", 1, None, {})
    await commit_in_transaction(world, 1)
    await commit_in_transaction(world, 1, MemberIdentity(""))


async def test_pending_offsets_go_with_their_topic_their_group_and_by_command(world: World) -> None:
    await commit_in_transaction(world, 1)
    await commit(world, 1)
    await world.groups.delete_offsets("g", [number(world)])
    assert not world.groups.has_pending("g", number(world))
    await commit_in_transaction(world, 1)
    await commit(world, 1)
    await world.groups.delete("g")
    assert not world.groups.has_pending("g", number(world))
    await commit_in_transaction(world, 1)
    gone = number(world)
    world.directory.remove("orders")
    await world.clock.advance(0)
    assert not world.groups.has_pending("g", gone)
    assert world.keeper.pending == {}
    await world.groups.end_transaction(PRODUCER, commit=True)
    assert world.groups.offsets("g") == {}


async def test_offsets_that_a_transaction_may_change_do_not_expire(world: World) -> None:
    await commit(world, 1)
    await commit_in_transaction(world, 2)
    await world.clock.advance(20 * DAY_MS)
    assert offset_of(world) == 1
    await world.groups.end_transaction(PRODUCER, commit=False)
    await world.clock.advance(DAY_MS)
    assert offset_of(world) is None
