"""A disk that forgets. What was written and not synced survives a crash in part, torn and in any order, or not at all.

- A file's unsynced writes reach the disk each for itself or not, sector by sector.
- Names made, changed and removed in a folder reach the disk in order, up to some point, unless the folder was synced.
- `sync` may be told to fail, once or from then on: then what was unsynced is dropped and never written, while readers
  of this life still see it. That is told once to each who has the file open, and his next sync succeeds without it;
  which is what real kernels do.
- At any call the process may be cut off (`Crashed`).
"""

import errno
import random
from collections.abc import Sequence

from braidmq.log.embedded._disk import File, Write, Written, sync_one_by_one, write_one_by_one

SECTOR_BYTES = 512
PLENTY = 1 << 40


class Crashed(BaseException):
    """The machine stopped in the middle of a call."""


class Inode:
    """A file's bytes as this life sees them, as the disk has them, and the writes in between."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.durable = bytearray()
        self.unsynced: list[tuple[int, bytes] | int] = []
        """Writes (position, bytes) and truncations (size)."""
        self.errors = 0
        """How often something could not be written."""

    def settle(self) -> None:
        """What was dropped by a sync that failed stays dropped."""
        self.durable = self.on_disk_if_synced()
        self.unsynced.clear()

    def on_disk_if_synced(self) -> bytearray:
        data = bytearray(self.durable)
        for op in self.unsynced:
            if isinstance(op, int):
                _truncate(data, op)
            else:
                _write(data, *op)
        return data

    def crash(self, chance: random.Random) -> None:
        survivors = [op for op in self.unsynced if chance.random() < 0.6]
        chance.shuffle(survivors)
        for op in survivors:
            if isinstance(op, int):
                _truncate(self.durable, op)
            else:
                _write_torn(self.durable, op[0], op[1], chance)
        self.content = bytearray(self.durable)
        self.unsynced.clear()


def _truncate(data: bytearray, size: int) -> None:
    if size < len(data):
        del data[size:]
    else:
        data.extend(bytes(size - len(data)))


def _write(data: bytearray, position: int, written: bytes) -> None:
    if position > len(data):
        data.extend(bytes(position - len(data)))
    data[position : position + len(written)] = written


def _write_torn(data: bytearray, position: int, written: bytes, chance: random.Random) -> None:
    if chance.random() < 0.7:
        _write(data, position, written)
        return
    start = 0
    while start < len(written):
        end = min(len(written), start + SECTOR_BYTES - (position + start) % SECTOR_BYTES)
        if chance.random() < 0.5:
            _write(data, position + start, written[start:end])
        start = end


class SimulatedFile:
    def __init__(self, disk: "SimulatedDisk", inode: Inode) -> None:
        self._disk = disk
        self._inode = inode
        self._errors_told = inode.errors

    def write(self, buffers: Sequence[bytes | memoryview], position: int, size: int) -> None:
        data = b"".join(buffers)
        assert len(data) == size, "the writer miscounted"
        growth = max(0, position + size - len(self._inode.content))
        if growth > self._disk.free_bytes():
            half = data[: self._disk.free_bytes()]
            _write(self._inode.content, position, half)
            self._inode.unsynced.append((position, half))
            raise OSError(errno.ENOSPC, "No space left on device")
        self._disk.step("write")
        _write(self._inode.content, position, data)
        self._inode.unsynced.append((position, data))

    def read(self, size: int, position: int) -> bytes:
        return bytes(self._inode.content[position : position + size])

    def read_now(self, size: int, position: int) -> bytes:
        return self.read(size, position)

    def sync(self) -> None:
        self._disk.step("sync")
        if self._disk.syncs_fail:
            self._disk.syncs_fail = not self._disk.syncs_fail_once
            self._disk.failed_syncs += 1
            self._inode.unsynced.clear()
            self._inode.errors += 1
        if self._errors_told != self._inode.errors:
            self._errors_told = self._inode.errors
            raise OSError(errno.EIO, "Input/output error")
        self._inode.settle()

    def truncate(self, size: int) -> None:
        self._disk.step("truncate")
        _truncate(self._inode.content, size)
        self._inode.unsynced.append(size)

    def size(self) -> int:
        return len(self._inode.content)

    def drop_cache(self, position: int = 0) -> None:
        """After a failed sync the disk lacks what memory still shows; from here on the disk counts, and what is still
        to be written to it."""
        self._inode.content[position:] = self._inode.on_disk_if_synced()[position:]

    def close(self) -> None:
        pass


class SimulatedDisk:
    def __init__(self, chance: random.Random, capacity_bytes: int = PLENTY) -> None:
        self._chance = chance
        self.capacity_bytes = capacity_bytes
        self.names_now: dict[str, Inode] = {}
        self._names_durable: dict[str, Inode] = {}
        self._unsynced_names: list[tuple[str, dict[str, Inode | None]]] = []
        """For each folder's changes in order: name -> file, or None where it was removed."""
        self.steps_left: int | None = None
        self.syncs_fail = self.syncs_fail_once = False
        self.failed_syncs = 0
        """In this life."""
        self.steps = 0

    def step(self, what: str) -> None:
        """Every call that changes the disk passes here; the life may end at any of them."""
        self.steps += 1
        if self.steps_left is not None:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise Crashed(what)

    def open(self, name: str, *, create: bool = False) -> SimulatedFile:
        inode = self.names_now.get(name)
        if inode is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "No such file", name)
            self.step("create")
            inode = Inode()
            self._change(name, {name: inode})
        return SimulatedFile(self, inode)

    def write_many(self, writes: Sequence[Write]) -> tuple[int, OSError | None]:
        return write_one_by_one(writes)

    def write_out(self, written: Sequence[Written], ahead_bytes: int) -> None:
        """What is synced later is written then."""

    def sync_many(self, files: Sequence[File]) -> None:
        sync_one_by_one(files)

    def _change(self, name: str, change: dict[str, Inode | None]) -> None:
        self._apply(self.names_now, change)
        self._unsynced_names.append((name.rpartition("/")[0], change))

    @staticmethod
    def _apply(names: dict[str, Inode], change: dict[str, Inode | None]) -> None:
        for name, inode in change.items():
            if inode is None:
                names.pop(name, None)
            else:
                names[name] = inode

    def names(self, folder: str) -> list[str]:
        return [name for name in self.names_now if name.rpartition("/")[0] == folder]

    def remove(self, name: str) -> None:
        if name in self.names_now:
            self.step("remove")
            self._change(name, {name: None})

    def rename(self, old: str, new: str) -> None:
        self.step("rename")
        self._change(new, {old: None, new: self.names_now[old]})

    def sync_folder(self, folder: str) -> None:
        self.step("sync folder")
        for changed, change in self._unsynced_names:
            if changed == folder:
                self._apply(self._names_durable, change)
        self._unsynced_names = [item for item in self._unsynced_names if item[0] != folder]

    def close(self) -> None:
        """Nothing is held."""

    def free_bytes(self) -> int:
        return max(0, self.capacity_bytes - sum(len(inode.content) for inode in self.names_now.values()))

    def total_bytes(self) -> int:
        return self.capacity_bytes

    def allocate(self, name: str, size: int) -> None:
        file = self.open(name, create=True)
        file.write([bytes(size)], 0, size)

    def describe(self, name: str) -> str:
        return name

    def picture(self) -> dict[str, tuple[bytes, bytes]]:
        """Each file as this life sees it, and as the disk has it."""
        return {name: (bytes(inode.content), bytes(inode.durable)) for name, inode in self.names_now.items()}

    # What happens to it.

    def lose_power(self) -> None:
        """Only what the disk has comes back, and of the rest whatever chance left there."""
        for folder in dict.fromkeys(folder for folder, _ in self._unsynced_names):
            changes = [change for changed, change in self._unsynced_names if changed == folder]
            for change in changes[: self._chance.randint(0, len(changes))]:
                self._apply(self._names_durable, change)
        self._unsynced_names.clear()
        for inode in {id(inode): inode for inode in self._names_durable.values()}.values():
            inode.crash(self._chance)
        self.names_now = dict(self._names_durable)
        self._revive()

    def fill_up(self, free_bytes: int | None) -> None:
        """Leave only so much room, or (None) make room again."""
        used = sum(len(inode.content) for inode in self.names_now.values())
        self.capacity_bytes = PLENTY if free_bytes is None else used + free_bytes

    def lose_process(self) -> None:
        """The kernel still has everything that was written."""
        self._revive()

    def _revive(self) -> None:
        self.capacity_bytes = PLENTY
        self.steps_left = None
        self.syncs_fail = False
        self.failed_syncs = 0
