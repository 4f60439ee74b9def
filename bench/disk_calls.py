"""What single system calls cost on this disk: the figures behind docs/decisions/journal-and-tails.md.

./braid bench disk_calls [--write] [--folder DIR]
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from report import Figure, Progress, print_figures, write_figures

from braidmq.log.embedded._disk import RealDisk, Written

BATCH_BYTES = 16 * 1024
MIB = 1024 * 1024
RING_BYTES = 64 * MIB
GROUP = 64
SYNCS = 100
FILES_SYNCED = 256


def write_files(folder: Path, files: int, batches_a_write: int, total_bytes: int) -> float:
    """Microseconds for each batch, written some at a time to the files in turn."""
    data = [os.urandom(BATCH_BYTES)] * batches_a_write
    opened = [os.open(folder / str(number), os.O_RDWR | os.O_CREAT) for number in range(files)]
    size = BATCH_BYTES * batches_a_write
    for file in opened:
        os.pwritev(file, data, 0)
    writes = total_bytes // size
    began = time.perf_counter()
    for number in range(writes):
        os.pwritev(opened[number % files], data, (1 + number // files) * size)
    took = time.perf_counter() - began
    for number, file in enumerate(opened):
        os.close(file)
        os.unlink(folder / str(number))
    return took / (writes * batches_a_write) * 1e6


def write_ring(folder: Path, total_bytes: int) -> float:
    """Microseconds for each batch, written in groups over a file that has its blocks and is in memory."""
    data = [os.urandom(BATCH_BYTES)] * GROUP
    file = os.open(folder / "ring", os.O_RDWR | os.O_CREAT)
    size = BATCH_BYTES * GROUP
    for position in range(0, RING_BYTES, size):
        os.pwritev(file, data, position)
    writes = total_bytes // size
    began = time.perf_counter()
    for number in range(writes):
        os.pwritev(file, data, number * size % RING_BYTES)
    took = time.perf_counter() - began
    os.close(file)
    os.unlink(folder / "ring")
    return took / (writes * GROUP) * 1e6


def sync_group(folder: Path, *, is_reused: bool) -> float:
    """Microseconds for one write of a 1 MiB group and its fdatasync."""
    data = [os.urandom(BATCH_BYTES)] * GROUP
    file = os.open(folder / "synced", os.O_RDWR | os.O_CREAT)
    if is_reused:
        for number in range(SYNCS):
            os.pwritev(file, data, number * GROUP * BATCH_BYTES)
        os.fdatasync(file)
    began = time.perf_counter()
    for number in range(SYNCS):
        os.pwritev(file, data, number * GROUP * BATCH_BYTES)
        os.fdatasync(file)
    took = time.perf_counter() - began
    os.close(file)
    os.unlink(folder / "synced")
    return took / SYNCS * 1e6


def sync_many(folder: Path, *, begun_together: bool) -> float:
    """Microseconds for each of many files that have grown, synced one behind the other."""
    disk = RealDisk(folder)
    names = [str(number) for number in range(FILES_SYNCED)]
    opened = [disk.open(name, create=True) for name in names]
    data = os.urandom(16 * BATCH_BYTES)
    for file in opened:
        file.write((data,), 0, len(data))
    began = time.perf_counter()
    if begun_together:
        disk.write_out([Written(file, 0, len(data)) for file in opened], FILES_SYNCED * len(data))
    for file in opened:
        file.sync()
    took = time.perf_counter() - began
    for name, file in zip(names, opened, strict=True):
        file.close()
        disk.remove(name)
    return took / FILES_SYNCED * 1e6


def measure(folder: Path, rounds: int, total_bytes: int) -> list[Figure]:
    calls: dict[str, Callable[[], float]] = {
        "write 8 batches at a time to 8 files, each batch": lambda: write_files(folder, 8, 8, total_bytes),
        "write single batches to 8 files": lambda: write_files(folder, 8, 1, total_bytes),
        "write single batches to 1,024 files": lambda: write_files(folder, 1024, 1, total_bytes),
        "write 4 batches at a time to 1,024 files, each batch": lambda: write_files(folder, 1024, 4, total_bytes),
        "write over a file that has its blocks, each batch": lambda: write_ring(folder, total_bytes),
        "write and sync 1 MiB, growing file": lambda: sync_group(folder, is_reused=False),
        "write and sync 1 MiB, over a file that has its blocks": lambda: sync_group(folder, is_reused=True),
        "sync each of 256 files with 256 KiB": lambda: sync_many(folder, begun_together=False),
        "the same, when the disk has begun with all of them": lambda: sync_many(folder, begun_together=True),
    }
    taken: dict[str, list[float]] = {name: [] for name in calls}
    with Progress("disk calls", rounds) as progress:
        for _ in range(rounds):
            for name, call in calls.items():
                taken[name].append(call())
            progress.step()
    return [Figure(name, f"{statistics.median(times):.1f} us", "", True, "") for name, times in taken.items()]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="braid bench disk_calls", description="What single system calls cost here.")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--size-mib", type=int, default=128)
    parser.add_argument("--folder", type=Path, default=Path(), help="a folder on the disk to measure")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        figures = measure(Path(folder), options.rounds, options.size_mib * MIB)
    print_figures(figures)
    if options.write:
        title = "Single system calls, 16 KiB batches"
        write_figures("disk-calls", title, "./braid bench disk_calls --write", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
