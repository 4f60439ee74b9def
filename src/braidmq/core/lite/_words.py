"""How far lite topics go."""

import msgspec


class LiteLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many there may be."""

    topics_max: int = 10_000
    """Lite topics under one topic."""
    subscriptions_max: int = 2_000
    """Lite topics that one reader subscribes to."""
