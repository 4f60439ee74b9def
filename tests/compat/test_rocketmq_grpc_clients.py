"""RocketMQ's own clients over gRPC, unmodified: everything they can do. Python 5.1, Node 1.0, Go 5.1 with TLS,
and Java 5.2 with TLS and without.

Each has a program that tries things and prints what came of it; what should have come is said here, once for all.
"""

import asyncio
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from braidmq.protocols.rocketmq.codec import RequestCode
from braidmq.protocols.rocketmq.codec.bodies import CustomizedRetryPolicy, GroupRetryPolicy, SubscriptionGroupConfig
from compat_support import RunProgram, jars
from rocketmq_support import RawClient, topic_fields
from running_node import RunningNode, WaitFor

pytestmark = pytest.mark.timeout(400)

JAVA_CLIENT = "5.2.0"
HERE = Path(__file__).parent
JAVA_PROGRAM = "RocketMQGrpcClients"
RUN_LIMIT_S = 150.0


async def prepare(name_server: str, prefix: str) -> None:
    """What an administrator makes before: topics of kinds, and groups that are not as all others."""
    host, _, port = name_server.partition(":")
    client = await RawClient.connect(host, int(port))
    for kind in ("normal", "fifo", "delay", "transaction", "priority"):
        fields = topic_fields(f"{prefix}-{kind}", attributes=f"+message.type={kind.upper()}")
        await client.get(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
    soon = GroupRetryPolicy(type="CUSTOMIZED", customized_retry_policy=CustomizedRetryPolicy(next=[1000]))
    groups = (
        SubscriptionGroupConfig(group_name=f"{prefix}-fifo-readers", consume_message_orderly=True),
        SubscriptionGroupConfig(group_name=f"{prefix}-push-readers", group_retry_policy=soon),
        SubscriptionGroupConfig(group_name=f"{prefix}-dead-readers", retry_max_times=1, group_retry_policy=soon),
    )
    for group in groups:
        await client.get(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, group)
    await client.close()


@pytest.fixture(scope="module")
def grpc_broker(tmp_path_factory: pytest.TempPathFactory, wait_for: WaitFor) -> Iterator[RunningNode]:
    folder = tmp_path_factory.mktemp("grpc-broker")
    arguments = ["--data", str(folder / "data"), "--http", "off", "--kafka", "off", "--flush", "interval"]
    arguments += ["--rocketmq", "127.0.0.1:0", "--grpc", "127.0.0.1:0"]
    for text in (
        "rocketmq.vip=off",
        "rocketmq_grpc.auto_create=on",
        "halves.immunity_s=1",
        "halves.check_interval_s=1",
    ):
        arguments += ["--set", text]
    node = RunningNode(folder, arguments, {}, wait_for).wait_ready()
    yield node
    node.clean_up()
    assert "Traceback" not in node.err, node.err[-5000:]


@pytest.fixture(scope="module")
def node_command(
    require_tool: Callable[[str, str], object], run: RunProgram, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], list[str]]:
    """Brings RocketMQ's Node client, by its lock file."""

    def command() -> list[str]:
        require_tool("node", "runs RocketMQ's Node client")
        require_tool("npm", "brings RocketMQ's Node client")
        folder = tmp_path_factory.mktemp("nodejs")
        for name in ("package.json", "package-lock.json", "client.js"):
            shutil.copy(HERE / "rocketmq_nodejs" / name, folder)
        quietly = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        run(["npm", "ci", "--prefix", str(folder), *quietly], limit_s=200)
        return ["node", str(folder / "client.js")]

    return command


@pytest.fixture(scope="module")
def java_command(compile_java: Callable[[str, str], str]) -> Callable[[], list[str]]:
    def command() -> list[str]:
        name = f"rocketmq-client-java-{JAVA_CLIENT}"
        classpath = compile_java(JAVA_PROGRAM, jars(name, f"org.apache.rocketmq:rocketmq-client-java:{JAVA_CLIENT}"))
        return ["java", "-cp", classpath, JAVA_PROGRAM]

    return command


