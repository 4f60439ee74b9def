"""A node from its start to its end, as a user sees it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import braidmq

Launch = Callable[..., Any]

STOP_S_MAX = 2.0


@pytest.mark.quick
def test_a_node_says_where_it_listens_and_stops_cleanly(launch: Launch, tmp_path: Path) -> None:
    node = launch().wait_ready()
    assert f"BraidMQ {braidmq.__version__} is ready" in node.out
    assert node.url in node.out
    assert f"curl {node.url}/readyz" in node.out
    assert str(tmp_path / "data") in node.out
    assert "\033" not in node.out, "no control characters where there is no terminal"
    assert node.ready["pid"] == node.process.pid
    assert node.stop() < STOP_S_MAX
    assert node.process.returncode == 0
    assert node.err == "braid: stopping (once more to leave at once)\n"
    assert not node.ready_file.exists(), "it is there only while the node is ready"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_each_signal_stops_a_node_with_open_connections_in_time(launch: Launch, number: signal.Signals) -> None:
    node = launch().wait_ready()
    host, port = node.ready["listeners"]["http"][0]
    with socket.create_connection((host, port)) as idle, socket.create_connection((host, port)) as half:
        half.sendall(b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        assert node.stop(number) < STOP_S_MAX
        assert idle.recv(1) == b""
    assert node.process.returncode == 0


def test_a_second_signal_leaves_at_once(launch: Launch) -> None:
    node = launch().wait_ready()
    node.process.send_signal(signal.SIGINT)
    node.process.send_signal(signal.SIGTERM)
    assert node.wait_ended() == 130
    assert node.err.endswith("braid: left at once\n")
    assert launch().wait_ready().get("/readyz").status == 200


def test_a_node_stops_although_nobody_hears_it_any_more(tmp_path: Path, wait_for: Callable[..., None]) -> None:
    """Its terminal, or whatever read what it says, has gone."""
    ready = tmp_path / "ready.json"
    others = ["--http", "127.0.0.1:0", "--kafka", "off", "--rocketmq", "off", "--grpc", "off"]
    command = [sys.executable, "-m", "braidmq", "up", "--data", str(tmp_path / "data"), "--ready-file", str(ready)]
    with subprocess.Popen([*command, *others], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as node:
        assert node.stdout is not None
        assert node.stderr is not None
        wait_for(ready.exists)
        node.stdout.close()
        node.stderr.close()
        node.terminate()
        assert node.wait(20) == 0


def test_a_signal_during_the_start_ends_it_cleanly(
    launch: Launch, tmp_path: Path, wait_for: Callable[..., None]
) -> None:
    node = launch()
    wait_for(lambda: (tmp_path / "data").exists())
    assert node.stop() < STOP_S_MAX
    assert node.process.returncode == 0
    assert "Traceback" not in node.err
    assert launch().wait_ready().get("/readyz").status == 200


def test_a_ready_file_that_cannot_be_written_is_one_line(launch: Launch, tmp_path: Path) -> None:
    node = launch("--ready-file", str(tmp_path / "no" / "folder"))
    assert node.wait_ended() == 2
    assert "--ready-file: cannot write" in node.err


def test_a_node_starts_again_on_its_own_data(launch: Launch) -> None:
    launch().wait_ready().stop()
    node = launch().wait_ready()
    assert node.get("/readyz").status == 200
    node.process.kill()
    node.wait_ended()
    assert launch().wait_ready().get("/readyz").status == 200


def test_a_second_node_on_the_same_folder_is_refused_with_the_owner(launch: Launch) -> None:
    first = launch().wait_ready()
    second = launch()
    assert second.wait_ended() == 1
    assert second.err.startswith("braid: ")
    assert str(first.process.pid) in second.err
    assert second.err.count("\n") == 1
    assert first.get("/readyz").status == 200


def test_a_port_in_use_is_one_line_that_names_the_fix(launch: Launch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        node = launch(http=address)
        assert node.wait_ended() == 1
    assert node.err == (
        f"braid: cannot listen on {address} for http: the port is in use by another process;"
        " choose another with --set http.listen=HOST:PORT\n"
    )
    assert launch().wait_ready().get("/healthz").status == 200, "nothing is left behind by the failed start"


def test_a_folder_that_cannot_be_made_is_one_line_that_names_the_fix(launch: Launch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    node = launch("--data", str(tmp_path / "file" / "data"))
    assert node.wait_ended() == 1
    assert node.err.startswith(f"braid: cannot use the data folder {tmp_path}/file/data: Not a directory; choose")
    assert node.err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_one_line_that_names_the_fix(launch: Launch, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o500)
    node = launch()
    assert node.wait_ended() == 1
    assert "Permission denied; choose another with --data DIR" in node.err


def test_a_database_that_does_not_answer_is_one_line_without_its_password(launch: Launch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"postgresql://u:geheim@127.0.0.1:{closed.getsockname()[1]}/db"
        node = launch(environment={"BRAID_STORE_URL": url})
        assert node.wait_ended() == 1
    assert node.err.startswith("braid: ")
    assert node.err.count("\n") == 1
    assert "geheim" not in node.err + node.out


def test_a_bad_setting_is_one_line_and_status_2(launch: Launch) -> None:
    node = launch(environment={"BRAID_LOG_FLUSH": "never"})
    assert node.wait_ended() == 2
    assert node.err == "braid: environment BRAID_LOG_FLUSH: log.flush cannot be 'never'; it is commit or interval\n"


def test_a_node_without_listeners_still_runs(launch: Launch) -> None:
    node = launch(http="off", kafka="off").wait_ready()
    assert node.ready["listeners"] == {}
    assert node.stop() < STOP_S_MAX
    assert node.process.returncode == 0


def test_logs_are_json_when_asked_for(launch: Launch) -> None:
    node = launch("--set", "logging.format=json", "--set", "logging.level=info").wait_ready()
    node.stop()
    lines = [msgspec.json.decode(line) for line in node.err.splitlines() if not line.startswith("braid:")]
    assert {"ready", "stopped"} <= {line["event"] for line in lines}
    assert all({"level", "timestamp"} <= set(line) for line in lines)
