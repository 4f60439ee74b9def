"""Spark's own Kafka connector: the four jars that it takes, by coordinates.

Only these four: what else their descriptions name is in the wheel of PySpark already, and the description of the
token provider of the connector's own version is not published.
"""

from pathlib import Path

from maven import fetch_jars

COORDINATES = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)


def connector_jars() -> str:
    """For `spark.jars`. Raises FetchFailed."""
    folder = Path(fetch_jars("spark-kafka-connector", COORDINATES, alone=True)).parent
    return ",".join(str(path) for path in sorted(folder.glob("*.jar")))
