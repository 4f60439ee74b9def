"""Topics in catalog and log together: what is answered is in both, whenever the node dies."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from braidmq.core.topics import Origin, Topics
from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.model import DEFAULT_INSTANCE, TOPIC_PARTITIONS_MAX, Topic
from braidmq.model.errors import (
    AlreadyExists,
    InvalidName,
    InvalidPartitions,
    InvalidSetting,
    StorageFull,
    UnknownPartition,
    UnknownTopic,
)
from braidmq.node._reconcile import reconcile
from braidmq.store import Catalog, Store


class DyingLog:
    """The log of a node that dies at a chosen call: the call, and all behind it, are never answered."""

    def __init__(self, log: EmbeddedLog) -> None:
        self._log = log
        self.dies_at = ""
        self.full = False
        self.entered = asyncio.Event()

    async def _step(self, name: str) -> None:
        if self.full:
            raise StorageFull
        if name == self.dies_at:
            self.entered.set()
            await asyncio.get_running_loop().create_future()

    async def configure_topic(self, topic: Topic) -> None:
        await self._step("configure")
        await self._log.configure_topic(topic)
        await self._step("configured")

    async def delete_topic(self, topic_id: object) -> None:
        await self._step("delete")
        await self._log.delete_topic(topic_id)  # type: ignore[arg-type]
        await self._step("deleted")


class Life:
    """One life of a node, as far as topics go."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def begin(self) -> "Life":
        self.log = await EmbeddedLog.open(self._folder / "log", LogOptions(reserve_bytes=1 << 16))
        self.store = await Store.open(f"sqlite:///{self._folder}/store.db")
        self.catalog = await Catalog.open(self.store)
        await reconcile(self.log, self.catalog)
        self.dying = DyingLog(self.log)
        self.topics = Topics(
            self.catalog,
            self.dying,  # type: ignore[arg-type]  # what topics need of a log
            partitions=2,
            auto_create=True,
            defaults={"segment.bytes": "5000000"},
            retry_s=0.01,
        )
        return self

    async def end(self) -> None:
        await self.topics.close()
        for task in list(self.topics._under_way):
            task.cancel()
        await asyncio.sleep(0)
        await self.store.close()
        await self.log.close()

    async def again(self) -> "Life":
        await self.end()
        return await Life(self._folder).begin()

    async def die_at(self, step: str, work: asyncio.Task[Any]) -> "Life":
        """The next life after a death at this step of the work."""
        assert self.dying.dies_at == step
        await asyncio.wait_for(self.dying.entered.wait(), 10)
        work.cancel()
        return await self.again()

    def topic(self, name: str) -> Topic:
        found = self.catalog.topic(DEFAULT_INSTANCE, name)
        assert found is not None
        return found

    def segment_ms(self, name: str) -> int:
        """What the log makes of the topic's settings."""
        (policy,) = {self.log._engine.partitions[number].policy for number in self.topic(name).partition_numbers}
        return policy.segment_ms


@pytest.fixture
async def lives(tmp_path: Path) -> AsyncIterator[list[Life]]:
    """The present life is the last."""
    lives = [await Life(tmp_path).begin()]
    yield lives
    await lives[-1].end()


@pytest.fixture
def life(lives: list[Life]) -> Life:
    return lives[-1]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the condition is no event of ours
            await asyncio.sleep(0.005)


def setting(**texts: str) -> Mapping[str, str]:
    return {name.replace("_", "."): text for name, text in texts.items()}


async def test_a_topic_is_ready_for_messages_when_it_is_made(life: Life) -> None:
    topic = await life.topics.create("orders", partitions=3, settings=setting(segment_ms="77", retention_ms="5"))
    assert [life.log.bounds(number).end for number in topic.partition_numbers] == [0, 0, 0]
    assert life.segment_ms("orders") == 77
    assert topic.retention_ms == 5


async def test_a_topic_gets_the_default_number_of_partitions(life: Life) -> None:
    assert len((await life.topics.create("orders")).partition_numbers) == 2


@pytest.mark.parametrize(
    "name", ["", "a" * 250, ".", "..", "bad name", "a/b", "__consumer_offsets", "__transaction_state"]
)
async def test_names_that_no_topic_can_have_are_refused(life: Life, name: str) -> None:
    with pytest.raises(InvalidName):
        life.topics.plan(name)
    with pytest.raises(InvalidName):
        await life.topics.create(name)
    assert life.catalog.topics() == []


async def test_names_that_differ_only_in_dot_and_underscore_collide(life: Life) -> None:
    await life.topics.create("a.b")
    for name, error in (("a_b", InvalidName), ("a.b", AlreadyExists)):
        with pytest.raises(error):
            await life.topics.create(name)
        with pytest.raises(error):
            life.topics.plan(name)


