"""Memory that a load has needed goes back to the system when the load is over.

What Python frees, the C library keeps for whoever asks next. After large requests that may be more than the node takes
itself, and the system would not get it back. Asking for it takes milliseconds, in which nobody is given memory; so that
is done while little moves, and only when there may be something to get.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

LOOK_S: Final = 1.0
QUIET_BYTES: Final = 1 << 20
"""Less than this moves from one look to the next while it is quiet."""
WORTH_BYTES: Final = 16 << 20

_STATM: Final = Path("/proc/self/statm")


class MemoryReturn:
    """`moved_bytes` tells how much has come and gone so far."""

    def __init__(self, moved_bytes: Callable[[], int]) -> None:
        self._moved_bytes = moved_bytes
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """What is resident now is what the node needs. Nothing is done where the system does not tell how much that
        is."""
        if _STATM.exists():
            self._task = asyncio.create_task(self._run(resident_bytes()), name="memory return")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _run(self, needed_bytes: int) -> None:
        moved_before = self._moved_bytes()
        while True:
            await asyncio.sleep(LOOK_S)
            moved = self._moved_bytes()
            is_quiet, moved_before = moved - moved_before < QUIET_BYTES, moved
            if is_quiet and resident_bytes() >= needed_bytes + WORTH_BYTES:
                await asyncio.to_thread(_give_back)
                needed_bytes = resident_bytes()


def resident_bytes() -> int:
    """How much of this process is in memory."""
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _give_back() -> None:
    """Does nothing where the C library does not know how."""
    import ctypes  # takes 4 ms, and most nodes never come here

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
