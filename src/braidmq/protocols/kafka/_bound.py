"""What ends with the connection on which it began."""

from typing import Protocol


class Bound(Protocol):
    """Told once when its connection is gone."""

    def lose(self) -> None: ...


BoundTo = set[Bound]
"""All that is bound to one connection."""
