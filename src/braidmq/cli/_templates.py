"""Templates of messages: `{{count}}`, `{{random 1 100}}`, `{{pick a b c}}`, `{{now}}`, `{{now_ms}}`, `{{uuid}}`.

A template is parsed once, to a list of functions from the message's number to a text. Nothing is evaluated.
"""

import datetime
import random
import re
import uuid
from collections.abc import Callable
from typing import Final

from braidmq.cli._times import now_ms
from braidmq.model.errors import InvalidSetting

Template = Callable[[int], str]
_WORD: Final = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_NUMBER: Final = re.compile(r"-?[0-9]{1,15}")


def plain(text: str) -> Template:
    """The text as it is."""
    return lambda _: text


def parsed(text: str) -> Template:
    """Raises InvalidSetting for a word that does not exist."""
    parts: list[Template] = []
    end = 0
    for found in _WORD.finditer(text):
        parts += [plain(text[end : found.start()]), _word(found[1])]
        end = found.end()
    parts.append(plain(text[end:]))
    return lambda number: "".join(part(number) for part in parts)


def _word(text: str) -> Template:
    name, *arguments = text.split() or [""]
    if name == "random" and len(arguments) == 2 and all(map(_NUMBER.fullmatch, arguments)):
        return _random(*sorted(map(int, arguments)))
    if name == "pick" and arguments:
        return lambda _: random.choice(arguments)  # noqa: S311  # examples, no secrets
    if name in _PLAIN and not arguments:
        return _PLAIN[name]
    raise InvalidSetting(
        f"{{{{{text}}}}} is no word of a template; there are {{{{count}}}}, {{{{random 1 100}}}}, {{{{pick a b}}}}, "
        "{{now}}, {{now_ms}} and {{uuid}}; with --raw nothing is replaced"
    )


def _random(low: int, high: int) -> Template:
    return lambda _: str(random.randint(low, high))  # noqa: S311  # examples, no secrets


_PLAIN: Final[dict[str, Template]] = {
    "count": str,
    "now": lambda _: datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
    "now_ms": lambda _: str(now_ms()),
    "uuid": lambda _: str(uuid.uuid4()),
}
