"""A group across the end of its process: nothing that a member was told is untrue afterwards."""

import pytest

from braidmq.core.groups import GroupState, Leaver, Protocol
from braidmq.model.errors import InstanceFenced, RebalanceInProgress, StaleGeneration, UnknownMember
from groups_support import SESSION_MS, World, assemble


@pytest.fixture
async def world() -> World:
    return await World().start()


def state(world: World) -> GroupState | None:
    view = world.groups.find("g")
    return None if view is None else view.state


async def test_members_of_a_stable_group_do_not_notice(world: World) -> None:
    one, two = world.member("one"), world.member("two", instance_id="i")
    await assemble(world, one, two)
    before = world.groups.find("g")
    await world.crash()
    assert world.groups.find("g") == before
    one.heartbeat()
    two.heartbeat()
    assert (await two.sync()).assignment == f"share of {two.member_id}".encode()
    assert state(world) is GroupState.STABLE


async def test_sessions_begin_anew(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one, two)
    await world.clock.advance(SESSION_MS - 1)
    await world.crash()
    await world.clock.advance(SESSION_MS - 1)
    one.heartbeat()
    await world.clock.advance(1)
    with pytest.raises(RebalanceInProgress):
        one.heartbeat()
    with pytest.raises(UnknownMember):
        two.heartbeat()


async def test_the_leader_leads_on(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one, two)
    await world.crash()
    leading = await one.begin_join()
    await two.join()
    assert (await leading).leader == one.member_id


async def test_a_generation_that_members_were_told_of_is_not_told_again(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one)
    joining = await two.begin_join()
    await one.join()
    await joining
    told = one.generation
    await world.crash()
    assert state(world) is GroupState.PREPARING
    for member in (one, two):
        with pytest.raises(RebalanceInProgress):
            member.heartbeat()
    await assemble(world, one, two)
    assert one.generation == two.generation == told + 1


async def test_a_generation_that_was_not_kept_was_not_told(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one)
    joining = await two.begin_join()
    world.keeper.is_holding = True
    leading = await one.begin_join()
    assert not leading.done()
    assert not joining.done()
    await world.crash()
    world.keeper.is_holding = False
    assert state(world) is GroupState.STABLE
    one.heartbeat()


async def test_an_assignment_that_was_kept_counts_even_if_nobody_was_told(world: World) -> None:
    one = world.member("one")
    await one.join()
    world.keeper.is_holding = True
    leading = await one.begin_sync({one.member_id: b"all"})
    world.keeper.release()
    leading.cancel()
    world.keeper.is_holding = False
    await world.clock.advance(0)
    await world.crash()
    assert (await one.sync()).assignment == b"all"


async def test_a_member_that_left_does_not_come_back(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one, two)
    await world.groups.leave("g", [Leaver(two.member_id)])
    await world.crash()
    with pytest.raises(UnknownMember):
        two.heartbeat()
    with pytest.raises(RebalanceInProgress):
        one.heartbeat()
    assert len((await one.join()).members) == 1


async def test_an_empty_group_stays_empty(world: World) -> None:
    one = world.member("one")
    await assemble(world, one)
    await world.groups.leave("g", [Leaver(one.member_id)])
    await world.crash()
    assert state(world) is GroupState.EMPTY
    assert (await world.member("two").join()).generation == 3


async def test_an_instance_that_took_over_keeps_the_place(world: World) -> None:
    one, old = world.member("one"), world.member("two", instance_id="i")
    await assemble(world, one, old)
    again = world.member("two", instance_id="i")
    await again.join()
    await world.crash()
    again.heartbeat()
    with pytest.raises(InstanceFenced):
        old.heartbeat()


async def test_an_instance_that_was_told_its_id_in_an_unfinished_generation_keeps_it(world: World) -> None:
    one, old = world.member("one"), world.member("two", instance_id="i")
    await assemble(world, one, old)
    one.protocols = (Protocol("range", b"more"),)
    joining = await one.begin_join()
    again = world.member("two", instance_id="i")
    await again.join()
    await joining
    await world.crash()
    with pytest.raises(RebalanceInProgress):
        again.heartbeat()
    with pytest.raises(InstanceFenced):
        old.heartbeat()


async def test_a_take_over_that_was_not_kept_was_not_told(world: World) -> None:
    one, old = world.member("one"), world.member("two", instance_id="i")
    await assemble(world, one, old)
    world.keeper.is_holding = True
    again = await world.member("two", instance_id="i").begin_join()
    assert not again.done()
    await world.crash()
    world.keeper.is_holding = False
    old.heartbeat()


async def test_a_member_of_an_older_generation_is_told_to_join(world: World) -> None:
    one, two = world.member("one"), world.member("two")
    await assemble(world, one)
    old = one.identity
    joining = await two.begin_join()
    await one.join()
    await joining
    await world.crash()
    with pytest.raises(StaleGeneration):
        world.groups.heartbeat("g", old)
