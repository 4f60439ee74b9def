"""The transaction coordinator: who may write as which transactional id, and how its transactions end.

The order in which things become durable is the whole of it. A partition is in the transaction's row before a record
of the transaction is in the partition. A decision is in the row before any partition hears of it. Partitions and
groups hear of it before the row says that all did. So whatever a stop leaves, the row knows what is left to do, and
doing it again does no harm: a second marker finds no open transaction, and groups have nothing pending any more.

That all were told need not be durable before the producer may go on. Its next transaction writes the row anyway, as
the first thing it does; if it does not come soon, `sweep` saves the row.

Everything that changes one transactional id is done one after the other, each in a task of its own, which goes on when
the client that asked has gone. `check_batch` alone does not wait: it runs for every transactional batch, between other
things, and sees a transaction closed from the moment its end is begun.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from braidmq.core.groups import MemberIdentity
from braidmq.core.transactions import _steps as steps
from braidmq.core.transactions._ids import IdSource, ProducerIds
from braidmq.core.transactions._offsets import PendingOffsets
from braidmq.core.transactions._steps import ProducerIdentity
from braidmq.log import AppendResult, GroupOffset, Log
from braidmq.logger import get_logger
from braidmq.model import NO_EPOCH, NO_PRODUCER_ID, BraidError, Transaction, TransactionState
from braidmq.model.errors import (
    ConcurrentTransactions,
    InvalidProducerEpoch,
    InvalidProducerId,
    InvalidTransactionState,
    InvalidTransactionTimeout,
    ProducerFenced,
    UnknownPartition,
)
from braidmq.records import Batch, Marker, build_marker

TIMEOUT_MAX_MS = 15 * 60 * 1000
EXPIRY_MS = 7 * 24 * 60 * 60 * 1000
SWEEP_S = 1.0
EXPIRY_SWEEP_MS = 60 * 60 * 1000
TOGETHER = 64

T = TypeVar("T")

_logger = get_logger(__name__)


class Rows(IdSource, Protocol):
    """Where transactions are kept; see `store.TransactionRows`."""

    async def load(self) -> list[Transaction]: ...

    async def save(self, transaction: Transaction) -> None: ...

    async def delete(self, id: str) -> None: ...


class _Entry:
    """One transactional id. `lock` is held by whoever changes it."""

    __slots__ = ("changes", "current", "id", "is_closing", "is_gone", "is_unsaved", "lock")

    def __init__(self, id: str, current: Transaction | None = None) -> None:
        self.id = id
        self.current = current
        """What holds now; None until the first call for this id is done."""
        self.lock = asyncio.Lock()
        self.changes = 0
        """How many are under way or wait for their turn."""
        self.is_closing = False
        """The end is being decided: no more records."""
        self.is_unsaved = False
        """The row may say something else, or something earlier."""
        self.is_gone = False
        """Forgotten; look the id up again."""


class Transactions:
    """All producers that have a name (a transactional id), and ids for those without. Make it, then `recover`."""

    def __init__(
        self,
        rows: Rows,
        log: Log,
        offsets: PendingOffsets,
        *,
        timeout_max_ms: int = TIMEOUT_MAX_MS,
        expiry_ms: int = EXPIRY_MS,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._rows = rows
        self._log = log
        self._offsets = offsets
        self._timeout_max_ms = timeout_max_ms
        self._expiry_ms = expiry_ms
        self._now_ms = now_ms
        self._ids = ProducerIds(rows)
        self._by_id: dict[str, _Entry] = {}
        self._by_producer: dict[int, _Entry] = {}
        self._active: dict[_Entry, None] = {}
        """Those that something is open in, or left to do for."""
        self._expired_at_ms = now_ms()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sweeper: asyncio.Task[None] | None = None

    # A producer begins.

    async def new_producer_id(self) -> int:
        """An id for a producer without a name. Raises StoreFailed."""
        return await self._ids.next()

    async def begin(self, id: str, timeout_ms: int, expected: ProducerIdentity | None = None) -> ProducerIdentity:
        """A new life of the producer with this name, or, where it says who it was, the same one after an error. What
        an earlier life had open is aborted, and it is shut out.

        Raises InvalidTransactionTimeout, ProducerFenced, ConcurrentTransactions, StoreFailed.
        """
        if not 0 < timeout_ms <= self._timeout_max_ms:
            raise InvalidTransactionTimeout(
                f"a transaction may stay open for 1 to {self._timeout_max_ms} ms, not for {timeout_ms}"
            )
        while True:
            entry = self._by_id.get(id)
            if entry is None:
                entry = self._by_id[id] = _Entry(id)
            begun = await self._in_turn(entry, partial(self._begin, entry, timeout_ms, expected))
            if begun is not None:
                return begun

    async def _begin(
        self, entry: _Entry, timeout_ms: int, expected: ProducerIdentity | None
    ) -> ProducerIdentity | None:
        if entry.is_gone:
            return None
        try:
            return await self._begin_here(entry, timeout_ms, expected)
        finally:
            if entry.current is None:
                self._forget(entry)

    async def _begin_here(self, entry: _Entry, timeout_ms: int, expected: ProducerIdentity | None) -> ProducerIdentity:
        current = entry.current or steps.created(entry.id, await self._ids.next(), timeout_ms, self._now_ms())
        if current.state.is_ending:
            current = await self._must_finish(entry)
        if expected is not None and steps.repeats_beginning(current, expected):
            return steps.identity_of(current)
        if current.state is TransactionState.ONGOING:
            current = await self._fence(entry, last_epoch=NO_EPOCH if expected is None else expected.epoch)
        producer = ProducerIdentity(current.producer_id, current.epoch + 1)
        if steps.is_epoch_exhausted(current.epoch):
            producer = ProducerIdentity(await self._ids.next(), 0)
        await self._save(entry, steps.begun(current, producer, expected, timeout_ms=timeout_ms, now_ms=self._now_ms()))
        return producer

    # A transaction grows.

    async def add(
        self,
        id: str,
        producer: ProducerIdentity,
        partitions: Iterable[int] = (),
        groups: Iterable[str] = (),
        *,
        then: Callable[[], None] | None = None,
    ) -> None:
        """Take partitions and groups into the producer's transaction, which is opened by that. `then` is called in
        turn: before anything that came later is done, and while what was added holds.

        Raises InvalidProducerId, ProducerFenced, ConcurrentTransactions, StoreFailed.
        """
        entry = self._known(id)
        members = frozenset(partitions), frozenset(groups)
        await self._in_turn(entry, partial(self._add, entry, producer, *members, then))

    async def _add(
        self,
        entry: _Entry,
        producer: ProducerIdentity,
        partitions: frozenset[int],
        groups: frozenset[str],
        then: Callable[[], None] | None = None,
    ) -> None:
        current = self._current(entry)
        steps.check_producer(current, producer)
        if current.state.is_ending:
            current = await self._must_finish(entry)
            steps.check_producer(current, producer)
        is_open = current.state is TransactionState.ONGOING
        if not (is_open and partitions <= current.partitions and groups <= current.groups):
            await self._save(entry, steps.with_members(current, partitions, groups, self._now_ms()))
        if then is not None:
            then()

    def check_batch(self, batch: Batch, number: int) -> BraidError | None:
        """Why a transactional batch may not go to the partition; None if it may. The answer holds until the caller
        next waits for anything."""
        entry = self._by_producer.get(batch.producer_id)
        current = None if entry is None else entry.current
        if entry is None or current is None:
            return InvalidProducerId(f"no transactional id has the producer id {batch.producer_id}")
        if current.epoch != batch.producer_epoch:
            return InvalidProducerEpoch(
                f"{current.id!r} has epoch {current.epoch} by now; this batch has {batch.producer_epoch}"
            )
        if entry.is_closing or current.state is not TransactionState.ONGOING or number not in current.partitions:
            return InvalidTransactionState(f"{current.id!r} has no open transaction that this partition was added to")
        return None

    def is_changing(self, producer_id: int) -> bool:
        """Whether something that the producer asked for before is not done yet."""
        entry = self._by_producer.get(producer_id)
        return entry is not None and entry.changes > 0

    def contains(self, id: str, producer: ProducerIdentity, partition: int) -> bool:
        """Whether the partition is in the producer's transaction. Raises InvalidProducerId, ProducerFenced,
        ConcurrentTransactions."""
        current = self._current(self._known(id))
        steps.check_producer(current, producer)
        if current.state.is_ending:
            raise ConcurrentTransactions()
        return partition in current.partitions

    async def commit_offsets(
        self,
        id: str,
        producer: ProducerIdentity,
        group: str,
        member: MemberIdentity | None,
        offsets: Mapping[int, GroupOffset],
        *,
        adds_group: bool = False,
    ) -> None:
        """Keep a group's offsets until the transaction ends. The group must have been added, or is so now.

        Raises InvalidProducerId, ProducerFenced, InvalidTransactionState, ConcurrentTransactions, StoreFailed, and
        what the group has against it.
        """
        entry = self._known(id)
        await self._in_turn(entry, partial(self._commit_offsets, entry, producer, group, member, offsets, adds_group))

    async def _commit_offsets(
        self,
        entry: _Entry,
        producer: ProducerIdentity,
        group: str,
        member: MemberIdentity | None,
        offsets: Mapping[int, GroupOffset],
        adds_group: bool,
    ) -> None:
        if adds_group:
            await self._add(entry, producer, frozenset(), frozenset([group]))
        current = self._current(entry)
        steps.check_producer(current, producer)
        if current.state is not TransactionState.ONGOING or group not in current.groups:
            raise InvalidTransactionState(f"{entry.id!r} has no open transaction that group {group!r} was added to")
        await self._offsets.commit_in_transaction(group, producer.id, member, offsets)

    # A transaction ends.

    async def end(
        self, id: str, producer: ProducerIdentity, *, commit: bool, bumps_epoch: bool = False
    ) -> ProducerIdentity:
        """Commit or abort; who the producer is from now on. When this returns, the decision is final, and readers see
        it unless the log could not take it yet.

        Raises InvalidProducerId, ProducerFenced, InvalidTransactionState, ConcurrentTransactions, StoreFailed.
        """
        entry = self._known(id)
        return await self._in_turn(entry, partial(self._end, entry, producer, commit, bumps_epoch))

    async def _end(
        self, entry: _Entry, producer: ProducerIdentity, commit: bool, bumps_epoch: bool
    ) -> ProducerIdentity:
        current = self._current(entry)
        if current.state.is_ending:
            current = await self._must_finish(entry)
        if not steps.check_end(current, producer, commit=commit, bumps_epoch=bumps_epoch):
            return steps.identity_of(current)
        next_id = NO_PRODUCER_ID
        if bumps_epoch and steps.is_epoch_exhausted(current.epoch):
            next_id = await self._ids.next()
        decision = steps.decided(
            current, commit=commit, bumps_epoch=bumps_epoch, next_producer_id=next_id, now_ms=self._now_ms()
        )
        await self._decide(entry, decision)
        await self._finish(entry)
        return steps.identity_of(self._current(entry))

    async def _fence(self, entry: _Entry, *, last_epoch: int = NO_EPOCH) -> Transaction:
        """Abort without the producer. Raises ConcurrentTransactions when that is decided, but could not be told."""
        await self._decide(entry, steps.fenced(self._current(entry), self._now_ms(), last_epoch=last_epoch))
        return await self._must_finish(entry)

    async def _decide(self, entry: _Entry, decision: Transaction) -> None:
        entry.is_closing = True
        try:
            await self._save(entry, decision)
        finally:
            entry.is_closing = False

    async def _must_finish(self, entry: _Entry) -> Transaction:
        if not await self._finish(entry):
            raise ConcurrentTransactions(f"the last transaction of {entry.id!r} cannot be ended yet")
        return self._current(entry)

    async def _finish(self, entry: _Entry) -> bool:
        """Tell partitions and groups what was decided; False when that did not succeed and is to be tried again."""
        decision = self._current(entry)
        is_commit = decision.state is TransactionState.COMMITTING
        try:
            await self._tell_partitions(decision, commit=is_commit)
            if decision.groups:
                await self._offsets.end_transaction(decision.producer_id, commit=is_commit)
        except BraidError as error:
            _logger.warning("a transaction's end is held up", transaction=entry.id, reason=error.message)
            return False
        entry.is_unsaved = True
        self._show(entry, steps.ended(decision, self._now_ms()))
        return True

    async def mark(
        self, producer: ProducerIdentity, numbers: Sequence[int], *, commit: bool, coordinator_epoch: int = 0
    ) -> list[AppendResult]:
        """End the producer's transaction in these partitions, whatever is known of it here: the way out for operators
        when a transaction hangs."""
        batch = build_marker(
            Marker.COMMIT if commit else Marker.ABORT,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            timestamp_ms=self._now_ms(),
            coordinator_epoch=coordinator_epoch,
        )
        return await self._log.append([(number, batch) for number in numbers])

    async def _tell_partitions(self, decision: Transaction, *, commit: bool) -> None:
        if not decision.partitions:
            return
        numbers = sorted(decision.partitions)
        results = await self.mark(ProducerIdentity(decision.producer_id, decision.epoch), numbers, commit=commit)
        for number, result in zip(numbers, results, strict=True):
            if isinstance(result, ProducerFenced):
                _logger.warning("a newer epoch ended a transaction", transaction=decision.id, partition=number)
            elif isinstance(result, BraidError) and not isinstance(result, UnknownPartition):
                raise result

    # By themselves: what timed out, what is left to do, what nobody uses any more.

    async def recover(self, numbers: Iterable[int] = ()) -> None:
        """Take over what an earlier life of this node left in the rows, and in these partitions. Call it once, before
        anybody asks. Raises StoreFailed."""
        for row in await self._rows.load():
            entry = self._by_id[row.id] = _Entry(row.id)
            self._show(entry, row)
        self._expired_at_ms = self._now_ms()
        await self.sweep()
        for number in numbers:
            await self._abort_unknown(number)

    async def _abort_unknown(self, number: int) -> None:
        """End what is open in a partition but not known here. That is only left by a power cut where the log may lose
        what it acknowledged last, a marker for instance: without this, committed readers would wait there for ever."""
        bounds = self._log.bounds(number)
        if bounds.stable == bounds.end:
            return
        for producer in self._log.producers(number):
            if producer.transaction_offset >= 0 and not self._expects(producer.producer_id, number):
                _logger.warning("aborting a transaction of an unknown producer", **producer._asdict(), partition=number)
                await self.mark(ProducerIdentity(producer.producer_id, producer.epoch), [number], commit=False)

    def _expects(self, producer_id: int, number: int) -> bool:
        entry = self._by_producer.get(producer_id)
        return entry is not None and entry.current is not None and number in entry.current.partitions

    def start(self) -> None:
        """Sweep from time to time, until `close`."""
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep_for_ever(), name="transactions-sweep")

    async def close(self) -> None:
        """Let what was begun come to its end, and leave the rows as they should be."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.wait([self._sweeper])
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self.sweep()

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            try:
                await self.sweep()
            except Exception:  # reported, and tried again with the next round
                _logger.exception("sweeping transactions failed")

    async def sweep(self) -> None:
        """Abort what has been open for too long, try again what could not be finished or saved, forget ids that were
        not used for long."""
        now_ms = self._now_ms()
        await self._all_in_turn([entry for entry in self._active if _is_due(entry, now_ms)], self._tidy)
        if now_ms - self._expired_at_ms >= min(EXPIRY_SWEEP_MS, self._expiry_ms):
            self._expired_at_ms = now_ms
            await self._expire(now_ms)

    async def _tidy(self, entry: _Entry) -> None:
        current = entry.current
        if entry.is_gone or current is None:
            return
        try:
            if _is_timed_out(current, self._now_ms()):
                _logger.info("a transaction timed out", transaction=entry.id, producer_id=current.producer_id)
                await self._fence(entry)
            elif current.state.is_ending:
                await self._finish(entry)
            if entry.is_unsaved:
                await self._save(entry, self._current(entry))
        except BraidError as error:
            _logger.warning("a transaction is held up", transaction=entry.id, reason=error.message)

    async def _expire(self, now_ms: int) -> None:
        await self._all_in_turn(
            [entry for entry in self._by_id.values() if self._is_unused(entry, now_ms)], self._delete
        )

    def _is_unused(self, entry: _Entry, now_ms: int) -> bool:
        current = entry.current
        return current is not None and current.state.is_idle and current.changed_ms <= now_ms - self._expiry_ms

    async def _delete(self, entry: _Entry) -> None:
        if entry.is_gone or not self._is_unused(entry, self._now_ms()):
            return
        try:
            await self._rows.delete(entry.id)
        except BraidError as error:
            _logger.warning("an unused transactional id is kept", transaction=entry.id, reason=error.message)
            return
        self._forget(entry)

    # Looking.

    def transaction(self, id: str) -> Transaction | None:
        """What holds for a transactional id now."""
        entry = self._by_id.get(id)
        return None if entry is None else entry.current

    def transactions(self) -> list[Transaction]:
        """What holds for all of them."""
        return [entry.current for entry in self._by_id.values() if entry.current is not None]

    # One change after the other.

    async def _all_in_turn(self, entries: list[_Entry], change: Callable[[_Entry], Awaitable[None]]) -> None:
        for first in range(0, len(entries), TOGETHER):
            together = entries[first : first + TOGETHER]
            await asyncio.gather(*(self._in_turn(entry, partial(change, entry)) for entry in together))

    async def _in_turn(self, entry: _Entry, change: Callable[[], Awaitable[T]]) -> T:
        """Run the change when no other is under way, to its end, even if the caller is cancelled."""
        entry.changes += 1
        task = asyncio.get_running_loop().create_task(_locked(entry, change))
        self._tasks.add(task)
        task.add_done_callback(self._change_done)
        return await asyncio.shield(task)

    def _change_done(self, task: asyncio.Task[Any]) -> None:
        """A refusal that nobody waits for any more concerns nobody; a fault does."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception) and not isinstance(error, BraidError):
            _logger.error("a change of a transaction failed", exc_info=error)

    def _known(self, id: str) -> _Entry:
        entry = self._by_id.get(id)
        if entry is None:
            raise InvalidProducerId(f"there is no transactional id {id!r}; begin with it first")
        return entry

    def _current(self, entry: _Entry) -> Transaction:
        if entry.current is None:
            raise InvalidProducerId(f"there is no transactional id {entry.id!r}; begin with it first")
        return entry.current

    async def _save(self, entry: _Entry, transaction: Transaction) -> None:
        """Make it durable, and only then let it hold. Where that fails, the row may say either, and what held goes
        on to hold: the next save puts the row right."""
        is_new = entry.current is None
        try:
            await self._rows.save(transaction)
        except BaseException:
            if not is_new:
                entry.is_unsaved = True
                self._active[entry] = None
            raise
        entry.is_unsaved = False
        self._show(entry, transaction)

    def _show(self, entry: _Entry, transaction: Transaction) -> None:
        before = entry.current
        entry.current = transaction
        if before is not None and before.producer_id != transaction.producer_id:
            self._by_producer.pop(before.producer_id, None)
        self._by_producer[transaction.producer_id] = entry
        if transaction.state.is_idle and not entry.is_unsaved:
            self._active.pop(entry, None)
        else:
            self._active[entry] = None

    def _forget(self, entry: _Entry) -> None:
        entry.is_gone = True
        self._by_id.pop(entry.id, None)
        self._active.pop(entry, None)
        if entry.current is not None:
            self._by_producer.pop(entry.current.producer_id, None)
            entry.current = None


async def _locked(entry: _Entry, change: Callable[[], Awaitable[T]]) -> T:
    try:
        async with entry.lock:
            return await change()
    finally:
        entry.changes -= 1


def _is_timed_out(transaction: Transaction, now_ms: int) -> bool:
    return transaction.state is TransactionState.ONGOING and transaction.started_ms + transaction.timeout_ms < now_ms


def _is_due(entry: _Entry, now_ms: int) -> bool:
    current = entry.current
    return current is not None and (entry.is_unsaved or current.state.is_ending or _is_timed_out(current, now_ms))
