"""What is compiled is known to those who tell people about it."""

from pathlib import Path

from braidmq.cli._doctor._machine import COMPILED

SOURCE = Path(__file__).parents[2] / "src"


def test_the_doctor_knows_every_module_that_is_compiled() -> None:
    sources = [path.relative_to(SOURCE).with_suffix("") for path in SOURCE.rglob("*.pyx")]
    assert sorted(COMPILED) == sorted(".".join(path.parts) for path in sources)


def test_what_is_compiled_is_typed() -> None:
    assert [path for path in SOURCE.rglob("*.pyx") if not path.with_suffix(".pyi").exists()] == []
