"""`braid` on a disk that fails one sync: failing_sync_node.py KIND TRIGGER ARGUMENTS

Once the file TRIGGER is there, the next sync of this kind fails, and none after it: who tried it again would believe
that all is well.
"""

import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from braidmq.cli import main
from braidmq.log.embedded import _log
from braidmq.log.embedded._disk import File, RealDisk, RealFile


class Fault:
    """Strikes once."""

    def __init__(self, kind: str, trigger: Path) -> None:
        self._kind = kind
        self._trigger = trigger

    def strike(self, name: str) -> None:
        if name.startswith(self._kind) and self._trigger.exists():
            self._trigger.unlink()
            raise OSError(errno.EIO, os.strerror(errno.EIO))


class FailingFile(RealFile):
    """Knows its name, and meets the fault; not at its first sync, which may be that of a journal file that is only made
    ready: nothing was promised of that."""

    __slots__ = ("_fault", "_is_synced", "_name")

    def __init__(self, descriptor: int, name: str, fault: Fault) -> None:
        super().__init__(descriptor)
        self._name = name
        self._fault = fault
        self._is_synced = False

    def sync(self) -> None:
        if self._is_synced:
            self._fault.strike(self._name)
        super().sync()
        self._is_synced = True


class FailingDisk(RealDisk):
    """A real one until the fault strikes."""

    fault: Fault

    def open(self, name: str, *, create: bool = False) -> RealFile:
        descriptor = os.dup((opened := super().open(name, create=create)).fileno())
        opened.close()
        return FailingFile(descriptor, name, self.fault)

    def sync_many(self, files: Sequence[File]) -> None:
        if files:
            self.fault.strike("segments")
        super().sync_many(files)


if __name__ == "__main__":
    kind, trigger, *arguments = sys.argv[1:]
    FailingDisk.fault = Fault(kind, Path(trigger))
    vars(_log)["RealDisk"] = FailingDisk  # the node's own disk, as it opens it
    sys.argv = ["braid", *arguments]
    main()
