"""Many writes, one transaction: all that arrived while the previous one ran are carried out in the next.

One idea: each write runs in a savepoint of its own, so that its failure is its own; only a transaction that
is lost as a whole, or whose commit is not confirmed, fails them all. Nothing is ever tried twice, but for what makes
room and found none.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
import sqlalchemy as sa

from braidmq.logger import get_logger
from braidmq.model.errors import StoreFailed
from braidmq.store._database import Database, Work, first_line, is_full, store_failure

BATCH_MAX = 512
WRITES_MAX = 8192
"""How many writes may wait or run; callers beyond that wait before they may ask."""

T = TypeVar("T")

log = get_logger(__name__)


class Request(NamedTuple):
    """One caller's write. `committed` runs on the loop after the commit, even where the caller has gone."""

    work: Work[Any]
    answer: asyncio.Future[Any]
    committed: Callable[[Any], None] | None
    synced: bool
    frees: bool


class Done(msgspec.Struct):
    value: Any


class Failed(msgspec.Struct):
    error: Exception


Outcome = Done | Failed


class Writer:
    """The one task through which all writes of a store go."""

    def __init__(self, database: Database, address: object) -> None:
        self.commits = 0
        self._database = database
        self._address = address
        self._waiting: deque[Request] = deque()
        self._arrived = asyncio.Event()
        self._slots = asyncio.Semaphore(WRITES_MAX)
        self._closed = False
        self._task = asyncio.create_task(self._run(), name="store-writer")

    async def write(
        self,
        work: Work[T],
        committed: Callable[[T], None] | None = None,
        *,
        synced: bool = True,
        frees: bool = False,
    ) -> T:
        async with self._slots:
            if self._closed:
                raise StoreFailed(f"the store {self._address} is closed")
            answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            self._waiting.append(Request(work, answer, committed, synced, frees))
            self._arrived.set()
            return await answer

    async def close(self) -> None:
        """Carry out what waits, then end."""
        self._closed = True
        self._arrived.set()
        await self._task

    async def _run(self) -> None:
        batch: list[Request] = []
        try:
            while await self._more():
                batch = self._take_batch()
                if batch:
                    self._answer(batch, await self._carry_out(batch))
        finally:
            # Reached with work in hand only when the loop is being torn down around us.
            self._closed = True
            for request in [*batch, *self._waiting]:
                if not request.answer.done():
                    request.answer.set_exception(StoreFailed(f"the store {self._address} was stopped"))

    async def _more(self) -> bool:
        if not self._waiting:
            if self._closed:
                return False
            self._arrived.clear()
            await self._arrived.wait()
        return True

    def _take_batch(self) -> list[Request]:
        """The next writes; one whose caller has gone before it began is dropped."""
        taken = [self._waiting.popleft() for _ in range(min(BATCH_MAX, len(self._waiting)))]
        return [request for request in taken if not request.answer.done()]

    async def _carry_out(self, batch: Sequence[Request]) -> list[Outcome]:
        outcomes = await self._in_a_transaction(batch)
        starved = [place for place, outcome in enumerate(outcomes) if batch[place].frees and _found_no_room(outcome)]
        if starved:
            await self._database.make_room()
            again = await self._in_a_transaction([batch[place] for place in starved])
            for place, outcome in zip(starved, again, strict=True):
                outcomes[place] = outcome
        return outcomes

    async def _in_a_transaction(self, batch: Sequence[Request]) -> list[Outcome]:
        works = [request.work for request in batch]
        try:
            synced = any(request.synced for request in batch)
            outcomes = await self._database.write(lambda connection: carry_out(connection, works), synced=synced)
        except Exception as error:  # not swallowed: every caller of the batch gets it
            return [Failed(store_failure(error, self._address)) for _ in batch]
        self.commits += 1
        return outcomes

    def _answer(self, batch: Sequence[Request], outcomes: Sequence[Outcome]) -> None:
        for request, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Done) and request.committed is not None:
                self._tell_committed(request.committed, outcome.value)
        for request, outcome in zip(batch, outcomes, strict=True):
            if request.answer.done():
                continue
            if isinstance(outcome, Done):
                request.answer.set_result(outcome.value)
            else:
                request.answer.set_exception(self._shown(outcome.error))

    def _tell_committed(self, committed: Callable[[Any], None], value: Any) -> None:
        try:
            committed(value)
        except Exception:  # reported; what was written is kept and answered, and others still wait for this task
            log.exception("store_committed_failed", database=str(self._address))

    def _shown(self, error: Exception) -> Exception:
        if isinstance(error, self._database.driver_errors):
            return store_failure(error, self._address)
        if isinstance(error, StopIteration):  # the one exception that a future cannot carry
            return RuntimeError(f"a write raised {error!r}")
        return error


def _found_no_room(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and is_full(outcome.error)


def carry_out(connection: sa.Connection, works: Sequence[Work[Any]]) -> list[Outcome]:
    """All works in one transaction. Raises when the transaction as a whole is lost."""
    with connection.begin() as transaction:
        outcomes = [attempt(connection, work) for work in works]
        try:
            transaction.commit()
        except Exception as error:
            if is_full(error):
                raise
            raise StoreFailed(
                "the database did not confirm the commit, so that it is not known whether the change was kept; "
                f"read before trying again ({first_line(error)})"
            ) from error
    return outcomes


def attempt(connection: sa.Connection, work: Work[Any]) -> Outcome:
    """One work in a savepoint. Raises when the transaction around it is gone: connection lost, disk full.

    The savepoint always has the same name, other than SQLAlchemy's own: PostgreSQL prepares a statement only once.
    """
    connection.exec_driver_sql("SAVEPOINT work")
    try:
        value = work(connection)
    except Exception as error:
        if connection.invalidated:
            raise
        try:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT work")
            connection.exec_driver_sql("RELEASE SAVEPOINT work")
        except Exception:
            raise error from None  # which had ended the transaction
        return Failed(error)
    connection.exec_driver_sql("RELEASE SAVEPOINT work")
    return Done(value)
