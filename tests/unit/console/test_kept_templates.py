"""Compiled templates outlive the node that compiled them, and are never those of another source."""

from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from braidmq.console._bytecode import KeptTemplates


def environment(folder: Path, *, autoescape: bool = True) -> Environment:
    made = Environment(loader=FileSystemLoader(folder), autoescape=autoescape)  # noqa: S701 - as tests say
    made.bytecode_cache = KeptTemplates(folder, made)
    return made


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    (tmp_path / "page.html.j2").write_text("<p>{{ word }}</p>")
    return tmp_path


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.pyc"))


def test_a_template_is_compiled_once_for_all_nodes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment(folder).get_template("page.html.j2").render(word="<") == "<p>&lt;</p>"
    assert len(kept(folder)) == 1
    monkeypatch.setattr(Environment, "_compile", lambda *_: pytest.fail("it was compiled before"))
    assert environment(folder).get_template("page.html.j2").render(word="<") == "<p>&lt;</p>"


def test_what_was_compiled_of_another_source_or_for_another_environment_is_not_used(folder: Path) -> None:
    environment(folder, autoescape=False).get_template("page.html.j2")
    assert environment(folder).get_template("page.html.j2").render(word="<") == "<p>&lt;</p>"
    assert len(kept(folder)) == 2
    (folder / "page.html.j2").write_text("<b>{{ word }}</b>")
    assert environment(folder).get_template("page.html.j2").render(word="x") == "<b>x</b>"


@pytest.mark.parametrize("keep", [0, 3, 20, 60, -1])
def test_a_damaged_file_costs_a_compilation_and_nothing_else(folder: Path, keep: int) -> None:
    environment(folder).get_template("page.html.j2")
    (file,) = kept(folder)
    file.write_bytes(file.read_bytes()[:keep])
    assert environment(folder).get_template("page.html.j2").render(word="x") == "<p>x</p>"


def test_where_nothing_can_be_written_templates_are_compiled(folder: Path) -> None:
    (folder / "__pycache__").write_text("no folder")
    assert environment(folder).get_template("page.html.j2").render(word="x") == "<p>x</p>"
    assert kept(folder) == []


def test_who_wants_no_bytecode_gets_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    environment(folder).get_template("page.html.j2")
    assert kept(folder) == []
