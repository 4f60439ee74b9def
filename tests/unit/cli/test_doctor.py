"""What the doctor finds, with the real disk, ports and databases of this machine."""

import errno
import importlib.metadata
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from braidmq.cli._doctor import _disk, _machine
from braidmq.cli._doctor._disk import check_disk, file_system_of
from braidmq.cli._doctor._machine import ClockWatch, check_compiled, check_python
from braidmq.cli._limits import is_worth_a_word, judge_file_limit
from braidmq.log.embedded._lock import FolderLock
from braidmq.model.finding import Finding, Standing
from braidmq.protocols.listener import Address, Endpoint
from braidmq.settings import (
    HttpSettings,
    KafkaSettings,
    RocketMQGrpcSettings,
    RocketMQSettings,
    Settings,
    files_needed,
    shared_files,
)
from braidmq.settings._files import OTHER_FILES

Braid = Callable[..., Any]

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/export /mnt/with\\040space nfs4 rw 0 0
tmpfs /mnt/with\\040space/memory tmpfs rw 0 0
"""


FREE = "127.0.0.1:0"
ONLY_HTTP = Settings(
    kafka=KafkaSettings(listen=()), rocketmq=RocketMQSettings(listen=()), rocketmq_grpc=RocketMQGrpcSettings(listen=())
)
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
    needed = files_needed(ONLY_HTTP).in_all
    script = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "import resource; from braidmq.cli._doctor._machine import check_file_limits\n"
        "from braidmq.cli._limits import raise_file_limit; from unit.cli.test_doctor import ONLY_HTTP\n"
        "soft, hard, needed = map(int, sys.argv[1:])\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))\n"
        "print(check_file_limits(ONLY_HTTP).standing, int(raise_file_limit(needed)),"
        " resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )

    def judged(soft: int, hard: int) -> str:
        command = [sys.executable, "-c", script, *map(str, (soft, hard, needed))]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert judged(256, needed) == f"ok {needed} {needed}"
    assert judged(needed, needed) == f"ok {needed} {needed}"
    assert judged(256, needed - 1) == f"warn {needed - 1} {needed - 1}"
    assert judged(256, 1024) == "fail 1024 1024"


def test_each_listener_that_is_on_needs_a_file_for_each_of_its_connections() -> None:
    some = (Endpoint(Address("127.0.0.1", 0)),)
    alone = Settings(
        http=HttpSettings(listen=None),
        kafka=KafkaSettings(listen=()),
        rocketmq=RocketMQSettings(listen=()),
        rocketmq_grpc=RocketMQGrpcSettings(listen=()),
    )
    assert files_needed(alone).clients == 0
    for listener in (
        Settings(kafka=KafkaSettings(listen=some, connections_max=7), rocketmq=alone.rocketmq),
        Settings(kafka=alone.kafka, rocketmq=RocketMQSettings(listen=some, connections_max=7)),
    ):
        with_others = msgspec.structs.replace(
            listener,
            http=HttpSettings(connections_max=30),
            rocketmq_grpc=RocketMQGrpcSettings(listen=some, connections_max=500),
        )
        assert files_needed(with_others).clients == 537
    assert files_needed(Settings()).in_all > 61_000 + Settings().log.open_files_max


def test_a_log_keeps_its_files_where_clients_must_be_refused_and_clients_keep_a_quarter_where_it_cannot() -> None:
    needed = files_needed(Settings())
    assert shared_files(needed, float("inf")) == (needed.log, needed.clients)
    assert shared_files(needed, needed.in_all) == (needed.log, needed.clients)
    assert shared_files(needed, 20_000) == (needed.log, 20_000 - OTHER_FILES - needed.log)
    assert shared_files(needed, OTHER_FILES + 1_000) == (750, 250)
    assert shared_files(needed, 10) == (0, 0)


def test_what_is_missing_is_said_with_what_becomes_of_it_and_how_to_raise_it() -> None:
    needed = files_needed(Settings())
    some, few = judge_file_limit(Settings(), 20_000), judge_file_limit(Settings(), 1_128)
    assert "20000 open files allowed" in some.found
    assert f"{needed.in_all} needed" in some.found
    assert f"more than {20_000 - OTHER_FILES - needed.log} are refused" in some.found
    assert "at most 750 at a time" in few.found
    for finding in (some, few):
        assert f"LimitNOFILE={needed.in_all}" in finding.advice


def test_a_start_speaks_of_few_open_files_only_where_they_are_few() -> None:
    assert is_worth_a_word(Settings(), 1_024)
    assert is_worth_a_word(Settings(), 10_000)
    assert not is_worth_a_word(Settings(), 20_000)
    assert not is_worth_a_word(Settings(http=HttpSettings(listen=None)), float("inf"))


def test_a_steady_clock_is_not_called_jumping() -> None:
    assert "jumped" not in ClockWatch().check().found


# What cannot be had on a machine that is well: the doctor is shown one that is not.


def disk_findings(folder: Path) -> dict[str, Finding]:
    return {finding.check: finding for finding in check_disk(folder, lambda *_: None)}


@pytest.mark.parametrize(
    ("free_gib", "standing"), [(0.5, Standing.FAIL), (5.0, Standing.WARN), (10.0, Standing.OK), (100.0, Standing.OK)]
)
def test_a_disk_with_little_room_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_gib: float, standing: Standing
) -> None:
    usage = SimpleNamespace(total=200 << 30, free=int(free_gib * (1 << 30)))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    finding = disk_findings(tmp_path)["disk space"]
    assert finding.standing is standing
    assert f"{free_gib:.1f} GiB free of 200.0 GiB" in finding.found
    assert ("make room" in finding.advice) is (standing is not Standing.OK)


@pytest.mark.parametrize(("sync_s", "standing"), [(0.0, Standing.OK), (0.03, Standing.WARN)])
def test_a_disk_that_syncs_slowly_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync_s: float, standing: Standing
) -> None:
    monkeypatch.setattr(_disk, "_SYNC_RUNS", 3)
    monkeypatch.setattr(os, "fdatasync", lambda _: time.sleep(sync_s), raising=False)
    finding = disk_findings(tmp_path)["sync"]
    assert finding.standing is standing
    assert ("use a faster disk, or flush = interval" in finding.advice) is (standing is Standing.WARN)


def test_a_disk_that_cannot_sync_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fdatasync", refuse, raising=False)
    finding = disk_findings(tmp_path)["sync"]
    assert (finding.standing, finding.found) == (Standing.FAIL, "fdatasync failed: Invalid argument")
    assert finding.advice


@pytest.mark.parametrize(
    ("kind", "said"), [("nfs4", "over the network"), ("tmpfs", "in memory"), ("overlay", "a container's own layer")]
)
def test_a_file_system_that_does_not_keep_what_it_is_given_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, said: str
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"somewhere / {kind} rw 0 0\n")
    monkeypatch.setattr(_disk, "_MOUNTS", mounts)
    finding = disk_findings(tmp_path)["file system"]
    assert finding.standing is Standing.WARN
    assert said in finding.found
    assert finding.advice


@pytest.mark.parametrize("step_s", [-3.0, 0.2])
def test_a_clock_that_was_set_meanwhile_is_found(monkeypatch: pytest.MonkeyPatch, step_s: float) -> None:
    watch = ClockWatch()
    true_time = time.time
    monkeypatch.setattr(time, "time", lambda: true_time() + step_s)
    finding = watch.check()
    assert finding.standing is Standing.WARN
    assert "it jumped by" in finding.found
    assert "slewed" in finding.advice


def test_a_clock_that_stands_before_our_time_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 86_400.0)
    finding = ClockWatch().check()
    assert finding.standing is Standing.FAIL
    assert finding.found.startswith("it says ")
    assert "set the clock" in finding.advice


@pytest.mark.parametrize(("is_off", "standing"), [(True, Standing.WARN), (False, Standing.OK)])
def test_a_clock_that_nobody_synchronises_is_found(
    monkeypatch: pytest.MonkeyPatch, is_off: bool, standing: Standing
) -> None:
    monkeypatch.setattr(_machine, "_kernel_says_unsynchronised", lambda: is_off)
    finding = ClockWatch().check()
    assert finding.standing is standing
    assert ("not synchronised" in finding.found) is is_off


def test_a_python_without_uvloop_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true_version = importlib.metadata.version

    def version(name: str) -> str:
        if name == "uvloop":
            raise importlib.metadata.PackageNotFoundError(name)
        return true_version(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    finding = check_python()
    assert finding.standing is Standing.WARN
    assert "without uvloop" in finding.found
    assert "install uvloop" in finding.advice


def test_hot_paths_that_are_not_compiled_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_machine, "COMPILED", ("braidmq.not_compiled",))
    finding = check_compiled()
    assert (finding.standing, finding.found) == (Standing.WARN, "interpreted: braidmq.not_compiled")
    assert "C compiler" in finding.advice
