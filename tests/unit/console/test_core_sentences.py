"""What the core says of alarms, findings and dead letters is said in every language of the console."""

import ast
import json
from pathlib import Path

import pytest

import braidmq.console
from braidmq.console._words import LANGUAGES
from braidmq.core import alarms, inspection
from braidmq.core.desk import dead_letters
from braidmq.model.saying import say

SOURCES = [
    *Path(alarms.__file__).parent.glob("_judge.py"),
    *Path(inspection.__file__).parent.glob("*checks.py"),
    Path(dead_letters.__file__),
]
MAKERS = {"warn": 3, "fail": 3, "ok": 2}
"""How many arguments of these are sentences."""


def _texts(node: ast.expr, known: dict[str, list[str]]) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.Name):
        return known.get(node.id, [])
    if isinstance(node, ast.IfExp):
        return _texts(node.body, known) + _texts(node.orelse, known)
    if isinstance(node, ast.Tuple):
        return [text for each in node.elts for text in _texts(each, known)]
    return []


def sentences(source: Path) -> set[str]:
    """What is given to `say`, and what is advised, in constants and in names that hold them."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    known: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            for name in names:
                if (
                    isinstance(name, ast.Name)
                    and isinstance(node, ast.Assign | ast.AnnAssign)
                    and node.value is not None
                ):
                    known.setdefault(name.id, []).extend(_texts(node.value, known))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "say":
                found.update(_texts(node.args[0], known))
            elif node.func.id in MAKERS:
                check, *others = node.args[: MAKERS[node.func.id]]
                found.update(text.capitalize() for text in _texts(check, known))
                found.update(text for each in others for text in _texts(each, known))
    return found


def test_sentences_are_found() -> None:
    assert sum(len(sentences(source)) for source in SOURCES) > 50


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_every_sentence_of_the_core_is_translated(language: str) -> None:
    path = Path(braidmq.console.__file__).parent / "words" / f"{language}.json"
    known = set(json.loads(path.read_text(encoding="utf-8")))
    assert {text for source in SOURCES for text in sentences(source)} - known == set()


def test_what_fills_in_a_pattern_is_never_a_pattern() -> None:
    assert str(say("the group {group} is behind", group="{0.__class__}")) == "the group {0.__class__} is behind"
