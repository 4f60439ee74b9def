"""Which names a user may give. One alphabet for every protocol, so that a name made by one is usable by all.

The alphabet is the union of what Kafka and RocketMQ take, plus nothing: `|` and `%` are RocketMQ's, and build the
physical names of cells (`INSTANCE|CELL%TOPIC`). A name never becomes a file name or a piece of SQL.
"""

import re
from typing import NamedTuple

from braidmq.model.errors import InvalidLiteTopic, InvalidName
from braidmq.model.saying import say

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

LITE_TOPIC_PREFIX = "%LITE%"
LITE_NAME_BYTES_MAX = 64
_LITE_SEPARATOR = "|"
"""The last one in a name: a parent's name may hold more of them, a lite topic's own none."""

ARCHIVE_GROUP = "__braid.archive"
"""The group whose offsets say how far each partition is in the archive."""
REPLAY_GROUP_PREFIX = "__braid.replay."
"""Groups whose offsets say how far replays of the archive have come."""

_ALPHABET = re.compile(r"[A-Za-z0-9._%|-]+\Z")
_LITE_ALPHABET = re.compile(r"[A-Za-z0-9_-]+\Z")


class LiteName(NamedTuple):
    """A lite topic: the topic that it is under, and what it is called there."""

    parent: str
    lite: str


def is_internal(name: str) -> bool:
    """Whether clients that look for all topics should leave this one out."""
    return name in RESERVED_TOPIC_NAMES or name.startswith((OWN_TOPIC_PREFIX, LITE_TOPIC_PREFIX))


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
        raise InvalidName(
            say(
                "a group name has 1 to {group_name_length_max} characters, this one has {count}",
                group_name_length_max=GROUP_NAME_LENGTH_MAX,
                count=len(name),
            )
        )
    if any(ord(character) < 32 for character in name):
        raise InvalidName(say("the group name {name} holds a control character", name=repr(name)))
    return name


def retry_topic_name(group: str) -> str:
    """Where messages wait that the group is to be given again. Raises InvalidName for a group that cannot have one."""
    return _topic_of_group(RETRY_TOPIC_PREFIX, group, "a retry topic")


def dead_letter_topic_name(group: str) -> str:
    """Where messages lie that the group could not work on. Raises InvalidName for a group that cannot have one."""
    return _topic_of_group(DEAD_LETTER_TOPIC_PREFIX, group, "dead letters")


def lite_topic_name(parent: str, lite: str) -> str:
    """The topic in which the messages of a lite topic lie. Raises InvalidLiteTopic."""
    name = f"{LITE_TOPIC_PREFIX}{parent}{_LITE_SEPARATOR}{check_lite_name(lite)}"
    if len(name) > TOPIC_NAME_LENGTH_MAX:
        raise InvalidLiteTopic(
            f"the topic {parent!r} and the lite topic {lite!r} have {len(name)} characters together with what is put"
            f" before them; a topic has at most {TOPIC_NAME_LENGTH_MAX}"
        )
    return name


def read_lite_topic_name(name: str) -> LiteName | None:
    """The lite topic whose messages lie in the topic of this name; None for other topics."""
    if not name.startswith(LITE_TOPIC_PREFIX):
        return None
    parent, separator, lite = name.removeprefix(LITE_TOPIC_PREFIX).rpartition(_LITE_SEPARATOR)
    return LiteName(parent, lite) if separator and parent and _LITE_ALPHABET.match(lite) else None


def check_lite_name(lite: str) -> str:
    """The name itself, or InvalidLiteTopic."""
    if not 0 < len(lite.encode(errors="replace")) <= LITE_NAME_BYTES_MAX:
        raise InvalidLiteTopic(f"the name of a lite topic has 1 to {LITE_NAME_BYTES_MAX} bytes, this one has not")
    if not _LITE_ALPHABET.match(lite):
        raise InvalidLiteTopic(f"the name of the lite topic {lite!r} may only hold letters, digits, _ and -")
    return lite


def _topic_of_group(prefix: str, group: str, what: str) -> str:
    check_group_name(group)
    try:
        return check_topic_name(prefix + group)
    except InvalidName as error:
        raise InvalidName(
            say("the group {group} cannot have {what}: {message}", group=repr(group), what=what, message=error.message)
        ) from error


def _check(what: str, name: str, length_max: int) -> str:
    if not 0 < len(name) <= length_max:
        raise InvalidName(
            say(
                "a {what} name has 1 to {length_max} characters, this one has {count}",
                what=what,
                length_max=length_max,
                count=len(name),
            )
        )
    if name in (".", ".."):
        raise InvalidName(say("a {what} cannot be called {name}", what=what, name=repr(name)))
    if not _ALPHABET.match(name):
        raise InvalidName(
            say("the {what} name {name} may only hold letters, digits and . _ - % |", what=what, name=repr(name))
        )
    return name
