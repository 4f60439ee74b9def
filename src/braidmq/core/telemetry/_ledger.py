"""What was counted since the node started, in a few sums that are cheap to keep: by protocol, by partition, by group.

Usage counts for a minute and begins anew; whoever wants rates over other times takes the difference of two ledgers.
Nothing is counted twice for it: a ledger is what minutes left behind, and the minute under way on top.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from braidmq.model import DEFAULT_INSTANCE

if TYPE_CHECKING:
    from braidmq.core.telemetry._usage import Cell, Key


class Flow(NamedTuple):
    """How much went one way."""

    messages: int = 0
    size_bytes: int = 0


class Trouble(NamedTuple):
    """What a group could not work on: messages that come again, and those that were given up."""

    retries: int = 0
    dead: int = 0


class Ledger:
    """Sums that only grow. The first word of a key is the direction, as in `model.telemetry`; groups are found by
    instance and name."""

    def __init__(self, other: "Ledger | None" = None, *, with_numbers: bool = True) -> None:
        self.by_protocol: defaultdict[tuple[str, str], Flow] = defaultdict(Flow)
        self.by_number: defaultdict[tuple[str, int], Flow] = defaultdict(Flow)
        self.by_group: defaultdict[tuple[str, str], Trouble] = defaultdict(Trouble)
        if other is not None:
            self.by_protocol.update(other.by_protocol)
            self.by_group.update(other.by_group)
            if with_numbers:
                self.by_number.update(other.by_number)

    def add(self, cells: "Iterable[tuple[Key, Cell]]", *, with_numbers: bool = True) -> None:
        """Without numbers it costs less, and says nothing of partitions."""
        flows: dict[tuple[str, str], list[int]] = {}
        for (direction, protocol, group, _, number, topic), cell in cells:
            if protocol:
                flow = flows.get((direction, protocol)) or flows.setdefault((direction, protocol), [0, 0])
                flow[0] += cell.messages
                flow[1] += cell.size_bytes
                if with_numbers:
                    known = self.by_number[direction, number]
                    self.by_number[direction, number] = Flow(known[0] + cell.messages, known[1] + cell.size_bytes)
            if cell.retries or cell.dead:
                key = DEFAULT_INSTANCE if topic is None else topic[0], group
                trouble = self.by_group[key]
                self.by_group[key] = Trouble(trouble.retries + cell.retries, trouble.dead + cell.dead)
        for key, (messages, size_bytes) in flows.items():
            known = self.by_protocol[key]
            self.by_protocol[key] = Flow(known.messages + messages, known.size_bytes + size_bytes)
