"""RocketMQ's own clients, unmodified, with lite topics: Java 5.2's push consumer, Python 5.1's push and simple ones.

They send, subscribe, consume in order, and go on where they were when the node is killed and started again.
"""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from compat_support import jars
from running_node import RunningNode, WaitFor

pytestmark = pytest.mark.timeout(300)

JAVA_CLIENT = "5.2.0"
PROGRAM = "RocketMQLite"
GROUP, TOPIC = "lite-readers", "lite-devices"
HERE = Path(__file__).parent
LIMIT_S = 60.0


class LiteProgram:
    """A program with a client: it is told something, and says what came of it."""

    def __init__(self, command: list[str], wait_for: WaitFor) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self._wait_for = wait_for
        self.lines: list[str] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()
        wait_for(lambda: "READY" in self.lines, LIMIT_S)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.strip())

    def tell(self, command: str) -> str:
        """What came of it: DONE, or FAILED with the name of the exception."""
        assert self._process.stdin is not None
        before = len(self.lines)
        print(command, file=self._process.stdin, flush=True)
        ends = (f"DONE {command}", f"FAILED {command}")
        self._wait_for(lambda: any(line.startswith(ends) for line in self.lines[before:]), LIMIT_S)
        end = next(line for line in self.lines[before:] if line.startswith(ends))
        return end.replace(f" {command}", "", 1)

    def got(self, lite: str) -> list[tuple[str, int]]:
        """Bodies and attempts, in the order of their coming."""
        words = [line.split() for line in list(self.lines) if line.startswith(f"GOT {lite} ")]
        return [(body, int(attempt)) for _, _, body, attempt in words]

    def wait_got(self, lite: str, *bodies: str) -> None:
        self._wait_for(lambda: [body for body, _ in self.got(lite)][-len(bodies) :] == list(bodies), LIMIT_S)

    def kill(self) -> None:
        self._process.kill()
        self._reading.join()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.fixture(scope="module")
def classpath(require_tool: Callable[[str, str], object], compile_java: Callable[[str, str], str]) -> str:
    require_tool("javac", "compiles the program with RocketMQ's Java client")
    name = f"rocketmq-client-java-{JAVA_CLIENT}"
    return compile_java(PROGRAM, jars(name, f"org.apache.rocketmq:rocketmq-client-java:{JAVA_CLIENT}"))


class Broker:
    """A node that can be killed, and comes again at the same address."""

    def __init__(self, folder: Path, wait_for: WaitFor) -> None:
        self._folder, self._wait_for = folder, wait_for
        self.node = self._start("127.0.0.1:0")
        with httpx.Client(base_url=f"{self.node.url}/api/v1", timeout=40) as api:
            settings = {"lite.topic.expiration": "30"}
            made: dict[str, Any] = {"name": TOPIC, "partitions": 1, "kind": "lite", "settings": settings}
            api.post("/topics", json=made).raise_for_status()
            for group in (GROUP, "exclusive-readers"):
                said = {"retry.steps": "200ms"}
                if group != GROUP:
                    said |= {"lite.sub.model": "Exclusive", "lite.sub.client.quota": "2"}
                api.post("/groups", json={"name": group, "settings": said}).raise_for_status()

    def _start(self, grpc: str) -> RunningNode:
        arguments = ["--data", str(self._folder / "data"), "--http", "127.0.0.1:0", "--kafka", "off"]
        return RunningNode(self._folder, [*arguments, "--grpc", grpc], {}, self._wait_for).wait_ready()

    def kill_and_start(self) -> None:
        address = self.node.grpc_address
        self.node.process.kill()
        self.node.clean_up()
        self.node = self._start(address)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, wait_for: WaitFor) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("lite-broker"), wait_for)
    yield broker
    broker.node.clean_up()
    assert "Traceback" not in broker.node.err, broker.node.err[-5000:]


Start = Callable[..., LiteProgram]


@pytest.fixture
def start(broker: Broker, wait_for: WaitFor, request: pytest.FixtureRequest) -> Iterator[Start]:
    """Starts the program with a client, in a group."""
    programs: list[LiteProgram] = []

    def start_one(client: str, group: str = GROUP) -> LiteProgram:
        place = [broker.node.grpc_address, group, TOPIC]
        if client == "java":
            command = ["java", "-Xmx200m", "-cp", request.getfixturevalue("classpath"), PROGRAM, *place]
        else:
            command = [sys.executable, str(HERE / "rocketmq_grpc" / "lite.py"), client.removeprefix("python-"), *place]
        programs.append(LiteProgram(command, wait_for))
        return programs[-1]

    yield start_one
    for program in programs:
        program.kill()


