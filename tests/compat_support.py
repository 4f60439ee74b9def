"""What tests with other people's programs share."""

import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import pytest
from maven import LOGGING, FetchFailed, fetch_jars

RUN_LIMIT_S = 120
KAFKA = "4.1.1"
ROCKETMQ = "5.3.3"
OTHER_ROCKETMQ = "COMPAT_ROCKETMQ"
"""The environment variable with the name server of another RocketMQ, say Apache's, to run the tests against."""


class RunProgram(Protocol):
    """Runs a program to its end and gives its output; a failure shows everything it said."""

    def __call__(self, command: Sequence[str], *, limit_s: float = RUN_LIMIT_S, given: str = "") -> str: ...


def fetched(fetch: Callable[[], str]) -> str:
    """A classpath; what Maven cannot bring is a skip on a desk, and a failure in CI."""
    try:
        return fetch()
    except (FetchFailed, OSError) as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


def jars(name: str, *coordinates: str) -> str:
    """A classpath by coordinates, with all that they need."""
    return fetched(lambda: fetch_jars(name, [*coordinates, LOGGING]))


def kafka_jars() -> str:
    """The classpath of Apache Kafka: its broker and its tools."""
    return jars(f"kafka-tools-{KAFKA}", f"org.apache.kafka:kafka_2.13:{KAFKA}", f"org.apache.kafka:kafka-tools:{KAFKA}")


def java_listener(version: str, compile_java: Callable[[str, str], str], home: Path) -> list[str]:
    """The command of RocketMQListener with RocketMQ's Java client of this version; its arguments follow."""
    client = jars(f"rocketmq-client-{version}", f"org.apache.rocketmq:rocketmq-client:{version}")
    command = ["java", "-Xmx200m", "-XX:TieredStopAtLevel=1", f"-Duser.home={home}", "-Duser.timezone=UTC"]
    classpath = compile_java("RocketMQListener", client)
    return [*command, "-Drocketmq.client.logUseSlf4j=true", "-cp", classpath, "RocketMQListener"]


class Listening:
    """A program of consumers that says what they get, "GOT GROUP QUEUE BODY" for each message, until it is killed."""

    def __init__(self, command: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self._lines: list[str] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append(line.strip())

    def got(self, group: str) -> list[tuple[int, str]]:
        """Queues and bodies, in the order of their coming."""
        words = [line.split(maxsplit=3) for line in list(self._lines) if line.startswith(f"GOT {group} ")]
        return [(int(queue), body) for _, _, queue, body in words]

    def kill(self) -> None:
        """As when its machine loses power: it says nothing to anybody."""
        self._process.kill()
        self._reading.join()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
