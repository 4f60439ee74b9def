"""The log: one port, and an adapter for each place where the bytes may lie."""

from braidmq.log._damage import first_readable
from braidmq.log._port import (
    AbortedTransaction,
    Appended,
    AppendResult,
    Bounds,
    Fetched,
    GroupOffset,
    Log,
    ProducerState,
    TimedOffset,
    Watch,
)

__all__ = [
    "AbortedTransaction",
    "AppendResult",
    "Appended",
    "Bounds",
    "Fetched",
    "GroupOffset",
    "Log",
    "ProducerState",
    "Room",
    "TimedOffset",
    "Watch",
    "first_readable",
]
