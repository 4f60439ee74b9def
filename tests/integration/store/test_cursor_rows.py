"""What is kept of messages taken one by one: changes in order, whole pictures, and the cluster's secret."""

import pytest

from braidmq.store import CursorChange, CursorRows, Store, cluster_secret

ANY_TEXT = "grüppe\x00|%'\U0001f600"


async def test_changes_come_back_in_the_order_of_their_keeping(store: Store) -> None:
    rows = CursorRows(store)
    await rows.keep([CursorChange(ANY_TEXT, 1, b"a"), CursorChange("other", 1, b"x")])
    await rows.keep([CursorChange(ANY_TEXT, 1, b"b"), CursorChange(ANY_TEXT, 2, b"y")])
    assert await CursorRows(store).load() == {
        (ANY_TEXT, 1): [b"a", b"b"],
        ("other", 1): [b"x"],
        (ANY_TEXT, 2): [b"y"],
    }


async def test_a_whole_picture_takes_the_place_of_all_before_it(store: Store) -> None:
    rows = CursorRows(store)
    await rows.keep([CursorChange("g", 1, b"a"), CursorChange("g", 2, b"z")])
    await rows.keep([CursorChange("g", 1, b"whole", is_whole=True)])
    await rows.keep([CursorChange("g", 1, b"c")])
    assert await rows.load() == {("g", 1): [b"whole", b"c"], ("g", 2): [b"z"]}


async def test_a_cursor_is_forgotten(store: Store) -> None:
    rows = CursorRows(store)
    await rows.keep([CursorChange("g", 1, b"a"), CursorChange("g", 2, b"z")])
    await rows.keep([CursorChange("g", 1, None)])
    assert await rows.load() == {("g", 2): [b"z"]}
    await rows.keep([])


@pytest.mark.parametrize("name", ["receipts", "others"])
async def test_a_secret_is_drawn_once(store: Store, name: str) -> None:
    drawn = await cluster_secret(store, name, 32)
    assert len(drawn) == 32
    assert await cluster_secret(store, name, 32) == drawn
    assert await cluster_secret(store, name + "-other", 32) != drawn
