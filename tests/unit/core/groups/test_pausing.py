"""Members that divide their work by themselves, in a group that is paused."""

import pytest

from braidmq.model import Group
from braidmq.model.errors import RebalanceInProgress
from braidmq.model.group_settings import CONSUME, OFF
from groups_support import IDLE, Speaker, World, assemble, settle


@pytest.fixture
async def world() -> World:
    return await World().start()


def group(*, is_paused: bool = True) -> Group:
    return Group(name="g", settings={CONSUME: OFF} if is_paused else {})


async def come_again(world: World, *members: Speaker) -> list[bytes | None]:
    """What they are assigned; by their heartbeats they hear that they are to ask."""
    for member in members:
        with pytest.raises(RebalanceInProgress):
            member.heartbeat()
    await assemble(world, *members)
    for member in members:
        member.heartbeat()
    return [member.assignment for member in members]


def shares(*members: Speaker) -> list[bytes]:
    return [f"share of {member.member_id}".encode() for member in members]


async def test_members_are_assigned_nothing_until_their_group_goes_on(world: World) -> None:
    members = world.member("one"), world.member("two")
    await assemble(world, *members)
    world.directory.save_group(group())
    assert await come_again(world, *members) == [IDLE, IDLE]
    world.directory.save_group(group(is_paused=False))
    assert await come_again(world, *members) == shares(*members)


async def test_whoever_comes_into_a_paused_group_waits_with_the_others(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    world.directory.save_group(group())
    await assemble(world, one)
    await assemble(world, one, two)
    assert [one.assignment, two.assignment] == [IDLE, IDLE]


async def test_what_else_changes_in_a_group_disturbs_nobody(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    world.directory.save_group(Group(name="g", attempts_max=3))
    world.directory.save_group(Group(name="other", settings={CONSUME: OFF}))
    one.heartbeat()


async def test_a_pause_that_comes_while_the_assignment_is_being_kept_holds(world: World) -> None:
    one = world.member("one")
    await one.join()
    world.keeper.is_holding = True
    syncing = await one.begin_sync({one.member_id: b"everything"})
    world.directory.save_group(group())
    world.keeper.is_holding = False
    world.keeper.release()
    await settle()
    with pytest.raises(RebalanceInProgress):
        await syncing
    assert await come_again(world, one) == [IDLE]


@pytest.mark.parametrize("was_paused", [True, False])
async def test_a_pause_that_began_or_ended_while_the_node_was_down_is_told(world: World, was_paused: bool) -> None:
    one = world.member("one")
    world.directory.save_group(group(is_paused=was_paused))
    await assemble(world, one)
    await world.crash()
    one.heartbeat()
    world.directory.groups_by_name["g"] = group(is_paused=not was_paused)
    await world.crash()
    assert await come_again(world, one) == (shares(one) if was_paused else [IDLE])


async def test_members_whose_assignments_only_they_can_write_go_on(world: World) -> None:
    one = world.member("one", protocol_type="connect")
    await assemble(world, one)
    world.directory.save_group(group())
    one.heartbeat()
    assert [one.assignment] == shares(one)
    assert (world.groups.unpausable("g"), world.groups.unpausable("none")) == (1, 0)
