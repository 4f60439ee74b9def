"""What a message may carry besides its body, for protocols whose users write properties by name.

Names with a meaning are either said in a field of their own, or are the house's: whoever could set them by the name
could pass a message off as a retried one, or as one of another protocol.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

from braidmq.model import (
    ATTEMPT_HEADER,
    BORN_HEADER,
    DEAD_ID_HEADER,
    DEAD_TOPIC_HEADER,
    HTTP_HEADER,
    ID_HEADER,
    KEYS_HEADER,
    ORIGIN_ID_HEADER,
    REPLAY_HEADER,
    RETRY_TOPIC_HEADER,
    ROCKETMQ_HEADER,
    SHARDING_KEY_HEADER,
    TAG_HEADER,
)
from braidmq.model._message import KEY_SEPARATOR
from braidmq.model.errors import InvalidMessage

PROPERTIES_MAX: Final = 128
PROPERTIES_BYTES_MAX: Final = 16 << 10
"""Tag, keys and properties together; as much as RocketMQ 5 takes."""
ID_BYTES_MAX: Final = 255

FIELDS: Final = {
    TAG_HEADER: "tag",
    KEYS_HEADER: "keys",
    ID_HEADER: "id",
    SHARDING_KEY_HEADER: "sharding_key",
}
"""Properties that are said in a field of their own."""
OWN: Final = frozenset(
    {
        ATTEMPT_HEADER,
        BORN_HEADER,
        DEAD_ID_HEADER,
        DEAD_TOPIC_HEADER,
        HTTP_HEADER,
        ORIGIN_ID_HEADER,
        REPLAY_HEADER,
        RETRY_TOPIC_HEADER,
        ROCKETMQ_HEADER,
    }
)
"""Properties that only the house sets."""

_SEPARATORS: Final = ("\x01", "\x02")


def is_tag(text: str) -> bool:
    """Whether a filter of tags could name it: not blank, neither | nor control characters in it."""
    return bool(text.strip()) and "|" not in text and not has_control_characters(text)


def check_tag(tag: str) -> None:
    """Raises InvalidMessage."""
    if not is_tag(tag):
        raise InvalidMessage("tag: it is not blank, and holds neither | nor control characters")


def check_keys(keys: Iterable[str]) -> None:
    """Raises InvalidMessage."""
    for key in keys:
        if has_control_characters(key) or len(key.split()) != 1:
            raise InvalidMessage("keys: a key is not blank, and holds neither spaces nor control characters")


def check_size(tag: str | None, keys: Iterable[str], properties: Mapping[str, str]) -> None:
    """Raises InvalidMessage where they are too much together."""
    size_bytes = carried_bytes(tag, keys, properties)
    if size_bytes > PROPERTIES_BYTES_MAX:
        raise InvalidMessage(
            f"tag, keys and properties have at most {PROPERTIES_BYTES_MAX} bytes together, not {size_bytes}"
        )


def carried_bytes(tag: str | None, keys: Iterable[str], properties: Mapping[str, str]) -> int:
    """What tag, keys and properties take together."""
    size_bytes = len((tag or "").encode()) + len(KEY_SEPARATOR.join(keys).encode())
    return size_bytes + sum(len(name.encode()) + len(value.encode()) for name, value in properties.items())


def has_control_characters(text: str) -> bool:
    """Whether the text holds what nobody sees: characters 0 to 31 and 127 to 159."""
    return not text.isprintable() and any(unicodedata.category(each) == "Cc" for each in text)


def check_id(id: str) -> None:
    """Raises InvalidMessage."""
    if not id.strip() or has_control_characters(id) or len(id.encode()) > ID_BYTES_MAX:
        raise InvalidMessage(f"id: it is not blank, holds no control characters and has at most {ID_BYTES_MAX} bytes")


def check_properties(properties: Mapping[str, str]) -> None:
    """Raises InvalidMessage."""
    if len(properties) > PROPERTIES_MAX:
        raise InvalidMessage(f"properties: a message has at most {PROPERTIES_MAX}, not {len(properties)}")
    for name, value in properties.items():
        if name in FIELDS:
            raise InvalidMessage(f"properties: {name} is said in the field `{FIELDS[name]}`")
        if name in OWN:
            raise InvalidMessage(f"properties: {name} is set by the node alone; leave it out")
        if not name or any(each in name or each in value for each in _SEPARATORS):
            raise InvalidMessage("properties: they have a name, and hold no characters 1 and 2")
