"""A disk that can be copied at one moment: what a process leaves behind that is killed there."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from braidmq.log.embedded._disk import RealDisk, RealFile, Write, write_one_by_one


class GatedFile(RealFile):
    """Nothing is half written while the gate is shut."""

    __slots__ = ("_gate",)

    def __init__(self, descriptor: int, gate: Lock) -> None:
        super().__init__(descriptor)
        self._gate = gate

    def write(self, buffers: Sequence[bytes | memoryview], position: int, size: int) -> None:
        with self._gate:
            super().write(buffers, position, size)

    def truncate(self, size: int) -> None:
        with self._gate:
            super().truncate(size)


class GatedDisk(RealDisk):
    """A folder whose changes happen one by one, so that a copy is a picture of one moment between two of them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._gate = Lock()

    def open(self, name: str, *, create: bool = False) -> GatedFile:
        with self._gate:
            return GatedFile(super().open(name, create=create).fileno(), self._gate)

    def write_many(self, writes: Sequence[Write]) -> tuple[int, OSError | None]:
        return write_one_by_one(writes)

    def remove(self, name: str) -> None:
        with self._gate:
            super().remove(name)

    def rename(self, old: str, new: str) -> None:
        with self._gate:
            super().rename(old, new)

    def copy_to(self, folder: Path) -> None:
        with self._gate:
            shutil.copytree(self._folder, folder)
