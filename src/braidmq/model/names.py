"""Which names a user may give. One alphabet for every protocol, so that a name made by one is usable by all.

The alphabet is the union of what Kafka and RocketMQ take, plus nothing: `|` and `%` are RocketMQ's, and build the
physical names of cells (`INSTANCE|CELL%TOPIC`). A name never becomes a file name or a piece of SQL.
"""

import re

from braidmq.model.errors import InvalidName

TOPIC_NAME_LENGTH_MAX = 249
GROUP_NAME_LENGTH_MAX = 255
INSTANCE_NAME_LENGTH_MAX = 64

RESERVED_TOPIC_NAMES = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)
"""What Kafka keeps in topics of its own. Here it lies elsewhere, but no topic may pass for one of them."""

OWN_TOPIC_PREFIX = "__braid."
"""Topics of the house: what a node tells of itself. They are not counted in what they tell of."""

RETRY_TOPIC_PREFIX = "%RETRY%"
DEAD_LETTER_TOPIC_PREFIX = "%DLQ%"
"""What RocketMQ's clients and tools put before a group's name to find its topics."""

ARCHIVE_GROUP = "__braid.archive"
"""The group whose offsets say how far each partition is in the archive."""

_ALPHABET = re.compile(r"[A-Za-z0-9._%|-]+\Z")


def is_internal(name: str) -> bool:
    """Whether clients that look for all topics should leave this one out."""
    return name in RESERVED_TOPIC_NAMES or name.startswith(OWN_TOPIC_PREFIX)


def check_topic_name(name: str) -> str:
    """The name itself, or InvalidName."""
    return _check("topic", name, TOPIC_NAME_LENGTH_MAX)


def check_instance_name(name: str) -> str:
    """The name itself, or InvalidName."""
    return _check("instance", name, INSTANCE_NAME_LENGTH_MAX)


def check_group_name(name: str) -> str:
    """The name itself, or InvalidName. Kafka lets a group have any text, so only emptiness, length and controls are
    refused."""
    if not 0 < len(name) <= GROUP_NAME_LENGTH_MAX:
        raise InvalidName(f"a group name has 1 to {GROUP_NAME_LENGTH_MAX} characters, this one has {len(name)}")
    if any(ord(character) < 32 for character in name):
        raise InvalidName(f"the group name {name!r} holds a control character")
    return name


def retry_topic_name(group: str) -> str:
    """Where messages wait that the group is to be given again. Raises InvalidName for a group that cannot have one."""
    return _topic_of_group(RETRY_TOPIC_PREFIX, group, "a retry topic")


def dead_letter_topic_name(group: str) -> str:
    """Where messages lie that the group could not work on. Raises InvalidName for a group that cannot have one."""
    return _topic_of_group(DEAD_LETTER_TOPIC_PREFIX, group, "dead letters")


def _topic_of_group(prefix: str, group: str, what: str) -> str:
    check_group_name(group)
    try:
        return check_topic_name(prefix + group)
    except InvalidName as error:
        raise InvalidName(f"the group {group!r} cannot have {what}: {error.message}") from error


def _check(what: str, name: str, length_max: int) -> str:
    if not 0 < len(name) <= length_max:
        raise InvalidName(f"a {what} name has 1 to {length_max} characters, this one has {len(name)}")
    if name in (".", ".."):
        raise InvalidName(f"a {what} cannot be called {name!r}")
    if not _ALPHABET.match(name):
        raise InvalidName(f"the {what} name {name!r} may only hold letters, digits and . _ - % |")
    return name
