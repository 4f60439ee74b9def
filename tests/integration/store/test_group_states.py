"""What groups remember, on both databases."""

import asyncio

import pytest

from braidmq.store import GroupStates, PendingOffset, Store

ODD_NAMES = ["", "a b", "\0", "größe 群組 🐛", "'; drop table group_rows; --", "x" * 5_000]


@pytest.fixture
def states(store: Store) -> GroupStates:
    return GroupStates(store)


def pending(producer_id: int, group: str, number: int, offset: int = 1, metadata: str = "") -> PendingOffset:
    return PendingOffset(producer_id, group, number, offset, metadata, -1, 1234)


async def test_rows_are_found_by_group_and_key(states: GroupStates) -> None:
    assert await states.load() == {}
    await states.replace("g", {"": b"group", "m": b"\0\xff"})
    await states.replace("h", {"": b"other"})
    assert await states.load() == {"g": {"": b"group", "m": b"\0\xff"}, "h": {"": b"other"}}


async def test_rows_replace_all_that_the_group_had(states: GroupStates) -> None:
    await states.replace("g", {"": b"1", "old": b"1"})
    await states.replace("h", {"": b"1"})
    await states.replace("g", {"": b"2", "new": b"2"})
    assert await states.load() == {"g": {"": b"2", "new": b"2"}, "h": {"": b"1"}}
    await states.replace("g", {})
    assert await states.load() == {"h": {"": b"1"}}


async def test_single_rows_are_set_and_removed(states: GroupStates) -> None:
    await states.replace("g", {"": b"1", "a": b"1", "b": b"1"})
    await states.change("g", {"a": b"2", "b": None, "c": b"2", "none": None})
    assert await states.load() == {"g": {"": b"1", "a": b"2", "c": b"2"}}
    await states.change("g", {})
    assert await states.load() == {"g": {"": b"1", "a": b"2", "c": b"2"}}


async def test_names_and_keys_may_be_any_text(states: GroupStates) -> None:
    for name in ODD_NAMES:
        await states.replace(name, {name: name.encode()})
        await states.add_pending([pending(1, name, 1, metadata=name[:4096])])
    assert await states.load() == {name: {name: name.encode()} for name in ODD_NAMES}
    assert {each.group: each.metadata for each in await states.load_pending()} == {
        name: name[:4096] for name in ODD_NAMES
    }
    for name in ODD_NAMES:
        await states.delete(name)
    assert (await states.load(), await states.load_pending()) == ({}, [])


async def test_many_writes_at_once_keep_their_order(states: GroupStates) -> None:
    await asyncio.gather(*(states.replace("g", {"": b"%d" % number}) for number in range(50)))
    assert await states.load() == {"g": {"": b"49"}}


async def test_pending_offsets_are_kept_until_their_transaction_ends(states: GroupStates) -> None:
    large = PendingOffset((1 << 62) + 1, "g", (1 << 23) - 1, (1 << 62) + 3, "text é", 7, 1 << 42)
    await states.add_pending([large, pending(2, "g", 1), pending(2, "h", 1)])
    await states.add_pending([pending(2, "g", 1, offset=9)])
    await states.add_pending([])
    assert set(await states.load_pending()) == {large, pending(2, "g", 1, offset=9), pending(2, "h", 1)}
    await states.delete_pending(2)
    await states.delete_pending(2)
    assert await states.load_pending() == [large]


async def test_pending_offsets_go_with_partitions_and_groups(states: GroupStates) -> None:
    await states.add_pending([pending(1, group, number) for group in ("g", "h") for number in (1, 2, 3)])
    await states.delete_pending_offsets([1], "g")
    await states.delete_pending_offsets([2])
    await states.delete("h")
    assert await states.load_pending() == [pending(1, "g", 3)]
