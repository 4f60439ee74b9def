"""How members get into a group, and a group into its next generation."""

import pytest

from braidmq.core.groups import GroupLimits, GroupState, Leaver, Protocol
from braidmq.model.errors import (
    GroupFull,
    InconsistentProtocol,
    InstanceFenced,
    InvalidGroup,
    InvalidSession,
    MemberIdRequired,
    RebalanceInProgress,
    StaleGeneration,
    UnknownMember,
)
from groups_support import REBALANCE_MS, SESSION_MS, Speaker, World, assemble, settle


@pytest.fixture
async def world() -> World:
    return await World().start()


def state(world: World, group: str = "g") -> GroupState:
    view = world.groups.find(group)
    assert view is not None
    return view.state


async def test_a_first_member_is_given_an_id_comes_back_with_it_and_leads_the_first_generation(world: World) -> None:
    member = world.member("app")
    with pytest.raises(MemberIdRequired) as required:
        await world.groups.join(member._join())
    assert required.value.member_id.startswith("app-")
    member.member_id = required.value.member_id
    joined = await member.join()
    assert (joined.generation, joined.leader, joined.protocol) == (1, member.member_id, "range")
    assert [each.member_id for each in joined.members] == [member.member_id]


async def test_an_old_client_joins_in_one_step(world: World) -> None:
    joined = await world.member(asks_id_first=False).join()
    assert (joined.generation, joined.member_id) == (1, joined.leader)


