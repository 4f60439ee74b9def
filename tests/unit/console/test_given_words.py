"""What pages hand to templates to be said is said in every language, too."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import braidmq.console
from braidmq.console._lifelines import TITLES
from braidmq.console._words import LANGUAGES
from braidmq.console.pages import _asked, alarms, dead_letters, inspection, messages, reports, timers, transactions
from braidmq.model import TraceKind

CONSOLE = Path(braidmq.console.__file__).parent


def given() -> Iterator[str]:
    yield from (title for title, _ in TITLES.values())
    yield from (title for title, _ in _asked.SPANS.values())
    yield from (way.title for way in messages.WAYS.values())
    yield from dead_letters.AGES
    yield from (title for title, _ in timers.WITHIN.values())
    yield from transactions.STATES.values()
    yield from alarms.VIEWS.values()
    yield from (text for texts in alarms.KINDS.values() for text in texts if text)
    yield from alarms.SEVERITIES.values()
    yield from (title for title, _ in alarms.SILENCE_S.values())
    yield from (title for title, _ in inspection.STANDINGS.values())
    yield from reports.TITLES.values()
    for page in (CONSOLE / "pages").glob("*.py"):
        yield from told_in(page)


def told_in(page: Path) -> Iterator[str]:
    """The words of `told(request, "...")`."""
    for node in ast.walk(ast.parse(page.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "told":
            words = node.args[1]
            assert isinstance(words, ast.Constant), f"{page.name} tells words that no test can see"
            yield str(words.value)


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_every_word_that_a_page_gives_is_translated(language: str) -> None:
    known = json.loads((CONSOLE / "words" / f"{language}.json").read_text(encoding="utf-8"))
    assert set(given()) - set(known) == set()


def test_every_step_of_a_life_has_a_name() -> None:
    assert set(TITLES) == set(TraceKind)
