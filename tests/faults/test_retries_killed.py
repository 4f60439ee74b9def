"""A node that is killed while messages are sent back: what it acknowledged comes again, or is a dead letter."""

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from braidmq.model import ATTEMPT_HEADER, DEFAULT_INSTANCE, Message, dead_letter_topic_name, retry_topic_name
from braidmq.node import Node
from braidmq.records import messages_of, parse_batch
from faults.retry_node import GROUP, WORKERS, settings_for

KILLS = 4
LINES = 150
"""How much a node does before it is killed, at least; it is in the midst of the next then."""
TURN_ROWS = 256

Said = set[tuple[str, str, int]]


def run_and_kill(folder: Path, life: int, said: Said) -> None:
    """Read what the node says, and kill it in the midst of its work; a line that it did not finish was not said. Lives
    behind the first go on until a message has died, however much a quick machine does before."""
    command = [sys.executable, str(Path(__file__).with_name("retry_node.py")), str(folder), f"life{life}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        has_buried = life == 0
        for count, line in enumerate(process.stdout):
            if line.endswith("\n") and (words := line.split())[0] in ("sent", "dead"):
                said.add((words[0], words[1], int(words[2])))
                has_buried |= words[0] == "dead"
            if count >= LINES * (life + 1) and has_buried:
                process.kill()


async def copies_in(node: Node, name: str) -> list[Message]:
    topic = node.catalog.topic(DEFAULT_INSTANCE, name)
    assert topic is not None
    found: list[Message] = []
    (number,) = topic.partition_numbers
    offset = node.log.bounds(number).start
    while (data := (await node.log.read(number, offset, 1 << 20)).data) != b"":
        batch = parse_batch(data)
        found += messages_of(batch)
        offset = batch.last_offset + 1
    return found


async def what_is_left(folder: Path) -> tuple[list[Message], list[Message]]:
    """The last life: all copies, once nothing waits any more."""
    node = await Node.start(settings_for(folder))
    try:
        async with asyncio.timeout(30):
            while await node.timers.page():  # noqa: ASYNC110 - the node's own tasks empty it
                await asyncio.sleep(0.05)
        names = retry_topic_name(GROUP.name), dead_letter_topic_name(GROUP.name)
        return await copies_in(node, names[0]), await copies_in(node, names[1])
    finally:
        await node.stop()


def attempts_in(copies: list[Message]) -> Counter[tuple[str, int]]:
    return Counter((message.id or "", int(message.properties[ATTEMPT_HEADER])) for message in copies)


@pytest.mark.timeout(120)
def test_what_was_sent_back_comes_again_and_what_was_dead_is_a_dead_letter(tmp_path: Path) -> None:
    said: Said = set()
    for life in range(KILLS):
        run_and_kill(tmp_path, life, said)
    retried, dead = map(attempts_in, asyncio.run(what_is_left(tmp_path)))
    assert sum(word == "sent" for word, _, _ in said) > LINES
    assert any(word == "dead" for word, _, _ in said)
    lost = [(word, *copy) for word, *copy in said if tuple(copy) not in (retried if word == "sent" else dead)]
    assert not lost
    assert {attempt for _, attempt in retried} == {1, 2}
    assert {attempt for _, attempt in dead} == {3}
    again = sum((retried + dead).values()) - len(retried + dead)
    assert again <= KILLS * (TURN_ROWS + 2 * WORKERS), "only what was in hand at a kill may come again"
