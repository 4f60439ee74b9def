"""librdkafka's own broker tests, one at a time. Its sources come inside an npm package and are built once.

What must pass is listed in allowed/librdkafka.txt: all that passes on Apache Kafka with one broker.
"""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from maven import CACHE

from compat_support import RunProgram
from running_node import RunningNode

PACKAGE = "@confluentinc/kafka-javascript@1.10.1"
ALLOWED = (Path(__file__).parent / "allowed" / "librdkafka.txt").read_text().split()
BUILD_LIMIT_S = 1800
TEST_LIMIT_S = 60
OPTIONS = ["--disable-gssapi", "--disable-curl", "--disable-zstd", "--disable-lz4-ext"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def runner(require_tool: Callable[[str, str], object], run: RunProgram) -> Path:
    """The folder with the test runner, built."""
    for tool in ("npm", "gcc", "g++", "make"):
        require_tool(tool, "brings or builds librdkafka's tests")
    folder = CACHE.parent / "librdkafka"
    tree = folder / "package" / "deps" / "librdkafka"
    if not (tree / "tests" / "test-runner").exists():
        folder.mkdir(parents=True, exist_ok=True)
        script = f"""
            cd '{folder}' && rm -rf package ./*.tgz && npm pack --silent '{PACKAGE}' && tar xzf ./*.tgz && cd '{tree}'
            ./configure {" ".join(OPTIONS)} && make -j2 libs && make -j2 -C tests build
        """
        run(["sh", "-ec", script], limit_s=BUILD_LIMIT_S)
    return tree / "tests"


@pytest.mark.timeout(BUILD_LIMIT_S + TEST_LIMIT_S)
@pytest.mark.parametrize("name", ALLOWED)
def test_passes(broker: RunningNode, runner: Path, tmp_path: Path, name: str) -> None:
    settings = tmp_path / "test.conf"
    settings.write_text(f"bootstrap.servers={broker.bootstrap}\ntest.topic.random=true\n")
    environment = os.environ | {
        "RDKAFKA_TEST_CONF": str(settings),
        "LD_LIBRARY_PATH": f"{runner.parent / 'src'}:{runner.parent / 'src-cpp'}",
        "TEST_KAFKA_VERSION": "4.1.1",
        "TESTS": name,
    }
    ended = subprocess.run(
        ["./test-runner", "-p1", "-L"],
        cwd=runner,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TEST_LIMIT_S,
        check=False,
    )
    said = re.sub(r"\x1b\[[0-9;]*m", "", ended.stdout + ended.stderr)
    assert re.search(rf"^\| {name} +\| +PASSED ", said, re.MULTILINE), said[-5000:]
