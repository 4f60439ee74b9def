"""Kafka's own jars, by Maven: what they say is what holds."""

import subprocess
from collections.abc import Callable

import generate_kafka_codec as generator
import pytest

from required import missing


@pytest.fixture(scope="session")
def jars(require_tool: Callable[[str, str], object]) -> generator.Jars:
    """The jars that the codec was made from."""
    for tool in ("mvn", "java"):
        require_tool(tool, "brings and runs Kafka's own classes")
    try:
        return generator.fetched_jars()
    except subprocess.CalledProcessError as error:
        missing(f"Maven could not bring Kafka's jars (status {error.returncode}); the output above says why")
