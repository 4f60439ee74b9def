"""What becomes of messages as data: archived, searched, reported, audited. On Spark, through PySpark.

Needs the extra `pipeline`. It reads and writes topics as any client does, by the Kafka protocol, and so works the same
on a node and on a Kafka cluster.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from braidmq.pipeline.errors import ExtraMissing

_missing = [
    name for name in ("confluent_kafka", "deltalake", "duckdb", "pyarrow", "pyspark") if find_spec(name) is None
]
if _missing:
    raise ExtraMissing(f"the data pipeline needs {', '.join(_missing)}: pip install 'braidmq[pipeline]'")

# Looked for only when they are asked for: each of Spark's Python workers imports this package, and none needs them.
_PARTS: Final = {
    "Finding": "braidmq.model.finding",
    "Standing": "braidmq.model.finding",
    "examine": "braidmq.pipeline._doctor",
    "Java": "braidmq.pipeline._java",
    "find_java": "braidmq.pipeline._java",
    "register": "braidmq.pipeline._session",
    "session": "braidmq.pipeline._session",
}

if TYPE_CHECKING:
    from braidmq.model.finding import Finding, Standing
    from braidmq.pipeline._doctor import examine
    from braidmq.pipeline._java import Java, find_java
    from braidmq.pipeline._session import register, session


def __getattr__(name: str) -> Any:
    if name not in _PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PARTS[name]), name)


__all__ = ["Finding", "Java", "Standing", "examine", "find_java", "register", "session"]
