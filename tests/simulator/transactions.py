"""A small world of producers, readers of whose transactions must never see half of one, under a node that dies a lot.

The coordinator is the real one. What it works on is made of what a disk would keep: rows, a log and group offsets,
each call of which passes several *moments*. Every moment may be the node's last. Then what was acknowledged is kept,
what was under way is kept or not by chance (of a call with several batches, some), and a new coordinator takes over.
Between deaths, the database now and then fails without saying whether it did what it was asked, and the disk is full.

Producers do what clients do, and what they should not do: two of one name, zombies that go on, ends that are repeated,
answers that get lost. The world remembers what each was promised, and looks at the log as committed readers do.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple
from uuid import uuid4

from braidmq.core.transactions import ProducerIdentity, Transactions
from braidmq.log import Appended, AppendResult, GroupOffset
from braidmq.log.memory import MemoryLog
from braidmq.model import BraidError, Topic, Transaction
from braidmq.model.errors import StorageFull, StoreFailed
from braidmq.records import Batch
from contract.harness import Clock, LogUnderTest
from transaction_support import batch_in

PARTITIONS = (1, 2, 3, 4)
GROUP = "g"
TIMEOUT_MS = 10_000
NAMES = ("one", "two", "three")
CLIENTS = 5
MOMENTS_MAX = 700
TURNS_MAX = 4
FAILURES = 0.02
LOOKING = 1 << 30


class Death(BaseException):
    """The node is no more; nobody may catch it."""


class Moments:
    """Counts down to the node's last moment."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.left = 0
        self.died = asyncio.Event()

    def begin(self, count: int) -> None:
        self.left = count
        self.died = asyncio.Event()

    async def pass_one(self) -> None:
        """Let others go on for a while; never returns when the node has died."""
        for _ in range(self._random.randrange(TURNS_MAX)):
            await asyncio.sleep(0)
        self.left -= 1
        if self.left <= 0:
            self.died.set()
            raise Death

    @property
    def is_over(self) -> bool:
        return self.left <= 0

    def happens(self, probability: float) -> bool:
        """By chance; but nothing bad happens while the world is looked at."""
        return self.left < LOOKING and self._random.random() < probability


class SimulatedRows:
    """What the database keeps. A write that was not answered may have been kept."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self.kept: dict[str, Transaction] = {}
        self._next_id = 1
        self._turn = asyncio.Lock()

    async def load(self) -> list[Transaction]:
        await self._moments.pass_one()
        return list(self.kept.values())

    async def save(self, transaction: Transaction) -> None:
        await self._write(lambda: self.kept.update({transaction.id: transaction}))

    async def delete(self, id: str) -> None:
        await self._write(lambda: self.kept.pop(id, None))

    async def take_producer_ids(self, count: int) -> range:
        taken = range(self._next_id, self._next_id + count)

        def take() -> None:
            self._next_id = taken.stop

        await self._write(take)
        return taken

    async def _write(self, change: Callable[[], object]) -> None:
        """One after the other, in the order in which they came."""
        async with self._turn:
            await self._moments.pass_one()
            fails = self._moments.happens(FAILURES)
            if not fails or self._moments.happens(0.5):
                change()
        await self._moments.pass_one()
        if fails:
            raise StoreFailed("nobody knows whether it was kept")

    def restart(self) -> None:
        self._turn = asyncio.Lock()


class SimulatedOffsets:
    """Pending offsets as groups keep them: what is committed first counts, and then is no longer pending."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self.pending: dict[int, dict[str, dict[int, GroupOffset]]] = {}
        self.committed: dict[str, dict[int, GroupOffset]] = {}

    async def commit_in_transaction(
        self, group: str, producer_id: int, _member: object, offsets: Mapping[int, GroupOffset]
    ) -> None:
        await self._moments.pass_one()
        self.pending.setdefault(producer_id, {}).setdefault(group, {}).update(offsets)
        await self._moments.pass_one()

    async def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        for group, offsets in self.pending.get(producer_id, {}).items():
            await self._moments.pass_one()
            if commit:
                self.committed.setdefault(group, {}).update(offsets)
        await self._moments.pass_one()
        self.pending.pop(producer_id, None)
        await self._moments.pass_one()


