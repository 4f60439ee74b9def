"""What services say of the messages that go through their hands. Hot path: saying it neither waits nor fails."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from braidmq.model import TraceKind


class Tracer(Protocol):
    """Somebody who takes note."""

    def note(
        self,
        kind: TraceKind,
        message_id: str,
        *,
        keys: tuple[str, ...] = (),
        topic_id: UUID | None = None,
        topic: str = "",
        partition: int = -1,
        offset: int = -1,
        group: str = "",
        client: str = "",
        value: int = -1,
        at_ms: int | None = None,
        is_pressure: bool = False,
    ) -> None:
        """One step of one message; for steps that few messages take. It happens now, where no time is given. Whether
        the message belongs to a pressure test is for those who count."""
        ...

    def note_range(self, kind: TraceKind, group: str, number: int, first: int, until: int, client: str = "") -> None:
        """One step of all messages of a partition from one offset to another, which is not included; for steps that
        all messages take."""
        ...

    def note_lot(self, kind: TraceKind, number: int, first: int, message_ids: Sequence[str]) -> None:
        """One step of messages that lie one behind the other in a partition, the first at this offset; for steps that
        a service takes with many at a time."""
        ...


class _Untraced:
    def note(self, kind: TraceKind, message_id: str, **_: object) -> None:
        pass

    def note_range(self, kind: TraceKind, group: str, number: int, first: int, until: int, client: str = "") -> None:
        pass

    def note_lot(self, kind: TraceKind, number: int, first: int, message_ids: Sequence[str]) -> None:
        pass


UNTRACED: Tracer = _Untraced()
"""Takes no note."""
