"""A group at work: assignments, heartbeats, leaving, sessions."""

import pytest

from braidmq.core.groups import GroupState, Leaver, MemberIdentity, Sync
from braidmq.model.errors import (
    InconsistentProtocol,
    InstanceFenced,
    InvalidGroup,
    MemberIdRequired,
    RebalanceInProgress,
    StoreFailed,
    UnknownMember,
)
from groups_support import REBALANCE_MS, SESSION_MS, World, assemble, settle


@pytest.fixture
async def world() -> World:
    return await World().start()


def state(world: World) -> GroupState:
    view = world.groups.find("g")
    assert view is not None
    return view.state


async def test_followers_wait_for_the_assignment_that_the_leader_brings(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await one.join()
    joining = await two.begin_join()
    await one.join()
    await joining
    waiting = await two.begin_sync()
    assert not waiting.done()
    assert (await one.sync({one.member_id: b"a", two.member_id: b"b"})).assignment == b"a"
    assert (await waiting).assignment == b"b"
    assert state(world) is GroupState.STABLE


async def test_a_member_that_the_leader_left_out_gets_an_empty_assignment(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await one.join()
    joining = await two.begin_join()
    await one.join()
    await joining
    await one.sync({one.member_id: b"all", "nobody": b"x"})
    assert (await two.sync()).assignment == b""


async def test_a_leader_that_repeats_itself_changes_nothing(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await one.join()
    joining = await two.begin_join()
    await one.join()
    await joining
    world.keeper.is_holding = True
    first = await one.begin_sync({one.member_id: b"a", two.member_id: b"b"})
    second = await one.begin_sync({one.member_id: b"b", two.member_id: b"a"})
    world.keeper.is_holding = False
    world.keeper.release()
    with pytest.raises(RebalanceInProgress):
        await first
    assert (await second).assignment == b"a"
    assert (await two.sync()).assignment == b"b"
    await world.crash()
    assert (await one.sync()).assignment == b"a"


async def test_an_assignment_for_another_protocol_is_refused(world: World) -> None:
    one = world.member("one")
    await one.join()
    for wrong in (
        Sync(group="g", member=one.identity, protocol="sticky"),
        Sync(group="g", member=one.identity, protocol_type="connect"),
    ):
        with pytest.raises(InconsistentProtocol):
            await world.groups.sync(wrong)
    await world.groups.sync(Sync(group="g", member=one.identity, protocol="range", protocol_type="consumer"))


async def test_a_member_that_never_asks_for_its_assignment_is_out(world: World) -> None:
    one, two = world.member("one"), world.member("two", session_ms=100_000)
    await one.join()
    joining = await two.begin_join()
    await one.join()
    await joining
    await one.sync({one.member_id: b"a", two.member_id: b"b"})
    for _ in range(REBALANCE_MS // 5_000):
        one.heartbeat()
        await world.clock.advance(5_000)
    with pytest.raises(UnknownMember):
        two.heartbeat()
    with pytest.raises(RebalanceInProgress):
        one.heartbeat()


async def test_a_leader_that_never_brings_an_assignment_is_out_and_another_leads(world: World) -> None:
    one, two = world.member("one", session_ms=100_000), world.member("two")
    await one.join()
    joining = await two.begin_join()
    await one.join()
    await joining
    waiting = await two.begin_sync()
    await world.clock.advance(REBALANCE_MS)
    with pytest.raises(RebalanceInProgress):
        await waiting
    assert (await two.join()).leader == two.member_id


async def test_who_waits_for_an_assignment_is_told_when_the_group_begins_anew(world: World) -> None:
    one, two, three = (world.member(name) for name in ("one", "two", "three"))
    await one.join()
    joining = await two.begin_join()
    await one.join()
    await joining
    waiting = await two.begin_sync()
    await three.begin_join()
    with pytest.raises(RebalanceInProgress):
        await waiting
    with pytest.raises(RebalanceInProgress):
        await one.sync({})


async def test_a_silent_member_is_out_after_its_session_and_the_others_hear_of_it(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one, two)
    await world.clock.advance(SESSION_MS - 1)
    one.heartbeat()
    await world.clock.advance(1)
    with pytest.raises(RebalanceInProgress):
        one.heartbeat()
    with pytest.raises(UnknownMember):
        two.heartbeat()


async def test_heartbeats_keep_a_member_for_hours(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    for _ in range(3_600 * 5 // 9):
        await world.clock.advance(SESSION_MS - 1_000)
        one.heartbeat()
    assert state(world) is GroupState.STABLE
    assert one.generation == 1


async def test_a_member_that_waits_for_the_others_cannot_be_silent(world: World) -> None:
    one, two = world.member("one"), world.member("two", session_ms=40_000)
    await assemble(world, one, two)
    waiting = await one.begin_join()
    await world.clock.advance(3 * SESSION_MS)
    assert not waiting.done()
    await two.join()
    await waiting
    one.heartbeat()


async def test_a_new_member_that_never_hears_of_a_generation_is_forgotten_in_the_end(world: World) -> None:
    one, two = world.member("one", session_ms=1_000_000, rebalance_ms=2_000_000), world.member("two")
    await assemble(world, one)
    waiting = await two.begin_join()
    await world.clock.advance(world.limits.new_member_ms)
    with pytest.raises(UnknownMember):
        await waiting


async def test_a_member_that_leaves_is_gone_at_once(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one, two)
    assert await world.groups.leave("g", [Leaver(two.member_id)]) == [None]
    with pytest.raises(UnknownMember):
        two.heartbeat()
    with pytest.raises(RebalanceInProgress):
        one.heartbeat()
    assert len((await one.join()).members) == 1


async def test_a_group_that_all_have_left_is_empty_and_goes_on_counting(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    await world.groups.leave("g", [Leaver(one.member_id)])
    assert state(world) is GroupState.EMPTY
    with pytest.raises(UnknownMember):
        one.heartbeat()
    assert (await world.member("two").join()).generation == 3


async def test_an_administrator_removes_several_members_at_once(world: World) -> None:
    one, two, three = world.member("one"), world.member("two", instance_id="i"), world.member("three", instance_id="k")
    await assemble(world, one, two, three)
    fates = await world.groups.leave(
        "g",
        [Leaver("", "i"), Leaver("", "nobody"), Leaver("nobody"), Leaver("made-up", "k"), Leaver(""), Leaver("x", "z")],
    )
    assert [type(fate) for fate in fates] == [
        type(None),
        UnknownMember,
        UnknownMember,
        InstanceFenced,
        UnknownMember,
        UnknownMember,
    ]
    three_again = await three.begin_join()
    assert len((await one.join()).members) == 2
    await three_again


async def test_who_is_waited_for_may_leave(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one, two)
    waiting = await one.begin_join()
    await world.groups.leave("g", [Leaver(two.member_id)])
    assert len((await waiting).members) == 1


async def test_a_member_that_leaves_while_it_joins_is_answered(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one)
    waiting = await two.begin_join()
    await world.groups.leave("g", [Leaver(two.member_id)])
    with pytest.raises(UnknownMember):
        await waiting


async def test_a_pending_member_that_leaves_disturbs_nobody(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one)
    with pytest.raises(MemberIdRequired) as required:
        await world.groups.join(two._join())
    two.member_id = required.value.member_id
    assert await world.groups.leave("g", [Leaver(two.member_id)]) == [None]
    assert state(world) is GroupState.STABLE


async def test_nobody_leaves_a_group_that_is_not_there(world: World) -> None:
    assert [type(fate) for fate in await world.groups.leave("none", [Leaver("a"), Leaver("", "i")])] == [
        UnknownMember,
        UnknownMember,
    ]
    with pytest.raises(UnknownMember):
        world.groups.heartbeat("none", MemberIdentity("a", 1))
    with pytest.raises(UnknownMember):
        await world.groups.sync(Sync(group="none", member=MemberIdentity("a", 1)))


async def test_only_groups_with_a_name_have_members(world: World) -> None:
    with pytest.raises(InvalidGroup):
        world.groups.heartbeat("", MemberIdentity("a", 1))
    with pytest.raises(InvalidGroup):
        await world.groups.leave("", [Leaver("a")])
    with pytest.raises(InvalidGroup):
        await world.groups.sync(Sync(group="", member=MemberIdentity("a", 1)))


# A store that does not keep.


async def test_a_generation_that_cannot_be_kept_is_not_told(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one)
    world.keeper.is_failing = True
    joining = await two.begin_join()
    with pytest.raises(StoreFailed):
        await one.join()
    with pytest.raises(StoreFailed):
        await joining
    world.keeper.is_failing = False
    again = await two.begin_join()
    assert len((await one.join()).members) == 2
    await again


async def test_an_assignment_that_cannot_be_kept_is_not_told(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await one.join()
    joining = await two.begin_join()
    await one.join()
    await joining
    world.keeper.is_failing = True
    waiting = await two.begin_sync()
    with pytest.raises(StoreFailed):
        await one.sync({one.member_id: b"a", two.member_id: b"b"})
    with pytest.raises(StoreFailed):
        await waiting
    world.keeper.is_failing = False
    await assemble(world, one, two)


async def test_a_leave_that_cannot_be_kept_is_an_error(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    world.keeper.is_failing = True
    with pytest.raises(StoreFailed):
        await world.groups.leave("g", [Leaver(one.member_id)])


async def test_what_happens_while_an_assignment_is_kept_is_not_lost(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await one.join()
    world.keeper.is_holding = True
    leading = await one.begin_sync({one.member_id: b"all"})
    joining = await two.begin_join()
    with pytest.raises(RebalanceInProgress):
        await leading
    world.keeper.is_holding = False
    world.keeper.release()
    await settle()
    assert state(world) is GroupState.PREPARING, "the assignment that was kept meanwhile is not wanted any more"
    assert len((await one.join()).members) == 2
    await joining


async def test_a_member_that_leaves_while_its_generation_is_kept_is_not_in_it(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one)
    joining = await two.begin_join()
    world.keeper.is_holding = True
    leading = await one.begin_join()
    assert state(world) is GroupState.COMPLETING
    leaving = world.groups.leave("g", [Leaver(two.member_id)])
    world.keeper.is_holding = False
    world.keeper.release()
    assert await leaving == [None]
    with pytest.raises(UnknownMember):
        await joining
    assert len((await leading).members) == 1


async def test_an_instance_whose_return_took_long_to_keep_still_has_a_session(world: World) -> None:
    one = world.member("one", instance_id="i")
    await assemble(world, one)
    world.keeper.is_holding = True
    again = await world.member("one", instance_id="i").begin_join()
    await world.clock.advance(2 * SESSION_MS)
    world.keeper.is_holding = False
    world.keeper.release()
    await again
    await world.clock.advance(SESSION_MS)
    assert state(world) is GroupState.EMPTY


async def test_instances_whose_generation_could_not_be_kept_still_have_sessions(world: World) -> None:
    one = world.member("one", instance_id="i")
    world.keeper.is_holding = True
    joining = await one.begin_join()
    await world.clock.advance(2 * SESSION_MS)
    world.keeper.is_failing = True
    world.keeper.release()
    with pytest.raises(StoreFailed):
        await joining
    world.keeper.is_holding = world.keeper.is_failing = False
    await world.clock.advance(SESSION_MS)
    assert state(world) is GroupState.EMPTY
