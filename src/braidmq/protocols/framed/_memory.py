"""How much of what clients sent may lie in memory, over all connections of a listener.

Requests being worked on make the others wait: no more is read until some are answered. Requests that have not arrived
whole cannot be worked on, so waiting would not help: who brings them over the limit is disconnected.
"""

from collections.abc import Callable


class RequestMemory:
    """Counts bytes; tells connections when to go on."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.partial_bytes = 0
        self.whole_bytes = 0
        self._paused: list[Callable[[], None]] = []

    @property
    def is_full(self) -> bool:
        return self.whole_bytes >= self.bytes_max

    def take_partial(self, size: int) -> bool:
        """Count a piece of a request; whether there is room for it."""
        self.partial_bytes += size
        return self.partial_bytes <= self.bytes_max

    def free_partial(self, size: int) -> None:
        self.partial_bytes -= size

    def take(self, size: int) -> None:
        self.whole_bytes += size

    def free(self, size: int) -> None:
        self.whole_bytes -= size
        if self._paused and not self.is_full:
            paused, self._paused = self._paused, []
            for go_on in paused:
                go_on()

    def when_free(self, go_on: Callable[[], None]) -> None:
        """Call back once, when there is room again."""
        self._paused.append(go_on)
