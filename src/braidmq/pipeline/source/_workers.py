"""What a Python worker of Spark keeps from one task to the next: its connections, and what it has imported."""

import atexit
import gc
import itertools
import os
from typing import Final

from braidmq.allocator import keep_freed
from braidmq.pipeline.source._cluster import Cluster
from braidmq.pipeline.source._options import Options

_open: dict[tuple[object, ...], Cluster] = {}
_calls: Final = itertools.count(1)
_SETTLED_AT: Final = 2
_KEPT_BYTES: Final = 128 * 1024 * 1024
"""What a batch was decoded into is taken again for the next."""
_IS_REUSED: Final = "SPARK_REUSE_WORKER" in os.environ


def worker_cluster(options: Options) -> Cluster:
    """The connection that this process keeps for these options: a task of a small micro-batch should not have to make
    its own."""
    settle()
    identity = (options.connection.identity, options.read_committed)
    if identity not in _open:
        keep_freed(_KEPT_BYTES)
        _open[identity] = Cluster(options.connection, read_committed=options.read_committed)
    return _open[identity]


def settle() -> None:
    """To be called when Spark has us do something. After each time, it lets its worker go through all objects there
    are, for garbage, which takes longer than a small task. The first time has imported whatever is needed, and has left
    no garbage: what is there when the second begins will stay, and from then on is passed over."""
    if _IS_REUSED and next(_calls) == _SETTLED_AT:
        gc.freeze()


def _close_all() -> None:
    while _open:
        _open.popitem()[1].close()


atexit.register(_close_all)
