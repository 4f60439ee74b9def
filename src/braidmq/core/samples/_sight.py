"""How things stand at a moment, and the names that figures of it have."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from braidmq.model import DEFAULT_INSTANCE

NODE_SCOPE: Final = "node"

FIGURES: Final[Mapping[str, Mapping[str, str]]] = {
    "node": {
        "messages_in": "Messages that came in a second; messages_in.kafka and so on are those of one protocol.",
        "bytes_in": "Bytes that came in a second; also by protocol.",
        "messages_out": "Messages that were given in a second; also by protocol.",
        "bytes_out": "Bytes that were given in a second; also by protocol.",
        "retries": "Messages in a minute that groups sent back.",
        "dead": "Messages in a minute that became dead letters.",
        "lag": "Messages that groups have not come to yet.",
        "connections": "Clients that are connected; connections.kafka and so on are those of one protocol.",
        "storage_bytes": "What topics take up in the log.",
        "memory_bytes": "The memory that the node's process takes up.",
        "disk_free_bytes": "What is free where the log is.",
        "disk_total_bytes": "How much there is where the log is.",
    },
    "topic": {
        "messages_in": "Messages that came in a second.",
        "bytes_in": "Bytes that came in a second.",
        "messages_out": "Messages that were given in a second.",
        "bytes_out": "Bytes that were given in a second.",
        "size_bytes": "What the topic takes up in the log.",
    },
    "group": {
        "lag": "Messages that the group has not come to yet.",
        "oldest_ms": "How old the oldest of them is.",
        "rate": "Messages in a second by which the group has come on.",
        "members": "How many members the group has.",
        "retries": "Messages in a minute that the group sent back.",
        "dead": "Messages in a minute that became dead letters.",
    },
}
"""What is kept, by the kind of thing it is kept of."""


class TopicSight(msgspec.Struct, kw_only=True):
    """One topic over the last minute."""

    instance: str
    name: str
    messages_in: float = 0.0
    bytes_in: float = 0.0
    messages_out: float = 0.0
    bytes_out: float = 0.0
    size_bytes: int = 0
    silent_ms: int = 0
    """For how long nothing has come; since the node started at most."""

    @property
    def scope(self) -> str:
        return topic_scope(self.instance, self.name)

    @property
    def is_idle(self) -> bool:
        return not (self.messages_in or self.messages_out)

    def figures(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in FIGURES["topic"]}


class GroupSight(msgspec.Struct, kw_only=True):
    """One group of an instance over the last minute."""

    name: str
    instance: str = DEFAULT_INSTANCE
    lag: int = 0
    oldest_ms: int | None = None
    """None where nobody waits, or where nobody has looked."""
    rate: float = 0.0
    members: int = 0
    """Known in the default instance alone."""
    retries: float = 0.0
    dead: float = 0.0

    @property
    def scope(self) -> str:
        return group_scope(self.instance, self.name)

    @property
    def called(self) -> str:
        """As people are told of it: with its instance where that is not the default one."""
        return self.name if self.instance == DEFAULT_INSTANCE else f"{self.instance}/{self.name}"

    @property
    def is_idle(self) -> bool:
        return not (self.lag or self.rate or self.members or self.retries or self.dead)

    def figures(self) -> dict[str, float]:
        values = {name: getattr(self, name) for name in FIGURES["group"]}
        return {name: value for name, value in values.items() if value is not None}


class Sight(NamedTuple):
    """The node at a moment. Topics and groups are found by instance and name; topics and what groups say of retries,
    dead letters and ages are of the last minute's end."""

    at_ms: int
    node: Mapping[str, float]
    topics: Mapping[tuple[str, str], TopicSight]
    groups: Mapping[tuple[str, str], GroupSight]
    is_close: bool
    """Whether topics and groups were looked at just now."""


def topic_scope(instance: str, topic: str) -> str:
    return f"topic/{instance}/{topic}"


def group_scope(instance: str, group: str) -> str:
    """Of the default instance by its name alone, as it was before groups of others were told apart; a group's name may
    hold anything."""
    return f"group/{group}" if instance == DEFAULT_INSTANCE else f"instance/{instance}/group/{group}"
