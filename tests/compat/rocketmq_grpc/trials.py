"""RocketMQ's own Python client, unmodified, tries everything it can do, and prints what came of it as JSON.

    trials.py HOST:PORT PREFIX

A process of its own, because the client and a node do not share gRPC's threads in one. All trials run side by side:
most of each is waiting.
"""

import json
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from rocketmq import (  # type: ignore[attr-defined]  # a bench of ours has the same name
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    Message,
    MessageListener,
    Producer,
    PushConsumer,
    SimpleConsumer,
    TransactionChecker,
    TransactionResolution,
)
from rocketmq.v5.model.filter_expression import FilterType  # type: ignore[import-untyped]

ADDRESS, PREFIX = sys.argv[1:3]
LIMIT_S = 45.0
INVISIBLE_S = 15
Found = dict[str, Any]


def configuration() -> Any:
    return ClientConfiguration(ADDRESS, Credentials(), "")


def message(topic: str, body: str, **more: Any) -> Any:
    made = Message()
    made.topic = topic
    made.body = body.encode()
    properties = more.pop("properties", {})
    for name, value in more.items():
        setattr(made, name, value)
    for name, value in properties.items():
        made.add_property(name, value)
    return made


def seen(given: Any) -> Found:
    return {
        "body": given.body.decode(),
        "id": given.message_id,
        "tag": given.tag,
        "keys": sorted(given.keys),
        "group": given.message_group,
        "properties": dict(given.properties),
        "attempt": given.delivery_attempt,
        "corrupted": given.corrupted,
        "at": time.time(),
    }


@contextmanager
def producer(topic: str, checker: Any = None) -> Iterator[Any]:
    made = Producer(configuration(), (topic,), checker)
    made.startup()
    try:
        yield made
    finally:
        made.shutdown()


@contextmanager
def simple(group: str, topic: str, wanted: Any = None) -> Iterator[Any]:
    made = SimpleConsumer(configuration(), group, {topic: wanted or FilterExpression("*")}, 5)
    made.startup()
    try:
        yield made
    finally:
        made.shutdown()


@contextmanager
def push(group: str, topic: str, work: Callable[[Any], Any]) -> Iterator[Any]:
    class Listener(MessageListener):  # type: ignore[misc]
        def consume(self, given: Any) -> Any:
            return work(given)

    made = PushConsumer(configuration(), group, Listener(), {topic: FilterExpression("*")})
    made.startup()
    try:
        yield made
    finally:
        made.shutdown()


def take(consumer: Any, count: int, *, limit_s: float = LIMIT_S) -> list[Any]:
    """So many messages, acknowledged; fewer if they do not come."""
    taken: list[Any] = []
    deadline = time.monotonic() + limit_s
    while len(taken) < count and time.monotonic() < deadline:
        for given in consumer.receive(16, INVISIBLE_S) or []:
            taken.append(given)
            consumer.ack(given)
    return taken


def one(consumer: Any) -> Any:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if given := consumer.receive(1, 60):
            return given[0]
    raise AssertionError("no message came")


def until(condition: Callable[[], bool], limit_s: float = LIMIT_S) -> bool:
    deadline = time.monotonic() + limit_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def normal() -> Found:
    with producer(f"{PREFIX}-normal") as sender, simple(f"{PREFIX}-normal-readers", f"{PREFIX}-normal") as reader:
        more = {"tag": "paid", "keys": "order-1", "properties": {"colour": "r\u00f6t", "size": "xl"}}
        sent = [sender.send(message(f"{PREFIX}-normal", f"n{number}", **more)).message_id for number in range(10)]
        large = sender.send(message(f"{PREFIX}-normal", "x" * 2_000_000)).message_id
        taken = [seen(each) for each in take(reader, 11)]
    for each in taken:
        each["body"] = each["body"][:10]
    return {"sent": [*sent, large], "taken": taken}


def fifo() -> Found:
    """Two message groups, in order each, though every batch is given back once."""
    with producer(f"{PREFIX}-fifo") as sender, simple(f"{PREFIX}-fifo-readers", f"{PREFIX}-fifo") as reader:
        for number in range(20):
            sender.send(message(f"{PREFIX}-fifo", f"{number}", message_group=f"g{number % 2}"))
        taken = [seen(each) for each in take(reader, 20)]
        refused = ""
        try:
            sender.send(message(f"{PREFIX}-fifo", "no group"))
        except Exception as error:
            refused = str(error)
    return {"taken": taken, "refused": refused}


def delay() -> Found:
    with producer(f"{PREFIX}-delay") as sender, simple(f"{PREFIX}-delay-readers", f"{PREFIX}-delay") as reader:
        due = int(time.time()) + 4
        receipt = sender.send(message(f"{PREFIX}-delay", "later", delivery_timestamp=due))
        recalled = sender.send(message(f"{PREFIX}-delay", "never", delivery_timestamp=due))
        answer = sender.recall_message(f"{PREFIX}-delay", recalled.recall_handle)
        taken = [seen(each) for each in take(reader, 1)]
        taken += [seen(each) for each in take(reader, 1, limit_s=2)]
        again = ""
        try:
            sender.recall_message(f"{PREFIX}-delay", receipt.recall_handle)
        except Exception as error:
            again = str(error)
    return {"due": due, "taken": taken, "recalled": [recalled.message_id, answer], "too_late": again}


