"""Groups whose clients are changed over one by one: some divide the work as they always did, some are assigned to."""

import asyncio

import pytest

from braidmq.core.groups import GroupKind, GroupLimits, GroupState, Leaver, MemberIdentity, Migration, Protocol
from braidmq.log import GroupOffset
from braidmq.model import Group
from braidmq.model.errors import (
    BraidError,
    GroupFull,
    InconsistentProtocol,
    InstanceFenced,
    MemberIdRequired,
    RebalanceInProgress,
    StaleEpoch,
    StaleGeneration,
    StoreFailed,
    UnknownGroup,
    UnknownMember,
)
from braidmq.model.group_settings import CONSUME, OFF
from groups_support import (
    REBALANCE_MS,
    SESSION_MS,
    UNREADABLE,
    Holder,
    Talker,
    World,
    assemble,
    converge,
    numbers,
    settle,
)


@pytest.fixture
async def world() -> World:
    world = await World().start()
    world.directory.add("orders", 6)
    return world


def kind_and_state(world: World) -> tuple[GroupKind, GroupState]:
    view = world.groups.find("g")
    assert view is not None
    return view.kind, view.state


async def come_together(*talkers: Talker) -> None:
    """In a group that divides its work itself, all must join for one to hear."""
    await asyncio.wait_for(asyncio.gather(*(talker.come() for talker in talkers)), 5)


async def classic_pair(world: World, *, is_cooperative: bool = False) -> tuple[Talker, Talker]:
    one = Talker(world, "one", is_cooperative=is_cooperative)
    two = Talker(world, "two", is_cooperative=is_cooperative)
    await come_together(one, two)
    while len(one.held) != 3 or len(two.held) != 3:
        await come_together(one, two)
    assert kind_and_state(world) == (GroupKind.CLASSIC, GroupState.STABLE)
    return one, two


# Upgrading.


@pytest.mark.parametrize("is_cooperative", [False, True])
async def test_members_go_on_where_they_are_when_the_first_comes_that_is_assigned_to(
    world: World, is_cooperative: bool
) -> None:
    one, two = await classic_pair(world, is_cooperative=is_cooperative)
    before = {one.held, two.held}
    await world.groups.commit("g", one.identity, {min(one.held): GroupOffset(7)})
    newcomer = Holder(world, "new")
    assert (await newcomer.join()).assigned == frozenset(), "everything is still in the hands of the others"
    assert kind_and_state(world)[0] is GroupKind.CONSUMER
    assert {one.held, two.held} == before
    await world.groups.commit("g", one.identity, {min(one.held): GroupOffset(8)})
    with pytest.raises(RebalanceInProgress):
        one.heartbeat()
    await converge(one, two, newcomer)
    held = [one.held, two.held, newcomer.held]
    assert [len(each) for each in held] == [2, 2, 2]
    assert frozenset().union(*held) == numbers(world)
    assert kind_and_state(world)[1] is GroupState.STABLE
    assert world.groups.offsets("g")[min(one.held | two.held)].offset == 8


async def test_a_member_gives_up_before_another_has_it(world: World) -> None:
    one, two = await classic_pair(world, is_cooperative=True)
    newcomer = Holder(world, "new")
    await newcomer.join()
    one.prepare()
    await one.join()
    synced = await one.sync()
    left = frozenset(int(each) for each in synced.assignment.split(b","))
    assert left < one.held
    for _ in range(3):
        await newcomer.beat()
        assert not newcomer.held & one.held, "it has not said that it gave up anything"
    with pytest.raises(RebalanceInProgress):
        one.heartbeat()
    one.held = left
    await one.come()
    await newcomer.beat()
    assert newcomer.held
    assert not newcomer.held & (one.held | two.held)


