"""The seam to the disk: the few calls that the embedded log makes, for real here and simulated in the tests.

A file is written at explicit positions, so that a write that failed half way is simply written over by the next one.
`Disk` works inside one folder; names are relative to it and made of our own numbers only.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from braidmq.log.embedded._tail import LEADER_EPOCH, TailBatch, tail_buffers

try:
    from braidmq.log.embedded import _many_files
except ImportError:  # not compiled here: file after file, waiting for the interpreter's lock after each
    _IS_COMPILED = False
else:
    _IS_COMPILED = True

IOVEC_MAX = min(1024, os.sysconf("SC_IOV_MAX"))
_READ_WITHOUT_WAITING = getattr(os, "RWF_NOWAIT", None)
_ONE_BYTE = bytearray(1)
WRITE_OUT_BYTES_MIN = 256 * 1024
WRITE_OUT_BYTES_MAX = 1024 * 1024
"""How much of what is synced in the background goes to the disk at a time: each time costs an interrupt or two."""
SYNCS_AT_ONCE = 4
"""A file system notes the sizes of files that are synced at one time together: many files in a third of the time."""


class File(Protocol):
    """An open file."""

    def write(self, buffers: Sequence[bytes | memoryview], position: int, size: int) -> None:
        """All of the buffers, `size` bytes together, one behind the other; OSError when not all could be written."""
        ...

    def read(self, size: int, position: int) -> bytes:
        """At most `size` bytes; fewer only at the end of the file."""
        ...

    def read_now(self, size: int, position: int) -> bytes | None:
        """As `read`, or None where the bytes do not seem to be in memory."""
        ...

    def sync(self) -> None:
        """What was written is on the disk when this returns."""
        ...

    def truncate(self, size: int) -> None: ...

    def size(self) -> int: ...

    def drop_cache(self, position: int = 0) -> None:
        """Let the next reads from the position on come from the disk, not from memory."""
        ...

    def close(self) -> None: ...


class Write(NamedTuple):
    """Batches that are to be written to a file, from a position on."""

    file: File
    batches: Sequence[TailBatch]
    position: int


class Written(NamedTuple):
    """What was written to a file since it was last synced."""

    file: File
    begin: int
    end: int


class Disk(Protocol):
    """A folder with files in it, one level of folders deep."""

    def open(self, name: str, *, create: bool = False) -> File: ...

    def write_many(self, writes: Sequence[Write]) -> tuple[int, OSError | None]:
        """One write after the other, up to the first that fails: how many were made, and why no more."""
        ...

    def write_out(self, written: Sequence[Written], ahead_bytes: int) -> None:
        """Bring to the disk what will be synced soon. The disk is given so much before it has done what it had: who
        syncs something small meanwhile waits for no more than that. Raises OSError where the disk could not write, and
        may say so only here."""
        ...

    def sync_many(self, files: Sequence[File]) -> None:
        """What was written to any of the files is on the disk when this returns."""
        ...

    def names(self, folder: str) -> list[str]:
        """The files of a folder (made if it is not there), in no order."""
        ...

    def remove(self, name: str) -> None:
        """It is no error when the file is gone already."""
        ...

    def rename(self, old: str, new: str) -> None: ...

    def sync_folder(self, folder: str) -> None:
        """Files made, renamed and removed in the folder stay so after a loss of power."""
        ...

    def close(self) -> None:
        """Let go of what is held to sync the folders."""
        ...

    def free_bytes(self) -> int: ...

    def total_bytes(self) -> int: ...

    def allocate(self, name: str, size: int) -> None:
        """A file that really takes up this much room."""
        ...

    def describe(self, name: str) -> str:
        """The file's name as a person would look for it."""
        ...


def write_one_by_one(writes: Sequence[Write]) -> tuple[int, OSError | None]:
    """`Disk.write_many` by `File.write`."""
    for done, (file, batches, position) in enumerate(writes):
        buffers = tail_buffers(batches)
        try:
            file.write(buffers, position, sum(map(len, buffers)))
        except OSError as error:
            return done, error
    return len(writes), None


def sync_one_by_one(files: Sequence[File]) -> None:
    """`Disk.sync_many` by `File.sync`."""
    for file in files:
        file.sync()


