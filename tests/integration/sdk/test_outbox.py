"""The outbox: messages go out if and only if the user's transaction is committed, once, whatever is killed."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from braidmq.sdk import (
    AsyncOutbox,
    AsyncOutboxRelay,
    AsyncProducer,
    Consumer,
    Inbox,
    Outbox,
    OutboxRelay,
    Producer,
    Received,
)


def texts(target: Any, topic: str, group: str, count: int) -> list[str]:
    """So many messages and no more."""
    found: list[Received] = []
    with Consumer(target, group=group, topics=topic, wait_s=0.2) as consumer:
        while len(found) < count and (message := consumer.next(10)) is not None:
            message.ack()
            found.append(message)
        assert consumer.next(0.5) is None, "there was one more"
    return [message.text for message in found]


def driver(path: Path) -> Any:
    return sqlite3.connect(path)


def alchemy(path: Path) -> Any:
    return sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool).connect()


def session(path: Path) -> Any:
    return Session(sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool))


@pytest.mark.parametrize("connect", [driver, alchemy, session])
def test_only_what_was_committed_goes_out_in_order(
    target: Any, topic: str, group: str, here: Path, connect: Callable[[Path], Any]
) -> None:
    outbox, connection = Outbox(), connect(here / "own.db")
    outbox.create_table(connection)
    connection.commit()
    for nth in range(5):
        outbox.add(connection, topic, f"{nth}", sharding_key="one")
    connection.commit()
    outbox.add(connection, topic, "never")
    connection.rollback()
    with Producer(target) as producer:
        relay = OutboxRelay(lambda: connect(here / "own.db"), producer)
        assert relay.run_once() == 5
        assert relay.run_once() == 0
    connection.close()
    assert texts(target, topic, group, 5) == ["0", "1", "2", "3", "4"]


def test_a_relay_works_beside_and_parks_what_is_refused(
    target: Any, topic: str, group: str, here: Path, wait_for: Any
) -> None:
    outbox, connection = Outbox("my_outbox"), driver(here / "own.db")
    outbox.create_table(connection)
    connection.commit()
    with Producer(target) as producer:
        relay = OutboxRelay(lambda: driver(here / "own.db"), producer, table="my_outbox", pause_s=0.05)
        with relay:
            outbox.add(connection, topic, "good")
            refused = outbox.add(connection, topic, "bad", tag=" ")
            connection.commit()
            wait_for(lambda: len(outbox.parked(connection)) == 1)
    ((its_id, its_topic, why),) = outbox.parked(connection)
    assert (its_id, its_topic) == (refused, topic)
    assert why.startswith("invalid_message: tag")
    connection.close()
    assert texts(target, topic, group, 1) == ["good"]


KILLED = textwrap.dedent("""
    import os, signal, sqlite3, sys
    from braidmq.sdk import OutboxRelay, Producer

    class Doomed(OutboxRelay):
        def _send(self, rows, batch):
            outcomes = super()._send(rows, batch)
            os.kill(os.getpid(), signal.SIGKILL)
            return outcomes

    with Producer(sys.argv[1]) as producer:
        Doomed(lambda: sqlite3.connect(sys.argv[2]), producer).run_once()
""")


@pytest.mark.parametrize("target", ["node"], indirect=True)
def test_a_relay_that_is_killed_before_it_could_delete_sends_nothing_twice(
    node: Any, topic: str, group: str, here: Path
) -> None:
    outbox, connection = Outbox(), driver(here / "own.db")
    outbox.create_table(connection)
    for nth in range(3):
        outbox.add(connection, topic, f"{nth}", sharding_key="one")
        connection.commit()
        killed = subprocess.run([sys.executable, "-c", KILLED, node.url, str(here / "own.db")], check=False)
        assert killed.returncode == -signal.SIGKILL
    outbox.add(connection, topic, "3", sharding_key="one")
    connection.commit()
    connection.close()
    with Producer(node.url) as producer:
        assert OutboxRelay(lambda: driver(here / "own.db"), producer).run_once() == 4
    assert texts(node.url, topic, group, 4) == ["0", "1", "2", "3"]


def test_an_inbox_lets_the_work_of_a_message_happen_once(target: Any, topic: str, group: str, here: Path) -> None:
    inbox, connection = Inbox("billing"), driver(here / "own.db")
    inbox.create_table(connection)
    connection.execute("CREATE TABLE account (amount INTEGER)")
    connection.commit()
    with Producer(target) as producer:
        producer.send(topic, "5")
    with Consumer(target, group=group, topics=topic, wait_s=0.2) as consumer:
        for _ in range(2):
            message = consumer.next(10)
            assert message is not None
            if inbox.first_time(connection, message):
                connection.execute("INSERT INTO account VALUES (?)", (int(message.text),))
            connection.commit()
            if message.attempt == 1:
                message.reject()  # as if the acknowledgement was lost
            else:
                message.ack()
    assert connection.execute("SELECT SUM(amount) FROM account").fetchone() == (5,)
    inbox.forget(connection, older_than_s=-1)
    assert connection.execute("SELECT COUNT(*) FROM braid_inbox").fetchone() == (0,)
    connection.close()


@pytest.mark.parametrize("name", ["x; DROP TABLE y", "", "a-b", "a.b.c", "1a"])
def test_only_names_can_name_a_table(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a table"):
        Outbox(name)


async def test_the_async_outbox_does_the_same(target: Any, topic: str, group: str, here: Path) -> None:
    outbox, connection = AsyncOutbox(), driver(here / "own.db")
    await outbox.create_table(connection)
    for nth in range(3):
        await outbox.add(connection, topic, f"{nth}", sharding_key="one", delay_s=0)
    connection.commit()
    connection.close()
    producer = AsyncProducer(target)
    async with producer, AsyncOutboxRelay(lambda: driver(here / "own.db"), producer, pause_s=0.05):
        found = await asyncio.to_thread(texts, target, topic, group, 3)
    assert found == ["0", "1", "2"]
