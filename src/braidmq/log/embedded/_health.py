"""Whether the disk can take more: not while it is full, and never again once it has failed.

A reserve file keeps some room aside. It is given up when the disk is full, so that what was acknowledged can still be
written to its segments and deletions can be recorded, and made again when there is room.
"""

import contextlib
import errno
from collections.abc import Callable, Iterator

from braidmq.log.embedded._disk import Disk
from braidmq.model import BraidError
from braidmq.model.errors import StorageFailed, StorageFull

RESERVE_NAME = "reserve"
LOOK_AFTER_BYTES = 16 * 1024 * 1024
LOOK_AFTER_MS = 200


class SyncFailed(OSError):
    """The disk did not keep what it had been given. Whatever the reason, even want of room, it is never tried again."""


def is_full(error: OSError) -> bool:
    """Whether a write found no room, and may find some later."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT) and not isinstance(error, SyncFailed)


def is_out_of_files(error: OSError) -> bool:
    """Whether a file could not be opened because so many are open, in this process or on this machine. That says
    nothing of the disk, and passes."""
    return error.errno in (errno.EMFILE, errno.ENFILE) and not isinstance(error, SyncFailed)


@contextlib.contextmanager
def syncing() -> Iterator[None]:
    """Turns the failure of a sync into SyncFailed."""
    try:
        yield
    except OSError as error:
        raise SyncFailed(error.errno, f"sync failed: {error.strerror}") from error


class DiskHealth:
    """See the module's opening."""

    def __init__(self, disk: Disk, reserve_bytes: int, now_ms: Callable[[], int]) -> None:
        self._disk = disk
        self._reserve_bytes = reserve_bytes
        self._now_ms = now_ms
        self._looked_ms = 0
        self._written_bytes = 0
        self.full = False
        self.failure: StorageFailed | None = None

    def refusal(self, *, deleting: bool = False) -> BraidError | None:
        """Why nothing can be written now, if so; a full disk still takes what makes room."""
        if self.failure is not None:
            return self.failure
        if self.full and not deleting and not self._has_room_again():
            return StorageFull()
        return None

    def note_full(self) -> StorageFull:
        """Refuse writes from now on, and give up the reserve."""
        self.full = True
        self._looked_ms = self._now_ms()
        self._disk.remove(RESERVE_NAME)
        return StorageFull()

    def _has_room_again(self) -> bool:
        now_ms = self._now_ms()
        if now_ms - self._looked_ms < LOOK_AFTER_MS:
            return False
        self._looked_ms = now_ms
        if self._disk.free_bytes() < 2 * self._reserve_bytes:
            return False
        self.full = not self.make_reserve()
        return not self.full

    def make_reserve(self) -> bool:
        """Set the reserve aside; False when there is no room for it."""
        if not self._reserve_bytes:
            return True
        try:
            self._disk.allocate(RESERVE_NAME, self._reserve_bytes)
        except OSError:
            # Whatever the reason, the reserve is not there; writes meet the reason themselves.
            self._disk.remove(RESERVE_NAME)
            return False
        return True

    def note_written(self, size_bytes: int) -> None:
        """A disk that is nearly full is treated as full while the reserve is still there."""
        self._written_bytes += size_bytes
        if self._written_bytes >= LOOK_AFTER_BYTES:
            self._written_bytes = 0
            if not self.full and self._disk.free_bytes() < self._reserve_bytes:
                self.note_full()

    def fail(self, error: BaseException, what: str) -> StorageFailed:
        """The first failure; there is no way back from it."""
        if self.failure is None:
            self.failure = StorageFailed(
                f"the disk failed at {what}: {error};"
                " nothing more is acknowledged, restart the node to read the disk again"
            )
        return self.failure
