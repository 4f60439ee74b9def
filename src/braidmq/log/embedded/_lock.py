"""One process at a time: a lock on a file that says who holds it; and the salt drawn when the log was made."""

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from braidmq.log.embedded._disk import Disk, make_folder
from braidmq.log.embedded._frames import SALT_BYTES
from braidmq.model.errors import DamagedLog, DataFolderInUse
from braidmq.records import checksum

IDENTITY_NAME = "identity"


class FolderLock:
    """Held until `release` or the end of the process, whichever way that comes."""

    def __init__(self, folder: Path) -> None:
        """Raises DataFolderInUse, naming the owner, and OSError."""
        make_folder(folder)
        path = folder / "lock"
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._descriptor, 1000, 0).decode(errors="replace").strip() or "an unknown process"
            os.close(self._descriptor)
            raise DataFolderInUse(
                f"the data folder {folder} is in use by {owner}; stop that process or choose another folder"
            ) from None
        except BaseException:
            os.close(self._descriptor)
            raise
        owner = f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S')}\n"
        with contextlib.suppress(OSError):
            # On a full disk the owner stays unnamed; the lock holds all the same.
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, owner.encode(), 0)

    def release(self) -> None:
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def read_salt(disk: Disk, draw: Callable[[int], bytes]) -> bytes:
    """The log's salt; drawn, and on disk, when this returns for the first time."""
    file = disk.open(IDENTITY_NAME, create=True)
    try:
        kept = file.read(SALT_BYTES + 4, 0)
        if len(kept) == SALT_BYTES + 4 and checksum(kept[:SALT_BYTES]) == int.from_bytes(kept[SALT_BYTES:]):
            return kept[:SALT_BYTES]
        if disk.names("manifest"):
            path = disk.describe(IDENTITY_NAME)
            raise DamagedLog(f"{path} is damaged at byte 0; put back a copy of it", path=path, position=0)
        salt = draw(SALT_BYTES)
        file.write((salt + checksum(salt).to_bytes(4),), 0, SALT_BYTES + 4)
        file.sync()
        disk.sync_folder("")
        return salt
    finally:
        file.close()
