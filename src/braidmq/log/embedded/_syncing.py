"""The threads that wait while the disk syncs the journal, as the event loop sees them. Hot path.

They are the system's own where that is compiled (`_lanes.pyx`) and a sync is of nothing but open files of this machine.
Threads of Python's do the rest: a journal file that was just made, whose folder is synced, too, and disks of tests.
"""

import asyncio
import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

from braidmq.log.embedded._turn import SyncJob

try:
    from braidmq.log.embedded._lanes import Lanes
except ImportError:
    _IS_COMPILED = False
else:
    _IS_COMPILED = True

Ended = Callable[[SyncJob, Exception | None], None]
"""A sync is over, and why it failed if so. Called by the event loop."""


class Syncing:
    """Begins the syncs of `lanes` lanes, one at a time in each."""

    def __init__(self, lanes: int, ended: Ended) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = ended
        self._queue: SimpleQueue[SyncJob | None] = SimpleQueue()
        self._threads = [Thread(target=self._run, name=f"braid-log-sync-{lane}", daemon=True) for lane in range(lanes)]
        self._are_begun = False
        self._lanes = _open_lanes(lanes)
        self._in_lanes: dict[int, SyncJob] = {}
        if self._lanes is not None:
            self._loop.add_reader(self._lanes.fileno(), self._hear)

    def begin(self, job: SyncJob) -> None:
        """`ended` hears when it is over."""
        lanes = self._lanes
        if lanes is not None and (descriptors := job.descriptors()) is not None:
            self._in_lanes[job.lane] = job
            lanes.begin(job.lane, descriptors)
            return
        if not self._are_begun:
            self._are_begun = True
            for thread in self._threads:
                thread.start()
        self._queue.put(job)

    def _hear(self) -> None:
        assert self._lanes is not None
        for lane, error_number, took_us in self._lanes.ended():
            job = self._in_lanes.pop(lane)
            job.took_us = took_us
            self._ended(job, OSError(error_number, os.strerror(error_number)) if error_number else None)

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            error: Exception | None = None
            try:
                job.run()
            except Exception as failed:  # of whatever kind: what was to be synced is never acknowledged
                error = failed
            self._loop.call_soon_threadsafe(self._ended, job, error)

    async def close(self) -> None:
        """End the threads, when nothing is under way."""
        if self._lanes is not None:
            self._loop.remove_reader(self._lanes.fileno())
            await asyncio.to_thread(self._lanes.close)
        if self._are_begun:
            for _ in self._threads:
                self._queue.put(None)
            for thread in self._threads:
                await asyncio.to_thread(thread.join)


def _open_lanes(count: int) -> "Lanes | None":
    """None where they are not compiled, or there is no thread or pipe to be had: threads of Python's begin later."""
    if not _IS_COMPILED:
        return None
    try:
        return Lanes(count)
    except OSError:
        return None
