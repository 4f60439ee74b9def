"""What a node tells of itself: counted by the batch, kept when the log takes it, and quiet where nothing happens."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from braidmq.core.counters import Counters
from braidmq.core.telemetry import Inlet, LagSampler, Outbox, Outlet, Overheard, Telemetry, Usage
from braidmq.core.telemetry._usage import CELLS_MAX, is_pressure
from braidmq.core.topics import Topics
from braidmq.core.trace import UNTRACED
from braidmq.log import AppendResult, GroupOffset
from braidmq.log.memory import MemoryLog
from braidmq.model import Instance, Message, Topic, TraceEvent, TraceKind, TraceRange
from braidmq.model.errors import StorageFull
from braidmq.model.histogram import bucket_of
from braidmq.model.telemetry import DiskSample
from braidmq.records import (
    Batch,
    Codec,
    Marker,
    Packed,
    Record,
    batch_messages,
    batches_in,
    build_batch,
    build_marker,
    packed_content,
    read_records,
)
from braidmq.store import Catalog, Store
from groups_support import FakeClock


class FullLog(MemoryLog):
    """Refuses what comes while it is full."""

    is_full = False

    def append(self, entries: Any) -> "asyncio.Future[list[AppendResult]]":
        if not self.is_full:
            return super().append(entries)
        refused: asyncio.Future[list[AppendResult]] = asyncio.get_running_loop().create_future()
        refused.set_result([StorageFull()] * len(entries))
        return refused


class World:
    """A node's telemetry, over a log in memory."""

    def __init__(self, catalog: Catalog, clock: FakeClock) -> None:
        self.clock = clock
        self.catalog = catalog
        self.log = FullLog(clock.now_ms)
        self.topics = Topics(catalog, self.log, partitions=1, auto_create=False)
        self.usage = Usage(clock)
        self.counters = Counters(clock)
        self.members = 1
        self.telemetry = Telemetry(
            "node-1",
            catalog,
            self.topics,
            self.log,
            clock,
            self.usage,
            LagSampler(catalog, self.log, lambda _: self.members),
            trace_dropped=lambda: 3,
        )

    async def samples(self, name: str) -> list[Any]:
        """All that was written into a topic of the house so far."""
        topic = self.topics.find(name)
        if topic is None:
            return []
        fetched = await self.log.read(topic.partition_numbers[0], 0, 1 << 30)
        return [
            msgspec.json.decode(record.value or b"")
            for batch in batches_in(fetched.data)
            for record in read_records(batch)
        ]

    async def of_kind(self, name: str, kind: str) -> list[Any]:
        return [sample for sample in await self.samples(name) if sample["kind"] == kind]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    store = await Store.open(f"sqlite:///{tmp_path}/store.sqlite")
    catalog = await Catalog.open(store)
    yield World(catalog, FakeClock())
    await store.close()


@pytest.fixture
async def orders(world: World) -> Topic:
    return await world.topics.create("orders", partitions=2)


def batch(world: World, count: int = 1, *, age_ms: int = 0, pressure: bool = False, codec: Codec = Codec.NONE) -> Batch:
    headers = (("__PRESSURE", b"true"),) if pressure else (("TAGS", b"x"),)
    at_ms = world.clock.now_ms() - age_ms
    return build_batch([Record(delta, at_ms, b"k", b"v" * 2000, headers) for delta in range(count)], codec=codec)


async def test_a_minute_tells_what_came_by_topic_protocol_and_traffic_and_then_that_it_is_over(
    world: World, orders: Topic
) -> None:
    kafka, rocketmq = (Inlet(protocol, world.counters, world.usage) for protocol in ("kafka", "rocketmq"))
    first, second = orders.partition_numbers
    kafka.stored(first, batch(world, 3, age_ms=5))
    kafka.stored(second, batch(world, 2, age_ms=1000))
    kafka.stored(second, batch(world, 4, pressure=True))
    rocketmq.stored(first, batch(world))
    rocketmq.refused(first, batch(world, 7))
    await world.clock.advance(60_000)
    await world.telemetry.tell_minute()
    *usage, end = await world.samples("__braid.usage")
    told = {(each["protocol"], each.get("traffic", "normal")): each for each in usage}
    assert {key: each["messages"] for key, each in told.items()} == {
        ("kafka", "normal"): 5,
        ("kafka", "pressure"): 4,
        ("rocketmq", "normal"): 1,
    }
    assert told["kafka", "normal"]["latency_ms"] == {"5": 3, str(bucket_of(1000)): 2}
    assert told["rocketmq", "normal"]["failures"] == 7
    assert {(each["topic"], each["direction"], each["node"]) for each in usage} == {("orders", "in", "node-1")}
    assert end["kind"] == "minute"
    assert (end["samples"], end["dropped"], end["trace_dropped"]) == (3, 0, 3)
    assert end["until_ms"] - end["from_ms"] == 60_000
    assert world.counters.stored_all.messages == 10