NAMES = {"java": ("java-1", "java-2", "java-3", "java-4"), "python-push": ("1", "2", "3", "4"), "python-simple": "567"}
"""Of lite topics. Python 5.1 subscribes to the single characters of a name, until it repeats all that it reads."""
CLIENTS = pytest.mark.parametrize("client", ["java", "python-push", "python-simple"])
PUSH_CLIENTS = pytest.mark.parametrize("client", ["java", "python-push"])


@CLIENTS
def test_each_lite_topic_is_consumed_in_order_by_who_subscribes_to_it(start: Start, client: str) -> None:
    program = start(client)
    first, other, late = NAMES[client][:3]
    bodies = [f"m{number}" for number in range(10)]
    for name in (first, other):
        assert program.tell(f"SUBSCRIBE {name}") == "DONE"
    for body in bodies:
        for name in (first, other, late):
            assert program.tell(f"SEND {name} {body}") == "DONE"
    for name in (first, other):
        program.wait_got(name, *bodies)
        assert program.got(name) == [(body, 1) for body in bodies]
    assert program.got(late) == []
    assert program.tell(f"SUBSCRIBE {late}") == "DONE"
    program.wait_got(late, *bodies)
    assert program.tell(f"UNSUBSCRIBE {first}") == "DONE"
    program.tell(f"SEND {first} unwanted")
    program.tell(f"SEND {other} wanted")
    program.wait_got(other, "wanted")
    assert program.got(first)[-1] == (bodies[-1], 1)


@PUSH_CLIENTS
def test_a_message_that_failed_comes_again_before_what_follows_it(start: Start, client: str) -> None:
    program = start(client)
    lite = NAMES[client][3]
    program.tell(f"SUBSCRIBE {lite}")
    for body in ("bad", "good"):
        program.tell(f"SEND {lite} {body}")
    program.wait_got(lite, "bad", "bad", "good")
    assert [body for body, _ in program.got(lite)] == ["bad", "bad", "good"]


def test_a_client_goes_on_where_it_was_when_the_node_is_killed_and_comes_again(
    start: Start, broker: Broker, wait_for: WaitFor
) -> None:
    program = start("java")
    program.tell("SUBSCRIBE kept")
    for body in ("a", "b"):
        assert program.tell(f"SEND kept {body}") == "DONE"
        assert program.tell(f"SEND unread {body}") == "DONE"
    program.wait_got("kept", "a", "b")
    broker.kill_and_start()
    wait_for(lambda: program.tell("SUBSCRIBE unread") == "DONE", LIMIT_S)  # it connects again when it likes
    program.wait_got("unread", "a", "b")
    assert program.tell("SEND kept after") == "DONE"
    program.wait_got("kept", "after")  # the client says by itself what it reads, within half a minute
    assert list(dict.fromkeys(body for body, _ in program.got("kept"))) == ["a", "b", "after"]


def test_javas_client_is_told_when_another_takes_a_lite_topic_over(start: Start) -> None:
    first, other = start("java", "exclusive-readers"), start("java", "exclusive-readers")
    assert [first.tell(f"SUBSCRIBE {name}") for name in ("e1", "e2")] == ["DONE", "DONE"]
    assert first.tell("SUBSCRIBE e3") == "FAILED LiteSubscriptionQuotaExceededException"
    assert other.tell("SUBSCRIBE e1") == "DONE"
    first.tell("SEND e1 a")
    first.tell("SEND e2 b")
    other.wait_got("e1", "a")
    first.wait_got("e2", "b")
    first.tell("NAMES")
    assert "NAMES e2" in first.lines
    assert first.got("e1") == []


@PUSH_CLIENTS
def test_clients_are_told_of_names_that_no_lite_topic_can_have(start: Start, client: str) -> None:
    program = start(client)
    assert program.tell("SUBSCRIBE a.b") == "FAILED BadRequestException"
    assert program.tell("SEND a.b m") == "FAILED BadRequestException"
