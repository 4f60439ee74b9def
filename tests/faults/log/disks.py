"""Disks that live in memory, and disks that fail when told to. Both follow the port `Disk` of the embedded log.

`MemoryDisk` can be copied in microseconds, so that a log is opened again after each of thousands of faults.
`FaultyDisk` counts the calls of a disk beneath it and lets one of them fail.
"""

import errno
import os
from collections import Counter
from collections.abc import Callable, Sequence
from threading import Lock

from braidmq.log.embedded._disk import Disk, File, Write, Written, sync_one_by_one, write_one_by_one


class MemoryFile:
    """A file whose content all who opened it share."""

    def __init__(self, content: bytearray) -> None:
        self._content = content

    def write(self, buffers: Sequence[bytes | memoryview], position: int, size: int) -> None:
        missing = position - len(self._content)
        if missing > 0:
            self._content += bytes(missing)
        self._content[position : position + size] = b"".join(buffers)

    def read(self, size: int, position: int) -> bytes:
        return bytes(self._content[position : position + size])

    def read_now(self, size: int, position: int) -> bytes | None:
        return self.read(size, position)

    def sync(self) -> None:
        """Memory has nothing to wait for."""

    def truncate(self, size: int) -> None:
        del self._content[size:]
        self._content += bytes(size - len(self._content))

    def size(self) -> int:
        return len(self._content)

    def drop_cache(self, position: int = 0) -> None:
        """There is no cache."""

    def close(self) -> None:
        """Nothing is held."""


class MemoryDisk:
    """A folder in memory: `files` by name."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.files = {name: bytearray(content) for name, content in (files or {}).items()}

    def picture(self) -> dict[str, bytes]:
        """All files as they are now: what a crash would leave."""
        return {name: bytes(content) for name, content in self.files.items()}

    def open(self, name: str, *, create: bool = False) -> MemoryFile:
        if name not in self.files:
            if not create:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
            self.files[name] = bytearray()
        return MemoryFile(self.files[name])

    def write_many(self, writes: Sequence[Write]) -> tuple[int, OSError | None]:
        return write_one_by_one(writes)

    def write_out(self, written: Sequence[Written], ahead_bytes: int) -> None:
        """What is synced later is written then."""

    def sync_many(self, files: Sequence[File]) -> None:
        sync_one_by_one(files)

    def names(self, folder: str) -> list[str]:
        return [name for name in self.files if name.startswith(f"{folder}/")]

    def remove(self, name: str) -> None:
        self.files.pop(name, None)

    def rename(self, old: str, new: str) -> None:
        self.files[new] = self.files.pop(old)

    def sync_folder(self, folder: str) -> None:
        """Memory has nothing to wait for."""

    def close(self) -> None:
        """Nothing is held."""

    def free_bytes(self) -> int:
        return 1 << 40

    def total_bytes(self) -> int:
        return 1 << 41

    def allocate(self, name: str, size: int) -> None:
        self.files[name] = bytearray(size)

    def describe(self, name: str) -> str:
        return name


class Call:
    """One call that reached the disk: what it did, and to which file or folder."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name

    def __repr__(self) -> str:
        return f"{self.kind} {self.name}"


class FaultyDisk:
    """Passes every call on to a real disk; `fails` is asked first, and may answer with the error to raise.

    Calls come from several threads; `calls` is in the order in which they were made.
    """

    def __init__(self, disk: Disk, fails: Callable[[Call], OSError | None] = lambda _: None) -> None:
        self._disk = disk
        self._lock = Lock()
        self.fails = fails
        self.calls: list[Call] = []

    def note(self, kind: str, name: str) -> None:
        call = Call(kind, name)
        with self._lock:
            self.calls.append(call)
            error = self.fails(call)
        if error is not None:
            raise error

    def open(self, name: str, *, create: bool = False) -> "FaultyFile":
        self.note("open", name)
        return FaultyFile(self._disk.open(name, create=create), name, self)

    def write_many(self, writes: Sequence[Write]) -> tuple[int, OSError | None]:
        return write_one_by_one(writes)

    def write_out(self, written: Sequence[Written], ahead_bytes: int) -> None:
        """What is synced later is written then."""

    def sync_many(self, files: Sequence[File]) -> None:
        sync_one_by_one(files)

    def names(self, folder: str) -> list[str]:
        self.note("names", folder)
        return self._disk.names(folder)

    def remove(self, name: str) -> None:
        self.note("remove", name)
        self._disk.remove(name)

    def rename(self, old: str, new: str) -> None:
        self.note("rename", old)
        self._disk.rename(old, new)

    def sync_folder(self, folder: str) -> None:
        self.note("sync_folder", folder)
        self._disk.sync_folder(folder)

    def close(self) -> None:
        self._disk.close()

    def free_bytes(self) -> int:
        self.note("free_bytes", "")
        return self._disk.free_bytes()

    def total_bytes(self) -> int:
        self.note("total_bytes", "")
        return self._disk.total_bytes()

    def allocate(self, name: str, size: int) -> None:
        self.note("allocate", name)
        self._disk.allocate(name, size)

    def describe(self, name: str) -> str:
        return self._disk.describe(name)


class FaultyFile:
    """A file of a `FaultyDisk`. A write that fails leaves half of its bytes behind, as a disk may."""

    def __init__(self, file: File, name: str, disk: FaultyDisk) -> None:
        self._file = file
        self._name = name
        self._disk = disk

    def write(self, buffers: Sequence[bytes | memoryview], position: int, size: int) -> None:
        try:
            self._disk.note("write", self._name)
        except OSError:
            half = b"".join(buffers)[: size // 2]
            self._file.write((half,), position, len(half))
            raise
        self._file.write(buffers, position, size)

    def read(self, size: int, position: int) -> bytes:
        self._disk.note("read", self._name)
        return self._file.read(size, position)

    def read_now(self, size: int, position: int) -> bytes | None:
        self._disk.note("read", self._name)
        return self._file.read_now(size, position)

    def sync(self) -> None:
        self._disk.note("sync", self._name)
        self._file.sync()

    def truncate(self, size: int) -> None:
        self._disk.note("truncate", self._name)
        self._file.truncate(size)

    def size(self) -> int:
        return self._file.size()

    def drop_cache(self, position: int = 0) -> None:
        self._file.drop_cache(position)

    def close(self) -> None:
        self._file.close()


class NthCall:
    """Lets the n-th call of one kind fail, once; to be given to a `FaultyDisk`. `failed` is the call it hit."""

    def __init__(self, kind: str, number: int, code: int = errno.EIO) -> None:
        self._kind = kind
        self._number = number
        self._code = code
        self._seen: Counter[str] = Counter()
        self.failed: Call | None = None

    def __call__(self, call: Call) -> OSError | None:
        self._seen[call.kind] += 1
        if call.kind == self._kind and self._seen[call.kind] == self._number:
            self.failed = call
            return OSError(self._code, os.strerror(self._code), call.name)
        return None