async def test_who_waits_for_the_next_generation_is_told_to_come_again(world: World) -> None:
    one, two = await classic_pair(world)
    three = Talker(world, "three")
    three.prepare()
    joining = await three.begin_join()
    newcomer = Holder(world, "new")
    await newcomer.join()
    with pytest.raises(RebalanceInProgress):
        await joining
    await three.come()
    await converge(one, two, three, newcomer)
    assert sorted(len(each.held) for each in (one, two, three, newcomer)) == [1, 1, 2, 2]


async def test_what_others_than_consumers_divide_stays_with_them(world: World) -> None:
    worker = world.member("worker", protocol_type="connect")
    await assemble(world, worker)
    with pytest.raises(UnknownGroup, match="do not divide partitions"):
        await Holder(world, "new").join()
    worker.heartbeat()


@pytest.mark.parametrize(
    ("metadata", "assignment", "why"),
    [(b"orders", UNREADABLE, "more than partitions"), (UNREADABLE, b"1", "cannot be assigned")],
)
async def test_members_whose_words_cannot_be_read_stay_as_they_are(
    world: World, metadata: bytes, assignment: bytes, why: str
) -> None:
    one = world.member("one", protocols=(Protocol("streams", metadata),))
    await one.join()
    await one.sync({one.member_id: assignment})
    with pytest.raises(UnknownGroup, match=why):
        await Holder(world, "new").join()
    one.heartbeat()
    assert kind_and_state(world) == (GroupKind.CLASSIC, GroupState.STABLE)


@pytest.mark.parametrize("migration", [Migration.DISABLED, Migration.DOWNGRADE])
async def test_an_operator_can_forbid_it(migration: Migration) -> None:
    world = await World(GroupLimits(migration=migration)).start()
    world.directory.add("orders", 2)
    one = Talker(world, "one")
    await one.come()
    with pytest.raises(UnknownGroup, match=migration.value):
        await Holder(world, "new").join()
    one.heartbeat()


async def test_a_full_group_stays_what_it_is() -> None:
    world = await World(GroupLimits(members_max=1)).start()
    world.directory.add("orders", 2)
    one = Talker(world, "one")
    await one.come()
    with pytest.raises(GroupFull):
        await Holder(world, "new").join()
    one.heartbeat()


# Together.


async def test_who_speaks_the_classic_protocol_may_come_to_the_others(world: World) -> None:
    holder, talker = Holder(world, "new"), Talker(world, "old")
    await holder.join()
    await talker.come()
    assert not talker.held & holder.held
    await converge(holder, talker)
    assert (len(holder.held), len(talker.held)) == (3, 3)
    view = world.groups.find_consumer("g")
    assert view is not None
    assert {member.member_id: member.is_classic for member in view.members} == {"new": False, talker.member_id: True}


async def test_a_new_member_is_given_its_id_first_if_it_can_be(world: World) -> None:
    await Holder(world, "new").join()
    talker = Talker(world, "old")
    talker.prepare()
    with pytest.raises(MemberIdRequired) as required:
        await world.groups.join(talker._join())
    assert required.value.member_id.startswith("old-")
    at_once = Talker(world, "oldest", asks_id_first=False)
    await at_once.come()
    assert at_once.member_id.startswith("oldest-")


async def test_a_member_with_other_protocols_is_refused(world: World) -> None:
    await Holder(world, "new").join()
    await Talker(world, "old").come()
    with pytest.raises(InconsistentProtocol):
        await world.member("other", protocols=(Protocol("sticky", b"orders"),)).join()
    with pytest.raises(InconsistentProtocol):
        await world.member("worker", protocol_type="connect").join()
    with pytest.raises(InconsistentProtocol, match="cannot be assigned"):
        await world.member("unread", protocols=(Protocol("eager", UNREADABLE),)).join()


