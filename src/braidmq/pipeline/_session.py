"""A Spark session that has what the pipeline needs, here or on a cluster, classic or by Spark Connect."""

import atexit
import os
import shutil
import socket
import sys
import tempfile
import uuid
from collections.abc import Mapping
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from braidmq.pipeline._java import find_java
from braidmq.pipeline.archive import ArchiveSink, ArchiveSource
from braidmq.pipeline.errors import InvalidOption
from braidmq.pipeline.source import BraidDataSource
from braidmq.pipeline.tables import TableSink

_LOCAL: Final = "local"
_DEFAULTS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.metricsEnabled": "true",
}
_DRIVER: Final = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.scheduler.mode": "FAIR",
    # Workers stay between micro-batches, with their connections to the brokers.
    "spark.python.worker.reuse": "true",
}
_SOCKET_NAME_MAX: Final = 104
"""How long the path of a socket may be, at least on the systems that there are."""
_SOCKET_NAME: Final = f".{uuid.UUID(int=0)}.sock"
_LOCAL_DRIVER: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def session(
    app: str, *, master: str | None = None, remote: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """A session under this name, with the source and sink `braid` registered.

    `master` is `local[*]` unless told; `remote` (say `sc://host:15002`) is a Spark Connect server instead. What is in
    `conf` goes before the pipeline's own settings. Raises JavaMissing, and InvalidOption, also for a setting that only
    the server's own start can have.
    """
    chosen = dict(conf or {})
    if remote is not None:
        if master is not None:
            raise InvalidOption("a session has a master or a remote (Spark Connect), and not both")
        spark = _connected(app, remote, chosen)
    else:
        spark = _classic(app, master or "local[*]", chosen)
    register(spark)
    return spark


def register(spark: SparkSession) -> None:
    """Make the sources and sinks of the pipeline known to a session that was made elsewhere."""
    for source in (BraidDataSource, TableSink, ArchiveSource, ArchiveSink):
        spark.dataSource.register(source)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


def _connected(app: str, remote: str, chosen: Mapping[str, str]) -> SparkSession:
    """Of a server that runs already; `local[2]` starts one."""
    if remote.startswith(_LOCAL):
        _prepare_environment()
    spark = SparkSession.builder.remote(remote).appName(app).getOrCreate()
    for name, value in _DEFAULTS.items():
        if name not in chosen and spark.conf.isModifiable(name):
            spark.conf.set(name, value)
    for name, value in chosen.items():
        try:
            spark.conf.set(name, value)
        except PySparkException as error:
            spark.stop()
            raise InvalidOption(
                f"{name} cannot be set through Spark Connect: start the server with it ({_condition(error)})"
            ) from error
    return spark


def _condition(error: PySparkException) -> str:
    return error.getCondition() or str(error).partition("\n")[0]


def _classic(app: str, master: str, chosen: Mapping[str, str]) -> SparkSession:
    _prepare_environment()
    settings = _DEFAULTS | _DRIVER
    if master.startswith(_LOCAL):
        settings |= _LOCAL_DRIVER | _sockets() | {"spark.sql.shuffle.partitions": str(_cores(master))}
    builder = SparkSession.builder.master(master).appName(app)
    for name, value in (settings | dict(chosen)).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel(chosen.get("spark.log.level", "WARN"))
    return spark


def _sockets() -> dict[str, str]:
    """Spark and its Python workers talk by files in a folder of their own, where there are such sockets: that is
    cheaper than by the network, and nobody else gets there."""
    if not hasattr(socket, "AF_UNIX"):
        return {}
    folder = tempfile.mkdtemp(prefix="braid-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if len(os.path.join(folder, _SOCKET_NAME).encode()) >= _SOCKET_NAME_MAX:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
    }


def _prepare_environment() -> None:
    """Workers take `python3` from the PATH, and Java is looked for in JAVA_HOME, unless the environment says more."""
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _cores(master: str) -> int:
    """Of `local[2]` or `local[2,3]`: 2; of `local[*]`: all that this process may use; of `local`: 1."""
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    if inside == "*":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(inside) if inside.isdigit() else 1
