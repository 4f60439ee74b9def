"""`spark.read.format("braid")`: what the topics hold now, once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from braidmq.pipeline.source._cluster import Cluster, Place
from braidmq.pipeline.source._fetching import read_ranges
from braidmq.pipeline.source._filters import Filters
from braidmq.pipeline.source._options import EARLIEST, LATEST, Options
from braidmq.pipeline.source._ranges import Range, Task, checked, existing, resolved, tasks
from braidmq.pipeline.source._workers import worker_cluster


class BraidReader(DataSourceReader):
    """Plans once, in Spark's driver; reads in its workers."""

    def __init__(self, options: Options, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema
        self._filters = Filters()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """All filters are used to read less, and Spark looks at what came all the same: so an answer can never hang on
        whether we compare as Spark does."""
        self._filters = Filters.of(filters)
        return filters

    def partitions(self) -> list[InputPartition]:
        options = self._options
        cluster = Cluster(options.connection, read_committed=options.read_committed)
        try:
            places = self._filters.places(existing(cluster, options))
            ranges = checked(cluster, self._wanted(cluster, places), options, compacted=options.with_ranges)
            through = self._through(cluster, ranges)
        finally:
            cluster.close()
        planned: list[InputPartition] = list(tasks(ranges, options.rows_per_task, through))
        return planned or [Task([])]

    def _through(self, cluster: Cluster, ranges: Sequence[Range]) -> str:
        """The filter that the server applies: none where all offsets are accounted for, or where it knows no filters,
        as Kafka does not."""
        through = "" if self._options.with_ranges else self._filters.through()
        topics = {each.place.topic for each in ranges} if through else set()
        return through if topics and all(cluster.has(f"{topic}{through}") for topic in topics) else ""

    def _wanted(self, cluster: Cluster, places: list[Place]) -> dict[Place, tuple[int, int]]:
        options = self._options
        firsts = resolved(cluster, places, options.starting, otherwise=EARLIEST)
        firsts |= self._later(cluster, places, firsts)
        ends = resolved(cluster, places, options.ending, otherwise=LATEST)
        return {
            place: narrowed
            for place in places
            if (narrowed := self._filters.narrowed(firsts[place], ends[place])) is not None
        }

    def _later(self, cluster: Cluster, places: list[Place], firsts: Mapping[Place, int]) -> dict[Place, int]:
        """Where a filter of store times lets reading begin later. Only topics whose records have the time of their
        storing can tell: elsewhere a message may have been stored later than its record says."""
        first_ms = self._filters.first_ms
        if first_ms is None or not places:
            return {}
        kinds = cluster.settings((place.topic for place in places), "message.timestamp.type")
        timed = [place for place in places if kinds.get(place.topic) == "LogAppendTime"]
        found = resolved(cluster, timed, first_ms, otherwise=EARLIEST)
        return {place: max(offset, firsts[place]) for place, offset in found.items()}

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Task)
        options = self._options
        row_filter = self._filters.row_filter()
        return read_ranges(
            worker_cluster(options), partition.ranges, options, self._schema, row_filter, partition.through
        )
