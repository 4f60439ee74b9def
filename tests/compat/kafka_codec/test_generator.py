"""The generated part of the codec is what the generator makes of Kafka's specs."""

from pathlib import Path

import generate_kafka_codec as generator
import pytest


@pytest.mark.timeout(600)
def test_the_committed_tables_are_what_the_generator_makes(jars: generator.Jars, tmp_path: Path) -> None:
    generator.generate(jars, tmp_path)
    made = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*.py")}
    committed = {path: (generator.OUTPUT / path).read_text() for path in made if (generator.OUTPUT / path).exists()}
    messages = {path.relative_to(generator.OUTPUT) for path in (generator.OUTPUT / "messages").glob("*.py")}
    assert messages <= made.keys()
    assert made == committed, "run tools/generate_kafka_codec.py and commit what it wrote"
