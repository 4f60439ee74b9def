"""What operators are told of groups that take messages one by one."""

import pytest

from braidmq.core.metrics import Metric
from groups_support import settle
from simulator.cursor_world import GROUP, INVISIBLE_MS, CursorWorld

NAME = GROUP.name


@pytest.fixture
async def world() -> CursorWorld:
    return await CursorWorld().begin()


def figures(world: CursorWorld) -> dict[str, float]:
    def of_group(metric: Metric) -> bool:
        return metric.labels.get("group") == NAME

    return {each.name.removeprefix("braid_cursors_"): each.value for each in filter(of_group, world.cursors.metrics())}


async def test_what_is_left_is_told_for_each_group(world: CursorWorld) -> None:
    await world.write(1, b"a", b"b", b"c")
    (first,) = await world.receive(count_max=1)
    await world.go_on(200)
    found = figures(world)
    assert (found["lag"], found["open"], found["out"]) == (3, 1, 1)
    assert found["oldest_seconds"] == pytest.approx(0.2)
    world.acknowledge(first.receipt)
    assert (figures(world)["lag"], figures(world)["out"]) == (2, 0)


async def test_a_group_that_has_done_everything_has_nothing_old(world: CursorWorld) -> None:
    await world.write(1, b"a")
    for delivered in await world.receive():
        world.acknowledge(delivered.receipt)
    await world.go_on(5_000)
    found = figures(world)
    assert (found["lag"], found["open"], found["out"], found["oldest_seconds"]) == (0, 0, 0, 0)


async def test_what_was_given_again_is_counted_for_its_group(world: CursorWorld) -> None:
    await world.write(1, b"a", b"b")
    await world.receive()
    await world.go_on(INVISIBLE_MS)
    again = await world.receive()
    for delivered in again:
        world.acknowledge(delivered.receipt)
    found = figures(world)
    assert (found["delivered"], found["redelivered"], found["acknowledged"]) == (4, 2, 2)
    assert world.cursors.redelivered(NAME) == 2


async def test_an_age_that_only_the_disk_knows_is_told_from_the_next_time_on(
    world: CursorWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.write(1, b"a")
    await world.receive()
    await world.go_on(3_000)
    with monkeypatch.context() as patch:
        patch.setattr(world.log, "read_now", lambda *_: None)
        assert figures(world)["oldest_seconds"] == 0
    await settle()
    with monkeypatch.context() as patch:
        patch.setattr(world.log, "read_now", lambda *_: None)
        assert figures(world)["oldest_seconds"] == pytest.approx(3)


async def test_a_group_that_is_gone_is_not_told_of(world: CursorWorld) -> None:
    await world.write(1, b"a")
    await world.receive()
    world.cursors.forget_group(NAME)
    assert figures(world) == {}
