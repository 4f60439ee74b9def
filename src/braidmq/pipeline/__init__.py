"""What becomes of messages as data: archived, searched, reported, audited. On Spark, through PySpark.

Needs the extra `pipeline`. It reads and writes topics as any client does, by the Kafka protocol, and so works the same
on a node and on a Kafka cluster.
"""

from importlib.util import find_spec

from braidmq.pipeline.errors import ExtraMissing

_missing = [
    name for name in ("confluent_kafka", "deltalake", "duckdb", "pyarrow", "pyspark") if find_spec(name) is None
]
if _missing:
    raise ExtraMissing(f"the data pipeline needs {', '.join(_missing)}: pip install 'braidmq[pipeline]'")

# Behind the check, because these need what it looks for.
from braidmq.model.finding import Finding, Standing  # noqa: E402
from braidmq.pipeline._doctor import examine  # noqa: E402
from braidmq.pipeline._java import Java, find_java  # noqa: E402
from braidmq.pipeline._session import register, session  # noqa: E402

__all__ = ["Finding", "Java", "Standing", "examine", "find_java", "register", "session"]
