"""The disk below the data folder: can it be written, how much is free, what kind is it, and how fast does it sync."""

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from braidmq.model.finding import Finding, fail, ok, warn

_GIB = 1 << 30
_FREE_FAIL_BYTES = 1 * _GIB
_FREE_WARN_BYTES = 10 * _GIB
_NETWORK = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "ceph",
    "glusterfs",
    "lustre",
    "afs",
    "fuse.sshfs",
    "fuse.s3fs",
}
_IN_MEMORY = {"tmpfs", "ramfs"}
_SYNC_RUNS = 100
_SYNC_RUN_BYTES = 4096
_SYNC_LIMIT_S = 3.0
_SYNC_SLOW_MS = 20.0
_MOUNTS = Path("/proc/self/mounts")

Progress = Callable[[int, int], None]


def check_disk(data: Path, progress: Progress) -> Iterator[Finding]:
    """All that concerns the folder. A folder that does not exist yet is judged by the one it will be made in."""
    folder = _existing(data.absolute())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        yield fail("data folder", f"{folder} cannot be written", "choose another with --data DIR, or change its owner")
        return
    yield ok("data folder", str(data.absolute()) + ("" if folder == data.absolute() else " (will be made)"))
    yield _check_space(folder)
    yield _check_file_system(folder)
    yield _check_sync(folder, progress)


def _existing(folder: Path) -> Path:
    return next(candidate for candidate in (folder, *folder.parents) if candidate.exists())


def _check_space(folder: Path) -> Finding:
    usage = shutil.disk_usage(folder)
    found = f"{usage.free / _GIB:.1f} GiB free of {usage.total / _GIB:.1f} GiB"
    advice = "make room, or shorten the retention of large topics: a full disk refuses writes"
    if usage.free < _FREE_FAIL_BYTES:
        return fail("disk space", found, advice)
    return warn("disk space", found, advice) if usage.free < _FREE_WARN_BYTES else ok("disk space", found)


def _check_file_system(folder: Path) -> Finding:
    kind = file_system_of(folder, _MOUNTS.read_text() if _MOUNTS.exists() else "")
    if kind in _NETWORK:
        return warn("file system", f"{kind}, over the network", "use a local disk: locks and syncs are not sure there")
    if kind in _IN_MEMORY:
        return warn(
            "file system", f"{kind}, in memory", "use a disk: everything is gone after a restart of the machine"
        )
    if kind == "overlay":
        return warn(
            "file system", "overlay, a container's own layer", "mount a volume: the data goes with the container"
        )
    return ok("file system", kind)


def file_system_of(folder: Path, mounts: str) -> str:
    """The kind of the mount that holds the folder: of all that lie above it, the deepest, and of those the last."""
    real = folder.resolve()
    kind, depth = "unknown", -1
    for line in mounts.splitlines():
        _, point, mounted, *_ = line.split(" ")
        place = Path(point.encode().decode("unicode_escape"))  # the kernel writes a space as \040
        if real.is_relative_to(place) and len(place.parts) >= depth:
            kind, depth = mounted, len(place.parts)
    return kind


def _check_sync(folder: Path, progress: Progress) -> Finding:
    try:
        durations_ms = _sync_durations_ms(folder, progress)
    except OSError as error:
        return fail("sync", f"fdatasync failed: {error.strerror}", "choose a file system that can sync")
    median_ms = statistics.median(durations_ms)
    found = f"{median_ms:.2f} ms (median of {len(durations_ms)}), {1000 / median_ms:,.0f} commits per second"
    if median_ms > _SYNC_SLOW_MS:
        return warn("sync", found, "use a faster disk, or flush = interval where a lost second is acceptable")
    return ok("sync", found)


def _sync_durations_ms(folder: Path, progress: Progress) -> list[float]:
    sync = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter
    block = os.urandom(_SYNC_RUN_BYTES)
    durations_ms: list[float] = []
    deadline = time.monotonic() + _SYNC_LIMIT_S
    with tempfile.TemporaryFile(dir=folder) as file:
        while len(durations_ms) < _SYNC_RUNS and (time.monotonic() < deadline or not durations_ms):
            progress(len(durations_ms), _SYNC_RUNS)
            os.write(file.fileno(), block)
            started = time.perf_counter()
            sync(file.fileno())
            durations_ms.append((time.perf_counter() - started) * 1000)
    return durations_ms
