"""The figures by which lists are sorted: seen soon where there is little, and never dear to those who ask."""

import asyncio
import time
from uuid import uuid4

import pytest

from braidmq.core.counters import Counters
from braidmq.core.desk import _figures
from braidmq.core.desk._figures import FRESH_MS, LOOK_EVERY_MS, Figures, TopicFigure
from braidmq.log import GroupOffset
from braidmq.log.memory import MemoryLog
from braidmq.model import Message, Topic
from braidmq.records import batch_messages
from groups_support import FakeClock


class Topics:
    """Which topics there are."""

    def __init__(self) -> None:
        self.all: list[Topic] = []

    def topics(self) -> list[Topic]:
        return self.all


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.log = MemoryLog(self.clock.now_ms)
        self.counters = Counters(self.clock)
        self.topics = Topics()
        self.figures = Figures(self.topics, self.log, self.counters, self.clock)

    async def topic(self, name: str, *numbers: int, instance: str = "default") -> Topic:
        topic = Topic(id=uuid4(), name=name, instance=instance, partition_numbers=numbers)
        self.topics.all.append(topic)
        await self.log.create_topic(topic)
        return topic

    async def publish(self, number: int, count: int) -> None:
        batch = batch_messages([Message(body=b"x", born_ms=1) for _ in range(count)])
        await self.log.append([(number, batch)])
        self.counters.stored(number, count, 10)


@pytest.fixture
async def world() -> World:
    return World()


async def test_the_first_to_ask_sees_what_there_is(world: World) -> None:
    topic = await world.topic("orders", 1, 2)
    await world.publish(1, 7)
    await world.log.commit_offsets("near", {1: GroupOffset(6)})
    await world.log.commit_offsets("far", {1: GroupOffset(2), 2: GroupOffset(0)})
    picture = await world.figures.latest()
    figure = picture.topics[topic.id]
    assert (figure.messages, figure.lag, figure.groups) == (7, 6, 2)
    assert figure.size_bytes > 0
    assert {name: each.lag for (_, name), each in picture.groups.items()} == {"near": 1, "far": 5}


async def test_groups_of_one_name_in_two_instances_have_figures_of_their_own(world: World) -> None:
    await world.topic("orders", 1)
    await world.topic("orders", 2, instance="retail")
    await world.publish(1, 7)
    await world.publish(2, 9)
    await world.log.commit_offsets("g", {1: GroupOffset(6), 2: GroupOffset(2)})
    await world.log.commit_offsets("there", {2: GroupOffset(0)})
    groups = (await world.figures.latest()).groups
    lags = {place: each.lag for place, each in groups.items()}
    assert lags == {("default", "g"): 1, ("retail", "g"): 7, ("retail", "there"): 9}
    await world.log.commit_offsets("g", {2: GroupOffset(8)})
    await world.clock.advance(FRESH_MS + 1)
    groups = (await world.figures.latest()).groups
    assert groups["default", "g"].rate_out == 0 < groups["retail", "g"].rate_out


async def test_a_short_look_is_made_again_a_second_later(world: World) -> None:
    topic = await world.topic("orders", 1)
    assert (await world.figures.latest()).topics[topic.id].messages == 0
    await world.publish(1, 7)
    assert (await world.figures.latest()).topics[topic.id].messages == 0
    await world.clock.advance(FRESH_MS + 1)
    assert (await world.figures.latest()).topics[topic.id].messages == 7


async def test_nobody_waits_for_a_long_look_that_comes_by_itself(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = await world.topic("orders", 1)
    monkeypatch.setattr(_figures, "SHORT_LOOK_MS", -1.0)
    world.figures.start()
    assert (await world.figures.latest()).topics[topic.id].messages == 0
    await world.publish(1, 7)
    await world.clock.advance(FRESH_MS + 1)
    assert (await world.figures.latest()).topics[topic.id].messages == 0
    await world.clock.advance(LOOK_EVERY_MS)
    assert world.figures._looking is not None
    await world.figures._looking
    assert (await world.figures.latest()).topics[topic.id].messages == 7
    await world.figures.close()


async def test_who_asks_where_no_look_comes_by_itself_waits_for_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = await world.topic("orders", 1)
    monkeypatch.setattr(_figures, "SHORT_LOOK_MS", -1.0)
    await world.figures.latest()
    await world.publish(1, 7)
    await world.clock.advance(FRESH_MS + 1)
    assert (await world.figures.latest()).topics[topic.id].messages == 7


async def test_what_is_gone_is_not_counted(world: World) -> None:
    topic = await world.topic("orders", 1)
    await world.log.commit_offsets("g", {1: GroupOffset(0), 99: GroupOffset(5)})
    await world.log.delete_topic(topic.id)
    picture = await world.figures.latest()
    assert picture.topics[topic.id] == TopicFigure(groups=0)
    assert picture.groups["default", "g"].lag == 0


async def test_the_pace_of_a_group_is_what_it_commits_whatever_it_speaks(world: World) -> None:
    await world.topic("orders", 1, 2)
    await world.publish(1, 100)
    world.figures.start()
    await world.log.commit_offsets("g", {1: GroupOffset(10)})
    assert (await world.figures.latest()).groups["default", "g"].rate_out == 0, "where it was before counts for nothing"
    await world.log.commit_offsets("g", {1: GroupOffset(40), 2: GroupOffset(0)})
    await world.clock.advance(LOOK_EVERY_MS)
    assert world.figures._looking is not None
    await world.figures._looking
    assert (await world.figures.latest()).groups["default", "g"].rate_out == pytest.approx(3.0, rel=0.01)
    await world.log.commit_offsets("g", {1: GroupOffset(0)})
    await world.clock.advance(FRESH_MS + 1)
    assert (await world.figures.latest()).groups["default", "g"].rate_out >= 0, (
        "a group that was set back has done no less"
    )
    await world.figures.close()


async def test_a_look_gives_way_to_others(world: World) -> None:
    numbers = iter(range(1, 2_001))
    for nth in range(1_000):
        await world.topic(f"topic-{nth}", next(numbers), next(numbers))
    task = world.figures._begin()
    turns = 0
    begun = time.perf_counter()
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns >= 1_000 // _figures.LOOKS
    assert time.perf_counter() - begun < 10