async def test_what_is_refused_of_a_pressure_test_is_told_apart(world: World, orders: Topic) -> None:
    inlet, number = Inlet("rocketmq", world.counters, world.usage), orders.partition_numbers[0]
    tested = Message.create(b"x" * 5000, properties={"__PRESSURE": "true", "a": "b"})
    usual = Message.create(b"x", properties={"__PRESSURE": "no"})
    inlet.refused(number, batch(world, 2))
    inlet.refused(number, batch(world, 4, pressure=True))
    inlet.refused_lots(number, [(tested, usual), (usual,)])
    packed = [Packed([packed_content(each) for each in lot], [0] * len(lot)) for lot in ([tested] * 8, [usual] * 16)]
    inlet.refused_lots(number, packed)
    await world.telemetry.tell_minute()
    told = {each.get("traffic", "normal"): each for each in await world.of_kind("__braid.usage", "usage")}
    assert {traffic: each["failures"] for traffic, each in told.items()} == {
        "normal": 2 + 1 + 16,
        "pressure": 4 + 2 + 8,
    }
    assert {each.get("messages", 0) for each in told.values()} == {0}


async def test_what_groups_send_back_and_give_up_of_a_pressure_test_is_told_apart(world: World, orders: Topic) -> None:
    tracer = Overheard(UNTRACED, world.usage, world.catalog)
    for tested, count in ((True, 3), (False, 2)):
        for _ in range(count):
            tracer.note(TraceKind.RETRIED, "id", topic_id=orders.id, topic="orders", group="g", is_pressure=tested)
        tracer.note(TraceKind.DEAD_LETTERED, "id", topic="%DLQ%g", group="g", is_pressure=tested)
    await world.telemetry.tell_minute()
    told = {
        (each["topic"], each.get("traffic", "normal")): each for each in await world.of_kind("__braid.usage", "usage")
    }
    assert (told["orders", "pressure"]["retries"], told["orders", "normal"]["retries"]) == (3, 2)
    assert (told["%DLQ%g", "pressure"]["dead"], told["%DLQ%g", "normal"]["dead"]) == (1, 1)


async def test_what_leaves_counts_by_the_batch_and_the_ends_of_transactions_do_not(world: World, orders: Topic) -> None:
    outlet = Outlet("kafka", world.counters, world.usage)
    marker = build_marker(Marker.COMMIT, producer_id=1, producer_epoch=0, timestamp_ms=0)
    data = b"".join(bytes(each.data) for each in (batch(world, 2, age_ms=9), marker, batch(world, 1)))
    outlet.gave_batches(orders.partition_numbers[0], memoryview(data))
    outlet.gave_batches(orders.partition_numbers[0], b"")
    await world.telemetry.tell_minute()
    (told,) = await world.of_kind("__braid.usage", "usage")
    assert (told["direction"], told["messages"], told["times"], told["bytes"]) == ("out", 3, 1, len(data))
    assert told["latency_ms"] == {"0": 1, "9": 2}
    assert "group" not in told


async def test_a_batch_without_messages_counts_as_nothing(world: World, orders: Topic) -> None:
    empty = build_batch([], base_offset=0, last_offset=5)
    number = orders.partition_numbers[0]
    Outlet("kafka", world.counters, world.usage).gave_batches(number, bytes(empty.data))
    assert not is_pressure(empty.data, 0, empty.attributes)
    await world.telemetry.tell_minute()
    assert await world.of_kind("__braid.usage", "usage") == []


async def test_messages_that_leave_one_by_one_have_each_its_own_time(world: World, orders: Topic) -> None:
    outlet = Outlet("rocketmq", world.counters, world.usage)
    now_ms = world.clock.now_ms()
    records = [Record(at, now_ms - age_ms, None, b"v") for at, age_ms in enumerate((500, 20, 20))]
    outlet.gave_records("buyers", orders.partition_numbers[1], records, 99)
    outlet.gave_records("buyers", orders.partition_numbers[1], records[1:], 1)
    await world.telemetry.tell_minute()
    (told,) = await world.of_kind("__braid.usage", "usage")
    assert (told["group"], told["messages"], told["bytes"]) == ("buyers", 5, 100)
    assert told["latency_ms"] == {"20": 4, str(bucket_of(500)): 1}
    assert world.counters.delivered_all.messages == 5