class RealFile:
    """A file descriptor."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def write(self, buffers: Sequence[bytes | memoryview], position: int, size: int) -> None:
        if len(buffers) > IOVEC_MAX:
            for start in range(0, len(buffers), IOVEC_MAX):
                part = buffers[start : start + IOVEC_MAX]
                part_bytes = sum(map(len, part))
                self.write(part, position, part_bytes)
                position += part_bytes
            return
        written = os.pwritev(self._descriptor, buffers, position)
        if written != size:
            self._write_rest(b"".join(buffers), written, position)

    def _write_rest(self, data: bytes, written: int, position: int) -> None:
        """A short write is followed by the rest, which then meets the true error, if there is one."""
        view = memoryview(data)
        while written < len(data):
            count = os.pwrite(self._descriptor, view[written:], position + written)
            if count == 0:
                raise OSError(errno.EIO, "the disk took no bytes and gave no reason")
            written += count

    def read(self, size: int, position: int) -> bytes:
        data = os.pread(self._descriptor, size, position)
        while len(data) < size:
            more = os.pread(self._descriptor, size - len(data), position + len(data))
            if not more:
                break
            data += more
        return data

    def read_now(self, size: int, position: int) -> bytes | None:
        if not size or all(map(self._is_in_memory, (position, position + size // 2, position + size - 1))):
            return os.pread(self._descriptor, size, position)
        return None

    def _is_in_memory(self, position: int) -> bool:
        """Asked by reading one byte without waiting. A read into a buffer of ours would have to clear it first, which
        costs a third of the read itself; so both ends and the middle stand for the whole."""
        if _READ_WITHOUT_WAITING is None:
            return True
        try:
            return os.preadv(self._descriptor, (_ONE_BYTE,), position, _READ_WITHOUT_WAITING) == 1
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno in (errno.EOPNOTSUPP, errno.EINVAL):
                # This file system cannot tell; a short wait is the price.
                return True
            raise

    def sync(self) -> None:
        _sync_data(self._descriptor)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def drop_cache(self, position: int = 0) -> None:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._descriptor, position, 0, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        os.close(self._descriptor)


class RealDisk:
    """A folder of this machine. Folders that were synced stay open, so that to sync one again needs no new descriptor:
    by then there may be none to be had."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folders: dict[str, int] = {}

    def open(self, name: str, *, create: bool = False) -> RealFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return RealFile(os.open(self._folder / name, flags, 0o640))

    def write_many(self, writes: Sequence[Write]) -> tuple[int, OSError | None]:
        if not _IS_COMPILED:
            return write_one_by_one(writes)
        files = _descriptors([write.file for write in writes])
        planned = [(file, batches, at) for file, (_, batches, at) in zip(files, writes, strict=True)]
        done, number = _many_files.write_all(planned, LEADER_EPOCH)
        return done, OSError(number, os.strerror(number)) if number else None

    def write_out(self, written: Sequence[Written], ahead_bytes: int) -> None:
        if _IS_COMPILED:
            files = _descriptors([each.file for each in written])
            stretches = [(file, begin, end) for file, (_, begin, end) in zip(files, written, strict=True)]
            step_bytes = min(max(ahead_bytes // 2, WRITE_OUT_BYTES_MIN), WRITE_OUT_BYTES_MAX)
            _check(_many_files.write_out_all(stretches, step_bytes, ahead_bytes))

    def sync_many(self, files: Sequence[File]) -> None:
        shares = [share for first in range(SYNCS_AT_ONCE) if (share := files[first::SYNCS_AT_ONCE])]
        with ThreadPoolExecutor(SYNCS_AT_ONCE, thread_name_prefix="braid-log-segments") as threads:
            for _ in threads.map(_sync_share, shares):
                pass

    def names(self, folder: str) -> list[str]:
        path = self._folder / folder
        if not path.is_dir():
            make_folder(path)
        with os.scandir(path) as entries:
            return [f"{folder}/{entry.name}" for entry in entries]

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._folder / name)

    def rename(self, old: str, new: str) -> None:
        os.rename(self._folder / old, self._folder / new)

    def sync_folder(self, folder: str) -> None:
        descriptor = self._folders.get(folder)
        if descriptor is None:
            descriptor = self._folders[folder] = _open_folder(self._folder / folder)
        os.fsync(descriptor)

    def close(self) -> None:
        while self._folders:
            os.close(self._folders.popitem()[1])

    def free_bytes(self) -> int:
        status = os.statvfs(self._folder)
        return status.f_bavail * status.f_frsize

    def total_bytes(self) -> int:
        status = os.statvfs(self._folder)
        return status.f_blocks * status.f_frsize

    def allocate(self, name: str, size: int) -> None:
        descriptor = os.open(self._folder / name, os.O_RDWR | os.O_CLOEXEC | os.O_CREAT, 0o640)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, size)
            else:
                os.pwrite(descriptor, bytes(size), 0)
        finally:
            os.close(descriptor)

    def describe(self, name: str) -> str:
        return str(self._folder / name)


def make_folder(path: Path) -> None:
    """Make the folder, and those above it that are not there. When this returns its name is on disk: what is synced in
    it from then on is not lost with it. That holds for one that an earlier life made, too, and had no time to sync."""
    missing = [folder for folder in path.parents if not folder.exists()]
    if not path.is_dir():
        missing.insert(0, path)
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True, mode=0o750 if folder == path else 0o777)
    for folder in reversed(missing or [path]):
        # One that we may not read is somebody else's, and what it holds is theirs to keep.
        with contextlib.suppress(PermissionError):
            _sync_folder(folder.parent)


def _sync_folder(path: Path) -> None:
    descriptor = _open_folder(path)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open_folder(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _descriptors(files: Sequence[File]) -> list[int]:
    own = cast("Sequence[RealFile]", files)  # a disk is given files of its own
    return [file.fileno() for file in own]


def _sync_share(files: Sequence[File]) -> None:
    if _IS_COMPILED:
        _, number = _many_files.sync_all(_descriptors(files))
        _check(number)
    else:
        sync_one_by_one(files)


def _check(error_number: int) -> None:
    if error_number:
        raise OSError(error_number, os.strerror(error_number))


def _sync_data(descriptor: int) -> None:
    if sys.platform == "darwin":
        # There, fsync leaves the data in the drive's own cache.
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)
