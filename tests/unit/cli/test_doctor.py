"""What the doctor finds, with the real disk, ports and databases of this machine."""

import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from braidmq.cli._doctor._disk import check_disk, file_system_of
from braidmq.cli._doctor._machine import ClockWatch
from braidmq.cli._limits import files_needed
from braidmq.log.embedded._lock import FolderLock
from braidmq.model.finding import Standing
from braidmq.settings import Settings

Braid = Callable[..., Any]

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/export /mnt/with\\040space nfs4 rw 0 0
tmpfs /mnt/with\\040space/memory tmpfs rw 0 0
"""


FREE = "127.0.0.1:0"
NOT_ASKED = ("--kafka", "off", "--rocketmq", "off", "--grpc", "off")


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def findings(ended: Any) -> dict[str, dict[str, str]]:
    return {finding["check"]: finding for finding in msgspec.json.decode(ended.out)}


def test_a_fit_machine_gets_a_line_for_each_check_and_status_0(braid: Braid, tmp_path: Path) -> None:
    listeners = [part for name in ("http", "kafka", "rocketmq", "grpc") for part in (f"--{name}", FREE)]
    ended = braid("doctor", "--data", str(tmp_path / "new"), *listeners)
    checks = [line[6:24].strip() for line in ended.out.splitlines() if not line.startswith(" ")]
    assert ended.status == 0, ended.out
    assert checks == [
        "python", "hot paths", "file limits", "data folder", "disk space", "file system", "sync",
        "http port", "kafka port", "rocketmq port", "rocketmq_grpc port", "database", "clock",
    ]  # fmt: skip
    assert not (tmp_path / "new").exists(), "the doctor only looks"


def test_a_taken_port_fails_and_says_what_to_do(braid: Braid, tmp_path: Path, taken_port: int) -> None:
    ended = braid(*("doctor", "-o", "json", "--data", str(tmp_path), "--http", f"127.0.0.1:{taken_port}"), *NOT_ASKED)
    finding = findings(ended)["http port"]
    assert ended.status == 1
    assert finding["standing"] == "fail"
    assert "in use by another process" in finding["found"]
    assert finding["advice"]


def test_ports_of_a_node_that_runs_here_are_as_they_should_be(braid: Braid, tmp_path: Path, taken_port: int) -> None:
    lock = FolderLock(tmp_path / "log")
    ended = braid(*("doctor", "-o", "json", "--data", str(tmp_path), "--http", f"127.0.0.1:{taken_port}"), *NOT_ASKED)
    lock.release()
    finding = findings(ended)["http port"]
    assert (ended.status, finding["standing"]) == (0, "ok")
    assert f"a node runs in this data folder: process {os.getpid()}" in finding["found"]


def test_a_database_that_does_not_answer_fails_without_showing_its_password(braid: Braid, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"postgresql://u:geheim@127.0.0.1:{closed.getsockname()[1]}/db"
        ended = braid(
            "doctor",
            "-o",
            "json",
            "--data",
            str(tmp_path),
            "--http",
            "off",
            *NOT_ASKED,
            "--set",
            f"store.url={url}",
        )
    assert findings(ended)["database"]["standing"] == "fail"
    assert "geheim" not in ended.out + ended.err
    assert "http port" not in findings(ended)


def test_a_database_file_is_looked_into(braid: Braid, tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    arguments = ("doctor", "-o", "json", "--data", str(tmp_path), "--http", "off", *NOT_ASKED)
    assert findings(braid(*arguments))["database"]["standing"] == "ok"
    file.write_bytes(b"this is not a database, and long enough to be seen as none" * 100)
    assert findings(braid(*arguments))["database"]["standing"] == "fail"


def test_a_data_folder_that_is_a_file_fails(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    (finding,) = check_disk(file, lambda *_: None)
    assert (finding.check, finding.standing) == ("data folder", Standing.FAIL)


def test_the_disk_is_measured_without_leaving_anything(tmp_path: Path) -> None:
    steps: list[int] = []
    found = {finding.check: finding for finding in check_disk(tmp_path, lambda done, _: steps.append(done))}
    assert "ms (median of" in found["sync"].found
    assert steps == list(range(len(steps)))
    assert os.listdir(tmp_path) == []


def test_the_deepest_mount_above_a_folder_decides_its_kind() -> None:
    assert file_system_of(Path("/var/lib"), MOUNTS) == "ext4"
    assert file_system_of(Path("/mnt/with space/x"), MOUNTS) == "nfs4"
    assert file_system_of(Path("/mnt/with space/memory/x"), MOUNTS) == "tmpfs"
    assert file_system_of(Path("/var/lib"), "") == "unknown"


def test_open_files_are_judged_by_what_the_system_grants() -> None:
    needed = files_needed(Settings())
    script = (
        "import resource; from braidmq.cli._doctor._machine import check_file_limits\n"
        "from braidmq.cli._limits import raise_file_limit; from braidmq.settings import Settings\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"
        "print(check_file_limits(Settings()).standing, raise_file_limit({needed}),"
        " resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )

    def judged(soft: int, hard: int) -> str:
        command = [sys.executable, "-c", script.format(soft=soft, hard=hard, needed=needed)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert judged(256, needed) == f"ok True {needed}"
    assert judged(needed, needed) == f"ok True {needed}"
    assert judged(256, 1024) == "fail False 1024"


def test_a_steady_clock_is_not_called_jumping() -> None:
    assert "jumped" not in ClockWatch().check().found
