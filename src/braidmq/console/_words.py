"""What the console says, in the reader's language. Templates hold the English words, which are also the keys."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from litestar.connection import Request
from litestar.datastructures import State

LANGUAGE_COOKIE: Final = "braid_language"
LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "zh": "中文"}
_FOLDER: Final = Path(__file__).parent / "words"

_ALLOWED: Final = (
    (re.compile(r"a number from (?P<low>\S+) to (?P<high>\S+)"), "a number from {low} to {high}"),
    (
        re.compile(r"a number with (?P<units>.+) from (?P<low>\S+) to (?P<high>\S+)"),
        "a number with {units} from {low} to {high}",
    ),
    (re.compile(r"text that matches (?P<pattern>.+)"), "text that matches {pattern}"),
    (re.compile(r"one of (?P<words>.+)"), "one of {words}"),
    (re.compile(r"(?P<one>[^ ,]+) or (?P<other>[^ ,]+)"), "{one} or {other}"),
)

Say = Callable[..., str]


def language_of(request: Request[Any, Any, State]) -> str:
    """What the reader chose, or else what the browser prefers of what there is."""
    chosen = request.cookies.get(LANGUAGE_COOKIE, "")
    if chosen in LANGUAGES:
        return chosen
    accepted = request.headers.get("accept-language", "").split(",")
    preferred = (part.split(";")[0].strip().split("-")[0] for part in accepted)
    return next((language for language in preferred if language in LANGUAGES), "en")


def speaker(language: str) -> Say:
    """Says English words in this language; what is not known stays English. Names in braces are filled in."""
    known = words(language)

    def say(text: str, /, **names: object) -> str:
        said = known.get(text, text)
        return said.format(**names) if names else said

    return say


def allowed(values: str, language: str) -> str:
    """Which values a setting may have: English as settings say it, in this language."""
    for pattern, sentence in _ALLOWED:
        if found := pattern.fullmatch(values):
            names = {name: part.replace(" or ", ", ") for name, part in found.groupdict().items()}
            return values if language == "en" else speaker(language)(sentence, **names)
    return speaker(language)(values)


@cache
def words(language: str) -> Mapping[str, str]:
    path = _FOLDER / f"{language}.json"
    if not path.is_file():
        return {}
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found
