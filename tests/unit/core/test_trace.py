"""Notes of what happens to messages: gathered, kept together once a second, bounded; and timelines made of them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

import pytest

from braidmq.core.deferral import handle_of
from braidmq.core.delivery import pack
from braidmq.core.group_offsets import GroupOffsets, ResetBoard, Target
from braidmq.core.halves import HalfLimits
from braidmq.core.retry import Retries
from braidmq.core.timers import Taken
from braidmq.core.trace import Stored, Timelines, Trace
from braidmq.core.trace._trace import EVENTS_MAX, IDLE_MS, KEEP_MS, LOT, LOT_MESSAGES_MAX, RANGES_MAX, REMOVE_MIN
from braidmq.log import GroupOffset
from braidmq.model import (
    GROUP_HEADER,
    HALF_HEADER,
    TRACE_SPAN_MAX,
    BraidError,
    Message,
    Topic,
    TraceEvent,
    TraceKind,
    TraceRange,
)
from braidmq.model.errors import StoreFailed
from braidmq.records import batch_messages
from deferral_support import GROUP, Place
from groups_support import FakeClock, World, settle

Kind = TraceKind


class FakeRows:
    """Keeps what it is given, and remembers each call."""

    def __init__(self) -> None:
        self.kept: list[TraceEvent] = []
        self.spans: list[TraceRange] = []
        self.calls: list[dict[str, int]] = []
        self.old = 0
        """How many rows there are to be removed."""
        self.largest = 0
        """The most that was to be kept at a time."""
        self.is_failing = False
        self.gate: asyncio.Event | None = None

    async def add(self, events: Sequence[TraceEvent], ranges: Sequence[TraceRange], **limits: int) -> int:
        self.calls.append(limits)
        self.largest = max(self.largest, len(events), len(ranges))
        if self.gate is not None:
            await self.gate.wait()
        if self.is_failing:
            raise StoreFailed("as the test wants it")
        self.kept += events
        self.spans += ranges
        removed = min(self.old, limits["remove_max"])
        self.old -= removed
        return removed

    async def events(self, message_id: str, limit: int) -> list[TraceEvent]:
        return [event for event in self.kept if event.message_id == message_id][:limit]

    async def ids(self, key: str, limit: int) -> list[str]:
        return [event.message_id for event in reversed(self.kept) if key in event.keys][:limit]

    async def ranges(self, number: int, offset: int, limit: int) -> list[TraceRange]:
        return [each for each in self.spans if each.number == number and each.first <= offset < each.until][:limit]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def rows() -> FakeRows:
    return FakeRows()


@pytest.fixture
async def trace(rows: FakeRows, clock: FakeClock) -> AsyncIterator[Trace]:
    trace = Trace(rows, clock)
    trace.start()
    await settle()
    await clock.advance(1000)
    rows.calls.clear()
    yield trace
    await trace.close()


def count(trace: Trace, name: str) -> float:
    return next(metric.value for metric in trace.metrics() if metric.name == f"braid_trace_{name}")


# Taking note.


async def test_what_is_noted_in_a_second_is_kept_together(trace: Trace, rows: FakeRows, clock: FakeClock) -> None:
    trace.note(Kind.DELAYED, "a", keys=("k",), topic="orders", value=7)
    await clock.advance(500)
    trace.note(Kind.DUE, "a", partition=1, offset=2, group="g", client="c")
    trace.note_range(Kind.DELIVERED, "g", 1, 0, 5, "c")
    assert not rows.calls
    await clock.advance(500)
    assert len(rows.calls) == 1
    assert rows.kept == [
        TraceEvent(kind=Kind.DELAYED, at_ms=1_001_000, message_id="a", keys=("k",), topic="orders", value=7),
        TraceEvent(kind=Kind.DUE, at_ms=1_001_500, message_id="a", partition=1, offset=2, group="g", client="c"),
    ]
    assert len(rows.spans) == 1
    assert count(trace, "kept") == 3


async def test_the_first_note_after_a_pause_is_kept_within_a_second(
    trace: Trace, rows: FakeRows, clock: FakeClock
) -> None:
    await clock.advance(3 * IDLE_MS - 5)
    trace.note(Kind.DUE, "a")
    await clock.advance(1000)
    assert [event.message_id for event in rows.kept] == ["a"]


async def test_ranges_that_follow_on_each_other_are_one(trace: Trace, rows: FakeRows, clock: FakeClock) -> None:
    for first in range(0, 1000, 10):
        trace.note_range(Kind.DELIVERED, "g", 1, first, first + 10, "c")
    trace.note_range(Kind.DELIVERED, "g", 1, 990, 995, "c")
    trace.note_range(Kind.DELIVERED, "g", 1, 7, 7, "c")
    trace.note_range(Kind.ACKNOWLEDGED, "g", 1, 0, 1000, "c")
    trace.note_range(Kind.DELIVERED, "g", 2, 0, 10, "c")
    trace.note_range(Kind.DELIVERED, "g", 1, 5000, 5010, "c")
    await clock.advance(1000)
    found = [(span.kind, span.number, span.first, span.until) for span in rows.spans]
    assert sorted(found) == [
        (Kind.ACKNOWLEDGED, 1, 0, 1000),
        (Kind.DELIVERED, 1, 0, 1000),
        (Kind.DELIVERED, 1, 5000, 5010),
        (Kind.DELIVERED, 2, 0, 10),
    ]
    trace.note_range(Kind.DELIVERED, "g", 1, 5010, 5020, "c")
    await clock.advance(1000)
    assert (rows.spans[-1].first, rows.spans[-1].until) == (5010, 5020), "a second later it is another note"


async def test_what_is_done_with_many_messages_side_by_side_is_one_note(rows: FakeRows, clock: FakeClock) -> None:
    heard: list[TraceRange] = []
    trace = Trace(rows, clock, tell=lambda _, ranges: heard.extend(ranges))
    trace.start()
    await settle()
    trace.note_lot(Kind.DUE, 1, 5, ["a", "b", "c"])
    trace.note_lot(Kind.DUE, 1, 8, ["d"])
    trace.note_lot(Kind.DUE, 1, 9, [])
    await clock.advance(1000)
    found = [(span.kind, span.number, span.first, span.until, span.message_ids) for span in rows.spans]
    assert found == [(Kind.DUE, 1, 5, 8, ("a", "b", "c")), (Kind.DUE, 1, 8, 9, ("d",))], "each has its own time"
    assert heard == rows.spans
    for _ in range(3):
        trace.note_lot(Kind.DUE, 1, 0, ["m"] * (LOT_MESSAGES_MAX // 2))
    assert count(trace, "dropped") == 1
    await clock.advance(1000)
    trace.note_lot(Kind.DUE, 1, 0, ["m"])
    assert count(trace, "dropped") == 1, "there is room again"
    await trace.close()


async def test_no_range_is_longer_than_is_looked_for(trace: Trace, rows: FakeRows, clock: FakeClock) -> None:
    trace.note_range(Kind.ACKNOWLEDGED, "g", 1, 0, TRACE_SPAN_MAX)
    trace.note_range(Kind.ACKNOWLEDGED, "g", 1, TRACE_SPAN_MAX, TRACE_SPAN_MAX + 1)
    trace.note_range(Kind.ACKNOWLEDGED, "h", 1, 0, 3 * TRACE_SPAN_MAX)
    await clock.advance(1000)
    assert all(0 < span.until - span.first <= TRACE_SPAN_MAX for span in rows.spans)
    assert [(span.group, span.until) for span in rows.spans] == [
        ("g", TRACE_SPAN_MAX),
        ("g", TRACE_SPAN_MAX + 1),
        ("h", 3 * TRACE_SPAN_MAX),
    ]


async def test_while_the_store_is_slow_notes_are_bounded_dropped_and_counted(
    trace: Trace, rows: FakeRows, clock: FakeClock
) -> None:
    rows.gate = asyncio.Event()
    trace.note(Kind.DUE, "first")
    await clock.advance(1000)
    for _ in range(EVENTS_MAX + 5):
        trace.note(Kind.DUE, "m")
    for number in range(RANGES_MAX + 3):
        trace.note_range(Kind.DELIVERED, "g", number, 0, 1)
    assert count(trace, "dropped") == 8
    rows.gate.set()
    await settle()
    await clock.advance(1000)
    assert (len(rows.kept), len(rows.spans)) == (EVENTS_MAX + 1, RANGES_MAX)


async def test_many_notes_are_kept_in_lots_so_that_others_can_write_in_between(
    trace: Trace, rows: FakeRows, clock: FakeClock
) -> None:
    for number in range(3 * LOT + 1):
        trace.note(Kind.DUE, str(number))
        trace.note_range(Kind.DELIVERED, "g", number, 0, 1)
    await clock.advance(1000)
    assert [event.message_id for event in rows.kept] == [str(number) for number in range(3 * LOT + 1)]
    assert (len(rows.spans), len(rows.calls), rows.largest) == (3 * LOT + 1, 4, LOT)
    assert sum(call["remove_max"] for call in rows.calls) == REMOVE_MIN + 2 * (3 * LOT + 1)


async def test_where_a_lot_cannot_be_kept_the_rest_of_its_turn_is_dropped_and_counted(
    trace: Trace, rows: FakeRows, clock: FakeClock
) -> None:
    rows.is_failing = True
    for number in range(3 * LOT):
        trace.note(Kind.DUE, str(number))
        trace.note_range(Kind.DELIVERED, "g", number, 0, 1)
    await clock.advance(1000)
    assert (len(rows.calls), count(trace, "dropped"), count(trace, "kept")) == (1, 6 * LOT, 0)


async def test_a_store_that_fails_costs_notes_and_nothing_else(trace: Trace, rows: FakeRows, clock: FakeClock) -> None:
    rows.is_failing = True
    trace.note(Kind.DUE, "lost")
    await clock.advance(1000)
    rows.is_failing = False
    trace.note(Kind.DUE, "kept")
    await clock.advance(1000)
    assert [event.message_id for event in rows.kept] == ["kept"]
    assert (count(trace, "dropped"), count(trace, "kept")) == (1, 1)


async def test_what_is_too_old_goes_in_small_steps_and_keeps_up(trace: Trace, rows: FakeRows, clock: FakeClock) -> None:
    rows.old = 3 * REMOVE_MIN + 5
    await clock.advance(IDLE_MS + 4000)
    assert rows.old == 0
    assert [call["remove_max"] for call in rows.calls] == [REMOVE_MIN] * 4
    assert rows.calls[0]["before_ms"] <= clock.now_ms() - KEEP_MS
    for _ in range(100):
        trace.note(Kind.DUE, "m")
    await clock.advance(1000)
    assert rows.calls[-1]["remove_max"] == REMOVE_MIN + 100
    assert count(trace, "removed") == 3 * REMOVE_MIN + 5


async def test_an_end_keeps_what_was_noted(rows: FakeRows, clock: FakeClock) -> None:
    trace = Trace(rows, clock)
    trace.start()
    await settle()
    trace.note(Kind.DUE, "a")
    rows.gate = asyncio.Event()
    closing = asyncio.create_task(trace.close())
    await settle()
    trace.note(Kind.DUE, "b")
    rows.gate.set()
    await closing
    assert [event.message_id for event in rows.kept] == ["a", "b"]


async def test_where_tracing_is_off_nothing_is_noted(rows: FakeRows, clock: FakeClock) -> None:
    trace = Trace(rows, clock, on=False)
    trace.note(Kind.DUE, "a")
    trace.note_range(Kind.DELIVERED, "g", 1, 0, 1)
    trace.note_lot(Kind.DUE, 1, 0, ["a"])
    trace.start()
    await settle()
    await clock.advance(1000)
    await trace.close()
    assert not rows.kept
    assert not rows.spans


# Timelines.


class TracedPlace(Place):
    """Timers, halves and retries that are traced."""

    def make_services(self) -> None:
        self.rows = FakeRows()
        self.trace = Trace(self.rows, self.clock)
        super().make_services()
        self.timers._tracer = self.halves._tracer = self.trace
        self.retries = Retries(self.topics, self.topics, self.log, self.timers, self.clock, tracer=self.trace)
        self.timelines = Timelines(self.rows, self.topics, self.log)

    async def start(self) -> None:
        self.trace.start()
        await super().start()

    async def close(self) -> None:
        await super().close()
        await self.trace.close()

    async def kinds(self, message_id: str, *places: Stored) -> list[TraceKind]:
        return [event.kind for event in await self.timelines.timeline(message_id, places)]


@pytest.fixture
async def place() -> AsyncIterator[TracedPlace]:
    place = TracedPlace(limits=HalfLimits(immunity_ms=1000, check_interval_ms=1000))
    await place.start()
    yield place
    await place.close()


@pytest.fixture
async def orders(place: TracedPlace) -> Topic:
    return await place.topics.make("orders")


async def test_the_life_of_a_delayed_message_is_told(place: TracedPlace, orders: Topic) -> None:
    due_ms = place.clock.now_ms() + 5000
    message = Message.create(b"x", id="m", keys=["k1", "k2"])
    await place.timers.add(orders, message, due_ms)
    await settle()
    await place.clock.advance(1000)
    assert await place.timelines.ids("k2") == ["m"]
    await place.clock.advance(5000)
    place.trace.note_range(Kind.DELIVERED, "g", orders.partition_numbers[0], 0, 10, "reader")
    place.trace.note_range(Kind.DELIVERED, "g", orders.partition_numbers[0], 20, 30, "other")
    await place.clock.advance(1000)
    delayed, due, stored, delivered = await place.timelines.timeline("m", [Stored(orders.id, 0, 0)])
    assert (delayed.kind, delayed.value, delayed.topic) == (Kind.DELAYED, due_ms, "orders")
    assert (due.kind, due.at_ms, due.partition, due.offset) == (Kind.DUE, due_ms, 0, 0)
    assert (stored.kind, stored.topic_id, stored.offset) == (Kind.STORED, orders.id, 0)
    assert (delivered.kind, delivered.group, delivered.client) == (Kind.DELIVERED, "g", "reader")


async def test_a_message_that_was_taken_back_ends_so(place: TracedPlace, orders: Topic) -> None:
    handles = []
    for name in "abc":
        taken = await place.timers.add(orders, Message.create(b"x", id=name), place.clock.now_ms() + 50_000)
        handles.append(taken.handle or "")
    await place.timers.recall(handles[0])
    await place.timers.cancel(handles[1])
    await place.timers.cancel_many(topic=orders)
    await place.clock.advance(2000)
    for name in "abc":
        assert await place.kinds(name) == [Kind.DELAYED, Kind.RECALLED]


async def test_the_life_of_a_half_message_is_told(place: TracedPlace, orders: Topic) -> None:
    place.producers.names[GROUP] = ["one"]
    handle, _ = await place.halves.prepare(orders, Message.create(b"x", id="yes", keys=["k"]), group=GROUP)
    other, _ = await place.halves.prepare(orders, Message.create(b"x", id="no"), group=GROUP)
    await settle()
    await place.clock.advance(1500)
    await place.halves.end(handle, commit=True, group=GROUP)
    await place.halves.end(handle, commit=True, group=GROUP)
    await place.halves.end(other, commit=False, group=GROUP)
    await place.clock.advance(1000)
    told = await place.timelines.timeline("yes")
    assert [event.kind for event in told] == [Kind.PREPARED, Kind.CHECKED, Kind.COMMITTED, Kind.STORED]
    assert (told[1].client, told[1].value, told[2].offset) == ("one", 1, 0)
    assert await place.kinds("no") == [Kind.PREPARED, Kind.CHECKED, Kind.ROLLED_BACK]
    assert await place.timelines.ids("k") == ["yes"]


@pytest.fixture
async def roomy() -> AsyncIterator[TracedPlace]:
    """Where halves wait in the log first."""
    place = TracedPlace(limits=HalfLimits(immunity_ms=3000, check_interval_ms=1000), has_room=True)
    await place.start()
    yield place
    await place.close()


async def prepare_now(place: TracedPlace, topic: Topic, name: str) -> UUID:
    headers = {HALF_HEADER: "true", GROUP_HEADER: GROUP}
    message = Message.create(b"x", id=name, keys=["k"], born_ms=place.clock.now_ms() - 7).with_headers(headers)
    told: list[list[UUID] | BraidError] = []
    assert place.halves.prepare_now(topic, 0, [(pack(message), name, GROUP)], told.append)
    await settle()
    assert isinstance(told[0], list)
    return told[0][0]


async def test_a_half_that_ends_at_once_is_told_by_its_message_alone(roomy: TracedPlace) -> None:
    orders = await roomy.topics.make("orders")
    half_id = await prepare_now(roomy, orders, "yes")
    await roomy.clock.advance(10)
    assert roomy.halves.commit_now([(half_id, GROUP, False)], lambda _: None) == []
    await settle()
    await roomy.clock.advance(1000)
    assert roomy.rows.kept == []
    began_ms = roomy.clock.now_ms() - 1010
    told = await roomy.timelines.timeline("yes", [Stored(orders.id, 0, 0)])
    assert [(event.kind, event.at_ms, event.group, event.offset) for event in told] == [
        (Kind.PREPARED, began_ms - 7, GROUP, -1),
        (Kind.COMMITTED, began_ms + 10, GROUP, 0),
        (Kind.STORED, began_ms + 10, "", 0),
    ]


async def test_a_half_that_does_not_end_at_once_is_noted_after_all(roomy: TracedPlace) -> None:
    orders = await roomy.topics.make("orders")
    began_ms = roomy.clock.now_ms()
    rolled_back, stays = await prepare_now(roomy, orders, "no"), await prepare_now(roomy, orders, "stays")
    await roomy.halves.end(handle_of(rolled_back), commit=False, group=GROUP)
    await roomy.clock.advance(1000)
    assert await roomy.kinds("no") == [Kind.PREPARED, Kind.ROLLED_BACK]
    roomy.producers.names[GROUP] = ["one"]
    await roomy.clock.advance(4000)
    told = await roomy.timelines.timeline("stays")
    assert [event.kind for event in told][:2] == [Kind.PREPARED, Kind.CHECKED]
    assert told[0].at_ms == began_ms
    assert set(await roomy.timelines.ids("k")) == {"no", "stays"}
    await roomy.halves.end(handle_of(stays), commit=True, group=GROUP, asked=True)
    await roomy.clock.advance(1000)
    kinds = await roomy.kinds("stays", Stored(orders.id, 0, 0))
    assert [kinds.count(kind) for kind in (Kind.PREPARED, Kind.COMMITTED, Kind.STORED)] == [1, 1, 1]


async def test_copies_of_a_message_that_was_a_half_do_not_say_so_again(roomy: TracedPlace) -> None:
    orders = await roomy.topics.make("orders")
    half_id = await prepare_now(roomy, orders, "m")
    roomy.halves.commit_now([(half_id, GROUP, False)], lambda _: None)
    await settle()
    await roomy.retries.send_back(GROUP, orders.partition_numbers[0], 0)
    await roomy.clock.advance(15_000)
    retry = roomy.topics.topic("default", f"%RETRY%{GROUP}")
    assert retry is not None
    kinds = await roomy.kinds("m", Stored(orders.id, 0, 0), Stored(retry.id, 0, 0))
    assert kinds.count(Kind.STORED) == 2
    assert [kinds.count(kind) for kind in (Kind.PREPARED, Kind.COMMITTED)] == [1, 1]


async def test_the_life_of_a_message_that_dies_is_told_across_its_copies(place: TracedPlace, orders: Topic) -> None:
    batch = batch_messages([Message.create(b"x", id="m", born_ms=place.clock.now_ms())])
    await place.log.append([(orders.partition_numbers[0], batch)])
    await place.clock.advance(5)
    await place.retries.send_back(GROUP, orders.partition_numbers[0], 0)
    await settle()
    await place.clock.advance(11_000)
    retry = place.topics.topic("default", f"%RETRY%{GROUP}")
    assert retry is not None
    await place.retries.send_back(GROUP, retry.partition_numbers[0], 0, delay_ms=-1)
    await place.retries.accept(GROUP, Message.create(b"y", id="brought"), attempts=1)
    await place.clock.advance(2000)
    life = await place.timelines.timeline("m", [Stored(retry.id, 0, 0)])
    told = [(event.kind, event.topic, event.value) for event in life]
    assert told == [
        (Kind.STORED, "orders", -1),
        (Kind.RETRIED, "orders", 1),
        (Kind.DELAYED, f"%RETRY%{GROUP}", place.clock.now_ms() - 3_000),
        (Kind.DUE, f"%RETRY%{GROUP}", -1),
        (Kind.STORED, f"%RETRY%{GROUP}", -1),
        (Kind.STORED, f"%DLQ%{GROUP}", -1),
        (Kind.DEAD_LETTERED, f"%DLQ%{GROUP}", 2),
    ]
    assert Kind.RETRIED in await place.kinds("brought")


async def test_what_brought_a_message_is_told_before_who_was_given_it_however_late_it_was_noted(
    place: TracedPlace, orders: Topic
) -> None:
    (number, *_), came_ms = orders.partition_numbers, place.clock.now_ms()
    await place.log.append([(number, batch_messages([Message.create(b"x", id="m", born_ms=came_ms)]))])
    await place.clock.advance(1)
    place.trace.note_range(Kind.DELIVERED, "g", number, 0, 1)
    await place.clock.advance(3)
    place.trace.note_lot(Kind.DUE, number, 0, ["m"])
    place.trace.note(Kind.COMMITTED, "m", topic_id=orders.id, topic="orders", partition=0, offset=0)
    await place.clock.advance(2000)
    told = [(event.kind, event.at_ms - came_ms) for event in await place.timelines.timeline("m")]
    assert told == [(Kind.COMMITTED, 0), (Kind.DUE, 0), (Kind.STORED, 0), (Kind.DELIVERED, 1)]


async def test_what_was_sent_back_is_told_before_what_became_of_it_however_long_its_keeping_took(
    place: TracedPlace, orders: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = place.timers.add

    async def add_slowly(topic: Topic, message: Message, due_ms: int) -> Taken:
        taken = await add(topic, message, due_ms)
        await place.clock.advance(20)
        return taken

    monkeypatch.setattr(place.timers, "add", add_slowly)
    await place.log.append([(orders.partition_numbers[0], batch_messages([Message.create(b"x", id="m")]))])
    await place.retries.send_back(GROUP, orders.partition_numbers[0], 0, delay_ms=1)
    await place.retries.accept(GROUP, Message.create(b"y", id="brought"), attempts=1, delay_ms=1)
    await place.clock.advance(2000)
    for name in ("m", "brought"):
        kinds = await place.kinds(name)
        assert kinds[kinds.index(Kind.RETRIED) :][:2] == [Kind.RETRIED, Kind.DELAYED]


async def test_places_that_the_asker_knows_are_looked_at_and_checked(place: TracedPlace, orders: Topic) -> None:
    messages: list[dict[str, Any]] = [{"id": "m"}, {"id": "other"}, {}]
    batch = batch_messages([Message.create(b"x", **each) for each in messages])
    await place.log.append([(orders.partition_numbers[0], batch)])
    place.trace.note_range(Kind.ACKNOWLEDGED, "g", orders.partition_numbers[0], 0, 9)
    await place.clock.advance(1000)
    for offset, expected in (
        (0, [Kind.STORED, Kind.ACKNOWLEDGED]),
        (1, []),
        (2, [Kind.STORED, Kind.ACKNOWLEDGED]),
        (7, [Kind.ACKNOWLEDGED]),
    ):
        assert await place.kinds("m", Stored(orders.id, 0, offset)) == expected
    assert await place.kinds("m", Stored(orders.id, 5, 0)) == []
    await place.log.delete_records(orders.partition_numbers[0], 1)
    assert await place.kinds("m", Stored(orders.id, 0, 0)) == [Kind.ACKNOWLEDGED]
    await place.topics.delete(orders)
    assert await place.kinds("m", Stored(orders.id, 0, 0)) == []


# Groups.


async def test_what_groups_commit_is_told_as_acknowledged_and_what_operators_set_is_not(
    trace: Trace, rows: FakeRows, clock: FakeClock
) -> None:
    world = World()
    topic = world.directory.add("orders", 2)
    await world.log.create_topic(topic)
    await world.start(tracer=trace)
    one, two = topic.partition_numbers
    await world.groups.commit("g", None, {one: GroupOffset(4)})
    await world.groups.commit("g", None, {one: GroupOffset(9), two: GroupOffset(0)})
    await world.groups.commit("g", None, {one: GroupOffset(7)})
    offsets = GroupOffsets(world.directory, world.log, world.groups, ResetBoard(world.clock))
    await offsets.reset("g", topic, Target(offset=0))
    await world.groups.commit_in_transaction("g", 7, None, {one: GroupOffset(2)})
    await world.clock.advance(1)
    await world.groups.end_transaction(7, commit=True)
    await clock.advance(1000)
    assert [(span.number, span.first, span.until) for span in rows.spans] == [(one, 3, 9), (one, 0, 2)]
    assert {span.kind for span in rows.spans} == {Kind.ACKNOWLEDGED}
