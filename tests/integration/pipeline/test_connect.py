"""The jobs over Spark Connect: the server comes from the same wheel, the client is `braid pipeline run --remote`."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from braidmq.pipeline import archive, find_java
from braidmq.pipeline.audit import audit
from braidmq.pipeline.tables import Table
from pipeline_support import Broker
from running_node import RunningNode, WaitFor

pytestmark = pytest.mark.timeout(400)

START_LIMIT_S = 120
TELEMETRY_LIMIT_S = 90


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, wait_for: WaitFor) -> Iterator[str]:
    """The address of a Spark Connect server whose workers have this environment's packages."""
    log = tmp_path_factory.mktemp("connect") / "log"
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port = tried.getsockname()[1]
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[2]"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    for setting in (
        "spark.connect.grpc.binding.address=127.0.0.1",
        f"spark.connect.grpc.binding.port={port}",
        "spark.ui.enabled=false",
        "spark.driver.host=127.0.0.1",
        "spark.driver.bindAddress=127.0.0.1",
    ):
        command += ["--conf", setting]
    environment = os.environ | {
        "JAVA_HOME": str(find_java().home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    environment.pop("SPARK_HOME", None)
    with log.open("w") as file:
        process = subprocess.Popen([*command, "spark-internal"], env=environment, stdout=file, stderr=file)
    try:
        wait_for(lambda: "Spark Connect server started" in log.read_text() or process.poll() is not None, START_LIMIT_S)
        assert process.poll() is None, log.read_text()[-3000:]
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def braid(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "braidmq", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=380, check=False)


def run(server: str, broker: Broker, tables: Path, jobs: str, *more: str) -> "subprocess.CompletedProcess[str]":
    place = ("--bootstrap", broker.bootstrap, "--path", str(tables))
    return braid("pipeline", "run", jobs, "--once", "--remote", server, *place, *more)


def found(topic: str, tables: Path) -> list[str]:
    answer = braid("archive", "find", "--topic", topic, "--limit", "1000", "--path", str(tables), "-o", "json")
    return sorted(json.loads(line)["value"] for line in answer.stdout.splitlines())


def test_what_is_archived_over_spark_connect_is_found(server: str, broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic(partitions=2)
    for partition in range(2):
        broker.send(topic, [f"m{partition} {at}" for at in range(100)], partition=partition)
    ran = run(server, broker, tmp_path, "archive,audit", "--topics", topic)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "archive: done, 20" in ran.stdout, "200 messages, and a row for each range"
    assert "audit: done, 0 rows, sound" in ran.stdout
    assert found(topic, tmp_path) == sorted(f"m{partition} {at}" for partition in range(2) for at in range(100))
    marks = archive.read_marks(broker.bootstrap)
    assert (marks[topic, 0], marks[topic, 1]) == (100, 100)


@pytest.mark.slow
def test_who_comes_after_a_client_that_was_killed_takes_its_query_over(
    server: str, broker: Broker, tmp_path: Path, wait_for: WaitFor
) -> None:
    """The query of the killed one goes on in the server: it must neither double nor lose anything."""
    topic = broker.topic()
    broker.send(topic, [f"a{at}" for at in range(50)])
    command = [sys.executable, "-m", "braidmq", "pipeline", "run", "archive", "--remote", server, "--topics", topic]
    command += ["--bootstrap", broker.bootstrap, "--path", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as client:
        try:
            wait_for(lambda: covered(tmp_path, topic) == 50, 120)
        finally:
            client.kill()
    broker.send(topic, [f"b{at}" for at in range(50)])
    wait_for(lambda: covered(tmp_path, topic) == 100, 120)
    broker.send(topic, [f"c{at}" for at in range(50)])
    ran = run(server, broker, tmp_path, "archive", "--topics", topic)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert found(topic, tmp_path) == sorted(f"{word}{at}" for word in "abc" for at in range(50))
    assert audit(tmp_path / "archive", bootstrap=broker.bootstrap).findings == []


def covered(tables: Path, topic: str) -> int:
    messages = archive.Folders(tables / "archive").messages
    return Table.open(messages).state("archive").covered.ends().get((topic, 0), 0) if Table.exists(messages) else 0


def test_a_setting_that_is_the_servers_own_is_refused(server: str, broker: Broker, tmp_path: Path) -> None:
    ran = run(server, broker, tmp_path, "archive", "--conf", "spark.driver.memory=2g")
    assert ran.returncode == 1
    assert "spark.driver.memory cannot be set through Spark Connect: start the server" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_job_runs_over_spark_connect(
    server: str, node: RunningNode, broker: Broker, tmp_path: Path, wait_for: WaitFor
) -> None:
    """Batches of these jobs are worked on beside the server: what they did is seen in the tables."""
    topic = broker.topic()
    broker.send(topic, ["a", "b"])
    told = {"__braid.usage", "__braid.lag"}
    wait_for(lambda: told <= set(broker.admin.list_topics(timeout=20).topics), TELEMETRY_LIMIT_S)
    rows = {}
    for name in ("trace", "usage", "dlq", "lag"):
        ran = run(server, broker, tmp_path, name)
        assert ran.returncode == 0, ran.stderr[-3000:]
        rows[name] = int(ran.stdout.partition(f"{name}: done, ")[2].split()[0].replace(",", ""))
    assert rows["usage"] > 0
    assert rows["lag"] > 0
    for name in ("usage_samples", "usage_1m", "usage_1d", "lag_samples"):
        assert sum(file.rows for file in Table.open(tmp_path / name).files()) > 0, name
