"""Topics come, grow, change and go; records are deleted from the front."""

from uuid import uuid4

import msgspec
import pytest

from braidmq.log import Bounds, GroupOffset
from braidmq.model.errors import InvalidSetting, OffsetOutOfRange, UnknownPartition
from contract.harness import LogUnderTest, batch_of


async def test_creating_a_topic_again_changes_nothing(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(partitions=2)
    number = topic.partition_numbers[1]
    await under_test.append_each(number, b"a", b"b")
    await under_test.log.create_topic(topic)
    assert await under_test.values(number) == [b"a", b"b"]
    assert under_test.log.bounds(number) == Bounds(0, 2, 2)


async def test_expanding_a_topic_adds_partitions_and_leaves_the_others(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic()
    (old,) = topic.partition_numbers
    await under_test.append_each(old, b"a")
    (new,) = under_test.plan_topic().partition_numbers
    await under_test.log.expand_topic(msgspec.structs.replace(topic, partition_numbers=(old, new)))
    assert under_test.log.bounds(new) == Bounds(0, 0, 0)
    await under_test.append_each(new, b"b")
    assert await under_test.values(old) == [b"a"]
    assert await under_test.values(new) == [b"b"]


async def test_a_deleted_topic_is_gone(under_test: LogUnderTest) -> None:
    kept, deleted = await under_test.make_topic(), await under_test.make_topic(partitions=2)
    for number in (*kept.partition_numbers, *deleted.partition_numbers):
        await under_test.append_each(number, b"a")
    await under_test.log.delete_topic(deleted.id)
    for number in deleted.partition_numbers:
        with pytest.raises(UnknownPartition):
            under_test.log.bounds(number)
        assert isinstance(await under_test.try_append(number, batch_of(b"b")), UnknownPartition)
    assert await under_test.values(kept.partition_numbers[0]) == [b"a"]


async def test_deleting_a_topic_again_or_one_that_never_was_changes_nothing(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic()
    await under_test.log.delete_topic(topic.id)
    await under_test.log.delete_topic(topic.id)
    await under_test.log.delete_topic(uuid4())


async def test_a_topic_made_again_under_a_new_id_begins_empty(under_test: LogUnderTest) -> None:
    old = await under_test.make_topic()
    await under_test.append_each(old.partition_numbers[0], b"old")
    await under_test.log.delete_topic(old.id)
    new = await under_test.make_topic()
    number = new.partition_numbers[0]
    assert under_test.log.bounds(number) == Bounds(0, 0, 0)
    await under_test.append_each(number, b"new")
    assert await under_test.values(number) == [b"new"]


async def test_a_topic_takes_its_offsets_with_it(under_test: LogUnderTest) -> None:
    kept, deleted = await under_test.make_topic(), await under_test.make_topic()
    one, two = kept.partition_numbers[0], deleted.partition_numbers[0]
    await under_test.log.commit_offsets("both", {one: GroupOffset(1), two: GroupOffset(2)})
    await under_test.log.commit_offsets("only", {two: GroupOffset(3)})
    await under_test.log.delete_topic(deleted.id)
    assert under_test.log.fetch_offsets("both") == {one: GroupOffset(1)}
    assert under_test.log.fetch_offsets("only") == {}
    assert list(under_test.log.groups_with_offsets()) == ["both"]


@pytest.mark.parametrize(
    "settings",
    [{"cleanup.policy": "shred"}, {"segment.bytes": "0"}, {"segment.ms": "x"}, {"min.cleanable.dirty.ratio": "2"}],
)
async def test_a_topic_with_an_impossible_setting_is_refused(
    under_test: LogUnderTest, settings: dict[str, str]
) -> None:
    planned = under_test.plan_topic(settings=settings)
    with pytest.raises(InvalidSetting):
        await under_test.log.create_topic(planned)
    with pytest.raises(UnknownPartition):
        under_test.log.bounds(planned.partition_numbers[0])


async def test_a_refused_change_of_settings_leaves_the_old_ones(under_test: LogUnderTest) -> None:
    topic = await under_test.make_topic(retention_ms=1000)
    number = topic.partition_numbers[0]
    await under_test.append_each(number, b"a")
    with pytest.raises(InvalidSetting):
        await under_test.log.configure_topic(
            msgspec.structs.replace(topic, retention_ms=-1, settings={"cleanup.policy": "shred"})
        )
    assert await under_test.values(number) == [b"a"]


async def test_deleting_records_moves_the_start(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, b"a", b"b", b"c")
    assert await under_test.log.delete_records(number, 2) == 2
    assert under_test.log.bounds(number) == Bounds(2, 3, 3)
    assert await under_test.values(number, 2) == [b"c"]


async def test_deleting_inside_a_batch_leaves_the_batch_readable_from_there(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append(number, batch_of(b"a", b"b", b"c"))
    assert await under_test.log.delete_records(number, 1) == 1
    assert [record.offset for record in await under_test.records(number, 1)] == [0, 1, 2]
    with pytest.raises(OffsetOutOfRange):
        await under_test.read(number, 0)


async def test_deleting_up_to_the_end_empties_the_partition_and_offsets_go_on(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, b"a", b"b")
    assert await under_test.log.delete_records(number, 2) == 2
    assert under_test.log.bounds(number) == Bounds(2, 2, 2)
    assert not (await under_test.read(number, 2)).data
    assert (await under_test.append(number, batch_of(b"c"))).base_offset == 2
    assert await under_test.values(number, 2) == [b"c"]


async def test_deleting_behind_the_end_is_refused_and_deletes_nothing(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, b"a")
    with pytest.raises(OffsetOutOfRange) as refused:
        await under_test.log.delete_records(number, 2)
    assert (refused.value.start_offset, refused.value.end_offset) == (0, 1)
    assert await under_test.values(number) == [b"a"]


async def test_the_start_never_goes_back(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.append_each(number, b"a", b"b", b"c")
    await under_test.log.delete_records(number, 2)
    assert await under_test.log.delete_records(number, 1) == 2
    assert await under_test.log.delete_records(number, -1) == 2
