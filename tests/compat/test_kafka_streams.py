"""Kafka Streams, exactly once: transactions, compacted changelogs, repartition topics and groups at the same time."""

from collections.abc import Callable
from pathlib import Path

import pytest

from compat_support import KAFKA, RunProgram, jars
from running_node import RunningNode


@pytest.mark.timeout(400)
def test_word_count_is_exact_across_a_restart(
    broker: RunningNode,
    run: RunProgram,
    require_tool: Callable[[str, str], object],
    compile_java: Callable[[str, str], str],
    tmp_path: Path,
) -> None:
    require_tool("javac", "compiles the word count")
    require_tool("mvn", "fetches Kafka Streams")
    classpath = compile_java("WordCount", jars(f"kafka-streams-{KAFKA}", f"org.apache.kafka:kafka-streams:{KAFKA}"))
    out = run(["java", "-cp", classpath, "WordCount", broker.bootstrap, "streams", str(tmp_path)], limit_s=240)
    assert out == "ok\n"
