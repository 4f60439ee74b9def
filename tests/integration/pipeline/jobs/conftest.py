"""One Spark session for all tests of jobs in this process, and a node beside it."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from braidmq.pipeline import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    made = session("tests", master="local[2]", conf={"spark.sql.shuffle.partitions": "2"})
    yield made
    made.stop()
