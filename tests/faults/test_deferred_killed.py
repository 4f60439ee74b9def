"""A node that is killed while it delays and ends messages: what it acknowledged holds for the next ones."""

import asyncio
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from braidmq.model import Message, Topic
from braidmq.node import Node
from braidmq.records import messages_of, parse_batch
from faults.deferred_node import TOPIC, WORKERS, settings_for

KILLS = 4
LINES = 150
"""How much a node does before it is killed, at least; it is in the midst of the next then."""
TURN_ROWS = 256
KINDS = ("timer", "commit", "rollback", "prepared", "rolling-back")

Said = dict[str, dict[str, int]]


def run_and_kill(folder: Path, life: int, said: Said) -> None:
    """Read what the node says, and kill it in the midst of its work; a line that it did not finish was not said."""
    command = [sys.executable, str(Path(__file__).with_name("deferred_node.py")), str(folder), f"life{life}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for count, line in enumerate(process.stdout):
            if count == LINES * (life + 1):
                process.kill()
            if line.endswith("\n") and (words := line.split())[0] in KINDS:
                said[words[0]][words[1]] = int(words[2]) if len(words) > 2 else 0


async def all_messages(node: Node, topic: Topic) -> list[Message]:
    found: list[Message] = []
    for number in topic.partition_numbers:
        offset = node.log.bounds(number).start
        while (data := (await node.log.read(number, offset, 1 << 20)).data) != b"":
            batch = parse_batch(data)
            found += messages_of(batch)
            offset = batch.last_offset + 1
    return found


async def what_is_left(folder: Path, said: Said) -> tuple[list[Message], set[str]]:
    """The last life: all messages once everything that was promised has come, and the halves that still wait."""
    node = await Node.start(settings_for(folder))
    try:
        topic = await node.topics.ensure(TOPIC)
        promised = said["timer"].keys() | said["commit"].keys()
        async with asyncio.timeout(30):
            while not promised <= {message.id for message in await all_messages(node, topic)}:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            while await node.timers.page():  # noqa: ASYNC110 - the node's own tasks empty it
                await asyncio.sleep(0.05)
        waiting = {half.message_id for half in await node.halves.page(limit=100_000)}
        return await all_messages(node, topic), waiting
    finally:
        await node.stop()


@pytest.mark.timeout(120)
def test_what_was_acknowledged_comes_in_time_and_what_was_rolled_back_does_not(tmp_path: Path) -> None:
    said: Said = defaultdict(dict)
    for life in range(KILLS):
        run_and_kill(tmp_path, life, said)
    messages, waiting = asyncio.run(what_is_left(tmp_path, said))
    copies = Counter(message.id for message in messages)
    assert len(said["timer"]) + len(said["commit"]) > KILLS * LINES
    assert not said["rollback"].keys() & copies.keys()
    assert all(message.born_ms >= said["timer"].get(message.id or "", 0) for message in messages)
    # A rollback that was asked for may have been carried out, and not answered any more.
    assert said["prepared"].keys() <= copies.keys() | said["rolling-back"].keys() | waiting
    again = sum(count - 1 for count in copies.values())
    assert again <= KILLS * (TURN_ROWS + WORKERS), "only what was in hand at a kill may come again"
