"""Who is connected right now, whatever they speak: listeners say so when they are asked, and nobody keeps a list beside
theirs.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from braidmq.model import DEFAULT_INSTANCE


class ClientConnection(NamedTuple):
    """One connection of a client, as its listener knows it. Texts are empty, and times None, where nobody can say."""

    protocol: str
    client_id: str
    host: str
    port: int
    version: str = ""
    """The client's software and its version."""
    since_ms: int | None = None
    last_seen_ms: int | None = None
    channel: object | None = None
    """What `core.members` knows the connection by."""
    instance: str | None = DEFAULT_INSTANCE
    """The one whose topics and groups the client works with; None where each of its requests names one."""


ConnectionSource = Callable[[], Iterable[ClientConnection]]
"""A listener's own word."""


class Connections:
    """All connections of this node."""

    def __init__(self) -> None:
        self._sources: list[ConnectionSource] = []

    def hear(self, source: ConnectionSource) -> None:
        """Ask this listener, too."""
        self._sources.append(source)

    def __iter__(self) -> Iterator[ClientConnection]:
        for source in self._sources:
            yield from source()
