"""Processes that the log's bench starts, to be measured or killed: log_children.py open|write|idle FOLDER [N]."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from log import make_batch

from braidmq.log.embedded import EmbeddedLog
from braidmq.node import Node
from braidmq.records import Record, build_batch
from braidmq.settings import load

TURNS = 60
WRITES_A_TURN = 128
IDLE_WAIT_S = 60
FILES_IDLE = 100


async def open_and_close(folder: Path) -> None:
    """Prints how long opening took."""
    began = time.perf_counter()
    log = await EmbeddedLog.open(folder)
    took = time.perf_counter() - began
    await log.close()
    print(took, flush=True)


async def write_and_die(folder: Path, partitions: int) -> None:
    """Appends to all partitions in turn, and is killed in the middle of it."""
    log = await EmbeddedLog.open(folder)
    batch = make_batch()
    for turn in range(TURNS):
        first = turn * WRITES_A_TURN
        await asyncio.gather(*(log.append([((first + at) % partitions, batch)]) for at in range(WRITES_A_TURN)))
    os.kill(os.getpid(), signal.SIGKILL)


async def idle_node(folder: Path, partitions: int) -> None:
    """A whole node with so many partitions, each written once; prints resident bytes and open files when it is idle."""
    environment = {"BRAID_NODE_DATA": str(folder), "BRAID_HTTP_LISTEN": "127.0.0.1:0", "BRAID_KAFKA_LISTEN": "off"}
    node = await Node.start(load(environment=environment).settings)
    batch = build_batch([Record(0, time.time_ns() // 1_000_000, None, b"one")])
    for topic in range(partitions // 100):
        created = await node.catalog.create_topic(f"idle-{topic}", partitions=100)
        await node.log.create_topic(created)
        await node.log.append([(number, batch) for number in created.partition_numbers])
    for _ in range(IDLE_WAIT_S):
        await asyncio.sleep(1)
        if len(os.listdir("/proc/self/fd")) < FILES_IDLE:
            break
    figures = (resident_bytes(), len(os.listdir("/proc/self/fd")))
    await node.stop()
    print(*figures, flush=True)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    what, folder, *rest = sys.argv[1:]
    match what:
        case "open":
            asyncio.run(open_and_close(Path(folder)))
        case "write":
            asyncio.run(write_and_die(Path(folder), int(rest[0])))
        case "idle":
            asyncio.run(idle_node(Path(folder), int(rest[0])))


if __name__ == "__main__":
    main()
