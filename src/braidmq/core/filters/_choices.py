"""Choices by tag and by key. Hot path: `matches` runs for every record of a filtered reading.

A tag is the header TAGS, as RocketMQ calls it; where a header repeats, the last one counts. A message's keys are its
record key and the words of the header KEYS. An expression names alternatives with `||` between them, and `*` wants
everything, tagged or not.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from braidmq.model import KEYS_HEADER, TAG_HEADER
from braidmq.model.errors import InvalidFilter
from braidmq.records import Record

ALTERNATIVES_MAX: Final = 100
ALTERNATIVES_BYTES_MAX: Final = 16 << 10
"""Of all of them together: filters are kept, so that they are read once."""
ALL: Final = b"*"
_OR: Final = "||"


class Filter(Protocol):
    """A choice among records."""

    def matches(self, record: Record) -> bool: ...


class Everything(NamedTuple):
    """No choice at all."""

    def matches(self, _: Record) -> bool:
        return True


class TagFilter(NamedTuple):
    """Messages with one of these tags."""

    tags: frozenset[bytes]

    def matches(self, record: Record) -> bool:
        return _last_header(record, TAG_HEADER) in self.tags


class KeyFilter(NamedTuple):
    """Messages with one of these keys."""

    keys: frozenset[bytes]

    def matches(self, record: Record) -> bool:
        if record.key in self.keys:
            return True
        words = _last_header(record, KEYS_HEADER)
        return words is not None and not self.keys.isdisjoint(words.split())


def alternatives(expression: str) -> list[str]:
    """The parts of an expression such as `A || B`."""
    return [part.strip() for part in expression.split(_OR)]


def tag_filter(tags: Iterable[bytes]) -> Filter:
    """Messages with one of the tags. Raises InvalidFilter for no tag, an empty one, or too many."""
    listed = _checked(tags, "tag")
    return Everything() if listed == [ALL] else TagFilter(frozenset(listed))


def tag_expression_filter(expression: str) -> Filter:
    """What a subscription's text means: `A || B` is either tag; `*` and no text at all are everything.

    Alternatives that are empty do not count: a trailing `||` does no harm. Raises InvalidFilter when none is left, or
    too many.
    """
    if expression in ("", ALL.decode()):
        return Everything()
    tags = [part.encode() for part in alternatives(expression) if part]
    return TagFilter(frozenset(_checked(tags, "tag")))


def key_filter(keys: Iterable[bytes]) -> Filter:
    """Messages with one of the keys. Raises InvalidFilter for no key, an empty one, or too many."""
    listed = _checked(keys, "key")
    return Everything() if listed == [ALL] else KeyFilter(frozenset(listed))


def _checked(values: Iterable[bytes], what: str) -> list[bytes]:
    listed = list(values)
    if not listed or not all(listed):
        raise InvalidFilter(f"a filter by {what} needs a {what}, and none of them may be empty")
    if len(listed) > ALTERNATIVES_MAX:
        raise InvalidFilter(f"a filter has at most {ALTERNATIVES_MAX} alternatives, this one has {len(listed)}")
    if (size_bytes := sum(map(len, listed))) > ALTERNATIVES_BYTES_MAX:
        raise InvalidFilter(
            f"the alternatives of a filter have at most {ALTERNATIVES_BYTES_MAX} bytes, not {size_bytes}"
        )
    return listed


def _last_header(record: Record, name: str) -> bytes | None:
    for header, value in reversed(record.headers):
        if header == name:
            return value
    return None
