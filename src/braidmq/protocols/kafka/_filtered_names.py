"""Names of topics that do not exist by themselves: another topic, seen through a filter.

Kafka's protocol has no place for a filter, so it is spelled in the topic's name, which every client lets its user
choose. Two spellings mean the same:

    orders?tag=A||B         for people; values are percent-encoded as in an address, where they need to be
    orders..tag..A..B       for clients that refuse a `?` in a name: two dots separate, and a byte of a value that is
                            not a letter, a digit, `_` or `-` is a dot and two hexadecimal digits

`key` stands where `tag` stands, and so does `sql`, with one expression in place of alternatives. A topic that
really has the name of the second kind wins over the filter.
"""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from braidmq.core.filters import Filter, alternatives, key_filter, sql_filter, tag_filter
from braidmq.model.errors import InvalidFilter

NAME_LENGTH_MAX: Final = 1000
_REMEMBERED: Final = 1000

_MARK: Final = "?"
_DOTTED: Final = re.compile(r"(?P<topic>.+?)\.\.(?P<kind>tag|key|sql)\.\.(?P<values>[A-Za-z0-9._-]+)\Z")
_ESCAPED: Final = re.compile(r"\.([0-9A-Fa-f]{2})")
_SEPARATOR: Final = ".."


class FilteredName(NamedTuple):
    """What a name stands for."""

    topic: str
    chosen: Filter


def read_filtered_name(name: str) -> FilteredName | None:
    """What the name stands for; None for one that names no filter. Raises InvalidFilter for one that cannot be."""
    if _MARK not in name and _SEPARATOR not in name:
        return None
    if len(name) > NAME_LENGTH_MAX:
        raise InvalidFilter(f"a topic name with a filter has at most {NAME_LENGTH_MAX} characters, not {len(name)}")
    return _read(name)


@functools.lru_cache(maxsize=_REMEMBERED)
def _read(name: str) -> FilteredName | None:
    if _MARK in name:
        topic, _, condition = name.partition(_MARK)
        kind, _, expression = condition.partition("=")
        parts = [expression] if kind == "sql" else alternatives(expression)
        return _filtered(name, topic, kind, [unquote_to_bytes(part) for part in parts])
    if (dotted := _DOTTED.match(name)) is not None:
        values = [_unescaped(name, part) for part in dotted["values"].split(_SEPARATOR)]
        return _filtered(name, dotted["topic"], dotted["kind"], values)
    return None


def _filtered(name: str, topic: str, kind: str, values: list[bytes]) -> FilteredName:
    if kind not in _KINDS:
        raise InvalidFilter(f"the topic name {name!r} has a filter by {kind!r}; it can be by {' or '.join(_KINDS)}")
    return FilteredName(topic, _KINDS[kind](values))


def _unescaped(name: str, text: str) -> bytes:
    plain = _ESCAPED.sub(r"%\1", text)
    if "." in plain:
        raise InvalidFilter(f"in the topic name {name!r}, a single dot is not followed by two hexadecimal digits")
    return unquote_to_bytes(plain)


def _expression_filter(values: list[bytes]) -> Filter:
    if len(values) != 1:
        raise InvalidFilter("a filter by expression has one expression; OR joins alternatives inside of it")
    try:
        return sql_filter(values[0].decode())
    except UnicodeDecodeError as error:
        raise InvalidFilter(f"a filter expression is text in UTF-8: {error}") from error


_KINDS: Final[Mapping[str, Callable[[list[bytes]], Filter]]] = {
    "tag": tag_filter,
    "key": key_filter,
    "sql": _expression_filter,
}
