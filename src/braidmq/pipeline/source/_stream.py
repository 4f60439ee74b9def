"""`spark.readStream.format("braid")`: what comes to the topics, micro-batch by micro-batch.

A stream's offsets are {"topic": {"partition": next offset}}. A partition or topic that is new, and so not among them,
begins at offset 0: if it no longer has that offset when it is found, messages were missed, and that is data loss.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from braidmq.pipeline.source._cluster import Cluster, Place
from braidmq.pipeline.source._fetching import average_bytes, read_ranges
from braidmq.pipeline.source._options import EARLIEST, LATEST, Options
from braidmq.pipeline.source._ranges import (
    Task,
    as_offsets,
    checked,
    existing,
    from_offsets,
    lost,
    resolved,
    tasks,
)
from braidmq.pipeline.source._workers import worker_cluster

_SAMPLED_MAX: Final = 16


class BraidStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans in a process that Spark keeps for the stream; reads in its workers."""

    def __init__(self, options: Options, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema
        self._cluster: Cluster | None = None
        self._target: dict[Place, int] | None = None
        self._latest: dict[Place, int] | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        cluster = self._connected()
        places = existing(cluster, self._options)
        return as_offsets(resolved(cluster, places, self._options.starting, otherwise=EARLIEST))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        if self._options.rows_per_batch is not None:
            return ReadMaxRows(self._options.rows_per_batch)
        if self._options.bytes_per_batch is not None:
            return ReadMaxBytes(self._options.bytes_per_batch)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """From here on, nothing that comes later is read."""
        self._target = self._ends()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        known = from_offsets(start)
        self._latest = ends = self._ends() if self._target is None else self._target
        for place in known.keys() - ends.keys():
            if self._target is None or place not in self._ends():
                lost(self._options, f"{place} does not exist any more, and was read up to offset {known[place]}")
        behind = {place: end - _begin(known.get(place, 0), end) for place, end in ends.items()}
        admitted = _shared_out(behind, self._rows(limit, known, behind))
        return as_offsets(
            known | {place: _begin(known.get(place, 0), ends[place]) + rows for place, rows in admitted.items()}
        )

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return None if self._latest is None else as_offsets(self._latest)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        begins = from_offsets(start)
        wanted = {place: (begins.get(place, 0), offset) for place, offset in from_offsets(end).items()}
        ranges = checked(self._connected(), wanted, self._options, compacted=self._options.with_ranges)
        return list(tasks(ranges, self._options.rows_per_task))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Task)
        return read_ranges(worker_cluster(self._options), partition.ranges, self._options, self._schema, None)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing waits for it: what was read is known from Spark's checkpoint, or better, from the table."""

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self._options.connection, read_committed=self._options.read_committed)
        return self._cluster

    def _ends(self) -> dict[Place, int]:
        cluster = self._connected()
        ends = cluster.offsets(dict.fromkeys(existing(cluster, self._options), LATEST))
        return {place: end for place, end in ends.items() if end >= 0}

    def _rows(self, limit: ReadLimit, known: Mapping[Place, int], behind: Mapping[Place, int]) -> int | None:
        """How many rows a micro-batch may have; None for any number."""
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        if isinstance(limit, ReadAllAvailable) or self._options.bytes_per_batch is None or not any(behind.values()):
            return rows
        largest = sorted(behind, key=behind.__getitem__, reverse=True)[:_SAMPLED_MAX]
        positions = {place: known.get(place, 0) for place in largest if behind[place]}
        by_bytes = max(1, int(self._options.bytes_per_batch / average_bytes(self._connected(), positions)))
        return by_bytes if rows is None else min(rows, by_bytes)


def _begin(known: int, end: int) -> int:
    """A partition that ends before where we are was made anew; it is read from its start."""
    return known if known <= end else 0


def _shared_out(behind: Mapping[Place, int], rows: int | None) -> dict[Place, int]:
    """So many rows in all, each partition in proportion to how far behind it is."""
    total = sum(behind.values())
    if rows is None or total <= rows:
        return dict(behind)
    shares = {place: lag * rows // total for place, lag in behind.items()}
    remainders = sorted(behind, key=lambda place: behind[place] * rows % total, reverse=True)
    for place in remainders[: rows - sum(shares.values())]:
        shares[place] += 1
    return shares