def transaction() -> Found:
    """One is committed, one rolled back; the other two are forgotten, and the producer is asked about them."""
    asked: list[str] = []

    class Checker(TransactionChecker):  # type: ignore[misc]
        def check(self, half: Any) -> Any:
            asked.append(half.body.decode())
            return TransactionResolution.COMMIT if half.body == b"orphan yes" else TransactionResolution.ROLLBACK

    topic = f"{PREFIX}-transaction"
    with producer(topic, Checker()) as sender, simple(f"{PREFIX}-transaction-readers", topic) as reader:
        for body in ("yes", "no", "orphan yes", "orphan no"):
            begun = sender.begin_transaction()
            sender.send(message(topic, body), begun)
            if body == "yes":
                begun.commit()
            elif body == "no":
                begun.rollback()
        taken = [seen(each) for each in take(reader, 2)]
        until(lambda: len(set(asked)) == 2)
        taken += [seen(each) for each in take(reader, 1, limit_s=2)]
    return {"asked": sorted(set(asked)), "taken": taken}


def pushed() -> Found:
    """Messages come by push; one fails at first, and comes again."""
    taken: list[Found] = []
    lock = threading.Lock()

    def work(given: Any) -> Any:
        with lock:
            taken.append(seen(given))
        is_first = given.body == b"p3" and given.delivery_attempt == 1
        return ConsumeResult.FAILURE if is_first else ConsumeResult.SUCCESS

    with producer(f"{PREFIX}-push") as sender, push(f"{PREFIX}-push-readers", f"{PREFIX}-push", work):
        for number in range(10):
            sender.send(message(f"{PREFIX}-push", f"p{number}"))
        until(lambda: len(taken) >= 11)
    return {"taken": taken}


def dead() -> Found:
    """What fails for the last time lies among the group's dead letters."""
    attempts: list[int] = []

    def work(given: Any) -> Any:
        attempts.append(given.delivery_attempt)
        return ConsumeResult.FAILURE

    with producer(f"{PREFIX}-dead") as sender, push(f"{PREFIX}-dead-readers", f"{PREFIX}-dead", work):
        sent = sender.send(message(f"{PREFIX}-dead", "poison")).message_id
        with simple(f"{PREFIX}-undertakers", f"%DLQ%{PREFIX}-dead-readers") as reader:
            letters = [seen(each) for each in take(reader, 1)]
    return {"sent": sent, "attempts": attempts, "letters": letters}


def filters() -> Found:
    with producer(f"{PREFIX}-filters") as sender:
        by_tag = simple(f"{PREFIX}-tags", f"{PREFIX}-filters", FilterExpression("a || b"))
        by_sql = simple(
            f"{PREFIX}-sql", f"{PREFIX}-filters", FilterExpression("price > 10 AND TAGS = 'b'", FilterType.SQL)
        )
        with by_tag as tags, by_sql as sql:
            for tag, price in (("a", 5), ("b", 5), ("b", 50), ("c", 50)):
                sender.send(message(f"{PREFIX}-filters", f"{tag}{price}", tag=tag, properties={"price": str(price)}))
            tagged = [each.body.decode() for each in take(tags, 3) + take(tags, 1, limit_s=1)]
            chosen = [each.body.decode() for each in take(sql, 1) + take(sql, 1, limit_s=1)]
    return {"tagged": sorted(tagged), "chosen": sorted(chosen)}


def invisible() -> Found:
    """A message is given back with a shorter time, and comes again then; its first handle is worth nothing any more."""
    with (
        producer(f"{PREFIX}-invisible") as sender,
        simple(f"{PREFIX}-invisible-readers", f"{PREFIX}-invisible") as reader,
    ):
        sender.send(message(f"{PREFIX}-invisible", "again"))
        given = one(reader)
        first = given.receipt_handle
        began = time.time()
        reader.change_invisible_duration(given, 3)
        changed = given.receipt_handle
        again = one(reader)
        waited = time.time() - began
        refused = ""
        try:
            reader.ack(given)
        except Exception as error:
            refused = str(error)
        reader.ack(again)
    attempts = [given.delivery_attempt, again.delivery_attempt]
    return {"changed": first != changed, "waited": waited, "attempts": attempts, "refused": refused}


def priority() -> Found:
    with producer(f"{PREFIX}-priority") as sender, simple(f"{PREFIX}-priority-readers", f"{PREFIX}-priority") as reader:
        for each in (1, 3, 2, 3):
            sender.send(message(f"{PREFIX}-priority", f"u{each}", priority=each))
        taken: list[tuple[str, int]] = []
        while len(taken) < 4:
            given = one(reader)
            reader.ack(given)
            taken.append((given.body.decode(), given.priority))
    return {"taken": taken}


def tried(trial: Callable[[], Found]) -> Found:
    try:
        return trial()
    except Exception:
        return {"error": traceback.format_exc()}


def main() -> None:
    trials = (normal, fifo, delay, transaction, pushed, dead, filters, invisible, priority)
    with ThreadPoolExecutor(len(trials)) as pool:
        found = dict(zip((each.__name__ for each in trials), pool.map(tried, trials), strict=True))
    print("FOUND", json.dumps(found))


if __name__ == "__main__":
    main()
