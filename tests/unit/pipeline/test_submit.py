"""What is submitted to each kind of cluster: every argument, and what is refused before anything is packed."""

import sys
from pathlib import Path

import pyspark
import pytest

from braidmq.pipeline.errors import InvalidOption
from braidmq.pipeline.submit import check_reachable, driver_folder, needed_packages, shown, submission

PACK = Path("/shared/braid-environment.tar.gz")
PROGRAM = Path("/somewhere/_submitted.py")
ARGUMENTS = ["archive", "--bootstrap", "node:9092", "--path", "/shared"]
IMAGE = "spark.kubernetes.container.image"


def command_for(master: str, **conf: str) -> list[str]:
    command, _ = submission(
        master, PACK, PROGRAM, ARGUMENTS, conf={name.replace("_", "."): value for name, value in conf.items()}
    )
    return command


def settings_of(command: list[str]) -> dict[str, str]:
    """What follows each `--conf`."""
    pairs = [command[at + 1].split("=", 1) for at, word in enumerate(command) if word == "--conf"]
    return {pair[0]: pair[1] for pair in pairs}


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://10.0.0.1:6443"])
def test_every_argument_is_one_that_spark_submit_has_and_the_program_comes_last(master: str) -> None:
    command = command_for(master, **{IMAGE: "registry/spark:4.2.0"})
    at = command.index(str(PROGRAM))
    given = command[:at]
    assert given[0] == str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    options = dict(zip(given[1::2], given[2::2], strict=True))
    assert {name for name in options if name != "--conf"} == {"--master", "--deploy-mode", "--name", "--archives"}
    assert options["--master"] == master
    # The driver stays here, where the tables are committed; so it may be told by Ctrl-C to stop between two batches.
    assert options["--deploy-mode"] == "client"
    # Spark unpacks the archive into the folder of each executor, under the name behind the #.
    assert options["--archives"] == f"{PACK}#environment"
    assert command[at + 1 :] == [*ARGUMENTS, "--master", master]


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://10.0.0.1:6443"])
def test_workers_run_the_python_of_the_pack_and_the_driver_this_one(master: str) -> None:
    conf = {IMAGE: "registry/spark:4.2.0"}
    command, more = submission(master, PACK, PROGRAM, ARGUMENTS, conf=conf)
    settings = settings_of(command)
    assert settings["spark.pyspark.python"] == more["PYSPARK_PYTHON"] == "./environment/bin/python"
    assert settings["spark.pyspark.driver.python"] == more["PYSPARK_DRIVER_PYTHON"] == sys.executable
    assert settings["spark.ui.enabled"] == "false"
    assert Path(more["JAVA_HOME"], "bin", "java").exists()


def test_kubernetes_is_told_its_image_and_all_that_the_operator_says() -> None:
    mount = "spark.kubernetes.executor.volumes.persistentVolumeClaim.tables.mount.path"
    conf = {IMAGE: "registry/spark:4.2.0", "spark.driver.host": "10.0.0.7", mount: "/shared"}
    settings = settings_of(submission("k8s://https://10.0.0.1:6443", PACK, PROGRAM, ARGUMENTS, conf=conf)[0])
    assert conf.items() <= settings.items()


def test_kubernetes_without_an_image_is_refused() -> None:
    with pytest.raises(InvalidOption, match=f"{IMAGE}=IMAGE"):
        command_for("k8s://https://10.0.0.1:6443")
    command_for("k8s://https://10.0.0.1:6443", **{"spark.kubernetes.executor.container.image": "registry/spark:4.2.0"})


def test_a_master_of_no_kind_that_is_known_is_refused() -> None:
    with pytest.raises(InvalidOption, match="mesos://x"):
        command_for("mesos://x")


def test_yarn_that_nobody_said_where_it_is_is_refused() -> None:
    with pytest.raises(InvalidOption, match="HADOOP_CONF_DIR or YARN_CONF_DIR"):
        check_reachable("yarn", {})
    check_reachable("yarn", {"YARN_CONF_DIR": "/etc/hadoop"})
    check_reachable("spark://host:7077", {})


def test_what_the_operator_says_goes_before_what_is_said_here() -> None:
    assert settings_of(command_for("yarn", spark_ui_enabled="true"))["spark.ui.enabled"] == "true"


def test_the_driver_finds_a_python_where_workers_have_theirs(tmp_path: Path) -> None:
    python = driver_folder(tmp_path) / "environment" / "bin" / "python"
    assert sys.executable in python.read_text()
    assert python.stat().st_mode & 0o111


def test_what_is_shown_can_be_typed() -> None:
    text = shown(["/a b/spark-submit", "--conf", "x=y z"], {"JAVA_HOME": "/j"})
    assert text == "env JAVA_HOME=/j '/a b/spark-submit' --conf 'x=y z'"


def test_the_pack_has_what_the_pipeline_needs_and_nothing_that_developers_need() -> None:
    found = needed_packages()
    assert {"pyspark", "pyarrow", "deltalake", "confluent-kafka", "pandas", "msgspec", "aiokafka", "py4j"} <= found
    assert not found & {"pytest", "mypy", "ruff", "playwright", "mkdocs-material"}
