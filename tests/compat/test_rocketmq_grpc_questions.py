"""RocketMQ's own Java client over gRPC, unmodified, answers what operators ask of it."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from compat_support import jars
from running_node import RunningNode, WaitFor

pytestmark = pytest.mark.timeout(300)

JAVA_CLIENT = "5.2.0"
GROUP, TOPIC = "questioned", "questioned-orders"
START_LIMIT_S = 60.0


@pytest.fixture(scope="module")
def api(rocketmq_broker: RunningNode) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{rocketmq_broker.url}/api/v1", timeout=40) as client:
        yield client


@pytest.fixture(scope="module")
def said(
    api: httpx.Client,
    rocketmq_broker: RunningNode,
    require_tool: Callable[[str, str], object],
    compile_java: Callable[[str, str], str],
    wait_for: WaitFor,
) -> Iterator[list[str]]:
    """What the listener has said; it has had two messages, and acknowledged one."""
    require_tool("javac", "compiles the program with RocketMQ's Java client")
    name = f"rocketmq-client-java-{JAVA_CLIENT}"
    classpath = compile_java(
        "RocketMQGrpcListener", jars(name, f"org.apache.rocketmq:rocketmq-client-java:{JAVA_CLIENT}")
    )
    api.post("/topics", json={"name": TOPIC, "partitions": 1}).raise_for_status()
    command = ["java", "-Xmx200m", "-cp", classpath, "RocketMQGrpcListener", rocketmq_broker.grpc_address, GROUP, TOPIC]
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        reading = threading.Thread(target=_read, args=(process, lines))
        reading.start()
        try:
            wait_for(lambda: "READY" in lines, START_LIMIT_S)
            messages = [{"body": "good"}, {"body": "bad"}]
            api.post(f"/topics/{TOPIC}/messages", json={"messages": messages}).raise_for_status()
            wait_for(lambda: {"GOT good 1", "GOT bad 1"} <= set(lines), START_LIMIT_S)
            yield lines
        finally:
            process.kill()
            reading.join()


def _read(process: "subprocess.Popen[str]", lines: list[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line.strip())  # noqa: PERF401 - others look at them as they come


def asked(api: httpx.Client, question: str, body: Any = None) -> Any:
    (member,) = api.get(f"/groups/{GROUP}/members").raise_for_status().json()
    return (
        api.post(f"/groups/{GROUP}/members/{quote(member['client_id'])}/{question}", json=body)
        .raise_for_status()
        .json()
    )


def test_javas_client_prints_its_stacks(api: httpx.Client, said: list[str]) -> None:
    stacks = asked(api, "stack-trace")["stack_trace"]
    assert "RocketMQGrpcListener.main" in stacks


@pytest.mark.parametrize(("offset", "body", "outcome"), [(0, "good", "consumed"), (1, "bad", "failed")])
def test_javas_listener_tries_a_message(
    api: httpx.Client, said: list[str], wait_for: WaitFor, offset: int, body: str, outcome: str
) -> None:
    before = sum(line.startswith(f"GOT {body}") for line in said)
    found = asked(api, "verify", {"topic": TOPIC, "partition": 0, "offset": offset})
    assert found["outcome"] == outcome
    wait_for(lambda: sum(line.startswith(f"GOT {body}") for line in said) > before, 10)