async def test_all_members_get_the_same_generation_and_only_the_leader_is_told_of_the_others(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await one.join()
    second = await two.begin_join()
    with pytest.raises(RebalanceInProgress):
        one.heartbeat()
    again = await one.join()
    joined = await second
    assert again.generation == joined.generation == 2
    assert again.leader == joined.leader == one.member_id
    assert len(again.members) == 2
    assert joined.members == ()


async def test_a_follower_that_joins_again_unchanged_does_not_disturb_a_stable_group(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one, two)
    joined = await two.join()
    assert joined.generation == two.generation
    assert joined.members == ()
    assert state(world) is GroupState.STABLE
    assert (await two.sync()).assignment == f"share of {two.member_id}".encode()


async def test_a_leader_that_joins_again_begins_a_new_generation(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one, two)
    before = one.generation
    leading = await one.begin_join()
    with pytest.raises(RebalanceInProgress):
        two.heartbeat()
    await two.join()
    assert (await leading).generation == before + 1


async def test_a_follower_with_something_new_to_say_begins_a_new_generation(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one, two)
    two.protocols = (Protocol("range", b"orders,payments"),)
    changed = await two.begin_join()
    assert state(world) is GroupState.PREPARING
    joined = await one.join()
    assert {each.metadata for each in joined.members} == {b"orders", b"orders,payments"}
    assert (await changed).generation == joined.generation


async def test_the_protocol_that_most_prefer_among_those_that_all_know_is_chosen(world: World) -> None:
    range_, sticky, odd = Protocol("range", b"r"), Protocol("sticky", b"s"), Protocol("odd", b"o")
    members = [
        world.member("one", protocols=(odd, range_, sticky)),
        world.member("two", protocols=(sticky, range_)),
        world.member("three", protocols=(sticky, range_)),
    ]
    await assemble(world, *members)
    assert members[0].joined is not None
    assert members[0].joined.protocol == "sticky"
    assert {each.metadata for each in members[0].joined.members} == {b"s"}


async def test_a_member_without_a_common_protocol_is_refused_and_the_others_go_on(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    for stranger in (
        world.member("two", protocols=(Protocol("other", b""),)),
        world.member("three", protocol_type="connect"),
        world.member("four", protocols=()),
        world.member("five", protocol_type=""),
    ):
        with pytest.raises(InconsistentProtocol):
            await stranger.join()
    one.heartbeat()
    assert state(world) is GroupState.STABLE


async def test_a_lone_member_may_change_its_protocols(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    one.protocols = (Protocol("sticky", b"orders"),)
    assert (await one.join()).protocol == "sticky"


async def test_an_empty_group_takes_any_protocol(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    await world.groups.leave("g", [Leaver(one.member_id)])
    joined = await world.member("two", protocol_type="connect", protocols=(Protocol("compatible", b""),)).join()
    assert joined.protocol_type == "connect"


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001, -1])
async def test_a_session_outside_of_the_limits_is_refused(world: World, session_ms: int) -> None:
    with pytest.raises(InvalidSession):
        await world.member(session_ms=session_ms).join()


async def test_a_group_with_members_has_a_name(world: World) -> None:
    with pytest.raises(InvalidGroup):
        await world.member(group="").join()


async def test_a_name_may_be_any_text(world: World) -> None:
    for name in ("a/../b", "'; drop table group_rows; --", "\0\n\t", "größe 群組 🐛", "x" * 10_000):
        member = world.member(group=name)
        await assemble(world, member)
        view = world.groups.find(name)
        assert view is not None
        assert view.state is GroupState.STABLE


async def test_an_id_that_nobody_was_given_is_refused(world: World) -> None:
    member = world.member()
    member.member_id = "made-up"
    with pytest.raises(UnknownMember):
        await member.join()
    await assemble(world, world.member())
    with pytest.raises(UnknownMember):
        await member.join()


async def test_an_id_that_was_given_and_not_used_is_forgotten_after_a_session(world: World) -> None:
    late = world.member("late")
    with pytest.raises(MemberIdRequired) as required:
        await world.groups.join(late._join())
    late.member_id = required.value.member_id
    await world.clock.advance(SESSION_MS + 1)
    with pytest.raises(UnknownMember):
        await late.join()


async def test_a_generation_waits_for_a_member_that_was_given_its_id(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one)
    with pytest.raises(MemberIdRequired) as required:
        await world.groups.join(two._join())
    again = await one.begin_join()
    assert not again.done()
    two.member_id = required.value.member_id
    await two.join()
    assert len((await again).members) == 2


async def test_members_that_do_not_come_back_in_time_are_out(world: World) -> None:
    one, two = world.member("one"), world.member("two", rebalance_ms=20_000, session_ms=100_000)
    one.rebalance_ms = 20_000
    await assemble(world, one, two)
    leading = await one.begin_join()
    await world.clock.advance(19_999)
    assert not leading.done()
    await world.clock.advance(1)
    assert len((await leading).members) == 1
    with pytest.raises(UnknownMember):
        two.heartbeat()


async def test_the_slowest_member_says_how_long_the_group_waits(world: World) -> None:
    one, two = world.member("one", rebalance_ms=7_000), world.member("two", rebalance_ms=90_000, session_ms=300_000)
    await assemble(world, one, two)
    leading = await one.begin_join()
    await world.clock.advance(89_999)
    assert not leading.done()
    await world.clock.advance(1)
    assert leading.done()


async def test_a_new_leader_is_found_when_the_old_one_does_not_come_back(world: World) -> None:
    one, two = world.member("one", session_ms=100_000), world.member("two")
    await assemble(world, one, two)
    two.protocols = (Protocol("range", b"new"),)
    joining = await two.begin_join()
    await world.clock.advance(REBALANCE_MS)
    assert (await joining).leader == two.member_id


async def test_a_full_group_refuses_more_and_keeps_its_members() -> None:
    world = await World(GroupLimits(members_max=2)).start()
    one, two, three = (world.member(name) for name in ("one", "two", "three"))
    await assemble(world, one, two)
    with pytest.raises(GroupFull):
        await three.join()
    one.heartbeat()
    assert (await two.join()).generation == one.generation


async def test_in_a_group_over_its_size_the_last_to_come_back_have_no_place() -> None:
    world = await World().start()
    members = [world.member(str(number)) for number in range(4)]
    await assemble(world, *members)
    world.limits = GroupLimits(members_max=2)
    await world.crash()
    assert state(world) is GroupState.PREPARING, "a group that is too large begins anew"
    joining = [await member.begin_join() for member in members]
    for task in joining[2:]:
        with pytest.raises(GroupFull):
            await task
    assert {(await task).generation for task in joining[:2]} == {members[0].generation}
    assert len((await joining[0]).members) == 2


async def test_an_empty_group_waits_for_more_members_when_told_to() -> None:
    world = await World(GroupLimits(initial_delay_ms=3_000)).start()
    one, two = world.member("one"), world.member("two")
    first = await one.begin_join()
    await world.clock.advance(2_000)
    second = await two.begin_join()
    await world.clock.advance(1_000)
    assert not first.done(), "a new member has come, so that more may follow"
    await world.clock.advance(3_000)
    assert {(await first).generation, (await second).generation} == {1}


async def test_the_first_generation_waits_no_longer_than_the_members_may_take() -> None:
    world = await World(GroupLimits(initial_delay_ms=3_000)).start()
    first = await world.member("first", rebalance_ms=7_000).begin_join()
    for number in range(10):
        if first.done():
            break
        await world.member(str(number), rebalance_ms=7_000).begin_join()
        await world.clock.advance(1_000)
    assert world.clock.at_ms - 1_000_000 <= 8_000
    assert first.done()


async def test_a_second_request_for_the_same_member_ends_the_first(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one, two)
    first = await one.begin_join()
    second = await one.begin_join()
    with pytest.raises(RebalanceInProgress):
        await first
    await two.join()
    assert (await second).generation == two.generation


async def test_a_member_that_lost_the_answer_gets_it_again(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await one.join()
    joining = await two.begin_join()
    await one.join()
    await joining
    assert state(world) is GroupState.COMPLETING
    assert (await two.join()).generation == one.generation
    assert len((await one.join()).members) == 2
    assert state(world) is GroupState.COMPLETING


async def test_a_client_that_is_gone_does_not_hinder_the_others(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one)
    gone = await two.begin_join()
    gone.cancel()
    await settle()
    assert len((await one.join()).members) == 2
    await one.sync({one.member_id: b"all"})
    one.heartbeat()
    for _ in range(8):
        await world.clock.advance(2_000)
        try:
            one.heartbeat()
        except RebalanceInProgress:
            break
    assert len((await one.join()).members) == 1


async def test_a_member_with_an_old_generation_is_told_so(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one)
    old = one.generation
    joining = await two.begin_join()
    await one.join()
    await joining
    one.generation = old
    with pytest.raises(StaleGeneration):
        one.heartbeat()
    with pytest.raises(StaleGeneration):
        await one.sync()


# Instances.


async def test_an_instance_that_returns_keeps_its_share_and_nobody_notices(world: World) -> None:
    one, two = world.member("one"), world.member("two", instance_id="i")
    await assemble(world, one, two)
    again = world.member("two", instance_id="i")
    joined = await again.join()
    assert joined.generation == one.generation
    assert joined.member_id != two.member_id
    assert (await again.sync()).assignment == two.assignment
    one.heartbeat()
    again.heartbeat()


async def test_the_old_process_of_an_instance_is_fenced(world: World) -> None:
    one, old = world.member("one"), world.member("two", instance_id="i")
    await assemble(world, one, old)
    await world.member("two", instance_id="i").join()
    with pytest.raises(InstanceFenced):
        old.heartbeat()
    with pytest.raises(InstanceFenced):
        await old.sync()
    with pytest.raises(InstanceFenced):
        await old.join()


async def test_the_old_process_of_an_instance_that_waits_is_fenced(world: World) -> None:
    one, old = world.member("one"), world.member("two", instance_id="i")
    await assemble(world, one, old)
    old.protocols = (Protocol("range", b"changed"),)
    waiting = await old.begin_join()
    again = await world.member("two", instance_id="i").begin_join()
    with pytest.raises(InstanceFenced):
        await waiting
    joined = await one.join()
    assert (await again).generation == joined.generation
    assert len(joined.members) == 2


@pytest.mark.parametrize("may_skip", [True, False])
async def test_a_leading_instance_that_returns_does_not_assign_again(world: World, may_skip: bool) -> None:
    old, two = world.member("one", instance_id="i"), world.member("two")
    await assemble(world, old, two)
    again = world.member("one", instance_id="i", may_skip_assignment=may_skip)
    joined = await again.join()
    assert joined.skip_assignment is may_skip
    assert (joined.leader == joined.member_id) is may_skip, "who cannot skip is told that another leads"
    assert len(joined.members) == (2 if may_skip else 0)
    assert (await again.sync()).assignment == old.assignment
    two.heartbeat()


async def test_an_instance_that_returns_with_another_protocol_begins_a_new_generation(world: World) -> None:
    both = (Protocol("range", b"r"), Protocol("sticky", b"s"))
    one = world.member("one", protocols=both)
    two = world.member("two", instance_id="i", protocols=both)
    await assemble(world, one, two)
    again = await world.member("two", instance_id="i", protocols=(both[1],)).begin_join()
    assert state(world) is GroupState.PREPARING
    assert (await one.join()).protocol == "sticky"
    assert (await again).generation == one.generation


async def test_an_instance_that_returns_during_assignment_begins_a_new_generation(world: World) -> None:
    one, two = world.member("one"), world.member("two", instance_id="i")
    await one.join()
    joining = await two.begin_join()
    await one.join()
    await joining
    waiting = await two.begin_sync()
    again = await world.member("two", instance_id="i").begin_join()
    with pytest.raises(InstanceFenced):
        await waiting
    joined = await one.join()
    assert (await again).generation == joined.generation


async def test_an_instance_that_is_silent_goes_with_its_session_only(world: World) -> None:
    one, two = world.member("one"), world.member("two", instance_id="i", session_ms=100_000)
    await assemble(world, one, two)
    leading = await one.begin_join()
    await world.clock.advance(REBALANCE_MS)
    assert len((await leading).members) == 2, "it did not join, and stays"
    await one.sync({one.member_id: b"a", two.member_id: b"b"})
    two.generation = one.generation
    two.heartbeat()


async def test_a_group_of_instances_that_all_stay_away_ends_with_their_sessions(world: World) -> None:
    one = world.member("one", instance_id="i", session_ms=90_000, rebalance_ms=10_000)
    two = world.member("two", instance_id="k", session_ms=90_000, rebalance_ms=10_000)
    await assemble(world, one, two)
    await world.groups.leave("g", [Leaver("", "i")])
    await world.clock.advance(50_000)
    assert state(world) is GroupState.PREPARING
    await world.clock.advance(50_000)
    assert state(world) is GroupState.EMPTY


async def test_a_made_up_id_for_an_instance_is_refused(world: World) -> None:
    one = world.member("one", instance_id="i")
    await assemble(world, one)
    stranger: Speaker = world.member("two", instance_id="k")
    stranger.member_id = one.member_id
    with pytest.raises(UnknownMember):
        await stranger.join()
    stranger.instance_id = "i"
    stranger.member_id = "made-up"
    with pytest.raises(InstanceFenced):
        await stranger.join()
