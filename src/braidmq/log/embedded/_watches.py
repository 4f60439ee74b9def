"""Who wants to hear of new data in which partition."""

from collections.abc import Callable, Sequence

from braidmq.log.embedded._partition import PartitionLog


class PartitionWatch:
    """Implements the port's `Watch`."""

    __slots__ = ("_partitions",)

    def __init__(self, partitions: Sequence[PartitionLog], on_data: Callable[[int], None]) -> None:
        self._partitions = partitions
        for partition in partitions:
            if partition.watchers is None:
                partition.watchers = {}
            partition.watchers[self] = on_data

    def cancel(self) -> None:
        for partition in self._partitions:
            if partition.watchers is not None:
                partition.watchers.pop(self, None)
        self._partitions = ()
