"""Messages that a group could not work on: given to it again, step by step, and then kept as dead letters."""

from braidmq.core.retry._dead_letters import (
    Cursor,
    DeadFilter,
    DeadLetter,
    DeadLetters,
    DeadPage,
    Place,
    Replayed,
    ReplayPage,
    ReplayTo,
)
from braidmq.core.retry._retries import Retries, SentBack

__all__ = [
    "Cursor",
    "DeadFilter",
    "DeadLetter",
    "DeadLetters",
    "DeadPage",
    "Place",
    "ReplayPage",
    "ReplayTo",
    "Replayed",
    "Retries",
    "SentBack",
]