async def test_what_groups_acknowledge_send_back_and_give_up_is_told_by_group(world: World, orders: Topic) -> None:
    tracer = Overheard(UNTRACED, world.usage, world.catalog)
    tracer.note_range(TraceKind.ACKNOWLEDGED, "buyers", orders.partition_numbers[0], 10, 25)
    tracer.note_range(TraceKind.DELIVERED, "buyers", orders.partition_numbers[0], 10, 25)
    tracer.note(TraceKind.RETRIED, "id", topic="orders", group="buyers")
    tracer.note(TraceKind.DEAD_LETTERED, "id", topic="%DLQ%buyers", group="buyers")
    await world.telemetry.tell_minute()
    told = {each["topic"]: each for each in await world.of_kind("__braid.usage", "usage")}
    assert (told["orders"]["messages"], told["orders"]["retries"]) == (15, 1)
    assert told["%DLQ%buyers"]["dead"] == 1
    assert {each["direction"] for each in told.values()} == {"acknowledged"}
    assert {each.get("instance", "default") for each in told.values()} == {"default"}


async def test_what_groups_acknowledge_of_a_pressure_test_is_told_apart(world: World, orders: Topic) -> None:
    """A commit says how far a group is, and not what it had: it is shared out as what was given."""
    first, second = orders.partition_numbers
    tracer = Overheard(UNTRACED, world.usage, world.catalog)
    kafka, rocketmq = (Outlet(protocol, world.counters, world.usage) for protocol in ("kafka", "rocketmq"))

    async def told(group: str) -> dict[str, int]:
        await world.telemetry.tell_minute()
        usage = await world.of_kind("__braid.usage", "usage")
        last = [each for each in usage if each["until_ms"] == usage[-1]["until_ms"] and each.get("group") == group]
        await world.clock.advance(60_000)
        return {each.get("traffic", "normal"): each["messages"] for each in last if each["direction"] == "acknowledged"}

    kafka.gave_batches(first, bytes(batch(world, 30, pressure=True).data))
    kafka.gave_batches(first, bytes(batch(world, 10).data))
    tracer.note_range(TraceKind.ACKNOWLEDGED, "buyers", first, 0, 40)
    assert await told("buyers") == {"normal": 10, "pressure": 30}, "Kafka's readers do not name their group"
    tracer.note_range(TraceKind.ACKNOWLEDGED, "buyers", first, 40, 44)
    tracer.note_range(TraceKind.ACKNOWLEDGED, "buyers", second, 0, 5)
    assert await told("buyers") == {"normal": 1 + 5, "pressure": 3}, "what comes a minute later is as what was given"
    rocketmq.gave("payers", first, [world.clock.now_ms()] * 8, 80, is_pressure=False)
    tracer.note_range(TraceKind.ACKNOWLEDGED, "payers", first, 0, 8)
    assert await told("payers") == {"normal": 8}, "who names its group has what it was given, and not what others were"
    rocketmq.gave("payers", first, [world.clock.now_ms()] * 7, 70, is_pressure=True)
    tracer.note_range(TraceKind.ACKNOWLEDGED, "payers", first, 8, 15)
    assert await told("payers") == {"pressure": 7}
    kafka.gave_batches(first, bytes(batch(world, 2).data))
    tracer.note_range(TraceKind.ACKNOWLEDGED, "buyers", first, 44, 46)
    assert await told("buyers") == {"normal": 2}, "the test is over"


async def test_what_a_group_of_another_instance_sends_back_is_told_of_that_instance(world: World) -> None:
    await world.catalog.create_instance(Instance(name="retail"))
    elsewhere = await world.topics.create("orders", partitions=1, instance="retail")
    tracer = Overheard(UNTRACED, world.usage, world.catalog)
    tracer.note(TraceKind.RETRIED, "id", topic_id=elsewhere.id, topic="orders", group="buyers")
    await world.telemetry.tell_minute()
    (told,) = await world.of_kind("__braid.usage", "usage")
    assert (told["instance"], told["topic"], told["retries"]) == ("retail", "orders", 1)


async def test_a_quiet_minute_is_one_message_and_storage_is_told_when_it_changes(world: World, orders: Topic) -> None:
    await world.telemetry.tell_minute()
    assert [each["kind"] for each in await world.samples("__braid.usage")] == ["minute"]
    await world.log.append([(orders.partition_numbers[0], batch(world, 5))])
    await world.telemetry.tell_minute()
    await world.telemetry.tell_minute()
    (told,) = await world.of_kind("__braid.usage", "usage")
    assert (told["direction"], told["topic"]) == ("kept", "orders")
    assert told["storage_bytes"] == batch(world, 5).size_bytes


