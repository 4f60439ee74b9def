"""How far groups have come: kept, found, deleted."""

import asyncio

from braidmq.log import GroupOffset
from contract.harness import LogUnderTest


async def test_committed_offsets_are_found_with_all_that_was_said(under_test: LogUnderTest) -> None:
    one, two = (await under_test.make_topic(partitions=2)).partition_numbers
    committed = {one: GroupOffset(5, "metadata é", 3, 1234), two: GroupOffset(0)}
    await under_test.log.commit_offsets("g", committed)
    assert dict(under_test.log.fetch_offsets("g")) == committed


async def test_a_group_that_committed_nothing_has_nothing(under_test: LogUnderTest) -> None:
    await under_test.log.commit_offsets("empty", {})
    assert dict(under_test.log.fetch_offsets("empty")) == {}
    assert dict(under_test.log.fetch_offsets("unknown")) == {}
    assert list(under_test.log.groups_with_offsets()) == []


async def test_a_commit_replaces_what_it_names_and_nothing_else(under_test: LogUnderTest) -> None:
    one, two = (await under_test.make_topic(partitions=2)).partition_numbers
    await under_test.log.commit_offsets("g", {one: GroupOffset(1), two: GroupOffset(2)})
    await under_test.log.commit_offsets("g", {one: GroupOffset(9)})
    assert dict(under_test.log.fetch_offsets("g")) == {one: GroupOffset(9), two: GroupOffset(2)}


async def test_offsets_may_go_back(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    await under_test.log.commit_offsets("g", {number: GroupOffset(9)})
    await under_test.log.commit_offsets("g", {number: GroupOffset(1)})
    assert under_test.log.fetch_offsets("g")[number].offset == 1


async def test_some_or_all_offsets_of_a_group_are_deleted(under_test: LogUnderTest) -> None:
    one, two, three = (await under_test.make_topic(partitions=3)).partition_numbers
    await under_test.log.commit_offsets("g", {number: GroupOffset(number) for number in (one, two, three)})
    await under_test.log.delete_offsets("g", [one, 999])
    assert set(under_test.log.fetch_offsets("g")) == {two, three}
    await under_test.log.delete_offsets("g", [])
    assert set(under_test.log.fetch_offsets("g")) == {two, three}
    await under_test.log.delete_offsets("g")
    assert dict(under_test.log.fetch_offsets("g")) == {}
    await under_test.log.delete_offsets("g")


async def test_groups_are_listed_while_they_have_offsets(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    for group in ("a", "b", "c"):
        await under_test.log.commit_offsets(group, {number: GroupOffset(1)})
    await under_test.log.delete_offsets("b", [number])
    assert sorted(under_test.log.groups_with_offsets()) == ["a", "c"]


async def test_commits_of_many_at_once_keep_the_order_of_the_calls(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    commits = [under_test.log.commit_offsets("g", {number: GroupOffset(at)}) for at in range(50)]
    await asyncio.gather(*commits)
    assert under_test.log.fetch_offsets("g")[number].offset == 49


async def test_a_cancelled_commit_harms_no_other(under_test: LogUnderTest) -> None:
    number = await under_test.make_partition()
    cancelled = asyncio.ensure_future(under_test.log.commit_offsets("a", {number: GroupOffset(1)}))
    other = asyncio.ensure_future(under_test.log.commit_offsets("b", {number: GroupOffset(2)}))
    await asyncio.sleep(0)
    cancelled.cancel()
    await other
    assert under_test.log.fetch_offsets("b") == {number: GroupOffset(2)}
    await under_test.log.commit_offsets("a", {number: GroupOffset(3)})
    assert under_test.log.fetch_offsets("a") == {number: GroupOffset(3)}
