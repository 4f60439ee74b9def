"""Sentences for people that can be said in other languages: a pattern, which never changes, and what fills it in.

The pattern is English and serves as the sentence's code. Whoever knows no better formats it.
"""

from typing import Annotated

import msgspec
from msgspec import Meta


class Saying(msgspec.Struct, frozen=True):
    """A sentence. Only patterns of ours are formatted; what fills them in may be anybody's text."""

    pattern: Annotated[str, Meta(examples=["the group {group} is {lag} messages behind"])]
    names: Annotated[dict[str, str], Meta(examples=[{"group": "billing", "lag": "25"}])] = {}

    def __str__(self) -> str:
        return self.pattern.format(**self.names)


def say(pattern: str, /, **names: object) -> Saying:
    """Braces of the pattern are filled in by name."""
    return Saying(pattern, {name: str(value) for name, value in names.items()})
