"""Who changed what: every operation whose declared need is to create, change or delete, whatever protocol it came by;
and what operators publish by hand: replays of dead letters, ends of half messages, messages from the console.

Protocols take note where they dispatch their operations, from the tables that say what each needs, so no handler can
forget it. Noting costs an append to a bounded list; the store is written by a task, some moments later and many at a
time. What may be lost: entries of the last moments when the process is killed, and, while the store fails, those that
are more than fit; both are counted where there is somebody left to count. Nothing of a message's body is ever noted.
"""

import asyncio
from collections.abc import Iterator
from typing import Annotated, Final, Protocol

import msgspec
from msgspec import Meta

from braidmq.core.access import Action, Need
from braidmq.core.desk import PAGE_SIZE_MAX, Page
from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.timing import Clock
from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.model.errors import InvalidRequest
from braidmq.store import AuditAsk, AuditRow, AuditRows

DAY_MS: Final = 86_400_000
WAITING_MAX: Final = 10_000
RETRY_MS: Final = 1_000
TURN_MS: Final = 50
"""How long entries are gathered before they are written."""
SWEEP_MS: Final = 3_600_000
"""How often old entries are removed while nothing is noted."""
NAME_LENGTH_MAX: Final = 512
DETAIL_LENGTH_MAX: Final = 1_024
DONE: Final = "done"

_CHANGES: Final = frozenset({Action.CREATE, Action.CHANGE, Action.DELETE})

_logger = get_logger(__name__)


def is_change(need: Need) -> bool:
    """Whether an operation with this need is noted."""
    return need.action in _CHANGES


class Auditor(Protocol):
    """Who takes note; see `Audit.note`."""

    def note(
        self, *, protocol: str, address: str, operation: str, need: Need, name: str, outcome: str, detail: str = ""
    ) -> None: ...


class _Nobody:
    def note(
        self, *, protocol: str, address: str, operation: str, need: Need, name: str, outcome: str, detail: str = ""
    ) -> None:
        """Nobody takes note."""


UNAUDITED: Final[Auditor] = _Nobody()


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One change that somebody asked for."""

    id: int
    at_ms: Annotated[int, Meta(examples=[1_767_225_600_000])]
    node: Annotated[str, Meta(examples=["node-1"])]
    actor: Annotated[str, Meta(examples=["http 127.0.0.1"], description="The protocol and the client's address.")]
    protocol: Annotated[str, Meta(examples=["http"])]
    operation: Annotated[str, Meta(examples=["create_topic"])]
    resource: Annotated[str, Meta(examples=["topic"])]
    name: Annotated[str, Meta(examples=["orders"])]
    outcome: Annotated[str, Meta(examples=["done", "already_exists"], description="`done`, or the code of the error.")]
    detail: str


class Audit:
    """Make it, then `start`."""

    def __init__(self, node: str, rows: AuditRows, clock: Clock, *, keep_ms: int) -> None:
        self._node = node
        self._rows = rows
        self._clock = clock
        self.keep_ms = keep_ms
        self._waiting: list[AuditRow] = []
        self._rung = asyncio.Event()
        self._closing = False
        self._counts = dict.fromkeys(_COUNTERS, 0)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="audit")

    async def close(self) -> None:
        """Keeps what was noted."""
        self._closing = True
        self._rung.set()
        if self._task is not None:
            await asyncio.wait((self._task,))

    def note(
        self, *, protocol: str, address: str, operation: str, need: Need, name: str, outcome: str, detail: str = ""
    ) -> None:
        """An operation was asked for, and this became of it."""
        if len(self._waiting) >= WAITING_MAX:
            self._counts["dropped"] += 1
            return
        self._waiting.append(
            AuditRow(
                at_ms=self._clock.now_ms(),
                node=self._node,
                actor=f"{protocol} {address}".strip(),
                protocol=protocol,
                operation=operation,
                resource=need.resource.value,
                name=name[:NAME_LENGTH_MAX],
                outcome=outcome,
                detail=detail[:DETAIL_LENGTH_MAX],
            )
        )
        self._rung.set()

    async def find(self, ask: AuditAsk) -> Page[AuditEntry]:
        """The latest first. Raises InvalidRequest for pages that cannot be, StoreFailed."""
        if not (1 <= ask.page_size <= PAGE_SIZE_MAX and 1 <= ask.page <= 1_000_000):
            raise InvalidRequest(f"page begins at 1, and page_size is 1 to {PAGE_SIZE_MAX}")
        await self.flush()
        found, total = await self._rows.find(ask)
        items = [AuditEntry(**msgspec.structs.asdict(each)) for each in found]
        return Page(items=items, page=ask.page, page_size=ask.page_size, total=total)

    def metrics(self) -> Iterator[Metric]:
        for name, text in _COUNTERS.items():
            yield Metric(f"braid_audit_{name}", MetricKind.COUNTER, text, self._counts[name])

    async def flush(self) -> bool:
        """Write what waits; False where the store did not take it, and it waits on. Several at once do no harm."""
        entries, self._waiting = self._waiting, []
        try:
            removed = await self._rows.add(entries, before_ms=self._clock.now_ms() - self.keep_ms)
        except BraidError as error:
            _logger.warning("audit entries wait", entries=len(entries), code=error.code, reason=error.message)
            kept = (entries + self._waiting)[:WAITING_MAX]
            self._counts["dropped"] += len(entries) + len(self._waiting) - len(kept)
            self._waiting = kept
            return False
        self._counts["kept"] += len(entries)
        self._counts["removed"] += removed
        return True

    async def _run(self) -> None:
        while not self._closing:
            await self._pause(SWEEP_MS)
            if not self._closing:
                self._rung.clear()
                await self._pause(TURN_MS, wakes=False)
            if not await self.flush() and not self._closing:
                await self._pause(RETRY_MS, wakes=False)
        await self.flush()

    async def _pause(self, delay_ms: float, *, wakes: bool = True) -> None:
        """Until the time is over, or, where it `wakes`, until something is noted."""
        over = self._rung if wakes else asyncio.Event()
        timer = self._clock.call_later(delay_ms, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()


_COUNTERS: Final = {
    "kept": "Entries of the audit log that were kept.",
    "dropped": "Entries of the audit log that were lost, because the store failed for too long.",
    "removed": "Entries of the audit log that were removed, because their time was over.",
}
