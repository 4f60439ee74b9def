"""What happened to messages, step by step."""

import enum
from uuid import UUID

import msgspec


class TraceKind(enum.StrEnum):
    """A step in the life of a message. The order is the one in which steps of the same moment are told."""

    PREPARED = "prepared"
    """Kept as a half message, for its producer to decide about."""
    CHECKED = "checked"
    """A producer was asked about a half message; `value` counts the questions."""
    COMMITTED = "committed"
    """A half message came to its topic."""
    ROLLED_BACK = "rolled_back"
    DUE = "due"
    """A delayed message came to its topic."""
    STORED = "stored"
    """In its topic, with the time of its record."""
    DELIVERED = "delivered"
    """A client was given the offsets around it, and so the message, if the client's subscription wants it."""
    ACKNOWLEDGED = "acknowledged"
    """A group has gone on behind it."""
    RETRIED = "retried"
    """Sent back by a group, to be given to it again; `value` is how often it was delivered in vain."""
    DELAYED = "delayed"
    """Kept until its time, which is `value`."""
    RECALLED = "recalled"
    """Taken back before its time."""
    DEAD_LETTERED = "dead_lettered"
    CLIENT_SENT = "client_sent"
    """A client says that it sent the message; `value` is how long that took, in ms, or -1 where it failed."""
    CLIENT_ENDED = "client_ended"
    """A client says that it ended a half message; `value` is 1 for a commit, 0 for a rollback, -1 for neither."""
    CLIENT_BEGAN = "client_began"
    """A client says that it began to work on the message; `value` is how often it was delivered in vain before."""
    CLIENT_FINISHED = "client_finished"
    """A client says that it worked on the message; `value` is how long that took, in ms, or -1 where it failed."""
    CLIENT_RECALLED = "client_recalled"


class TraceEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step of one message. What is not known or does not matter is empty or -1."""

    kind: TraceKind
    at_ms: int
    message_id: str
    keys: tuple[str, ...] = ()
    topic_id: UUID | None = None
    topic: str = ""
    partition: int = -1
    """The index in the topic."""
    offset: int = -1
    group: str = ""
    client: str = ""
    value: int = -1
    """What it counts or says is told with each kind."""


class TraceRange(msgspec.Struct, frozen=True, kw_only=True):
    """One step of all messages of a partition between two offsets, the second not included."""

    kind: TraceKind
    at_ms: int
    group: str
    number: int
    first: int
    until: int
    client: str = ""
    message_ids: tuple[str, ...] = ()
    """Whose step it was, in the order of the offsets, where that was said; told to those who hear of it, not kept."""


TRACE_SPAN_MAX = 1 << 20
"""How many offsets a range spans at most: those around an offset are then found near it."""
