"""Kafka's own share consumer (KIP-932), by the clients that have it: the first to have it, and the newest."""

import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from compat_support import KAFKA, ROCKETMQ, RunProgram, jars
from running_node import RunningNode, WaitFor

VERSIONS = (KAFKA, "4.4.0")
SCENARIOS = (
    "implicit",
    "explicit",
    "lock",
    "exhausted",
    "compressed",
    "transactions",
    "clash",
    "administration",
)

Java = Callable[..., list[str]]


@pytest.fixture(scope="session")
def java(require_tool: Callable[[str, str], object], compile_java: Callable[[str, str], str]) -> Java:
    """The command that runs a scenario."""
    require_tool("javac", "compiles the Java clients")
    require_tool("mvn", "fetches the Java clients")
    classpaths: dict[str, str] = {}

    def command(scenario: str, bootstrap: str, topic: str, *more: str, version: str = KAFKA) -> list[str]:
        if version not in classpaths:
            found = jars(f"kafka-clients-{version}", f"org.apache.kafka:kafka-clients:{version}")
            classpaths[version] = compile_java("ShareClients", found)
        return ["java", "-cp", classpaths[version], "ShareClients", scenario, bootstrap, topic, f"{topic}-group", *more]

    return command


@pytest.fixture
def topic() -> str:
    return f"share-{uuid.uuid4().hex[:8]}"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_share_consumer_finds_what_it_expects(
    broker: RunningNode, run: RunProgram, java: Java, topic: str, scenario: str, version: str
) -> None:
    assert run(java(scenario, broker.bootstrap, topic, version=version)) == "ok\n"


class Holder:
    """A consumer that takes messages and never says anything of them."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def wait_holding(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "holding\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def hold() -> Iterator[Callable[[list[str]], Holder]]:
    holders: list[Holder] = []

    def begin(command: list[str]) -> Holder:
        holders.append(Holder(command))
        holders[-1].wait_holding()
        return holders[-1]

    yield begin
    for holder in holders:
        holder.kill()


@pytest.mark.timeout(300)
def test_what_a_killed_consumer_held_comes_to_another_at_once_and_counts_as_an_attempt(
    broker: RunningNode, run: RunProgram, java: Java, topic: str, hold: Callable[[list[str]], Holder]
) -> None:
    run(java("write", broker.bootstrap, topic, "5"))
    holder = hold(java("hold", broker.bootstrap, topic, "5"))
    holder.kill()
    seen = run(java("read", broker.bootstrap, topic, "5"), limit_s=25)  # a lock would last 30 s
    assert sorted(seen.split()) == [f"{number}:2" for number in range(5)]


@pytest.mark.timeout(300)
def test_a_share_consumer_reads_what_rocketmq_and_http_wrote(
    rocketmq_broker: RunningNode, run: RunProgram, java: Java, compile_java: Callable[[str, str], str], topic: str
) -> None:
    found = jars(f"rocketmq-client-{ROCKETMQ}", f"org.apache.rocketmq:rocketmq-client:{ROCKETMQ}")
    rocketmq = ["java", "-cp", compile_java("RocketMQMatrix", found), "RocketMQMatrix"]
    run([*rocketmq, "write", rocketmq_broker.name_server, topic, "rocketmq", "3", "text"])
    messages = {"messages": [{"body": f"http {number}"} for number in range(3)]}
    httpx.post(f"{rocketmq_broker.url}/api/v1/topics/{topic}/messages", json=messages).raise_for_status()
    seen = run(java("read", rocketmq_broker.bootstrap, topic, "7")).splitlines()
    assert {line for line in seen if line.startswith("http")} == {f"http {number}:1" for number in range(3)}
    assert {f"rocketmq {number} text:1" for number in range(3)} <= set(seen)


@pytest.mark.timeout(300)
def test_http_and_share_consumers_of_one_group_share_its_messages(
    rocketmq_broker: RunningNode, run: RunProgram, java: Java, topic: str
) -> None:
    node = rocketmq_broker
    run(java("write", node.bootstrap, topic, "5"))
    receive = f"{node.url}/api/v1/groups/{topic}-group/receive"
    ask = {"topic": topic, "count_max": 2, "invisible_s": 300, "wait_s": 10}
    taken = httpx.post(receive, json=ask, timeout=30).raise_for_status().json()["messages"]
    assert len(taken) == 2
    seen = run(java("read", node.bootstrap, topic, "3"))
    values = [line.split(":")[0] for line in seen.splitlines()] + [each["body"] for each in taken]
    assert sorted(values) == ["0", "1", "2", "3", "4"]


@pytest.fixture
def start(tmp_path: Path, wait_for: WaitFor) -> Iterator[Callable[[], RunningNode]]:
    """A node of this test's own, on the same folder each time, with HTTP."""
    nodes: list[RunningNode] = []
    arguments = ["--data", str(tmp_path / "data"), "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0"]

    def start_one() -> RunningNode:
        nodes.append(RunningNode(tmp_path, arguments, {}, wait_for).wait_ready())
        return nodes[-1]

    yield start_one
    for node in nodes:
        node.clean_up()


@pytest.mark.timeout(300)
def test_a_node_that_is_killed_loses_nothing_that_was_not_acknowledged(
    start: Callable[[], RunningNode], run: RunProgram, java: Java, topic: str, hold: Callable[[list[str]], Holder]
) -> None:
    node = start()
    run(java("write", node.bootstrap, topic, "20"))
    hold(java("hold", node.bootstrap, topic, "5"))
    node.process.kill()
    node.wait_ended()
    seen = run(java("read", start().bootstrap, topic, "20"))
    counts = dict(line.split(":") for line in seen.split())
    assert sorted(map(int, counts)) == list(range(20))
    assert {number: counts[str(number)] for number in range(5, 20)} == dict.fromkeys(range(5, 20), "1")
    assert set(counts.values()) <= {"1", "2"}, "attempts may be forgotten with the last moment, and never grow"
