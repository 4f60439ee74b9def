"""Messages that count with the work they belong to, also when the word about it was lost."""

import asyncio
from typing import Any

import pytest

from braidmq.sdk import AsyncConsumer, AsyncProducer, Consumer, Message, Producer

LIMIT_S = 20.0


async def test_a_block_that_ends_well_commits_and_one_that_raises_rolls_back(
    target: Any, topic: str, group: str
) -> None:
    async with (
        AsyncProducer(target, group=f"{group}-p") as producer,
        AsyncConsumer(target, group=group, topics=topic, wait_s=0.2) as consumer,
    ):
        async with producer.transaction(topic, "counts", tag="paid") as transaction:
            assert await consumer.next(0.5) is None, "a half is nobody's"
        assert transaction.is_settled
        with pytest.raises(RuntimeError, match="the work failed"):
            async with producer.transaction(topic, "never was"):
                raise RuntimeError("the work failed")
        message = await consumer.next(5)
        assert message is not None
        assert (message.id, message.text, message.tag) == (transaction.id, "counts", "paid")
        assert await consumer.next(0.5) is None


async def test_a_producer_is_asked_when_its_word_was_lost(target: Any, topic: str, group: str) -> None:
    asked: list[str] = []

    async def check(message: Message) -> bool | None:
        asked.append(message.text)
        if asked.count(message.text) == 1 and message.text == "unsure":
            return None
        return message.text != "not done"

    lost = AsyncProducer(target, group=f"{group}-p")
    for body in ("done", "not done", "unsure"):
        transaction = lost.transaction(topic, body, immunity_s=1)
        await transaction.__aenter__()  # and nobody ever says what became of it
    await lost.aclose()
    async with (
        asyncio.timeout(LIMIT_S),
        AsyncProducer(target, group=f"{group}-p", check=check),
        AsyncConsumer(target, group=group, topics=topic, wait_s=0.2) as consumer,
    ):
        found = {message.text for message in [await consumer.next(LIMIT_S), await consumer.next(LIMIT_S)] if message}
        assert found == {"done", "unsure"}
        assert "not done" in asked
        assert await consumer.next(0.5) is None


def test_the_blocking_producer_commits_and_is_asked(target: Any, topic: str, group: str) -> None:
    with Producer(target, group=f"{group}-p") as lost:
        lost.transaction(topic, "asked", immunity_s=1).__enter__()
    with (
        Producer(target, group=f"{group}-p", check=lambda message: message.text == "asked") as producer,
        Consumer(target, group=group, topics=topic, wait_s=0.2) as consumer,
    ):
        with producer.transaction(topic, "committed"):
            pass
        found = [consumer.next(LIMIT_S), consumer.next(LIMIT_S)]
        assert sorted(message.text for message in found if message) == ["asked", "committed"]


def test_transactions_need_a_group(target: Any, topic: str) -> None:
    with Producer(target) as producer, pytest.raises(ValueError, match="group"):
        producer.transaction(topic, "x")
