"""The blocking twins: the same promises, with threads."""

import threading
import time
from typing import Any

import pytest

from braidmq.model.errors import InvalidMessage, UnknownTopic
from braidmq.sdk import BroadcastConsumer, BufferFull, Closed, Consumer, Outgoing, Producer, Received, Sent, by_tag

LIMIT_S = 20.0


def take(consumer: Consumer, count: int) -> list[Received]:
    """So many messages, acknowledged."""
    found: list[Received] = []
    deadline_s = time.monotonic() + LIMIT_S
    while len(found) < count and time.monotonic() < deadline_s:
        message = consumer.next(0.5)
        if message is not None:
            message.ack()
            found.append(message)
    assert len(found) == count
    return found


def test_a_message_arrives_with_all_that_was_said_of_it(target: Any, topic: str, group: str) -> None:
    with Producer(target) as producer, Consumer(target, group=group, topics=topic, wait_s=0.2) as consumer:
        sent = producer.send(topic, {"order": 17}, tag="paid", keys=["o-1"], sharding_key="a-9")
        (message,) = take(consumer, 1)
    assert (message.id, message.partition, message.offset) == (sent.id, sent.partition, sent.offset)
    assert (message.json(), message.tag, message.keys, message.sharding_key) == ({"order": 17}, "paid", ["o-1"], "a-9")


def test_the_iterator_ends_when_the_consumer_is_stopped(target: Any, topic: str, group: str) -> None:
    with Producer(target) as producer:
        producer.send_many(topic, ["a", "b"])
    found = []
    with Consumer(target, group=group, topics=topic, wait_s=0.2) as consumer:
        for message in consumer:
            message.ack()
            found.append(message.text)
            if len(found) == 2:
                consumer.stop()
    assert sorted(found) == ["a", "b"]
    with pytest.raises(Closed):
        consumer.next()


def test_many_have_a_result_each(target: Any, topic: str) -> None:
    with Producer(target) as producer:
        outcomes = producer.send_many(topic, [Outgoing(body="a"), Outgoing(body="b", tag=" "), b"c"])
    assert [isinstance(each, Sent) for each in outcomes] == [True, False, True]
    assert isinstance(outcomes[1], InvalidMessage)


def test_what_is_handed_over_by_many_threads_arrives_once(target: Any, topic: str, group: str) -> None:
    futures: list[Any] = []
    with Producer(target, buffer_max=10) as producer:

        def hand_over() -> None:
            futures.extend(producer.send_async(topic, "x") for _ in range(50))

        threads = [threading.Thread(target=hand_over) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        producer.flush()
        ids = {future.result(LIMIT_S).id for future in futures}
    with Consumer(target, group=group, topics=topic, wait_s=0.2) as consumer:
        assert sorted(message.id or "" for message in take(consumer, 200)) == sorted(ids)
        assert consumer.next(0.3) is None


def test_a_full_buffer_raises(topic: str) -> None:
    def fill(producer: Producer) -> None:
        for _ in range(1_000):
            producer.send_async(topic, "x").add_done_callback(lambda future: future.exception())

    nowhere = Producer("http://127.0.0.1:1", buffer_max=1, when_full="raise", retry_s=0.5)
    with nowhere as producer, pytest.raises(BufferFull):
        fill(producer)


def test_handlers_work_on_several_at_once_and_failures_come_again(target: Any, topic: str, group: str) -> None:
    together = threading.Barrier(4)
    seen: list[tuple[str, int]] = []
    with Producer(target) as producer:
        producer.send_many(topic, [f"{nth}" for nth in range(4)])

    def handle(message: Received) -> None:
        if message.attempt == 1:
            together.wait(LIMIT_S)
        seen.append((message.text, message.attempt))
        if message.text == "2" and message.attempt == 1:
            raise RuntimeError("not now")
        if len(seen) == 5:
            consumer.stop()

    with Consumer(target, group=group, topics=topic, wait_s=0.2) as consumer:
        consumer.run(handle, concurrency=4)
    assert sorted(seen) == [("0", 1), ("1", 1), ("2", 1), ("2", 2), ("3", 1)]


def test_closing_gives_back_what_was_not_worked_on(target: Any, topic: str, group: str) -> None:
    with Producer(target) as producer:
        producer.send_many(topic, [f"{nth}" for nth in range(10)])
    with Consumer(target, group=group, topics=topic, invisible_s=3600, wait_s=0.2) as consumer:
        assert consumer.next(5) is not None
    with Consumer(target, group=group, topics=topic, wait_s=0.2) as consumer:
        assert len(take(consumer, 10)) == 10


def test_filters_and_unknown_topics(target: Any, topic: str, group: str) -> None:
    with Producer(target) as producer:
        producer.send(topic, "no", tag="open")
        producer.send(topic, "yes", tag="paid")
    with Consumer(target, group=group, topics=topic, filter=by_tag("paid"), wait_s=0.2) as consumer:
        assert [message.text for message in take(consumer, 1)] == ["yes"]
    with Consumer(target, group=group, topics=f"{topic}-not") as consumer, pytest.raises(UnknownTopic):
        consumer.run(print)


def test_a_broadcast_reader_gets_everything(target: Any, topic: str) -> None:
    with Producer(target) as producer:
        producer.send_many(topic, ["a", "b", "c"])
    with BroadcastConsumer(target, topics=topic, begin="earliest", wait_s=0.2) as reader:
        found = [reader.next(5) for _ in range(3)]
    assert sorted(message.text for message in found if message is not None) == ["a", "b", "c"]