@pytest.mark.parametrize("partitions", [0, -1, TOPIC_PARTITIONS_MAX + 1])
async def test_a_topic_has_some_partitions_but_not_too_many(life: Life, partitions: int) -> None:
    with pytest.raises(InvalidPartitions):
        life.topics.plan("orders", partitions=partitions)
    with pytest.raises(InvalidPartitions):
        await life.topics.create("orders", partitions=partitions)


async def test_what_is_planned_is_not_made(life: Life) -> None:
    planned = life.topics.plan("orders", partitions=3, settings=setting(retention_ms="5"))
    assert (len(planned.partition_numbers), planned.retention_ms) == (3, 5)
    assert life.catalog.topics() == []


async def test_a_topic_with_an_impossible_setting_is_not_made(life: Life) -> None:
    with pytest.raises(InvalidSetting):
        await life.topics.create("orders", settings=setting(segment_ms="never"))
    assert life.catalog.topics() == []


async def test_a_topic_only_grows(life: Life) -> None:
    topic = await life.topics.create("orders", partitions=2)
    for count in (2, 1, 0):
        with pytest.raises(InvalidPartitions):
            await life.topics.expand(topic, count)
    grown = await life.topics.expand(topic, 4)
    assert [life.log.bounds(number).end for number in grown.partition_numbers] == [0] * 4


async def test_settings_are_changed_in_catalog_and_log(life: Life) -> None:
    topic = await life.topics.create("orders", settings=setting(segment_ms="77"))
    changed = await life.topics.configure(topic, lambda texts: {**texts, "retention.ms": "9"})
    assert (changed.retention_ms, life.segment_ms("orders")) == (9, 77)
    await life.topics.configure(topic, lambda _: {"segment.ms": "78"})
    assert (life.topic("orders").retention_ms, life.segment_ms("orders")) == (3 * 24 * 3_600_000, 78)


async def test_a_change_to_what_cannot_be_changes_nothing(life: Life) -> None:
    topic = await life.topics.create("orders", settings=setting(segment_ms="77"))
    with pytest.raises(InvalidSetting):
        await life.topics.configure(topic, lambda texts: {**texts, "retention.ms": "9", "segment.ms": "0"})
    assert life.topic("orders") == topic
    assert life.segment_ms("orders") == 77


async def test_changes_at_the_same_time_do_not_undo_each_other(life: Life) -> None:
    topic = await life.topics.create("orders")
    names = ["segment.ms", "retention.ms", "max.message.bytes", "delete.retention.ms", "retention.bytes"]
    await asyncio.gather(
        *(life.topics.configure(topic, lambda texts, name=name: {**texts, name: "1000"}) for name in names)  # type: ignore[misc]
    )
    assert dict(life.topic("orders").settings) == dict.fromkeys(names, "1000")
    assert life.segment_ms("orders") == 1000


async def test_the_log_ends_with_the_last_of_many_changes(life: Life) -> None:
    topic = await life.topics.create("orders", settings=setting(segment_ms="1"))
    for _ in range(3):
        await asyncio.gather(
            *(life.topics.configure(topic, lambda _, at=at: {"segment.ms": str(at)}) for at in (2, 1, 3, 1))  # type: ignore[misc]
        )
        assert str(life.segment_ms("orders")) == life.topic("orders").settings["segment.ms"]


async def test_every_setting_says_who_decided_it(life: Life) -> None:
    topic = await life.topics.create("orders", settings=setting(retention_ms="5", message_format_version="2.8"))
    effective = {each.setting.name: each for each in life.topics.effective(topic)}
    assert (effective["retention.ms"].text, effective["retention.ms"].origin) == ("5", Origin.TOPIC)
    assert (effective["segment.bytes"].text, effective["segment.bytes"].origin) == ("5000000", Origin.NODE)
    assert (effective["segment.ms"].text, effective["segment.ms"].origin) == ("604800000", Origin.DEFAULT)
    assert "message.format.version" in effective
    assert "message.timestamp.difference.max.ms" not in effective


async def test_a_caller_that_goes_away_leaves_catalog_and_log_together(life: Life) -> None:
    for step in range(5):
        making = asyncio.create_task(life.topics.create(f"orders-{step}"))
        for _ in range(step):
            await asyncio.sleep(0)
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making
    await asyncio.gather(*life.topics._under_way)
    for topic in life.catalog.topics():
        assert [life.log.bounds(number).end for number in topic.partition_numbers] == [0, 0]


async def test_a_topic_that_is_used_first_by_many_at_once_is_made_once(life: Life) -> None:
    topics = await asyncio.gather(*(life.topics.ensure("orders") for _ in range(5)))
    assert {topic.id for topic in topics} == {life.topic("orders").id}
    assert life.log.bounds(life.topic("orders").partition_numbers[0]).end == 0


async def test_reserved_names_are_never_made_by_being_used(life: Life) -> None:
    with pytest.raises(UnknownTopic):
        await life.topics.ensure("__consumer_offsets")


