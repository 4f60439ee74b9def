"""What works through rows when their time has come: one task, one alarm, turns of bounded size.

One idea: nothing that waits is in memory, only the moment at which the next row is to be looked at. Whoever adds a row
moves that moment forward; every turn learns it anew from the store. So it makes no difference how many rows there are.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar
from uuid import UUID

from braidmq.core.timing import Clock, Deadline
from braidmq.logger import get_logger
from braidmq.model import NEVER_MS, BraidError, Half, Timer, deferred_id
from braidmq.model.errors import InvalidHandle
from braidmq.store import Page

LOOK_MS = 10_000
"""How long an idle node goes without looking: other nodes may have died with rows in hand, clocks may have jumped."""
RETRY_MS = 1_000
"""How long after a failure of the store it is tried again."""
REST_MAX_MS = 50
EASE = 4
EASE_MAX_MS = 80
"""How many times as long as a turn took it rests, and how long at most, where rows fall due all the time."""
LATE_MS = 500
"""Rows that have waited so long beyond their time come before the rest of the node."""
TURN_BYTES = 8 << 20
TURN_ROWS = 512
LEASE_MS = 60_000
"""How long others leave what a node has claimed alone. Far longer than a turn: only a stop makes it run out."""

UNKNOWN_RETRY_MS: Final = 10_000
"""A topic that is not known here may have been made on another node just now: it is looked for once more."""

RowT = TypeVar("RowT", bound=Timer | Half)

_SECRET_BYTES: Final = 512
_HANDLE: Final = re.compile("[0-9a-f]{32}")

_logger = get_logger(__name__)


class Waking(Protocol):
    """What an alarm asks of rows; see `store.DeferredRows`."""

    async def next_wake_ms(self) -> int: ...


class Alarm:
    """Calls `turn` whenever rows are due; it says when it is to be called next, and may be told by others.

    A turn that raises a BraidError is tried again after a pause. While rows fall due all the time, it rests `pace_ms`
    between turns, and longer where they are long: most of what a turn costs is the same for one row and for a hundred.
    """

    def __init__(
        self, name: str, clock: Clock, rows: Waking, turn: Callable[[], Awaitable[int]], *, pace_ms: float = 0
    ) -> None:
        self.failures = 0
        self._name = name
        self._clock = clock
        self._rows = rows
        self._turn = turn
        self._pace_ms = pace_ms
        self._next_ms = 0
        self._rung = asyncio.Event()
        self._deadline = Deadline(clock, self._rung.set)
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    @property
    def behind_ms(self) -> int:
        """How long the next row has been waiting beyond its time."""
        return max(0, self._clock.now_ms() - self._next_ms) if self._next_ms else 0

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=self._name)

    async def close(self) -> None:
        """Ends the turn that is under way, and begins none."""
        self._closing = True
        self._rung.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        self._deadline.cancel()

    def wake_by(self, at_ms: int) -> None:
        """Something is to be looked at then."""
        if at_ms < self._next_ms:
            self._next_ms = at_ms
            self._rung.set()

    async def _run(self) -> None:
        while not self._closing:
            try:
                await self._step()
            except BraidError as error:
                _logger.warning("deferred_failed", what=self._name, code=error.code, reason=error.message)
                await self._pause()
            except Exception:  # reported; what was claimed is claimed again when its lease is over
                _logger.exception("deferred_failed", what=self._name)
                await self._pause()

    async def _pause(self) -> None:
        self.failures += 1
        self._next_ms = 0
        await self._wait(RETRY_MS)

    async def _step(self) -> None:
        began_ms = self._clock.passed_ms()
        now_ms = self._clock.now_ms()
        if self._next_ms <= now_ms:
            await self._learn(self._turn)
            await self._rest(self._clock.passed_ms() - began_ms, is_backlog=self._next_ms <= now_ms)
            return
        await self._wait(min(self._next_ms - self._clock.now_ms(), LOOK_MS))
        if self._clock.passed_ms() - began_ms >= LOOK_MS and not self._closing:
            await self._learn(self._rows.next_wake_ms)

    async def _rest(self, worked_ms: float, *, is_backlog: bool) -> None:
        """Between turns the rest of the node has its time, too, and rows come together: less the later they are."""
        await asyncio.sleep(0)
        if is_backlog:
            rest_ms = min(worked_ms / 2, REST_MAX_MS)
        else:
            rest_ms = min(self._pace_ms + worked_ms * EASE, EASE_MAX_MS) if self._pace_ms else 0
        rest_ms *= 1 - self.behind_ms / LATE_MS
        if rest_ms > 0:
            await self._wait(rest_ms)

    async def _learn(self, ask: Callable[[], Awaitable[int]]) -> None:
        """What was added while the answer was under way is in nobody's answer, and so is not forgotten by it."""
        self._next_ms = NEVER_MS
        self._next_ms = min(await ask(), self._next_ms)

    async def _wait(self, delay_ms: float) -> None:
        self._rung.clear()
        if self._closing:
            return
        self._deadline.set(max(delay_ms, 0))
        await self._rung.wait()
        self._deadline.cancel()


def handle_of(id: UUID) -> str:
    """What those outside know a deferred message by."""
    return id.hex


def parse_handle(handle: str) -> UUID:
    """Raises InvalidHandle."""
    if _HANDLE.fullmatch(handle) is None:
        raise InvalidHandle(f"{handle[:64]!r} is not a handle that was given out here")
    return UUID(handle)


class Rows(Protocol[RowT]):
    """Where what is deferred is kept; see `store.DeferredRows`."""

    async def add(self, row: RowT) -> None: ...

    async def next_wake_ms(self) -> int: ...

    async def claim(
        self,
        now_ms: int,
        change: Callable[[RowT], RowT | None],
        *,
        rows_max: int,
        bytes_max: int,
        for_others: bool = False,
        without: Sequence[UUID] = (),
    ) -> tuple[list[RowT], int]: ...

    async def revise(self, ids: Iterable[UUID], change: Callable[[RowT], RowT | None]) -> list[RowT]: ...

    async def delete(self, ids: Iterable[UUID]) -> None: ...

    async def wake_claims(self, owner: str, now_ms: int, lease_ms: int) -> None: ...

    async def find(self, id: UUID) -> RowT | None: ...

    async def page(self, page: Page) -> list[RowT]: ...

    async def latest_id(self) -> UUID | None: ...


class SecretNumbers:
    """Numbers that nobody can guess, of at most 64 bits; taken from the system many at a time."""

    def __init__(self) -> None:
        self._left = b""

    def below(self, end: int) -> int:
        """A number below a power of two."""
        if not self._left:
            self._left = os.urandom(_SECRET_BYTES)
        number = int.from_bytes(self._left[:8])
        self._left = self._left[8:]
        return number & end - 1


class Ids:
    """Ids for what is deferred. `draw(n)` is a number below n that nobody can guess."""

    def __init__(self, draw: Callable[[int], int]) -> None:
        self._draw = draw
        self._count = 0

    def next(self, time_ms: int) -> UUID:
        self._count += 1
        return deferred_id(time_ms, self._count, self._draw(1 << 63))
