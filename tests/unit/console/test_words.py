"""Everything that a page says is said in every language."""

import json
import re
from pathlib import Path

import pytest

import braidmq.console
from braidmq.console._navigation import SECTIONS
from braidmq.console._words import LANGUAGES, speaker

CONSOLE = Path(braidmq.console.__file__).parent
SAID = re.compile(r"""\b_\(\s*"((?:[^"\\]|\\.)*)\"""")
NAMED = re.compile(r"\{(\w+)\}")


def said() -> set[str]:
    found = {title for section in SECTIONS for title in (section.title, *(place.title for place in section.places))}
    for template in (CONSOLE / "templates").glob("*.j2"):
        found.update(SAID.findall(template.read_text(encoding="utf-8")))
    return found - {""}


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_everything_that_is_said_is_translated(language: str) -> None:
    known = json.loads((CONSOLE / "words" / f"{language}.json").read_text(encoding="utf-8"))
    assert said() - set(known) == set()


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_translations_fill_in_the_same_names(language: str) -> None:
    known = json.loads((CONSOLE / "words" / f"{language}.json").read_text(encoding="utf-8"))
    wrong = {text for text, there in known.items() if set(NAMED.findall(text)) != set(NAMED.findall(there))}
    assert wrong == set()


def test_what_is_not_known_stays_english() -> None:
    assert speaker("zh")("never translated {what}", what="word") == "never translated word"
