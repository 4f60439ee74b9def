"""One Spark session and one node for all tests of a process."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from braidmq.pipeline import session
from pipeline_support import OTHER_KAFKA, Broker, other_kafka
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


@pytest.fixture(params=["node", "kafka"])
def any_broker(request: pytest.FixtureRequest) -> Broker:
    """Our node, and another Kafka where one is given: the same job must serve both."""
    if request.param == "node":
        node: RunningNode = request.getfixturevalue("node")
        return Broker(node.bootstrap)
    if (address := other_kafka()) is None:
        pytest.skip(f"no other Kafka is given: {OTHER_KAFKA}=host:port")
    return Broker(address)
