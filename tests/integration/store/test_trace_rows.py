"""The rows of what happened to messages, on both databases."""

from uuid import uuid4

from braidmq.model import TRACE_SPAN_MAX, TraceEvent, TraceKind, TraceRange
from braidmq.store import Store, TraceRows

ANY_TEXT = "any text\0 ünï\U0001f600"
NOTHING = {"before_ms": 0, "remove_max": 100}


def event(at_ms: int, message_id: str = "m", **more: object) -> TraceEvent:
    return TraceEvent(kind=TraceKind.DUE, at_ms=at_ms, message_id=message_id, **more)  # type: ignore[arg-type]


def span(first: int, until: int, number: int = 1, at_ms: int = 5) -> TraceRange:
    kind = TraceKind.DELIVERED
    return TraceRange(kind=kind, at_ms=at_ms, group=ANY_TEXT, number=number, first=first, until=until, client=ANY_TEXT)


async def test_events_are_found_whole_by_the_next_life_in_order(database_url: str) -> None:
    store = await Store.open(database_url)
    whole = event(
        1 << 42,
        ANY_TEXT,
        topic_id=uuid4(),
        topic="orders",
        partition=3,
        offset=1 << 40,
        group=ANY_TEXT,
        client=ANY_TEXT,
        value=1 << 60,
    )
    bare = event((1 << 42) - 1, ANY_TEXT)
    await TraceRows(store).add([whole, bare, event(1, "other")], [], **NOTHING)
    await store.close()
    store = await Store.open(database_url)
    assert await TraceRows(store).events(ANY_TEXT, 100) == [bare, whole]
    assert await TraceRows(store).events(ANY_TEXT, 1) == [bare]
    assert await TraceRows(store).events("nobody", 100) == []
    await store.close()


async def test_a_text_that_cannot_be_written_costs_nothing_else(store: Store) -> None:
    rows = TraceRows(store)
    await rows.add([event(1, "m", client="\ud800", group="\udfff"), event(2, "m")], [], **NOTHING)
    assert [each.client for each in await rows.events("m", 10)] == ["?", ""]


async def test_events_of_one_moment_stay_in_the_order_of_their_noting(store: Store) -> None:
    rows = TraceRows(store)
    await rows.add([event(7, value=nth) for nth in range(50)], [], **NOTHING)
    assert [each.value for each in await rows.events("m", 100)] == list(range(50))


async def test_messages_are_found_by_each_of_their_keys(store: Store) -> None:
    rows = TraceRows(store)
    await rows.add([event(1, "a", keys=("k", ANY_TEXT)), event(2, "b", keys=("k",)), event(3, "a")], [], **NOTHING)
    await rows.add([event(4, "a", keys=("k",))], [], **NOTHING)
    assert await rows.ids("k", 100) == ["a", "b"]
    assert await rows.ids(ANY_TEXT, 100) == ["a"]
    assert await rows.ids("nobody", 100) == []


async def test_ranges_are_found_by_what_they_span(store: Store) -> None:
    rows = TraceRows(store)
    long = span(100, 100 + TRACE_SPAN_MAX)
    spans = [span(0, 10), span(5, 6), span(10, 20), span(0, 10, number=2), long]
    await rows.add([], spans, **NOTHING)
    assert await rows.ranges(1, 5, 10) == [spans[0], spans[1]]
    assert await rows.ranges(1, 10, 10) == [spans[2]]
    assert await rows.ranges(1, 20, 10) == []
    assert await rows.ranges(1, 99 + TRACE_SPAN_MAX, 10) == [long]
    assert await rows.ranges(1, 100 + TRACE_SPAN_MAX, 10) == []
    assert await rows.ranges(2, 0, 10) == [spans[3]]


async def test_what_is_too_old_is_removed_the_oldest_first_and_so_much_at_a_time(store: Store) -> None:
    rows = TraceRows(store)
    await rows.add([event(at_ms, keys=("k",)) for at_ms in range(10)], [span(0, 1, at_ms=3)], **NOTHING)
    assert await rows.add([], [], before_ms=5, remove_max=5) == 6 + 1, "an event and its key are of one moment"
    assert [each.at_ms for each in await rows.events("m", 100)] == list(range(3, 10))
    assert await rows.ranges(1, 0, 10) == []
    assert await rows.add([], [], before_ms=5, remove_max=100) == 4
    assert await rows.add([], [], before_ms=5, remove_max=3) == 0
    assert [each.at_ms for each in await rows.events("m", 100)] == list(range(5, 10))
    assert await rows.ids("k", 100) == ["m"]
