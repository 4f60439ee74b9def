"""Whether the node should get traffic, and if not, why.

Alive and ready are different: a node that starts, stops or has lost its disk is alive, but must not be sent
anything.
"""

from collections.abc import Mapping


class Health:
    """Ready when no part of the node has a reason against it."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}

    @property
    def ready(self) -> bool:
        return not self._reasons

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why the node is not ready, by the part that says so."""
        return dict(self._reasons)

    def object_to(self, part: str, reason: str) -> None:
        """The part cannot serve; its newest reason counts."""
        self._reasons[part] = reason

    def agree(self, part: str) -> None:
        """The part can serve."""
        self._reasons.pop(part, None)
