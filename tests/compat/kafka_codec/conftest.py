"""Kafka's own jars, by Maven: what they say is what holds."""

import shutil
import subprocess

import generate_kafka_codec as generator
import pytest


@pytest.fixture(scope="session")
def jars() -> generator.Jars:
    """The jars that the codec was made from. Where Maven is missing or reaches nothing, the tests are skipped."""
    for tool in ("mvn", "java"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed: it brings and runs Kafka's own classes")
    try:
        return generator.fetched_jars()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"Maven could not bring Kafka's jars (status {error.returncode}); the output above says why")
