"""One of several servers at work, and the others asleep: on a small machine even an idle one takes its share.

What the others have left to the system to write is written first: it would be written during what is measured, at
the cost of who is measured, a second of a core for each gigabyte.
"""

import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import psutil

SETTLE_S = 3.0
"""How long servers that were woken have to find out that time has passed."""


@contextmanager
def alone(pids: Collection[int], of_all: Collection[int]) -> Iterator[None]:
    """Only these processes run inside; afterwards all of them do."""
    asleep = [psutil.Process(pid) for pid in of_all if pid not in pids]
    try:
        for process in asleep:
            process.suspend()
        os.sync()
        time.sleep(SETTLE_S)
        yield
    finally:
        for process in asleep:
            process.resume()
