"""Where a reader who subscribes wants its group to go on in a lite topic."""

import enum
from typing import NamedTuple

from braidmq.log import Log


class PositionKind(enum.Enum):
    """What the number beside it counts."""

    LAST = "last"
    """Where the group is; nothing changes."""
    START = "start"
    END = "end"
    OFFSET = "offset"
    BACK = "back"
    """So many messages before where the group is."""
    TIME_MS = "time_ms"


class Position(NamedTuple):
    """A kind, and its number where it has one."""

    kind: PositionKind
    value: int = 0


async def offset_at(log: Log, number: int, committed: int | None, position: Position) -> int | None:
    """The offset; None where the group stays as it is. Raises UnknownPartition."""
    bounds = log.bounds(number)
    wanted: int | None = None
    match position.kind:
        case PositionKind.START:
            wanted = bounds.start
        case PositionKind.END:
            wanted = bounds.stable
        case PositionKind.OFFSET:
            wanted = position.value
        case PositionKind.BACK if committed is not None:
            wanted = committed - position.value
        case PositionKind.TIME_MS:
            found = await log.offset_for_time(number, position.value)
            wanted = bounds.stable if found is None else found.offset
    return None if wanted is None else min(max(wanted, bounds.start), bounds.stable)
