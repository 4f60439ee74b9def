"""The source and sink `braid`: topics as Spark's data frames, by the Kafka protocol.

`spark.read.format("braid")`, `spark.readStream`, `df.write` and `df.writeStream`. What the options mean is in
docs/pipeline.md. Planning (`_ranges`) runs in Spark's driver, reading (`_fetching`) in its Python workers; what is read
is decoded by whole columns (`braidmq.pipeline.decode`).
"""

from collections.abc import MutableMapping

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from braidmq.pipeline.columns import MESSAGE
from braidmq.pipeline.source._batch import BraidReader
from braidmq.pipeline.source._cluster import Cluster
from braidmq.pipeline.source._options import Options, read_connection, read_options
from braidmq.pipeline.source._stream import BraidStreamReader
from braidmq.pipeline.source._workers import settle
from braidmq.pipeline.source._writing import BraidStreamWriter, BraidWriter, read_sink

__all__ = ["BraidDataSource", "BraidStreamReader", "Options", "reachable_topics", "read_options"]


def reachable_topics(bootstrap: str, limit_s: float = 5.0) -> int:
    """How many topics the brokers there have. Raises BrokerUnreachable, ReadFailed."""
    connection = read_connection({"bootstrap": bootstrap}, check_settings=True)
    cluster = Cluster(connection, read_committed=True, retry_limit_s=limit_s)
    try:
        return len(cluster.partitions(None))
    finally:
        cluster.close()


class BraidDataSource(DataSource):
    """What Spark knows under the name `braid`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.options = options

    @classmethod
    def name(cls) -> str:
        return "braid"

    def schema(self) -> StructType:
        settle()
        columns = read_options(self.options).columns
        return StructType([field for field in from_arrow_schema(MESSAGE).fields if field.name in columns])

    def reader(self, schema: StructType) -> DataSourceReader:
        settle()
        return BraidReader(read_options(self.options).for_batch(), to_arrow_schema(schema, timezone="UTC"))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        options = read_options(self.options).for_stream(self.options)
        return BraidStreamReader(options, to_arrow_schema(schema, timezone="UTC"))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        return BraidWriter(read_sink(self.options, schema, overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        return BraidStreamWriter(read_sink(self.options, schema, overwrite))
