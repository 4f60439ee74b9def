"""KEY=VALUE, as options give it."""

from collections.abc import Iterable

from braidmq.model.errors import InvalidSetting


def pairs(given: Iterable[str] | None, name: str) -> dict[str, str]:
    """What was given, by its key. Raises InvalidSetting."""
    found: dict[str, str] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InvalidSetting(f"{name}: {text!r} is not KEY=VALUE")
        found[key] = value
    return found
