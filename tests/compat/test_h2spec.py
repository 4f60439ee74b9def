"""HTTP/2 below RocketMQ's gRPC, as h2spec sees it: every one of its tests, plain and with TLS."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_support import RunProgram
from running_node import RunningNode, WaitFor

CALL = "/apache.rocketmq.v2.MessagingService/QueryRoute"
TESTS_MIN = 145


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, wait_for: WaitFor) -> Iterator[RunningNode]:
    folder: Path = tmp_path_factory.mktemp("h2spec")
    arguments = ["--data", str(folder / "data"), "--http=off", "--kafka=off", "--grpc=127.0.0.1:0"]
    started = RunningNode(folder, arguments, {}, wait_for)
    yield started.wait_ready()
    started.clean_up()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("security", ["plain", "tls"])
def test_every_test_of_h2spec_passes(
    build_go: Callable[[str], str], node: RunningNode, run: RunProgram, security: str
) -> None:
    host, _, port = node.grpc_address.rpartition(":")
    said = run([build_go("h2spec"), host, port, CALL, security], limit_s=200)
    found = re.search(r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed", said)
    assert found is not None, said[-3000:]
    tests, passed, skipped, failed = map(int, found.groups())
    assert (failed, skipped) == (0, 0), said
    assert tests == passed >= TESTS_MIN
