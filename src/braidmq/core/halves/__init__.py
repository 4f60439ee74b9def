"""Messages that count only when their producer says so, after its own transaction."""

from braidmq.core.halves._halves import Checker, Ended, Halves, Question
from braidmq.core.halves._steps import HalfLimits

__all__ = ["Checker", "Ended", "HalfLimits", "Halves", "Question"]
