"""Memory that a load needs stays with the node while the load lasts, and goes back to the system when it is over.

To ask the system for the memory of each large request anew would take longer than anything else that is done with the
request. After the load, what is kept may be more than the node takes itself. Giving it back takes milliseconds, in
which nobody is given memory; so that is done while little moves, and only when there may be something to give.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from braidmq.allocator import give_back, keep_freed

KEPT_BYTES: Final = 64 << 20
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
        moved_before, is_keeping = self._moved_bytes(), False
        while True:
            await asyncio.sleep(LOOK_S)
            moved = self._moved_bytes()
            is_quiet, moved_before = moved - moved_before < QUIET_BYTES, moved
            if not is_quiet and not is_keeping:
                is_keeping = True
                keep_freed(KEPT_BYTES)
            if is_quiet and resident_bytes() >= needed_bytes + WORTH_BYTES:
                await asyncio.to_thread(give_back)
                needed_bytes = resident_bytes()


def resident_bytes() -> int:
    """How much of this process is in memory."""
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
