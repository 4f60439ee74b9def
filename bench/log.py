"""The embedded log against bare system calls: how much of what the machine can do reaches the user of the log.

    ./braid bench log                 all of it, as a table of ratios
    ./braid bench log append read     some of it
    ./braid bench log --write         and put the figures into docs/benchmarks.md

Every comparison alternates the two sides in one run and takes the median of the rounds' ratios, because the speed of a
disk moves by a factor of two within a minute while the ratio does not.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import uvloop

sys.path.insert(0, str(Path(__file__).parent))

from report import Figure, Progress, print_figures, write_figures

from braidmq.log.embedded import EmbeddedLog, LogOptions
from braidmq.model import Topic
from braidmq.node import tune_collector
from braidmq.records import Batch, Record, build_batch

BATCH_BYTES = 16 * 1024
MIB = 1024 * 1024
PARTITIONS = 8
MANY_PARTITIONS = 1024
WRITERS = 64
CALLS_A_TURN = 8
READ_BYTES = MIB


def make_batch() -> Batch:
    """16 KiB, as a producer with a usual batch size sends it."""
    batch = build_batch([Record(index, 1_000_000 + index, None, os.urandom(1000)) for index in range(16)])
    missing = BATCH_BYTES - batch.size_bytes
    body = os.urandom(1000 + missing - 2)
    return build_batch(
        [Record(index, 1_000_000 + index, None, os.urandom(1000)) for index in range(15)]
        + [Record(15, 1_000_015, None, body)]
    )


class Workplace:
    """A folder on the disk under test, emptied after each round."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fresh(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.folder, prefix="bench-"))


async def open_log(folder: Path, flush: str, partitions: int) -> EmbeddedLog:
    log = await EmbeddedLog.open(folder, LogOptions(flush=flush, segment_bytes=1024 * MIB))  # type: ignore[arg-type]
    await log.create_topic(Topic(id=uuid4(), name="bench", partition_numbers=tuple(range(partitions))))
    return log


async def warm(log: EmbeddedLog, partitions: int, batch: Batch) -> None:
    """Every partition has its file before the clock starts: making files is not what is measured."""
    for _ in range(8):
        await log.append([(number, batch) for number in range(partitions)])


# Appending, acknowledged from the page cache.


