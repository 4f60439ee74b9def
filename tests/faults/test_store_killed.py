"""A process that writes is killed in the middle: what it had been answered is there afterwards."""

import asyncio
import signal
import sys
from pathlib import Path

import sqlalchemy as sa

from braidmq.store import Catalog, Store

ANSWERS_BEFORE_THE_KILL = 200

WRITER = """
import asyncio, sys
import sqlalchemy as sa
from braidmq.store import Catalog, Store

async def main():
    store = await Store.open(sys.argv[1])
    await store.write(lambda c: c.execute(sa.text("CREATE TABLE IF NOT EXISTS marks (number INTEGER PRIMARY KEY)")))
    first = await store.read(lambda c: c.execute(sa.text("SELECT coalesce(max(number), 0) FROM marks")).scalar_one())
    catalog = await Catalog.open(store)
    print("ready", flush=True)

    async def write(lane):
        number = first + 1 + lane
        while True:
            await store.write(lambda c: c.execute(sa.text("INSERT INTO marks VALUES (:n)"), {"n": number}))
            print("mark", number, flush=True)
            if number % 10 == 0:
                topic = await catalog.create_topic(f"t{number}", partitions=2)
                print("topic", *topic.partition_numbers, flush=True)
            number += 8

    await asyncio.gather(*(write(lane) for lane in range(8)))

asyncio.run(main())
"""


async def answers_until_killed(url: str) -> list[list[str]]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, url, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    answers: list[list[str]] = []
    try:
        while len(answers) < ANSWERS_BEFORE_THE_KILL:
            line = await process.stdout.readline()
            assert line, "the writer ended by itself"
            answers.append(line.decode().split())
    finally:
        process.send_signal(signal.SIGKILL)
    # Lines that were on their way are answers too; the last may be torn.
    rest = (await process.stdout.read()).decode()
    answers += [line.split() for line in rest[: rest.rfind("\n") + 1].splitlines()]
    await process.wait()
    return answers


async def test_nothing_that_was_answered_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    answers: list[list[str]] = []
    for _ in range(4):
        answers += await answers_until_killed(url)
        store = await Store.open(url)
        catalog = await Catalog.open(store)
        kept = await store.read(
            lambda connection: set(connection.execute(sa.text("SELECT number FROM marks")).scalars())
        )
        numbers = {number for topic in catalog.topics() for number in topic.partition_numbers}
        await store.close()
        assert {int(words[1]) for words in answers if words[0] == "mark"} <= kept
        given = [int(word) for words in answers if words[0] == "topic" for word in words[1:]]
        assert set(given) <= numbers
        assert len(given) == len(set(given))
