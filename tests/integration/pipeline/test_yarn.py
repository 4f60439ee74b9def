"""The pipeline on a YARN: a resource manager and a node manager, by coordinates, that run what is submitted."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

import pyspark
import pytest
from maven import fetch_jars

from braidmq.pipeline import archive, find_java
from braidmq.pipeline.audit import audit
from compat_support import fetched
from pipeline_support import Broker
from running_node import WaitFor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

HADOOP = "3.5.0"
COORDINATES = (
    f"org.apache.hadoop:hadoop-client-minicluster:{HADOOP}",
    "org.bouncycastle:bcprov-jdk18on:1.82",
    "org.bouncycastle:bcpkix-jdk18on:1.82",
    "org.bouncycastle:bcutil-jdk18on:1.82",
)
"""Hadoop's servers in one jar, and what they take for their certificates; all else is in the wheel of PySpark."""
YARN = "org.apache.hadoop.yarn.server"
HOST = "127.0.0.1"
JARS = Path(pyspark.__file__).parent / "jars"
LOGGING = """rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1}: %m%n
"""


class Yarn:
    """One resource manager and one node manager, each a process of its own."""

    def __init__(self, folder: Path, jars: str, wait_for: WaitFor) -> None:
        self.conf = folder / "conf"
        self.logs = folder / "containers"
        self._folder = folder
        self._classpath = os.pathsep.join([str(self.conf), jars, str(JARS / "*")])
        self._wait_for = wait_for
        self._processes: list[subprocess.Popen[bytes]] = []
        self.conf.mkdir(parents=True)
        _write(self.conf / "core-site.xml", {"fs.defaultFS": "file:///"})
        _write(self.conf / "yarn-site.xml", _settings(folder))
        (self.conf / "log4j2.properties").write_text(LOGGING)

    def start(self) -> "Yarn":
        self._launch("manager", f"{YARN}.resourcemanager.ResourceManager", "Transitioned to active state")
        self._launch("node", f"{YARN}.nodemanager.NodeManager", "Registered with ResourceManager")
        return self

    def _launch(self, name: str, program: str, ready: str) -> None:
        log = self._folder / f"{name}.log"
        java = str(find_java().home / "bin" / "java")
        environment = {**os.environ, "HADOOP_HOME": str(self._folder)}
        with log.open("w") as output:
            self._processes.append(
                subprocess.Popen(
                    [java, "-Xmx512m", "-cp", self._classpath, program], stdout=output, stderr=output, env=environment
                )
            )
        process = self._processes[-1]
        self._wait_for(lambda: ready in log.read_text() or process.poll() is not None, 90)
        assert process.poll() is None, log.read_text()[-3000:]

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()


def _settings(folder: Path) -> dict[str, str]:
    manager = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")
    node = ("address", "localizer.address", "webapp.address")
    addresses = {f"yarn.resourcemanager.{name}": f"{HOST}:{_free_port()}" for name in manager}
    addresses |= {f"yarn.nodemanager.{name}": f"{HOST}:{_free_port()}" for name in node}
    return addresses | {
        "yarn.resourcemanager.hostname": HOST,
        "yarn.resourcemanager.scheduler.class": f"{YARN}.resourcemanager.scheduler.fifo.FifoScheduler",
        "yarn.scheduler.minimum-allocation-mb": "256",
        "yarn.nodemanager.hostname": HOST,
        "yarn.nodemanager.resource.memory-mb": "4096",
        "yarn.nodemanager.resource.cpu-vcores": "4",
        "yarn.nodemanager.local-dirs": str(folder / "local"),
        "yarn.nodemanager.log-dirs": str(folder / "containers"),
        # A desk's disk may be fuller, and a JVM's addresses wider, than a cluster's would be allowed to.
        "yarn.nodemanager.disk-health-checker.enable": "false",
        "yarn.nodemanager.vmem-check-enabled": "false",
    }


def _write(path: Path, settings: Mapping[str, str]) -> None:
    items = (
        f"<property><name>{name}</name><value>{escape(value)}</value></property>" for name, value in settings.items()
    )
    path.write_text(f"<configuration>{''.join(items)}</configuration>")


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind((HOST, 0))
        return int(tried.getsockname()[1])


@pytest.fixture
def yarn(tmp_path: Path, wait_for: WaitFor) -> Iterator[Yarn]:
    if not (JARS / f"hadoop-client-api-{HADOOP}.jar").exists():
        pytest.fail(f"PySpark's Hadoop is not {HADOOP} any more: {[path.name for path in JARS.glob('hadoop-client*')]}")
    jars = fetched(lambda: fetch_jars("hadoop-yarn", COORDINATES, alone=True))
    made = Yarn(tmp_path / "yarn", jars, wait_for)
    try:
        yield made.start()
    finally:
        made.stop()


def submit(yarn: Yarn, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "braidmq", "pipeline", "submit", "archive", "--master", "yarn", *arguments]
    environment = {**os.environ, "HADOOP_CONF_DIR": str(yarn.conf)}
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)


def test_containers_of_yarn_archive_with_the_environment_that_came_along(
    broker: Broker, yarn: Yarn, tmp_path: Path
) -> None:
    topic = broker.topic(partitions=2)
    for partition in range(2):
        broker.send(topic, [f"m{at}" for at in range(500)], partition=partition)
    tables = tmp_path / "tables"
    ended = submit(
        yarn, "--bootstrap", broker.bootstrap, "--path", str(tables), "--once", "--topics", topic,
        "--conf", f"spark.yarn.jars=local:{JARS}/*", "--conf", f"spark.yarn.stagingDir={tmp_path / 'staging'}",
        "--conf", "spark.executor.instances=2", "--conf", "spark.executor.memory=512m",
        "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-4000:] + said(yarn)
    assert len(archive.find(tables / "archive", topic=topic, limit=1000)) == 1000
    assert audit(tables / "archive", bootstrap=broker.bootstrap).findings == []
    applications = list(yarn.logs.glob("application_*"))
    assert len(applications) == 1
    assert len(list(applications[0].iterdir())) >= 2, "a master of the application, and its executors"


def said(yarn: Yarn) -> str:
    found = [f"{path}:\n{path.read_text()[-3000:]}" for path in sorted(yarn.logs.rglob("stderr"))]
    return "\n".join(found)
