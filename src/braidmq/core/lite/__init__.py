"""Lite topics: thousands of small queues under one topic, each in order, made by their first message."""

from braidmq.core.lite._lite import Lite
from braidmq.core.lite._positions import Position, PositionKind
from braidmq.core.lite._subscriptions import Reader
from braidmq.core.lite._topics import LiteTimes
from braidmq.core.lite._words import LiteLimits

__all__ = ["Lite", "LiteLimits", "LiteTimes", "Position", "PositionKind", "Reader"]
