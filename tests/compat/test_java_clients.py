"""Kafka's Java clients of a decade, each with the jar of its own time."""

from collections.abc import Callable

import pytest

from compat_support import RunProgram, jars
from running_node import RunningNode

VERSIONS = ("0.10.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.0.1", "2.6.3", "3.9.1", "4.1.1")
OLDEST_WITH_TRANSACTIONS = (0, 11)
OLDEST_WITH_ZSTD = (2, 1)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@pytest.fixture(scope="session")
def classpath(
    require_tool: Callable[[str, str], object], compile_java: Callable[[str, str], str]
) -> Callable[[str, str], str]:
    require_tool("javac", "compiles the Java clients")
    require_tool("mvn", "fetches the Java clients")

    def prepare(program: str, version: str) -> str:
        return compile_java(program, jars(f"kafka-clients-{version}", f"org.apache.kafka:kafka-clients:{version}"))

    return prepare


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", VERSIONS)
def test_produces_with_every_codec_and_consumes_in_a_group(
    broker: RunningNode, run: RunProgram, classpath: Callable[[str, str], str], version: str
) -> None:
    codecs = ["none", "gzip", "snappy", "lz4"] + (["zstd"] if numbers(version) >= OLDEST_WITH_ZSTD else [])
    topic = f"java-{version}"
    out = run(["java", "-cp", classpath("OldClient", version), "OldClient", broker.bootstrap, topic, ",".join(codecs)])
    assert out == f"ok {500 * len(codecs)}\n"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", [each for each in VERSIONS if numbers(each) >= OLDEST_WITH_TRANSACTIONS])
def test_transactions_headers_and_administration(
    broker: RunningNode, run: RunProgram, classpath: Callable[[str, str], str], version: str
) -> None:
    topic = f"java-transactions-{version}"
    out = run(["java", "-cp", classpath("ModernClient", version), "ModernClient", broker.bootstrap, topic])
    assert out == "ok\n"