class SimulatedLog(MemoryLog):
    """Takes batches in order at once, as the real one does, and acknowledges them later. What was not acknowledged
    is lost from some batch on."""

    def __init__(self, moments: Moments, clock: Callable[[], int]) -> None:
        super().__init__(clock)
        self._moments = moments
        self.taken: list[tuple[int, Batch]] = []
        self.acknowledged = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def append(self, entries: Sequence[tuple[int, Batch]]) -> "asyncio.Future[list[AppendResult]]":
        answer: asyncio.Future[list[AppendResult]] = asyncio.get_running_loop().create_future()
        if self._moments.is_over:
            return answer
        if self._moments.happens(FAILURES):
            answer.set_result([StorageFull() for _ in entries])
            return answer
        results = super().append(entries).result()
        self.taken += [
            entry
            for entry, result in zip(entries, results, strict=True)
            if isinstance(result, Appended) and not result.duplicate
        ]
        task = asyncio.get_running_loop().create_task(self._acknowledge(len(self.taken), answer, results))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return answer

    async def _acknowledge(
        self, taken: int, answer: "asyncio.Future[list[AppendResult]]", results: list[AppendResult]
    ) -> None:
        try:
            await self._moments.pass_one()
        except Death:
            return
        self.acknowledged = max(self.acknowledged, taken)
        if not answer.done():
            answer.set_result(results)

    def tasks(self) -> set["asyncio.Task[None]"]:
        return set(self._tasks)


class Attempt:
    """One transaction as its producer knows it."""

    def __init__(self, uid: int) -> None:
        self.uid = uid
        self.records: dict[int, list[bytes]] = defaultdict(list)
        """What was acknowledged, by partition."""
        self.offset: int | None = None
        self.was_asked_to_commit = False
        self.outcome: bool | None = None
        """What was answered: committed, or aborted."""


class Client(NamedTuple):
    """A producer's process."""

    name: str
    bumps_epoch: bool


