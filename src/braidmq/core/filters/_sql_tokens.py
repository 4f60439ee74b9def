"""The words of an SQL expression, each with its place."""

import enum
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from braidmq.model.errors import InvalidFilter

SHOWN_MAX: Final = 40
"""How much of an expression an error repeats."""


class Kind(enum.Enum):
    """What a word is."""

    WORD = "word"
    """A reserved word, in capitals."""
    NAME = "name"
    WHOLE = "whole"
    REAL = "real"
    TEXT = "text"
    SIGN = "sign"
    END = "end"


class Token(NamedTuple):
    kind: Kind
    text: str
    at: int


RESERVED: Final = frozenset(
    "NOT AND OR BETWEEN IN TRUE FALSE NULL IS CONTAINS STARTSWITH ENDSWITH".split()  # noqa: SIM905 - one line to read
)

# Only what is written in these letters and digits is a word: names of other scripts cannot be spelled.
_PATTERN: Final = re.compile(
    r"""
      (?P<skip> [ \t\n\r\f]+ | --[^\n\r]*[\n\r] | /\*.*?\*/ )
    | (?P<real> [0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)? | \.[0-9]+(?:[eE][+-]?[0-9]+)? | [0-9]+[eE][+-]?[0-9]+ )
    | (?P<whole> 0 | [1-9][0-9]*[lL]? )
    | (?P<text> '(?:''|[^'])*' )
    | (?P<name> [A-Za-z_$][A-Za-z0-9_$]* )
    | (?P<sign> <> | <= | >= | [=<>(),+-] )
    """,
    re.VERBOSE | re.DOTALL,
)
_LAST_REMARK: Final = re.compile(r"--[^\n\r]*\Z")
_VALUES: Final = frozenset((Kind.NAME, Kind.WHOLE, Kind.REAL, Kind.TEXT))
_ENDS_OF_VALUES: Final = frozenset((")", "TRUE", "FALSE", "NULL"))


def tokens(expression: str) -> Iterator[Token]:
    """All words, and an end. Raises InvalidFilter at what is none.

    A remark goes from `--` to the end of its line. In the last line, two signs may be meant by it, as in `a > --5`; not
    so behind a value, where nothing could be done with them.
    """
    at = 0
    behind_a_value = False
    while at < len(expression) and not (behind_a_value and _LAST_REMARK.match(expression, at)):
        match = _PATTERN.match(expression, at)
        if match is None:
            raise refusal(expression, at, _what_is_wrong(expression, at))
        at = match.end()
        if match.lastgroup != "skip":
            token = _token(match)
            behind_a_value = token.kind in _VALUES or token.text in _ENDS_OF_VALUES
            yield token
    yield Token(Kind.END, "", len(expression))


def refusal(expression: str, at: int, what: str) -> InvalidFilter:
    """The error that points at a place."""
    rest = expression[at : at + SHOWN_MAX]
    where = f"at character {at + 1}, before {rest!r}" if rest else "at its end"
    return InvalidFilter(f"the filter expression cannot be read {where}: {what}")


def _token(match: re.Match[str]) -> Token:
    text, at = match.group(), match.start()
    kind = Kind(match.lastgroup)
    if kind is Kind.NAME and text.upper() in RESERVED:
        return Token(Kind.WORD, text.upper(), at)
    if kind is Kind.TEXT:
        text = text[1:-1].replace("''", "'")
    return Token(kind, text, at)


def _what_is_wrong(expression: str, at: int) -> str:
    if expression[at] == "'":
        return "this text has no closing quote; a quote inside of a text is written twice"
    if expression.startswith("/*", at):
        return "this comment has no end"
    return f"{expression[at]!r} has no meaning in an expression"
