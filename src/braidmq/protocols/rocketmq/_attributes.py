"""Attributes of topics and groups: tools say which to set and which to take away, by a sign before the name."""

from collections.abc import Iterable, Mapping
from typing import Final

from braidmq.model.errors import InvalidSetting

ADD: Final = "+"
REMOVE: Final = "-"


def read_attributes(text: str | None) -> dict[str, str]:
    """`+name=value,-name`, with the signs. Raises InvalidSetting."""
    found: dict[str, str] = {}
    for part in filter(None, (text or "").split(",")):
        name, equals, value = part.partition("=")
        if name.startswith(ADD) and not equals:
            raise InvalidSetting(f"the attribute {part[:80]!r} is neither +name=value nor -name")
        found[name] = value
    check_attributes(found)
    return found


def check_attributes(names: Iterable[str]) -> None:
    """Raises InvalidSetting for a name without a sign."""
    for name in names:
        if name[:1] not in (ADD, REMOVE) or len(name) < 2:
            raise InvalidSetting(f"the attribute {name[:80]!r} is neither +name=value nor -name")


def merged(present: Mapping[str, str], signed: Mapping[str, str] | None) -> dict[str, str]:
    """What is set, once the names with signs have been heard."""
    attributes = dict(present)
    for name, value in (signed or {}).items():
        if name.startswith(ADD):
            attributes[name[1:]] = value
        else:
            attributes.pop(name[1:], None)
    return attributes