async def test_each_commits_in_its_own_words(world: World) -> None:
    holder, talker = Holder(world, "new"), Talker(world, "old")
    await holder.join()
    await talker.come()
    await converge(holder, talker)
    offsets = {min(numbers(world)): GroupOffset(1)}
    await world.groups.commit("g", holder.identity, offsets)
    await world.groups.commit("g", talker.identity, offsets)
    with pytest.raises(StaleEpoch):
        await world.groups.commit("g", MemberIdentity(holder.member_id, holder.epoch - 1), offsets)
    with pytest.raises(StaleGeneration):
        await world.groups.commit("g", MemberIdentity(talker.member_id, talker.generation - 1), offsets)
    with pytest.raises(UnknownMember):
        world.groups.heartbeat("g", holder.identity)
    with pytest.raises(StaleGeneration):
        world.groups.heartbeat("g", MemberIdentity(talker.member_id, 0))
    with pytest.raises(UnknownMember):
        world.groups.heartbeat("g", MemberIdentity("nobody", 1))


async def test_new_partitions_reach_those_who_speak_the_classic_protocol(world: World) -> None:
    holder, talker = Holder(world, "new"), Talker(world, "old")
    await holder.join()
    await talker.come()
    await converge(holder, talker)
    talker.heartbeat()
    world.directory.grow("orders", 10)
    await converge(talker, holder)
    assert holder.held | talker.held == numbers(world)


async def test_a_paused_group_gives_nothing_to_either(world: World) -> None:
    holder, talker = Holder(world, "new"), Talker(world, "old")
    await holder.join()
    await talker.come()
    await converge(holder, talker)
    world.directory.save_group(Group(name="g", settings={CONSUME: OFF}))
    await converge(holder, talker)
    assert (holder.held, talker.held) == (frozenset(), frozenset())
    world.directory.save_group(Group(name="g", settings={}))
    await converge(holder, talker)
    assert holder.held | talker.held == numbers(world)


async def test_who_falls_silent_or_does_not_come_when_told_is_out(world: World) -> None:
    holder, silent, late = Holder(world, "new"), Talker(world, "silent"), Talker(world, "late")
    await holder.join()
    await silent.come()
    await late.come()
    await converge(holder, silent, late)
    for _ in range(3):
        await world.clock.advance(SESSION_MS / 2)
        await holder.beat()
        late_is_called = _is_called(late)
    assert late_is_called, "one is out"
    for _ in range(int(REBALANCE_MS / SESSION_MS * 2) + 1):
        assert _is_called(late)
        await world.clock.advance(SESSION_MS / 2)
        await holder.beat()
        if late.member_id not in _members(world):
            break
    assert _members(world) == {"new"}
    await converge(holder)
    assert holder.held == numbers(world)


def _is_called(talker: Talker) -> bool:
    """Whether its heartbeat tells it to join again. It does not."""
    try:
        talker.heartbeat()
    except RebalanceInProgress:
        return True
    except UnknownMember:
        return True
    return False


def _members(world: World) -> set[str]:
    view = world.groups.find_consumer("g")
    return set() if view is None else {member.member_id for member in view.members}


async def test_who_joins_and_never_asks_for_its_assignment_is_out(world: World) -> None:
    holder, talker = Holder(world, "new"), Talker(world, "old", rebalance_ms=5_000)
    await holder.join()
    talker.prepare()
    await talker.join()
    assert talker.member_id in _members(world)
    await world.clock.advance(5_001)
    assert _members(world) == {"new"}


async def test_an_instance_is_changed_over_without_a_pause(world: World) -> None:
    """Neither has to wait until the other one's session is over."""
    old = Talker(world, "old", instance_id="i1")
    await old.come()
    assert old.held == numbers(world)
    new = Holder(world, "new", instance_id="i1")
    await new.join()
    await converge(new)
    assert new.held == numbers(world)
    with pytest.raises(InstanceFenced):
        old.heartbeat()
    again = Talker(world, "old", instance_id="i1")
    await again.come()
    with pytest.raises(UnknownMember):
        world.groups.heartbeat("g", new.identity)
    assert again.held == numbers(world)
    assert kind_and_state(world)[0] is GroupKind.CLASSIC, "nobody is left who is assigned to"


