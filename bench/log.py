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

from _memory import bring_in
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
FILES_LOOKS_MAX = 1000
MEMORY_BESIDE_BYTES = 256 * MIB
"""What a log may hold in memory beside the files that are written."""


def make_batch() -> Batch:
    """16 KiB, as a producer with a usual batch size sends it."""
    now_ms = int(time.time() * 1000)  # what is old would be deleted
    records = [Record(index, now_ms + index, None, os.urandom(1000)) for index in range(16)]
    missing = BATCH_BYTES - build_batch(records).size_bytes
    records[-1] = Record(15, now_ms + 15, None, os.urandom(1000 + missing - 2))
    return build_batch(records)


class Workplace:
    """A folder on the disk under test, emptied after each round."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fresh(self) -> Path:
        """With nothing left to write of what was there before, nor to free."""
        os.sync()
        return Path(tempfile.mkdtemp(dir=self.folder.resolve(), prefix="bench-"))


async def open_log(folder: Path, flush: str, partitions: int) -> EmbeddedLog:
    log = await EmbeddedLog.open(folder, LogOptions(flush=flush, segment_bytes=1024 * MIB))  # type: ignore[arg-type]
    await log.create_topic(Topic(id=uuid4(), name="bench", partition_numbers=tuple(range(partitions))))
    return log


async def warm(log: EmbeddedLog, partitions: int, batch: Batch, total_bytes: int) -> None:
    """As a log is that has been at work for a while: every partition has its file, the journal's ring its size, and the
    machine its memory. Making files is not what is measured."""
    for _ in range(8):
        await log.append([(number, batch) for number in range(partitions)])
    for turn in range(total_bytes // (WRITERS * batch.size_bytes)):
        first = turn * WRITERS
        await log.append([((first + at) % partitions, batch) for at in range(WRITERS)])
    await log.maintain()
    await asyncio.to_thread(bring_in, total_bytes + MEMORY_BESIDE_BYTES)


# Appending, acknowledged from the page cache.


async def append_interval(work: Workplace, partitions: int, total_bytes: int) -> float:
    """Bytes a second through the log: each turn brings some calls with a batch for each of eight partitions."""
    folder = work.fresh()
    log = await open_log(folder, "interval", partitions)
    batch = make_batch()
    await warm(log, partitions, batch, total_bytes)
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
    bring_in(total_bytes + MEMORY_BESIDE_BYTES)
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
    await warm(log, partitions, batch, total_bytes)
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
    bring_in(total_bytes + MEMORY_BESIDE_BYTES)
    began = time.perf_counter()
    for _ in range(rounds):
        os.writev(file, buffers)
        os.fdatasync(file)
    took = time.perf_counter() - began
    os.close(file)
    shutil.rmtree(folder)
    return rounds * WRITERS * len(data) / took


# Reading.


async def read_pair(work: Workplace, total_bytes: int, *, log_first: bool) -> tuple[float, float]:
    """Bytes a second through the log, and by bare pread of the same sizes from the same files."""
    folder = work.fresh()
    log = await open_log(folder, "interval", PARTITIONS)
    batch = make_batch()
    for _ in range(total_bytes // (PARTITIONS * batch.size_bytes)):
        await log.append([(number, batch) for number in range(PARTITIONS)])
    sizes = [await read_partition(log, number, batch.size_bytes) for number in range(PARTITIONS)]
    await files_begun(folder)
    rates = {}
    for side in ("log", "bare") if log_first else ("bare", "log"):
        began = time.perf_counter()
        if side == "log":
            for number in range(PARTITIONS):
                await read_partition(log, number, batch.size_bytes)
        else:
            read_bare(folder, sizes)
        rates[side] = sum(map(sum, sizes)) / (time.perf_counter() - began)
    await log.close()
    shutil.rmtree(folder)
    return rates["log"], rates["bare"]


async def files_begun(folder: Path) -> None:
    """Until the log has written something of each partition to its file: it does so behind the writers' backs."""
    for _ in range(FILES_LOOKS_MAX):
        if len(list((folder / "segments").glob("*.log"))) == PARTITIONS:
            return
        await asyncio.sleep(0.01)
    raise SystemExit(f"the log has written no files to {folder} for {FILES_LOOKS_MAX / 100:.0f} s")


async def read_partition(log: EmbeddedLog, number: int, batch_bytes: int) -> list[int]:
    """From the beginning to the end; the sizes of the reads."""
    offset, sizes = 0, []
    end = log.bounds(number).end
    while offset < end:
        fetched = log.read_now(number, offset, READ_BYTES) or await log.read(number, offset, READ_BYTES)
        sizes.append(len(fetched.data))
        offset += len(fetched.data) // batch_bytes * 16
    return sizes


def read_bare(folder: Path, sizes: list[list[int]]) -> None:
    for path, reads in zip(sorted((folder / "segments").glob("*.log")), sizes, strict=True):
        file = os.open(path, os.O_RDONLY)
        position = 0
        for size in reads:
            data = os.pread(file, size, position)
            position += len(data)
        os.close(file)


# Starting, and being idle.

PARTITIONS_STARTED = 1000
PARTITIONS_IDLE = 10_000


def child(*arguments: str) -> list[str]:
    """What a process of its own printed; see log_children.py."""
    program = str(Path(__file__).with_name("log_children.py"))
    run = subprocess.run([sys.executable, program, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    return run.stdout.split()


async def fill(folder: Path, partitions: int, total_bytes: int) -> None:
    log = await open_log(folder, "interval", partitions)
    batch = make_batch()
    for turn in range(total_bytes // (PARTITIONS * batch.size_bytes)):
        first = turn * PARTITIONS
        await log.append([((first + at) % partitions, batch) for at in range(PARTITIONS)])
    await log.close()


async def open_time(folder: Path) -> float:
    *_, seconds = await asyncio.to_thread(child, "open", str(folder))
    return float(seconds)


async def start_times(work: Workplace, total_bytes: int) -> tuple[float, float]:
    """Seconds to open after a clean stop, and after kill -9 in the middle of writing to all partitions."""
    folder = work.fresh()
    await fill(folder, PARTITIONS_STARTED, total_bytes)
    clean, killed = [], []
    for _ in range(3):
        clean.append(await open_time(folder))
        await asyncio.to_thread(child, "write", str(folder), str(PARTITIONS_STARTED))
        killed.append(await open_time(folder))
    shutil.rmtree(folder)
    return statistics.median(clean), statistics.median(killed)


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
        for number in range(rounds):
            pairs.append(await read_pair(work, size, log_first=number % 2 == 0))
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
    folder = work.fresh()
    *_, resident, open_files = await asyncio.to_thread(child, "idle", str(folder), str(PARTITIONS_IDLE))
    shutil.rmtree(folder)
    resident_mb, files = int(resident) / 1e6, int(open_files)
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
        key, title = "log", "The embedded log against bare system calls"
        if options.what:  # a section of its own: figures of another day stay where they are
            key, title = "-".join(("log", *options.what)), f"{title}: {', '.join(options.what)}"
        write_figures(key, title, " ".join(("./braid bench log", *options.what, "--write")), figures)
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
