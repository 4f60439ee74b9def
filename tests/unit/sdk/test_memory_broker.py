"""The broker in memory, as users' own tests see it."""

import pytest

from braidmq.sdk import Admin, AsyncProducer, Consumer, Producer, Refused
from braidmq.testing import MemoryBroker


def test_a_test_sees_what_was_sent() -> None:
    with MemoryBroker() as broker, Producer(broker) as producer:
        producer.send("orders", "hello", tag="paid")
        (message,) = broker.messages("orders")
    assert (message.text, message.tag) == ("hello", "paid")
    assert broker.messages("nothing") == []


def test_a_test_sees_dead_letters() -> None:
    broker = MemoryBroker()
    with Producer(broker) as producer, Consumer(broker, group="billing", topics="orders", wait_s=0.05) as consumer:
        producer.send("orders", "bad")
        message = consumer.next(5)
        assert message is not None
        message.bury()
    assert [dead.text for dead in broker.dead_letters("billing")] == ["bad"]


async def test_a_node_that_fails_for_a_while_can_be_played() -> None:
    broker = MemoryBroker()
    async with AsyncProducer(broker) as producer:
        broker.failing = 3
        await producer.send("orders", "in the end")
    assert [message.text for message in broker.messages("orders")] == ["in the end"]


def test_what_it_does_not_have_is_said() -> None:
    with Admin(MemoryBroker()) as admin, pytest.raises(Refused, match="does not answer GET overview") as refused:
        admin.overview()
    assert refused.value.problem == "not_in_memory"


def test_a_dry_run_never_changes_anything_there() -> None:
    broker = MemoryBroker()
    with Admin(broker) as admin:
        admin.create_topic("orders")
        with pytest.raises(Refused, match="no dry runs"):
            admin.delete_topic("orders", dry_run=True)
        assert admin.describe_topic("orders").name == "orders"
    with Producer(broker, instance="retail") as producer, pytest.raises(Refused, match="no instance"):
        producer.send("orders", "x")