async def test_an_instance_may_be_removed_by_name_and_a_member_leaves_by_itself(world: World) -> None:
    holder, talker, instance = Holder(world, "new"), Talker(world, "old"), Talker(world, "fixed", instance_id="i1")
    await holder.join()
    await talker.come()
    await instance.come()
    fates = await world.groups.leave(
        "g", [Leaver(talker.member_id), Leaver("", "i1"), Leaver("new"), Leaver("nobody"), Leaver("x", "i2")]
    )
    assert fates[:2] == [None, None]
    assert [type(fate) for fate in fates[2:]] == [UnknownMember] * 3
    assert _members(world) == {"new"}


# Downgrading.


@pytest.mark.parametrize("ends", ["leaves", "falls silent"])
async def test_when_the_last_has_gone_that_was_assigned_to_the_others_divide_the_work(world: World, ends: str) -> None:
    one, two = await classic_pair(world)
    newcomer = Holder(world, "new")
    await newcomer.join()
    await converge(one, two, newcomer)
    generation = max(one.generation, two.generation)
    if ends == "leaves":
        await newcomer.leave()
    else:
        for _ in range(10):
            await world.clock.advance(SESSION_MS / 2)
            for talker in (one, two):
                _is_called(talker)
    assert kind_and_state(world) == (GroupKind.CLASSIC, GroupState.PREPARING)
    await come_together(one, two)
    assert kind_and_state(world) == (GroupKind.CLASSIC, GroupState.STABLE)
    assert one.held | two.held == numbers(world)
    assert not one.held & two.held
    assert one.generation == two.generation > generation


async def test_a_group_may_stay_assigned_to(world: World) -> None:
    world.limits = GroupLimits(migration=Migration.UPGRADE)
    await world.crash()
    one, two = await classic_pair(world)
    newcomer = Holder(world, "new")
    await newcomer.join()
    await converge(one, two, newcomer)
    await newcomer.leave()
    await converge(one, two)
    assert kind_and_state(world) == (GroupKind.CONSUMER, GroupState.STABLE)
    assert one.held | two.held == numbers(world)


# What outlives the process.


async def test_a_mixed_group_goes_on_after_a_restart(world: World) -> None:
    one, two = await classic_pair(world)
    newcomer = Holder(world, "new")
    await newcomer.join()
    await converge(one, two, newcomer)
    before = [(each.epoch, each.held) for each in (one, two, newcomer)]
    await world.crash()
    assert kind_and_state(world) == (GroupKind.CONSUMER, GroupState.STABLE)
    await converge(one, two, newcomer)
    assert [(each.epoch, each.held) for each in (one, two, newcomer)] == before
    await newcomer.leave()
    await world.crash()
    assert kind_and_state(world)[0] is GroupKind.CLASSIC
    await come_together(one, two)
    assert one.held | two.held == numbers(world)


async def test_a_change_that_was_not_kept_is_not_told(world: World) -> None:
    one, two = await classic_pair(world)
    world.keeper.is_failing = True
    newcomer = Holder(world, "new")
    with pytest.raises(StoreFailed):
        await newcomer.join()
    one.prepare()
    with pytest.raises(StoreFailed):
        await one.join()
    world.keeper.is_failing = False
    await world.crash()
    assert kind_and_state(world) == (GroupKind.CLASSIC, GroupState.STABLE), "as if nobody had come"
    await newcomer.join()
    await converge(one, two, newcomer)
    assert frozenset().union(one.held, two.held, newcomer.held) == numbers(world)


async def test_no_answer_comes_before_its_change_is_kept(world: World) -> None:
    holder = Holder(world, "new")
    await holder.join()
    world.keeper.is_holding = True
    talker = Talker(world, "old", asks_id_first=False)
    talker.prepare()
    joining = await talker.begin_join()
    assert not joining.done()
    world.keeper.is_holding = False
    world.keeper.release()
    await settle()
    assert joining.done()
    error: BraidError | None = None
    try:
        await talker.sync()
    except BraidError as caught:
        error = caught
    assert error is None
