"""The driver of all jobs: once, for good, through failures; and its way to a cluster."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pyspark
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # of its C part
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from braidmq.pipeline import archive
from braidmq.pipeline.errors import BrokerUnreachable, InvalidOption
from braidmq.pipeline.run import Driver, Plan
from braidmq.pipeline.source._options import ROWS_PER_TASK
from braidmq.pipeline.status import JobState, JobStatus, read_status
from braidmq.pipeline.submit import submission
from pipeline_support import LIMIT_S, Broker
from running_node import RunningNode, WaitFor

pytestmark = pytest.mark.timeout(400)


def plan(broker: Broker, root: Path, *jobs: str, topics: tuple[str, ...] = ()) -> Plan:
    return Plan(bootstrap=broker.bootstrap, root=str(root), jobs=jobs, topics=topics)


def test_once_archives_and_proves_it(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic(partitions=2)
    broker.send(topic, [f"m{at}" for at in range(50)])
    told: list[tuple[str, JobState]] = []
    driver = Driver(
        spark,
        plan(broker, tmp_path, "archive", "audit", topics=(topic,)),
        lambda jobs: told.extend((job.name, job.state) for job in jobs.values()),
    )
    found = driver.run_once()
    assert {name: job.state for name, job in found.items()} == {"archive": JobState.DONE, "audit": JobState.DONE}
    assert found["archive"].total == 50
    assert found["audit"].detail.startswith("sound")
    assert ("archive", JobState.RUNNING) in told
    stored = archive.find(tmp_path / "archive", topic=topic, limit=100)
    assert len(stored) == 50
    again = Driver(spark, plan(broker, tmp_path, "archive", topics=(topic,))).run_once()
    assert again["archive"].total == 0
    status = read_status(str(tmp_path))
    assert status is not None
    assert not status.is_alive


def test_what_has_nothing_to_do_says_so(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    found = Driver(spark, plan(broker, tmp_path, "audit")).run_once()
    assert "there is no table" in found["audit"].detail


def test_for_good_follows_the_settings_of_topics_until_it_is_told_to_stop(
    spark: SparkSession, tmp_path: Path, wait_for: WaitFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braidmq.pipeline.run.LOOK_S", 1.0)
    arguments = ["--data", str(tmp_path / "data"), "--http", "off", "--kafka", "127.0.0.1:0"]
    node = RunningNode(tmp_path, arguments, {}, wait_for).wait_ready()
    broker, tables = Broker(node.bootstrap), tmp_path / "tables"
    stop, seen, found = threading.Event(), Latest(), []

    def act() -> None:
        """Beside the driver, which has the thread of the session."""
        try:
            wait_for(lambda: seen.state("archive") is JobState.IDLE, 60)
            for at in range(2):
                topic = broker.topic()
                broker.send(topic, ["a", "b"])
                set_archive(broker, topic, "on")
                wait_for(lambda topic=topic: count(tables, topic) == 2, 100)
                found.append(at)
            status = read_status(str(tables))
            found.append(status is not None and status.is_alive)
        finally:
            stop.set()

    acting = threading.Thread(target=act)
    acting.start()
    try:
        Driver(spark, plan(broker, tables, "archive"), seen).run(stop)
    finally:
        stop.set()
        acting.join(10)
        node.clean_up()
    assert found == [0, 1, True]
    assert seen.state("archive") is JobState.STOPPED


def test_a_topic_says_itself_how_long_the_archive_keeps_its_messages(
    spark: SparkSession, broker: Broker, tmp_path: Path, wait_for: WaitFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braidmq.pipeline.run.KEEP_HOUSE_S", 0.5)
    kept = broker.topic(retention_ms="-1", braid_archive_retention_ms=str(2**62))
    short = broker.topic(retention_ms="-1", braid_archive_retention_ms="86400000")
    producer = broker.producer()
    for topic in (kept, short):
        producer.produce(topic, b"of 2023", timestamp=1_700_000_000_000)
    assert producer.flush(LIMIT_S) == 0
    both = plan(broker, tmp_path, "archive", topics=(kept, short))
    Driver(spark, both).run_once()
    assert (count(tmp_path, kept), count(tmp_path, short)) == (1, 1)
    stop = threading.Event()

    def wait_until_gone() -> None:
        try:
            wait_for(lambda: count(tmp_path, short) == 0, 60)
        finally:
            stop.set()

    waiting = threading.Thread(target=wait_until_gone)
    waiting.start()
    Driver(spark, both).run(stop)
    waiting.join(10)
    assert (count(tmp_path, kept), count(tmp_path, short)) == (1, 0)


class Latest:
    """Remembers what was told last."""

    def __init__(self) -> None:
        self.jobs: Mapping[str, JobStatus] = {}

    def __call__(self, jobs: Mapping[str, JobStatus]) -> None:
        self.jobs = dict(jobs)

    def state(self, name: str) -> JobState | None:
        return self.jobs[name].state if name in self.jobs else None


def set_archive(broker: Broker, topic: str, value: str) -> None:
    entry = ConfigEntry("braid.archive", value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    broker.admin.incremental_alter_configs([resource])[resource].result(LIMIT_S)


def count(root: Path, topic: str) -> int:
    try:
        return len(archive.find(root / "archive", topic=topic, limit=1000))
    except Exception:  # there is no archive yet
        return 0


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda given, _: Plan(bootstrap=given, root="/dev/null/x"), InvalidOption),
        (lambda given, root: Plan(bootstrap=given, root=root, jobs=("archives",)), InvalidOption),
        (lambda given, root: Plan(bootstrap=given, root=root, jobs=()), InvalidOption),
    ],
)
def test_a_plan_that_cannot_work_is_refused_before_anything_begins(
    broker: Broker, tmp_path: Path, wrong: Callable[[str, str], Plan], error: type[Exception]
) -> None:
    with pytest.raises(error):
        wrong(broker.bootstrap, str(tmp_path)).checked()


def test_brokers_that_do_not_answer_stop_it_before_it_begins(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braidmq.pipeline._brokers.ASK_S", 2)
    driver = Driver(spark, Plan(bootstrap="127.0.0.1:1", root=str(tmp_path), jobs=("archive",)))
    with pytest.raises(BrokerUnreachable):
        driver.run(threading.Event())


# By command.


def braid(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "braidmq", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_a_run_by_command_and_what_it_found(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic()
    broker.send(topic, ["by command"])
    ran = braid(
        "pipeline", "run", "archive", "--once", "--master", "local[1]", "--bootstrap", broker.bootstrap,
        "--path", str(tmp_path), "--topics", topic,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "archive: done, " in ran.stdout
    found = braid("archive", "find", "--topic", topic, "--path", str(tmp_path), "-o", "json")
    assert json.loads(found.stdout)["value"] == "by command"
    target = broker.topic()
    replayed = braid(
        "archive", "replay", "--topic", topic, "--into", target, "--path", str(tmp_path),
        "--bootstrap", broker.bootstrap,
    )  # fmt: skip
    assert replayed.stdout == "1 messages were sent\n", replayed.stderr[-2000:]
    assert braid("archive", "find", "--id", "none", "--path", str(tmp_path)).returncode == 1
    assert braid("pipeline", "status", "--path", str(tmp_path)).returncode == 1


def test_a_run_that_finds_the_archive_damaged_ends_with_a_status_of_its_own(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = broker.topic()
    broker.send(topic, ["a", "b"])
    Driver(spark, plan(broker, tmp_path, "archive", topics=(topic,))).run_once()
    file, *others = archive.Folders(tmp_path / "archive").messages.rglob("*.parquet")
    assert not others
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 1
    file.write_bytes(whole)
    ran = braid(
        "pipeline", "run", "audit,dlq", "--once", "--master", "local[1]", "--bootstrap", broker.bootstrap,
        "--path", str(tmp_path), "--topics", topic,
    )  # fmt: skip
    assert ran.returncode == 7, ran.stderr[-3000:]
    audited, letters = ran.stdout.splitlines()
    assert audited.startswith("audit: unsound, 0 rows, NOT SOUND, ")
    assert letters.startswith("dlq: "), "the jobs behind it have their turn"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pipeline", "run", "nonsense", "--once"), "there is no job nonsense"),
        (("pipeline", "run", "--keep", "long"), "--keep: 'long' is no time"),
        (("pipeline", "run", "--conf", "x"), "--conf: 'x' is not KEY=VALUE"),
        (("pipeline", "run", "--kafka", "message.max.bytes=5"), "the source does not have kafka.message.max.bytes"),
        (("pipeline", "run", "--path", "s3://bucket/x"), "object stores are not served"),
        (("pipeline", "submit", "--master", "yarn", "--dry-run", "--path", "s3://bucket/x"), "object stores"),
        (("pipeline", "submit", "--master", "mesos://x", "--dry-run"), "mesos://x"),
        (("archive", "find"), "--id, --key or --topic"),
        (("archive", "find", "--topic", "t", "--from", "yesterday"), "--from: 'yesterday' is no time"),
    ],
)
def test_what_cannot_work_is_said_in_a_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    path = () if "--path" in arguments else ("--path", str(tmp_path))
    ended = braid(*arguments, *path)
    assert ended.returncode in (1, 2)
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_submission_is_printed_and_brings_its_environment(tmp_path: Path) -> None:
    shown = braid("pipeline", "submit", "archive", "--master", "yarn", "--dry-run", "--path", str(tmp_path)).stdout
    assert "spark-submit --master yarn" in shown
    assert f"{tmp_path}/braid-environment.tar.gz#environment" in shown
    assert "_submitted.py archive" in shown
    assert not (tmp_path / "braid-environment.tar.gz").exists()


@pytest.mark.slow
def test_a_standalone_master_with_two_workers_archives(broker: Broker, tmp_path: Path, wait_for: WaitFor) -> None:
    """Master and workers come from the same wheel, the submission brings the packages, and both workers get work."""
    topic = broker.topic(partitions=2)
    pieces, piece = 3, ROWS_PER_TASK // 5  # together more than one task takes
    for partition in (0, 1):
        for _ in range(pieces):
            broker.send(topic, [f"m{at}" for at in range(piece)], partition=partition)
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    _, more = submission(master, tmp_path / "unused", Path("unused"), [])
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    events = tmp_path / "events"
    events.mkdir()
    processes: list[subprocess.Popen[bytes]] = []

    def launch(name: str, *arguments: str) -> None:
        command = [str(spark_class), *arguments, "--host", "127.0.0.1", "--webui-port", "0"]
        with (tmp_path / f"{name}.log").open("w") as log:
            processes.append(subprocess.Popen(command, env=_environment(more), stdout=log, stderr=log))

    try:
        launch("master", "org.apache.spark.deploy.master.Master", "--port", str(port))
        wait_for(lambda: "I have been elected leader" in (tmp_path / "master.log").read_text(), 60)
        for at in range(2):
            launch(
                f"worker-{at}", "org.apache.spark.deploy.worker.Worker", master, "--cores", "1", "--memory", "1g",
                "--work-dir", str(tmp_path / f"work-{at}"),
            )  # fmt: skip
        for at in range(2):
            path = tmp_path / f"worker-{at}.log"
            wait_for(lambda path=path: "Successfully registered with master" in path.read_text(), 60)
        ended = braid(
            "pipeline", "submit", "archive", "--master", master, "--bootstrap", broker.bootstrap,
            "--path", str(tmp_path / "tables"), "--once", "--topics", topic, *_conf(
                ("spark.driver.host", "127.0.0.1"),
                # Nothing begins before both are there, however slow the machine is.
                ("spark.cores.max", "2"), ("spark.scheduler.minRegisteredResourcesRatio", "1.0"),
                ("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s"),
                ("spark.eventLog.enabled", "true"), ("spark.eventLog.dir", events.as_uri()),
                ("spark.eventLog.compress", "false"), ("spark.eventLog.rolling.enabled", "false"),
            ),
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr[-4000:]
        archived = DeltaTable(str(archive.Folders(tmp_path / "tables" / "archive").messages)).to_pyarrow_dataset()
        assert archived.count_rows() == 2 * pieces * piece
        assert len(_workers_that_worked(events)) == 2
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _conf(*settings: tuple[str, str]) -> list[str]:
    return [part for name, value in settings for part in ("--conf", f"{name}={value}")]


def _workers_that_worked(events: Path) -> set[str]:
    """Those that ended a task well, by the log that Spark keeps of its events. Each worker runs one executor, told by
    the folder that its output goes to."""
    (log,) = events.iterdir()
    happened = [json.loads(line) for line in log.read_text().splitlines()]
    outputs = {
        each["Executor ID"]: each["Executor Info"]["Log Urls"]["stdout"]
        for each in happened
        if each["Event"] == "SparkListenerExecutorAdded"
    }
    ended = [each for each in happened if each["Event"] == "SparkListenerTaskEnd"]
    busy = {each["Task Info"]["Executor ID"] for each in ended if each["Task End Reason"]["Reason"] == "Success"}
    return {outputs[executor].partition("/logPage")[0] for executor in busy}


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, **more}