async def test_a_deleted_topic_is_gone_from_both_and_its_name_is_free(life: Life) -> None:
    topic = await life.topics.create("orders")
    await life.topics.delete(topic)
    with pytest.raises(UnknownPartition):
        life.log.bounds(topic.partition_numbers[0])
    with pytest.raises(UnknownTopic):
        await life.topics.delete(topic)
    with pytest.raises(UnknownTopic):
        await life.topics.configure(topic, dict)
    assert (await life.topics.create("orders")).id != topic.id


async def test_a_creation_that_the_log_refuses_leaves_nothing_behind(life: Life) -> None:
    life.dying.full = True
    with pytest.raises(StorageFull):
        await life.topics.create("orders")
    assert life.catalog.topics() == []
    life.dying.full = False
    await until(lambda: not life.catalog.topics_deleting())
    topic = await life.topics.create("orders")
    assert life.log.bounds(topic.partition_numbers[0]).end == 0


async def test_a_change_that_the_log_refuses_is_told_and_made_as_soon_as_it_can_be(life: Life) -> None:
    topic = await life.topics.create("orders")
    life.dying.full = True
    with pytest.raises(StorageFull):
        await life.topics.configure(topic, lambda _: {"segment.ms": "77"})
    with pytest.raises(StorageFull):
        await life.topics.expand(topic, 5)
    assert life.topic("orders").settings == {"segment.ms": "77"}
    life.dying.full = False
    await until(lambda: not life.topics._behind)
    assert life.segment_ms("orders") == 77
    assert [life.log.bounds(number).end for number in life.topic("orders").partition_numbers] == [0] * 5


async def test_a_deletion_that_the_log_refuses_is_finished_as_soon_as_it_can_be(life: Life) -> None:
    topic = await life.topics.create("orders")
    life.dying.full = True
    with pytest.raises(StorageFull):
        await life.topics.delete(topic)
    assert life.catalog.topic(DEFAULT_INSTANCE, "orders") is None
    life.dying.full = False
    await until(lambda: not life.topics._behind)
    assert life.catalog.topics_deleting() == []
    with pytest.raises(UnknownPartition):
        life.log.bounds(topic.partition_numbers[0])


async def test_what_the_log_could_not_take_is_made_by_the_next_start(lives: list[Life]) -> None:
    life = lives[-1]
    topic = await life.topics.create("orders")
    life.dying.full = True
    with pytest.raises(StorageFull):
        await life.topics.configure(topic, lambda _: {"segment.ms": "77"})
    lives.append(await life.again())
    assert lives[-1].segment_ms("orders") == 77


@pytest.mark.parametrize("step", ["configure", "configured"])
async def test_a_creation_is_whole_after_a_death_at_any_step(lives: list[Life], step: str) -> None:
    life = lives[-1]
    life.dying.dies_at = step
    making = asyncio.create_task(life.topics.create("orders", settings=setting(segment_ms="77")))
    lives.append(await life.die_at(step, making))
    assert [lives[-1].log.bounds(number).end for number in lives[-1].topic("orders").partition_numbers] == [0, 0]
    assert lives[-1].segment_ms("orders") == 77


@pytest.mark.parametrize("step", ["configure", "configured"])
async def test_a_change_is_whole_after_a_death_at_any_step(lives: list[Life], step: str) -> None:
    life = lives[-1]
    topic = await life.topics.create("orders")
    life.dying.dies_at = step
    changing = asyncio.create_task(life.topics.configure(topic, lambda _: {"segment.ms": "77", "retention.ms": "5"}))
    lives.append(await life.die_at(step, changing))
    assert lives[-1].topic("orders").retention_ms == 5
    assert lives[-1].segment_ms("orders") == 77


@pytest.mark.parametrize("step", ["configure", "configured"])
async def test_a_growth_is_whole_after_a_death_at_any_step(lives: list[Life], step: str) -> None:
    life = lives[-1]
    topic = await life.topics.create("orders")
    life.dying.dies_at = step
    growing = asyncio.create_task(life.topics.expand(topic, 5))
    lives.append(await life.die_at(step, growing))
    assert [lives[-1].log.bounds(number).end for number in lives[-1].topic("orders").partition_numbers] == [0] * 5


@pytest.mark.parametrize("step", ["delete", "deleted"])
async def test_a_deletion_is_whole_after_a_death_at_any_step(lives: list[Life], step: str) -> None:
    life = lives[-1]
    topic = await life.topics.create("orders")
    life.dying.dies_at = step
    deleting = asyncio.create_task(life.topics.delete(topic))
    lives.append(await life.die_at(step, deleting))
    assert lives[-1].catalog.topics() == lives[-1].catalog.topics_deleting() == []
    with pytest.raises(UnknownPartition):
        lives[-1].log.bounds(topic.partition_numbers[0])