@pytest.fixture(
    scope="module", params=["python", "node", "go", "java-tls", pytest.param("java-plain", marks=pytest.mark.slow)]
)
def found(
    request: pytest.FixtureRequest,
    grpc_broker: RunningNode,
    run: RunProgram,
    node_command: Callable[[], list[str]],
    build_go: Callable[[str], str],
    java_command: Callable[[], list[str]],
) -> dict[str, Any]:
    client: str = request.param
    asyncio.run(prepare(grpc_broker.name_server, client))
    arguments = [grpc_broker.grpc_address, client]
    if client == "python":
        command = [sys.executable, str(HERE / "rocketmq_grpc" / "trials.py"), *arguments]
    elif client == "go":
        command = [build_go("rocketmq_grpc_go"), *arguments]
    elif client == "node":
        command = [*node_command(), *arguments]
    else:
        command = [*java_command(), *arguments, client.removeprefix("java-")]
    said = run(command, limit_s=RUN_LIMIT_S)
    line = next(line for line in said.splitlines() if line.startswith("FOUND "))
    told: dict[str, Any] = json.loads(line.removeprefix("FOUND "))
    return told


def of(found: dict[str, Any], trial: str) -> dict[str, Any]:
    told: dict[str, Any] = found[trial]
    assert "error" not in told, told["error"]
    return told


def test_messages_arrive_once_with_all_that_was_sent(found: dict[str, Any]) -> None:
    told = of(found, "normal")
    assert sorted(each["id"] for each in told["taken"]) == sorted(told["sent"])
    assert not any(each["corrupted"] for each in told["taken"])
    small = [each for each in told["taken"] if each["body"].startswith("n")]
    assert sorted(each["body"] for each in small) == sorted(f"n{number}" for number in range(10))
    for each in small:
        assert (each["tag"], each["keys"], each["attempt"]) == ("paid", ["order-1"], 1)
        assert each["properties"] == {"colour": "röt", "size": "xl"}


def test_messages_of_a_message_group_arrive_in_order(found: dict[str, Any]) -> None:
    told = of(found, "fifo")
    for group in ("g0", "g1"):
        numbers = [int(each["body"]) for each in told["taken"] if each["group"] == group]
        assert numbers == sorted(numbers)
        assert len(numbers) == 10
    assert "not match" in told["refused"]


def test_a_delayed_message_comes_at_its_time_and_a_recalled_one_never(found: dict[str, Any]) -> None:
    told = of(found, "delay")
    assert [each["body"] for each in told["taken"]] == ["later"]
    assert 0 <= told["taken"][0]["at"] - told["due"] < 6
    assert told["recalled"][0] == told["recalled"][1]
    assert told["too_late"]


def test_only_committed_messages_arrive_and_forgotten_ones_are_asked_about(found: dict[str, Any]) -> None:
    told = of(found, "transaction")
    assert sorted(each["body"] for each in told["taken"]) == ["orphan yes", "yes"]
    assert told["asked"] == ["orphan no", "orphan yes"]


def test_a_push_consumer_gets_every_message_and_a_failed_one_again(found: dict[str, Any]) -> None:
    taken = of(found, "pushed")["taken"]
    assert sorted(each["body"] for each in taken) == sorted([*(f"p{number}" for number in range(10)), "p3"])
    assert [each["attempt"] for each in taken if each["body"] == "p3"] == [1, 2]


def test_what_fails_for_the_last_time_is_a_dead_letter(found: dict[str, Any]) -> None:
    told = of(found, "dead")
    assert told["attempts"] == [1, 2]
    assert [(each["body"], each["id"]) for each in told["letters"]] == [("poison", told["sent"])]


def test_consumers_get_what_they_chose(found: dict[str, Any]) -> None:
    assert of(found, "filters") == {"tagged": ["a5", "b5", "b50"], "chosen": ["b50"]}


def test_a_message_comes_again_when_its_changed_time_is_over(found: dict[str, Any]) -> None:
    told = of(found, "invisible")
    assert told["changed"]
    assert told["attempts"] == [1, 2]
    assert 2.5 <= told["waited"] < 9
    assert told["refused"] != ""  # None where the client does not tell


def test_the_most_urgent_messages_come_first(found: dict[str, Any]) -> None:
    if "priority" not in found:
        pytest.skip("this client does not know priorities")
    assert of(found, "priority")["taken"] == [["u3", 3], ["u3", 3], ["u2", 2], ["u1", 1]]