class World:
    """See the module's opening."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.clock = Clock()
        self.moments = Moments(self.random)
        self.rows = SimulatedRows(self.moments)
        self.offsets = SimulatedOffsets(self.moments)
        self.log = SimulatedLog(self.moments, self.clock)
        self.topic = Topic(id=uuid4(), name="orders", partition_numbers=PARTITIONS)
        self.attempts: list[Attempt] = []
        self.latest: dict[str, ProducerIdentity] = {}
        """Who was last answered, by name: those before are fenced."""
        self.fenced: set[ProducerIdentity] = set()
        self.given_ids: set[int] = set()
        self.ended = 0

    @classmethod
    async def make(cls, seed: int) -> "World":
        world = cls(seed)
        asyncio.get_running_loop().set_exception_handler(_ignore_deaths)
        await world.log.create_topic(world.topic)
        return world

    async def live(self) -> None:
        """One life of the node, what comes after it, and a look at what is left."""
        self.moments.begin(self.random.randrange(1, MOMENTS_MAX))
        await self._run_until_death()
        while self.random.random() < 0.3:
            self.moments.begin(self.random.randrange(1, 40))
            await self._run_until_death()
        await self._settle_and_check()

    async def _run_until_death(self) -> None:
        transactions = self._coordinator()
        node = asyncio.ensure_future(self._node(transactions))
        dying = asyncio.ensure_future(self.moments.died.wait())
        await asyncio.wait([node, dying], return_when=asyncio.FIRST_COMPLETED)
        await self._bury(transactions, [node, dying])
        if not node.cancelled() and not isinstance(error := node.exception(), Death | None):
            raise error

    async def _node(self, transactions: Transactions) -> None:
        await transactions.recover(PARTITIONS)
        clients = [asyncio.ensure_future(self._client(transactions)) for _ in range(CLIENTS)]
        clients.append(asyncio.ensure_future(self._sweeps(transactions)))
        try:
            done, _ = await asyncio.wait(clients, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)
        for each in done:
            each.result()

    async def _bury(self, transactions: Transactions, tasks: Iterable["asyncio.Future[Any]"]) -> None:
        """Nothing of the life that was does anything any more, and the log keeps what a disk would have kept."""
        self.moments.left = 0
        left: set[asyncio.Future[Any]] = set(tasks)
        while left:
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            left = {task for task in (*transactions._tasks, *self.log.tasks()) if not task.done()}
        kept = self.random.randint(self.log.acknowledged, len(self.log.taken))
        survived = self.log.taken[:kept]
        self.log = SimulatedLog(self.moments, self.clock)
        await self.log.create_topic(self.topic)
        for number, batch in survived:
            (result,) = MemoryLog.append(self.log, [(number, batch)]).result()
            assert isinstance(result, Appended), f"what was stored once cannot be stored again: {result!r}"
        self.log.taken, self.log.acknowledged = survived, kept
        self.rows.restart()

    def _coordinator(self) -> Transactions:
        return Transactions(self.rows, self.log, self.offsets, now_ms=self.clock, expiry_ms=1 << 60)

    # What happens in a life.

    async def _sweeps(self, transactions: Transactions) -> None:
        while True:
            await self.moments.pass_one()
            if self.random.random() < 0.05:
                self.clock.now_ms += self.random.randrange(TIMEOUT_MS)
                await transactions.sweep()

    async def _client(self, transactions: Transactions) -> None:
        while True:
            client = Client(self.random.choice(NAMES), self.random.random() < 0.5)
            producer = await self._begin(transactions, client)
            for _ in range(self.random.randrange(6)):
                if producer is None:
                    break
                before = producer
                producer = await self._transaction(transactions, client, before)
                if producer is None and self.random.random() < 0.4:
                    producer = await self._begin(transactions, client, before)

    async def _begin(
        self, transactions: Transactions, client: Client, expected: ProducerIdentity | None = None
    ) -> ProducerIdentity | None:
        """A new life, or the same one after an error: then it may have to ask twice."""
        try:
            producer = await transactions.begin(client.name, TIMEOUT_MS, expected)
            if expected is not None and self.random.random() < 0.3:
                producer = await transactions.begin(client.name, TIMEOUT_MS, expected)
        except BraidError:
            return None
        self._note_given(client, producer)
        return producer

    def _note_given(self, client: Client, producer: ProducerIdentity) -> None:
        before = self.latest.get(client.name)
        assert producer not in self.fenced, f"{producer} was given to somebody who was fenced"
        if before == producer:
            return
        if before is not None:
            self.fenced.add(before)
        if before is None or before.id != producer.id:
            assert producer.id not in self.given_ids, f"id {producer.id} was given twice"
            self.given_ids.add(producer.id)
        self.latest[client.name] = producer

    async def _transaction(
        self, transactions: Transactions, client: Client, producer: ProducerIdentity
    ) -> ProducerIdentity | None:
        """One transaction; who the producer is then, or None when it gave up."""
        attempt = Attempt(len(self.attempts))
        self.attempts.append(attempt)
        sequences = self._sequences(producer)
        try:
            for _ in range(self.random.randrange(1, 5)):
                if not await self._step(transactions, client, producer, attempt, sequences):
                    return None
                await self.moments.pass_one()
            if self.random.random() < 0.1:
                return None  # the process is gone, and nobody ends its transaction
            return await self._end(transactions, client, producer, attempt)
        except BraidError:
            return None

    def _sequences(self, producer: ProducerIdentity) -> dict[int, int]:
        """The next sequence in each partition, as a producer counts for itself."""
        known = dict.fromkeys(PARTITIONS, 0)
        for number in PARTITIONS:
            for state in self.log.producers(number):
                if (state.producer_id, state.epoch) == producer:
                    known[number] = state.last_sequence + 1
        return known

    async def _step(
        self,
        transactions: Transactions,
        client: Client,
        producer: ProducerIdentity,
        attempt: Attempt,
        sequences: dict[int, int],
    ) -> bool:
        """Write to some partitions, or send offsets; False when the producer cannot be sure what became of it."""
        if self.random.random() < 0.25:
            await self._send_offsets(transactions, client, producer, attempt)
            return True
        number = self.random.choice(PARTITIONS)
        value = b"%d/%d" % (attempt.uid, sum(map(len, attempt.records.values())))
        batch = batch_in(producer, value, sequence=sequences[number])
        written: list[asyncio.Future[list[AppendResult]]] = []
        was_fenced = producer in self.fenced
        if client.bumps_epoch:
            await transactions.add(
                client.name, producer, [number], then=lambda: written.append(self.log.append([(number, batch)]))
            )
        else:
            await transactions.add(client.name, producer, [number])
            if transactions.check_batch(batch, number) is None:
                written.append(self.log.append([(number, batch)]))
        if not written:
            return False
        assert not was_fenced, f"{producer} was fenced, and wrote"
        (result,) = await written[0]
        if not isinstance(result, Appended):
            return False
        sequences[number] += 1
        attempt.records[number].append(value)
        return True

    async def _send_offsets(
        self, transactions: Transactions, client: Client, producer: ProducerIdentity, attempt: Attempt
    ) -> None:
        if not client.bumps_epoch:
            await transactions.add(client.name, producer, groups=[GROUP])
        offsets = {attempt.uid: GroupOffset(attempt.uid)}
        await transactions.commit_offsets(client.name, producer, GROUP, None, offsets, adds_group=client.bumps_epoch)
        attempt.offset = attempt.uid

    async def _end(
        self, transactions: Transactions, client: Client, producer: ProducerIdentity, attempt: Attempt
    ) -> ProducerIdentity:
        commit = self.random.random() < 0.7
        attempt.was_asked_to_commit = commit
        following = producer
        for _ in range(self.random.choice((1, 1, 1, 2))):
            following = await transactions.end(client.name, producer, commit=commit, bumps_epoch=client.bumps_epoch)
        attempt.outcome = commit
        self.ended += 1
        if following != producer:
            self._note_given(client, following)
        return following

    # What is left.

    async def _settle_and_check(self) -> None:
        """With time, everything that is open is ended; then all promises must hold."""
        self.moments.begin(2 * LOOKING)
        transactions = self._coordinator()
        await transactions.recover(PARTITIONS)
        self.clock.now_ms += TIMEOUT_MS + 1
        await transactions.sweep()
        await transactions.sweep()
        await transactions.close()
        seen = await self._committed_values()
        for attempt in self.attempts:
            self._check(attempt, seen)
        for number in PARTITIONS:
            _, stable, end = self.log.bounds(number)
            assert stable == end, f"partition {number} is held back at {stable} of {end}"
        assert not any(self.offsets.pending.values()), f"left pending: {self.offsets.pending}"
        assert all(row.state.is_idle for row in self.rows.kept.values())
        await self._bury(transactions, ())

    async def _committed_values(self) -> dict[int, set[bytes | None]]:
        async def the_log(_: Any) -> MemoryLog:
            return self.log

        reader = LogUnderTest(the_log, self.clock, self.log)
        return {number: set(await reader.committed_values(number)) for number in PARTITIONS}

    def _check(self, attempt: Attempt, seen: Mapping[int, set[bytes | None]]) -> None:
        parts = [value in seen[number] for number, values in attempt.records.items() for value in values]
        if attempt.offset is not None:
            parts.append(attempt.offset in self.offsets.committed.get(GROUP, {}))
        if not parts:
            return
        assert len(set(parts)) == 1, f"transaction {attempt.uid} is committed in part: {parts}"
        (is_committed,) = set(parts)
        if attempt.outcome is not None:
            assert is_committed == attempt.outcome, f"transaction {attempt.uid} was answered {attempt.outcome}"
        assert attempt.was_asked_to_commit or not is_committed, f"transaction {attempt.uid} was never to be committed"


def _ignore_deaths(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), Death):
        loop.default_exception_handler(context)
