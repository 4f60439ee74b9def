"""The async clients: what is sent arrives, once and in order, and what became of it is told."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from braidmq.model.errors import HandleExpired, InvalidFilter, InvalidMessage, UnknownTopic
from braidmq.sdk import (
    AsyncBroadcastConsumer,
    AsyncConsumer,
    AsyncProducer,
    AsyncReceived,
    BufferFull,
    Closed,
    FileOffsets,
    Message,
    Outgoing,
    Sent,
    by_properties,
    by_sql,
    by_tag,
)

LIMIT_S = 20.0


async def take(consumer: AsyncConsumer, count: int) -> list[AsyncReceived]:
    """So many messages, acknowledged."""
    found: list[AsyncReceived] = []
    async with asyncio.timeout(LIMIT_S):
        async for message in consumer:
            await message.ack()
            found.append(message)
            if len(found) == count:
                return found
    raise AssertionError("the consumer ended")


async def test_a_message_arrives_with_all_that_was_said_of_it(target: Any, topic: str, group: str) -> None:
    async with (
        AsyncProducer(target) as producer,
        AsyncConsumer(target, group=group, topics=topic, wait_s=0.2) as consumer,
    ):
        sent = await producer.send(
            topic, b"\xff\x00", tag="paid", keys=["o-1", "o-2"], sharding_key="a-9", properties={"region": "north"}
        )
        (message,) = await take(consumer, 1)
    assert (message.id, message.partition, message.offset) == (sent.id, sent.partition, sent.offset)
    assert (message.body, message.tag, message.keys, message.key) == (b"\xff\x00", "paid", ["o-1", "o-2"], b"a-9")
    assert (message.sharding_key, message.properties["region"], message.attempt) == ("a-9", "north", 1)


@pytest.mark.parametrize(
    ("body", "content"),
    [("text", b"text"), ({"order": 17}, b'{"order":17}'), ([1, 2], b"[1,2]"), (b"", b""), (None, None)],
)
async def test_bodies_arrive_as_bytes(target: Any, topic: str, group: str, body: Any, content: bytes | None) -> None:
    async with (
        AsyncProducer(target) as producer,
        AsyncConsumer(target, group=group, topics=topic, wait_s=0.2) as consumer,
    ):
        await producer.send(topic, body, key="k")
        (message,) = await take(consumer, 1)
    assert message.body == content


async def test_many_messages_have_a_result_each_and_keep_their_order(target: Any, topic: str, group: str) -> None:
    messages = [Outgoing(body=f"{nth}", sharding_key="one") for nth in range(300)]
    messages[7] = Outgoing(body="refused", tag=" ")
    async with (
        AsyncProducer(target) as producer,
        AsyncConsumer(target, group=group, topics=topic, wait_s=0.2) as consumer,
    ):
        outcomes = await producer.send_many(topic, messages)
        found = await take(consumer, 299)
    assert isinstance(outcomes[7], InvalidMessage)
    assert sum(isinstance(each, Sent) for each in outcomes) == 299
    assert [message.text for message in found] == [f"{nth}" for nth in range(300) if nth != 7]


async def test_what_is_handed_over_arrives_in_order_and_its_future_tells(target: Any, topic: str, group: str) -> None:
    called: list[str] = []
    async with AsyncProducer(target) as producer:
        futures = [await producer.send_async(topic, f"{nth}", sharding_key="one") for nth in range(200)]
        futures[0].add_done_callback(lambda future: called.append(future.result().id))
        refused = await producer.send_async(topic, "x", tag=" ")
        await producer.flush()
        assert all(future.done() for future in futures)
        with pytest.raises(InvalidMessage):
            await refused
    assert called == [futures[0].result().id]
    assert [future.result().offset for future in futures] == list(range(200))


async def test_closing_sends_what_waits(target: Any, topic: str, group: str) -> None:
    async with AsyncProducer(target) as producer:
        futures = [await producer.send_async(topic, f"{nth}") for nth in range(50)]
    assert all(future.result().offset is not None for future in futures)
    with pytest.raises(Closed):
        await producer.send_async(topic, "late")
    with pytest.raises(Closed):
        await producer.send(topic, "late")


async def test_a_full_buffer_raises_or_lets_wait(topic: str, target: Any) -> None:
    async with AsyncProducer(target, buffer_max=2, when_full="raise") as producer:
        futures = [await producer.send_async(topic, "x") for _ in range(2)]  # the sender has had no turn yet
        with pytest.raises(BufferFull):
            await producer.send_async(topic, "x")
        await producer.flush()
    async with AsyncProducer(target, buffer_max=2) as producer:
        futures += [await producer.send_async(topic, "x") for _ in range(20)]
    assert len({future.result().id for future in futures}) == 22


async def test_a_delayed_message_comes_at_its_time_and_can_be_cancelled(target: Any, topic: str, group: str) -> None:
    async with (
        AsyncProducer(target) as producer,
        AsyncConsumer(target, group=group, topics=topic, wait_s=0.2) as consumer,
    ):
        cancelled = await producer.send(topic, "never", delay_s=2)
        begun_s = time.monotonic()
        by_delay = await producer.send(topic, "later", delay_s=1.0)
        by_moment = await producer.send(topic, "later", deliver_at=datetime.now(UTC) + timedelta(seconds=1))
        assert cancelled.timer is not None
        await producer.cancel(cancelled.timer)
        found = await take(consumer, 2)
        assert time.monotonic() - begun_s > 0.9
        assert await consumer.next(2.5) is None
    assert {message.id for message in found} == {by_delay.id, by_moment.id}
    with pytest.raises(InvalidMessage, match="time zone"):
        await AsyncProducer(target).send(topic, "x", deliver_at=datetime(2030, 1, 1))  # noqa: DTZ001


async def test_oneway_messages_arrive_and_errors_are_nobodys(target: Any, topic: str, group: str) -> None:
    async with (
        AsyncProducer(target) as producer,
        AsyncConsumer(target, group=group, topics=topic, wait_s=0.2) as consumer,
    ):
        await producer.send_oneway(topic, "x")
        await producer.send_oneway(topic, "refused", tag=" ")
        assert [message.text for message in await take(consumer, 1)] == ["x"]
        assert await consumer.next(0.5) is None


@pytest.mark.parametrize("wanted", [by_tag("paid", "refunded"), by_sql("amount > 10"), by_properties(region="o'north")])
async def test_filters_choose(target: Any, topic: str, group: str, wanted: Any) -> None:
    async with AsyncProducer(target) as producer:
        await producer.send(
            topic, "yes", tag="paid", properties={"amount": "12", "region": "o'north"}, sharding_key="k"
        )
        await producer.send(topic, "no", tag="open", properties={"amount": "9", "region": "south"}, sharding_key="k")
        await producer.send(
            topic, "yes", tag="refunded", properties={"amount": "11", "region": "o'north"}, sharding_key="k"
        )
    async with AsyncConsumer(target, group=group, topics=topic, filter=wanted, wait_s=0.2) as consumer:
        assert [message.text for message in await take(consumer, 2)] == ["yes", "yes"]
        assert await consumer.next(0.5) is None


async def test_a_handler_works_on_several_at_once_and_what_it_raises_for_comes_again(
    target: Any, topic: str, group: str
) -> None:
    at_once, most, seen = 0, 0, []
    all_there = asyncio.Event()

    async def handle(message: AsyncReceived) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        if at_once == 4:
            all_there.set()
        await all_there.wait()
        at_once -= 1
        seen.append((message.text, message.attempt))
        if message.text == "2" and message.attempt == 1:
            raise RuntimeError("not now")
        if len(seen) == 9:
            await consumer.stop()

    async with AsyncProducer(target) as producer:
        await producer.send_many(topic, [f"{nth}" for nth in range(8)])
    async with asyncio.timeout(LIMIT_S), AsyncConsumer(target, group=group, topics=topic, wait_s=0.2) as consumer:
        await consumer.run(handle, concurrency=4)
    assert most == 4
    assert sorted(seen) == sorted([(f"{nth}", 1) for nth in range(8)] + [("2", 2)])


async def test_a_message_can_be_rejected_extended_and_buried(target: Any, topic: str, group: str) -> None:
    async with AsyncProducer(target) as producer:
        await producer.send(topic, "x")
    async with AsyncConsumer(target, group=group, topics=topic, invisible_s=1, wait_s=0.2) as consumer:
        message = await consumer.next(5)
        assert message is not None
        await message.extend(30)
        assert await consumer.next(1.5) is None
        await message.reject(delay_s=0)
        again = await consumer.next(5)
        assert again is not None
        assert again.attempt == 2
        with pytest.raises(HandleExpired):
            await message.ack()
        await again.bury()
        assert await consumer.next(1.5) is None


async def test_closing_gives_back_what_was_not_worked_on(target: Any, topic: str, group: str) -> None:
    async with AsyncProducer(target) as producer:
        await producer.send_many(topic, [f"{nth}" for nth in range(10)])
    async with AsyncConsumer(target, group=group, topics=topic, invisible_s=3600, wait_s=0.2) as consumer:
        first = await consumer.next(5)
        assert first is not None
        await first.ack()
        assert await consumer.next(5) is not None
    async with AsyncConsumer(target, group=group, topics=topic, wait_s=0.2) as consumer:
        assert len(await take(consumer, 9)) == 9


async def test_batches_are_received_and_acknowledged_together(target: Any, topic: str, group: str) -> None:
    async with AsyncProducer(target) as producer:
        await producer.send_many(topic, [f"{nth}" for nth in range(10)])
    async with AsyncConsumer(target, group=group, topics=topic) as consumer:
        found: list[AsyncReceived] = []
        async with asyncio.timeout(LIMIT_S):
            while len(found) < 10:
                found += await consumer.receive(topic, count_max=100, wait_s=1)
        await consumer.acknowledge(found)
        assert not await consumer.receive(topic)


async def test_what_waiting_does_not_mend_is_raised(target: Any, topic: str, group: str) -> None:
    async with AsyncConsumer(target, group=group, topics=f"{topic}-not") as consumer:
        with pytest.raises(UnknownTopic):
            await consumer.run(print)
    async with AsyncConsumer(target, group=group, topics=topic, filter=by_sql("(")) as consumer:
        with pytest.raises(InvalidFilter):
            await anext(consumer)


async def test_an_ordered_group_keeps_the_order_of_each_sharding_key(target: Any, topic: str, group: str) -> None:
    from braidmq.sdk import AsyncAdmin

    async with AsyncAdmin(target) as admin:
        await admin.create_group(group, ordered=True)
    async with AsyncProducer(target) as producer:
        await producer.send_many(topic, [Outgoing(body=f"{n}", sharding_key=f"k{n % 3}") for n in range(30)])
    done: dict[str | None, list[int]] = {}

    async def handle(message: AsyncReceived) -> None:
        if message.text == "9" and message.attempt == 1:
            raise RuntimeError("not now")
        of_key = done.setdefault(message.sharding_key, [])
        if int(message.text) not in of_key:
            of_key.append(int(message.text))
        if sum(len(each) for each in done.values()) == 30:
            await consumer.stop()

    consumer = AsyncConsumer(target, group=group, topics=topic, ordered=True, wait_s=0.2)
    async with asyncio.timeout(LIMIT_S), consumer:
        await consumer.run(handle, concurrency=3)
    assert done == {f"k{n}": list(range(n, 30, 3)) for n in range(3)}


async def test_broadcast_readers_each_get_everything_and_go_on_where_they_were(
    target: Any, topic: str, here: Any
) -> None:
    async with AsyncProducer(target) as producer:
        await producer.send_many(topic, [f"{nth}" for nth in range(6)])

    async def read(count: int, name: str) -> list[str]:
        offsets = FileOffsets(here / name)
        reader = AsyncBroadcastConsumer(target, topics=topic, offsets=offsets, begin="earliest", wait_s=0.2)
        found: list[Message] = []

        async def handle(message: Message) -> None:
            found.append(message)
            if len(found) == count:
                await reader.stop()

        async with asyncio.timeout(LIMIT_S), reader:
            await reader.run(handle, concurrency=2)
        return sorted(message.text for message in found)

    first, second = await asyncio.gather(read(6, "first"), read(6, "second"))
    assert first == second == [f"{nth}" for nth in range(6)]
    async with AsyncProducer(target) as producer:
        await producer.send(topic, "new")
    assert await read(1, "first") == ["new"]


async def test_a_broadcast_reader_begins_at_the_end_unless_told_otherwise(target: Any, topic: str) -> None:
    async with AsyncProducer(target) as producer:
        await producer.send(topic, "old")
        async with AsyncBroadcastConsumer(target, topics=topic, wait_s=0.2) as reader:
            await producer.send(topic, "new")
            message = await reader.next(5)
            assert message is not None
            assert message.text == "new"
