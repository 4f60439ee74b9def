"""Groups of Java's consumers whose members are changed over to KIP-848, one by one, and back."""

import uuid
from collections.abc import Callable

import pytest

from compat_support import KAFKA, RunProgram, jars
from running_node import RunningNode


@pytest.mark.timeout(300)
@pytest.mark.parametrize("membership", ["dynamic", "static"])
@pytest.mark.parametrize("assignor", ["RangeAssignor", "CooperativeStickyAssignor"])
def test_no_record_is_lost_and_none_is_read_twice(
    broker: RunningNode,
    run: RunProgram,
    require_tool: Callable[[str, str], object],
    compile_java: Callable[[str, str], str],
    assignor: str,
    membership: str,
) -> None:
    require_tool("javac", "compiles the Java clients")
    require_tool("mvn", "fetches the Java clients")
    classpath = compile_java("ChangeOver", jars(f"kafka-clients-{KAFKA}", f"org.apache.kafka:kafka-clients:{KAFKA}"))
    topic = f"change-over-{uuid.uuid4().hex[:8]}"
    assert run(["java", "-cp", classpath, "ChangeOver", broker.bootstrap, topic, assignor, membership]) == "ok\n"
