"""Who takes the room of a disk, for tests that fill one."""

import errno
import os
from pathlib import Path


class Foreigner:
    """Somebody else's file that takes all the room there is."""

    def __init__(self, disk: Path) -> None:
        self._path = disk / "foreign"

    def fill(self) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            for size in (64 << 10, 4 << 10, 1):
                while _takes(descriptor, size):
                    pass
        finally:
            os.close(descriptor)

    def leave(self) -> None:
        self._path.unlink(missing_ok=True)


def _takes(descriptor: int, size: int) -> bool:
    try:
        return os.write(descriptor, bytes(size)) > 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False
