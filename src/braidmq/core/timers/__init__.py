"""Messages that are to be in their topic from a certain time on."""

from braidmq.core.timers._levels import DELAY_LEVELS_MS, level_delay_ms
from braidmq.core.timers._timers import DELAY_MAX_MS, Taken, Timers

__all__ = ["DELAY_LEVELS_MS", "DELAY_MAX_MS", "Taken", "Timers", "level_delay_ms"]
