"""Messages that count only when their producer says so, after its own transaction."""

from braidmq.core.halves._halves import Checker, Ended, Halves, OnKept, PackedHalf, Question, Word
from braidmq.core.halves._steps import HalfLimits
from braidmq.core.halves._waiting_room import HALVES_TOPIC, WaitingRoom

__all__ = [
    "HALVES_TOPIC",
    "Checker",
    "Ended",
    "HalfLimits",
    "Halves",
    "OnKept",
    "PackedHalf",
    "Question",
    "WaitingRoom",
    "Word",
]
