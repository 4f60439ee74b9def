"""One Spark session and one node for all tests of a process."""

import os
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from apache_kafka import ApacheKafka
from braidmq.pipeline import session
from compat_support import kafka_jars
from pipeline_support import OTHER_KAFKA, Broker
from running_node import RunningNode, WaitFor


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    made = session("tests", master="local[2]", conf={"spark.log.level": "ERROR"})
    yield made
    made.stop()


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory, wait_for: WaitFor) -> Iterator[RunningNode]:
    folder = tmp_path_factory.mktemp("node")
    arguments = ["--data", str(folder / "data"), "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0"]
    arguments += ["--rocketmq", "127.0.0.1:0", "--flush", "interval"]
    running = RunningNode(folder, arguments, {}, wait_for).wait_ready()
    yield running
    running.clean_up()
    assert "Traceback" not in running.err, running.err[-5000:]


@pytest.fixture
def broker(node: RunningNode) -> Broker:
    return Broker(node.bootstrap)


@pytest.fixture(scope="session")
def other_kafka(
    tmp_path_factory: pytest.TempPathFactory, wait_for: WaitFor, require_tool: Callable[[str, str], object]
) -> Iterator[str]:
    """The address of Apache Kafka: the one that is given, or one of our own."""
    if (address := os.environ.get(OTHER_KAFKA)) is not None:
        yield address
        return
    require_tool("java", "runs Apache Kafka")
    require_tool("mvn", "fetches Apache Kafka")
    kafka = ApacheKafka(tmp_path_factory.mktemp("kafka"), kafka_jars(), wait_for)
    yield kafka.bootstrap
    kafka.stop()


@pytest.fixture(params=["node", "kafka"])
def any_broker(request: pytest.FixtureRequest) -> Broker:
    """Our node, and Apache Kafka: the same job must serve both."""
    if request.param == "kafka":
        return Broker(request.getfixturevalue("other_kafka"), is_node=False)
    node: RunningNode = request.getfixturevalue("node")
    return Broker(node.bootstrap)