async def append_interval(work: Workplace, partitions: int, total_bytes: int) -> float:
    """Bytes a second through the log: each turn brings some calls with a batch for each of eight partitions."""
    folder = work.fresh()
    log = await open_log(folder, "interval", partitions)
    batch = make_batch()
    await warm(log, partitions, batch)
    turns = total_bytes // (CALLS_A_TURN * PARTITIONS * batch.size_bytes)
    calls = [
        [((first * PARTITIONS + at) % partitions, batch) for at in range(PARTITIONS)]
        for first in range(max(CALLS_A_TURN, partitions // PARTITIONS))
    ]
    began = time.perf_counter()
    for turn in range(turns):
        first = turn * CALLS_A_TURN
        futures = [log.append(calls[(first + at) % len(calls)]) for at in range(CALLS_A_TURN)]
        results = await futures[-1]
    took = time.perf_counter() - began
    assert not isinstance(results[0], Exception)
    await log.close()
    shutil.rmtree(folder)
    return turns * CALLS_A_TURN * PARTITIONS * batch.size_bytes / took


async def bare_writev(work: Workplace, total_bytes: int) -> float:
    """The same bytes in the same groups: one writev of eight batches to each of eight files in turn."""
    folder = work.fresh()
    data = bytes(make_batch().data)
    files = [os.open(folder / str(index), os.O_RDWR | os.O_CREAT) for index in range(PARTITIONS)]
    rounds = total_bytes // (CALLS_A_TURN * PARTITIONS * len(data))
    buffers = [data] * CALLS_A_TURN
    began = time.perf_counter()
    for _ in range(rounds):
        for file in files:
            os.writev(file, buffers)
    took = time.perf_counter() - began
    for file in files:
        os.close(file)
    shutil.rmtree(folder)
    return rounds * CALLS_A_TURN * PARTITIONS * len(data) / took


# Appending, acknowledged from the disk.


async def append_commit(work: Workplace, partitions: int, total_bytes: int) -> float:
    """Bytes a second with 64 writers, each waiting for its acknowledgement before it sends the next batch."""
    folder = work.fresh()
    log = await open_log(folder, "commit", partitions)
    batch = make_batch()
    await warm(log, partitions, batch)
    each = total_bytes // (WRITERS * batch.size_bytes)

    async def writer(first: int) -> None:
        for step in range(each):
            (result,) = await log.append([((first + step * WRITERS) % partitions, batch)])
            assert not isinstance(result, Exception)

    began = time.perf_counter()
    await asyncio.gather(*(writer(number) for number in range(WRITERS)))
    took = time.perf_counter() - began
    await log.close()
    shutil.rmtree(folder)
    return WRITERS * each * batch.size_bytes / took


async def bare_sync(work: Workplace, total_bytes: int) -> float:
    """The same group of 64 batches: one writev and one fdatasync, over and over."""
    folder = work.fresh()
    data = bytes(make_batch().data)
    file = os.open(folder / "bare", os.O_RDWR | os.O_CREAT)
    rounds = total_bytes // (WRITERS * len(data))
    buffers = [data] * WRITERS
    began = time.perf_counter()
    for _ in range(rounds):
        os.writev(file, buffers)
        os.fdatasync(file)
    took = time.perf_counter() - began
    os.close(file)
    shutil.rmtree(folder)
    return rounds * WRITERS * len(data) / took


# Reading.


async def read_pair(work: Workplace, total_bytes: int) -> tuple[float, float]:
    """Bytes a second through the log, and by bare pread of the same sizes from the same files."""
    folder = work.fresh()
    log = await open_log(folder, "interval", PARTITIONS)
    batch = make_batch()
    for _ in range(total_bytes // (PARTITIONS * batch.size_bytes)):
        await log.append([(number, batch) for number in range(PARTITIONS)])
    sizes: list[list[int]] = []
    began = time.perf_counter()
    for number in range(PARTITIONS):
        offset, read = 0, []
        end = log.bounds(number).end
        while offset < end:
            fetched = log.read_now(number, offset, READ_BYTES) or await log.read(number, offset, READ_BYTES)
            read.append(len(fetched.data))
            offset += len(fetched.data) // batch.size_bytes * 16
        sizes.append(read)
    through_log = sum(map(sum, sizes)) / (time.perf_counter() - began)
    files = [os.open(path, os.O_RDONLY) for path in sorted((folder / "segments").glob("*.log"))]
    began = time.perf_counter()
    for file, read in zip(files, sizes, strict=True):
        position = 0
        for size in read:
            os.pread(file, size, position)
            position += size
    bare = sum(map(sum, sizes)) / (time.perf_counter() - began)
    for file in files:
        os.close(file)
    await log.close()
    shutil.rmtree(folder)
    return through_log, bare


# Starting, and being idle.

CHILD = """
import asyncio, os, sys, time
from pathlib import Path
from braidmq.log.embedded import EmbeddedLog, LogOptions
async def main():
    began = time.perf_counter()
    log = await EmbeddedLog.open(Path(sys.argv[1]))
    print(time.perf_counter() - began, log.bounds(0).end, flush=True)
    if sys.argv[2] == "close":
        await log.close()
    else:
        os.kill(os.getpid(), 9)
asyncio.run(main())
"""


async def fill(folder: Path, partitions: int, total_bytes: int) -> None:
    log = await open_log(folder, "interval", partitions)
    batch = make_batch()
    for turn in range(total_bytes // (PARTITIONS * batch.size_bytes)):
        first = turn * PARTITIONS
        await log.append([((first + at) % partitions, batch) for at in range(PARTITIONS)])
    await log.close()


def start_in_child(folder: Path, end: str) -> float:
    run = subprocess.run([sys.executable, "-c", CHILD, str(folder), end], capture_output=True, text=True, check=False)
    return float(run.stdout.split()[0])


KILLED_WRITER = """
import asyncio, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from log import make_batch
from braidmq.log.embedded import EmbeddedLog
async def main():
    log = await EmbeddedLog.open(Path(sys.argv[1]))
    batch, partitions = make_batch(), int(sys.argv[2])
    for turn in range(60):
        await asyncio.gather(*(log.append([((turn * 128 + at) % partitions, batch)]) for at in range(128)))
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""


def write_until_killed(folder: Path, partitions: int) -> None:
    bench = str(Path(__file__).parent)
    subprocess.run([sys.executable, "-c", KILLED_WRITER, str(folder), str(partitions), bench], check=False)


async def start_times(work: Workplace, total_bytes: int) -> tuple[float, float]:
    """Seconds to open after a clean stop, and after kill -9 in the middle of writing to all partitions."""
    folder = work.fresh()
    partitions = 1000
    await fill(folder, partitions, total_bytes)
    clean = statistics.median(start_in_child(folder, "close") for _ in range(3))
    killed = []
    for _ in range(3):
        await asyncio.to_thread(write_until_killed, folder, partitions)
        killed.append(start_in_child(folder, "close"))
    shutil.rmtree(folder)
    return clean, statistics.median(killed)


IDLE_NODE = """
import asyncio, os, sys
from pathlib import Path
from uuid import uuid4
from braidmq.settings import load
from braidmq.node import Node
from braidmq.records import Record, build_batch

async def main():
    node = await Node.start(load(flags={"node.data": sys.argv[1], "http.listen": "127.0.0.1:0"}).settings)
    for topic in range(100):
        created = await node.catalog.create_topic(f"idle-{topic}", partitions=100)
        await node.log.create_topic(created)
        batch = build_batch([Record(0, 1, None, b"x")])
        await node.log.append([(number, batch) for number in created.partition_numbers])
    for _ in range(60):
        await asyncio.sleep(1)
        if len(os.listdir("/proc/self/fd")) < 600:
            break
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    print(resident, len(os.listdir("/proc/self/fd")), flush=True)
    await node.stop()
asyncio.run(main())
"""


def idle_node(work: Workplace) -> tuple[float, int]:
    """Resident MB and open files of a whole node with 10,000 partitions, each written once, all idle now."""
    folder = work.fresh()
    run = subprocess.run([sys.executable, "-c", IDLE_NODE, str(folder)], capture_output=True, text=True, check=True)
    shutil.rmtree(folder)
    resident, files = run.stdout.split()[-2:]
    return int(resident) / 1e6, int(files)


# The table.


async def ratio(
    name: str, rounds: int, ours: Callable[[], Awaitable[float]], other: Callable[[], Awaitable[float]], at_least: float
) -> Figure:
    pairs = []
    with Progress(name, rounds) as progress:
        for number in range(rounds):
            # Who begins changes from round to round.
            if number % 2:
                first = await other()
                pairs.append((await ours(), first))
            else:
                second = await ours()
                pairs.append((second, await other()))
            progress.step()
    measured = statistics.median(mine / bare for mine, bare in pairs)
    mine_mb, other_mb = (statistics.median(side) / 1e6 for side in zip(*pairs, strict=True))
    return Figure(
        name, f"{measured:.2f}", f">= {at_least}", measured >= at_least, f"{mine_mb:,.0f} / {other_mb:,.0f} MB/s"
    )


async def bench_append(work: Workplace, rounds: int, size: int) -> list[Figure]:
    return [
        await ratio(
            "append 16 KiB batches, 8 partitions, interval / bare writev",
            rounds,
            lambda: append_interval(work, PARTITIONS, size),
            lambda: bare_writev(work, size),
            0.6,
        ),
        await ratio(
            "append, 64 writers, commit / bare writev + fdatasync",
            rounds,
            lambda: append_commit(work, PARTITIONS, size),
            lambda: bare_sync(work, size),
            0.6,
        ),
    ]


async def bench_partitions(work: Workplace, rounds: int, size: int) -> list[Figure]:
    return [
        await ratio(
            f"1,024 partitions / 8 partitions, {mode}",
            rounds,
            lambda measure=measure: measure(work, MANY_PARTITIONS, size),  # type: ignore[misc]
            lambda measure=measure: measure(work, PARTITIONS, size),  # type: ignore[misc]
            0.8,
        )
        for mode, measure in (("interval", append_interval), ("commit", append_commit))
    ]


async def bench_read(work: Workplace, rounds: int, size: int) -> list[Figure]:
    pairs = []
    with Progress("sequential read", rounds) as progress:
        for _ in range(rounds):
            pairs.append(await read_pair(work, size))
            progress.step()
    measured = statistics.median(mine / bare for mine, bare in pairs)
    mine_mb, other_mb = (statistics.median(side) / 1e6 for side in zip(*pairs, strict=True))
    sizes = f"{mine_mb:,.0f} / {other_mb:,.0f} MB/s"
    return [
        Figure("sequential read / bare pread of the same sizes", f"{measured:.2f}", ">= 0.7", measured >= 0.7, sizes)
    ]


async def bench_start(work: Workplace, _rounds: int, _size: int) -> list[Figure]:
    figures = []
    for gigabytes in (1, 5):
        clean, killed = await start_times(work, gigabytes * 1024 * MIB)
        what = f"1,000 partitions, {gigabytes} GB"
        figures += [
            Figure(f"start after a clean stop, {what}", f"{clean:.2f} s", "< 1 s", clean < 1, ""),
            Figure(f"start after kill -9, {what}", f"{killed:.2f} s", "< 3 s", killed < 3, ""),
        ]
    return figures


async def bench_idle(work: Workplace, _rounds: int, _size: int) -> list[Figure]:
    resident_mb, files = await asyncio.to_thread(idle_node, work)
    return [
        Figure(
            "node with 10,000 idle partitions, resident", f"{resident_mb:.0f} MB", "< 120 MB", resident_mb < 120, ""
        ),
        Figure("node with 10,000 idle partitions, open files", str(files), "< 600", files < 600, ""),
    ]


BENCHES = {
    "append": bench_append,
    "partitions": bench_partitions,
    "read": bench_read,
    "start": bench_start,
    "idle": bench_idle,
}


async def run(chosen: list[str], folder: Path, rounds: int, size: int) -> list[Figure]:
    work = Workplace(folder)
    tune_collector()
    return [figure for name in chosen for figure in await BENCHES[name](work, rounds, size)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="braid bench log", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", nargs="*", choices=[*BENCHES, []], help="which of them; all when none is named")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size-mib", type=int, default=512, help="bytes written in each round")
    parser.add_argument("--folder", type=Path, default=Path(), help="a folder on the disk to measure")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    figures = uvloop.run(run(options.what or list(BENCHES), options.folder, options.rounds, options.size_mib * MIB))
    print_figures(figures)
    if options.write:
        write_figures("log", "The embedded log against bare system calls", "./braid bench log --write", figures)
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