async def test_what_the_log_does_not_take_waits_and_is_told_once_it_does(world: World, orders: Topic) -> None:
    inlet = Inlet("kafka", world.counters, world.usage)
    await world.telemetry.tell_minute()
    world.log.is_full = True
    for _ in range(3):
        inlet.stored(orders.partition_numbers[0], batch(world))
        await world.clock.advance(60_000)
        await world.telemetry.tell_minute()
    assert len(await world.samples("__braid.usage")) == 1
    world.log.is_full = False
    await world.telemetry.tell_minute()
    kinds = [each["kind"] for each in await world.samples("__braid.usage")]
    assert kinds == ["minute", "usage", "minute", "usage", "minute", "usage", "minute", "minute"]


async def test_a_box_that_is_full_drops_the_oldest_and_counts_it(world: World) -> None:
    box = Outbox("__braid.lag", world.topics, world.log, waiting_max=2)
    for nth in range(5):
        box.put(0, DiskSample(node="n", life_ms=0, at_ms=nth, total_bytes=1, free_bytes=1, log_bytes=1))
    await box.flush()
    assert [each["at_ms"] for each in await world.samples("__braid.lag")] == [3, 4]
    assert (box.written, box.dropped, len(box)) == (2, 3, 0)


async def test_lag_is_told_when_something_moved_and_now_and_then_while_a_group_is_behind(
    world: World, orders: Topic
) -> None:
    number = orders.partition_numbers[1]
    await world.log.append([(number, batch(world, 5))])
    await world.log.commit_offsets("buyers", {number: GroupOffset(2)})
    for _ in range(59):
        await world.telemetry.tell_lag()
        await world.clock.advance(10_000)
    (told,) = await world.of_kind("__braid.lag", "lag")
    shown = told["group"], told["topic"], told["partition"], told["start"], told["committed"], told["end"]
    assert shown == ("buyers", "orders", 1, 0, 2, 5)
    assert told["members"] == 1
    await world.telemetry.tell_lag()
    assert len(await world.of_kind("__braid.lag", "lag")) == 2
    world.members = 0
    await world.telemetry.tell_lag()
    assert [each["members"] for each in await world.of_kind("__braid.lag", "lag")] == [1, 1, 0]
    assert 8 <= len(await world.of_kind("__braid.lag", "disk")) <= 14


async def test_notes_of_messages_and_of_ranges_go_into_their_topic_but_not_those_of_the_house(
    world: World, orders: Topic
) -> None:
    await world.telemetry.tell_minute()
    own = world.topics.find("__braid.usage")
    assert own is not None
    event = TraceEvent(
        kind=TraceKind.RETRIED, at_ms=5, message_id="m", keys=("k",), topic="orders", partition=0, offset=7, group="g"
    )
    spans = [
        TraceRange(kind=TraceKind.ACKNOWLEDGED, at_ms=6, group="g", number=number, first=1, until=9)
        for number in (orders.partition_numbers[1], own.partition_numbers[0])
    ]
    world.telemetry.start()
    world.telemetry.hear([event], spans)
    await world.telemetry.close()
    first, second = await world.samples("__braid.trace")
    assert (first["step"], first["message_id"], first["offset"], first["keys"]) == ("retried", "m", 7, ["k"])
    assert (second["step"], second["topic"], second["partition"]) == ("acknowledged", "orders", 1)
    assert (second["first"], second["until"]) == (1, 9)


async def test_more_than_can_be_counted_apart_is_counted_together(world: World) -> None:
    for number in range(CELLS_MAX + 10):
        world.usage.cell(("in", "kafka", "", "normal", number, None)).messages += 1
    cells = world.usage.take()
    assert len(cells) == CELLS_MAX + 1
    assert cells["in", "kafka", "", "normal", -1, None].messages == 10


@pytest.mark.parametrize("size_bytes", [0, 10, 60, 64, 5_000, 100_000])
def test_the_mark_of_pressure_traffic_is_found_in_a_first_message_of_any_size(size_bytes: int) -> None:
    def of(headers: dict[str, str]) -> Batch:
        return batch_messages([Message.create(b"x" * size_bytes, properties=headers), Message.create(b"__PRESSURE")])

    marked, plain = of({"a": "b", "__PRESSURE": "true", "c": "d"}), of({"a": "b", "__PRESSURE": "false"})
    assert is_pressure(marked.data, 0, marked.attributes)
    assert not is_pressure(plain.data, 0, plain.attributes)
    behind = bytes(plain.data) + bytes(marked.data)
    assert is_pressure(behind, len(plain.data), marked.attributes)


@pytest.mark.parametrize(
    "inside", [b"", b"\xff", b"\xff" * 4096, b"\x80" * 3, b"\x00" * 50, b"\xfe\xff\xff\xff\x0f" + b"x" * 9]
)
def test_a_batch_that_its_producer_broke_counts_as_normal(inside: bytes) -> None:
    whole = build_batch([Record(0, 1, None, b"a")])
    broken = bytes(whole.data[:61]) + inside
    for data in (broken, memoryview(broken)):
        assert not is_pressure(data, 0, 0)
