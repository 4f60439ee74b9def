"""kafka-python's own integration tests, out of its sdist, swept over the protocol versions of brokers since 0.10.0.

`KAFKA_VERSION` pins what the client believes the broker to be, so each run holds other versions of the requests to
account. What must pass is listed in allowed/kafka-python.txt; the list only grows. FINDINGS.md says why others fail.
"""

import os
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from maven import CACHE

from required import missing
from running_node import RunningNode, WaitFor

SUITE = "kafka-python==3.0.12"
VERSIONS = ("0.10.2.2", "0.11.0.3", "2.6.3", "4.2.0")
VERSIONS_BETWEEN = ("0.10.0.1", "0.10.1.1", "1.1.1", "2.0.1", "3.9.0", "4.0.0")
FILES = [f"test/integration/test_{part}_integration.py" for part in ("producer", "consumer", "admin")]
RUN_LIMIT_S = 400
SERVICE = '''"""The sdist leaves this module out; an external broker needs no more of it."""


class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    def close(self):
        pass


class SpawnedService:
    pass
'''

TOPICS = '''


def _make_topic(self, topic_name, num_partitions, replication_factor):
    """Topics of brokers before 0.10.1 are made by a tool that writes to ZooKeeper; an external broker has none."""
    topics = {topic_name: {"num_partitions": num_partitions, "replication_factor": replication_factor}}
    with KafkaAdminClient(**self._enrich_client_params({})) as admin:
        admin.create_topics(topics)


KafkaFixture._create_topic_via_cli = _make_topic
'''


def allowed(version: str) -> set[str]:
    lines = (Path(__file__).parent / "allowed" / "kafka-python.txt").read_text().splitlines()
    return {name for line in lines for listed, name in [line.split(" ", 1)] if listed == version}


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked sdist, made complete enough to run against a broker that is not its own."""
    folder = tmp_path_factory.mktemp("kafka-python")
    with tarfile.open(_sdist(folder)) as archive:
        archive.extractall(folder, filter="data")
    (root,) = folder.glob("kafka_python-*/")
    (root / "test" / "__init__.py").touch()
    (root / "test" / "service.py").write_text(SERVICE)
    with (root / "test" / "integration" / "fixtures.py").open("a") as fixtures:
        fixtures.write(TOPICS)
    return root


def _sdist(folder: Path) -> Path:
    """Fetched once; with a pip of its own, since this environment need not have one."""
    kept = CACHE.parent / "sdist"
    if not (found := list(kept.glob(f"{SUITE.replace('==', '-').replace('-python', '_python')}.tar.gz"))):
        venv.create(folder / "pip", with_pip=True)
        command = ["-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(kept), SUITE]
        try:
            subprocess.run(
                [str(folder / "pip" / "bin" / "python"), *command], check=True, capture_output=True, timeout=300
            )
        except (subprocess.SubprocessError, OSError) as error:
            missing(f"{SUITE} cannot be fetched: {error}")
        found = list(kept.glob("kafka_python-*.tar.gz"))
    return found[0]


@pytest.fixture(scope="session")
def patient_broker(tmp_path_factory: pytest.TempPathFactory, wait_for: WaitFor) -> Iterator[RunningNode]:
    """As the suite configures its own broker: sessions may be short, and the node has number 0."""
    folder = tmp_path_factory.mktemp("broker")
    arguments = ["--data", str(folder / "data"), "--http", "off", "--kafka", "127.0.0.1:0", "--flush", "interval"]
    like_theirs = ["--set", "kafka.group_session_min_ms=100", "--set", "kafka.node_id=0"]
    node = RunningNode(folder, [*arguments, *like_theirs], {}, wait_for).wait_ready()
    yield node
    node.clean_up()


@pytest.mark.timeout(RUN_LIMIT_S + 60)
@pytest.mark.parametrize(
    "version", [*VERSIONS, *(pytest.param(each, marks=pytest.mark.slow) for each in VERSIONS_BETWEEN)]
)
def test_what_is_allowed_passes(patient_broker: RunningNode, suite: Path, tmp_path: Path, version: str) -> None:
    """What fails is tried once more; FINDINGS.md tells of the one that needs it at times."""
    (suite / "servers" / version / "kafka-bin").mkdir(parents=True)
    passed, said = run_suite(patient_broker, suite, tmp_path / "report.xml", version)
    if missing := allowed(version) - passed:
        again, said = run_suite(patient_broker, suite, tmp_path / "again.xml", version, missing)
        passed |= again
    missing = allowed(version) - passed
    assert not missing, f"{sorted(missing)}\n{said[-8000:]}"
    print("newly passing:", *sorted(f"{version} {name}" for name in passed - allowed(version)), sep="\n")


def run_suite(
    broker: RunningNode, suite: Path, report: Path, version: str, names: Iterable[str] = ()
) -> tuple[set[str], str]:
    """The tests that passed, of all or of these, and what the run said."""
    environment = os.environ | {
        "KAFKA_VERSION": version,
        "KAFKA_URI": f"kafka://{broker.bootstrap}",
        "PYTHONPATH": str(suite),
    }
    plain = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:logging", "-p", "no:xdist"]
    command = [sys.executable, "-m", "pytest", "-q", *plain, "--timeout", "60", "--tb", "short", f"--junitxml={report}"]
    chosen = [f"test/integration/{name.replace('::', '.py::', 1)}" for name in sorted(names)] or FILES
    ended = subprocess.run(
        [*command, *chosen],
        cwd=suite,
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
        check=False,
    )
    passed = {
        f"{case.get('classname', '').rsplit('.', 1)[-1]}::{case.get('name')}"
        for case in ElementTree.parse(report).iter("testcase")  # noqa: S314 - written by the run above
        if not len([child for child in case if child.tag in ("failure", "error", "skipped")])
    }
    return passed, ended.stdout
