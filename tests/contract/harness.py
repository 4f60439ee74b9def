"""What the contract tests share: the log under test with its own clock, and short ways to make and read batches."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Literal
from uuid import UUID, uuid4

from braidmq.log import Appended, AppendResult, Fetched, Log
from braidmq.model import Topic
from braidmq.records import Batch, Codec, Marker, Record, build_batch, build_marker, parse_batch, read_records

BEGAN_MS = 1_700_000_000_000
ALL_BYTES = 1 << 30

Open = Callable[["Clock"], Awaitable[Log]]
AdapterName = Literal["memory", "embedded-commit", "embedded-interval"]


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now_ms = BEGAN_MS

    def __call__(self) -> int:
        return self.now_ms


class LogUnderTest:
    """An open log. `make_topic` gives out partition numbers as the catalog would: each only once."""

    def __init__(self, open_log: Open, clock: Clock, log: Log) -> None:
        self._open = open_log
        self._numbers = itertools.count(1)
        self.clock = clock
        self.log = log

    @classmethod
    async def start(cls, open_log: Open) -> "LogUnderTest":
        clock = Clock()
        return cls(open_log, clock, await open_log(clock))

    async def reopen(self) -> None:
        """Close the log, and open what it left."""
        await self.log.close()
        self.log = await self._open(self.clock)

    def plan_topic(
        self,
        partitions: int = 1,
        *,
        id: UUID | None = None,
        retention_ms: int = -1,
        retention_bytes: int = -1,
        settings: Mapping[str, str] | None = None,
    ) -> Topic:
        return Topic(
            id=id or uuid4(),
            name="orders",
            partition_numbers=tuple(itertools.islice(self._numbers, partitions)),
            retention_ms=retention_ms,
            retention_bytes=retention_bytes,
            settings=settings or {},
        )

    async def make_topic(
        self,
        partitions: int = 1,
        *,
        retention_ms: int = -1,
        retention_bytes: int = -1,
        settings: Mapping[str, str] | None = None,
    ) -> Topic:
        topic = self.plan_topic(
            partitions, retention_ms=retention_ms, retention_bytes=retention_bytes, settings=settings
        )
        await self.log.create_topic(topic)
        return topic

    async def make_partition(self, *, settings: Mapping[str, str] | None = None) -> int:
        topic = await self.make_topic(settings=settings)
        return topic.partition_numbers[0]

    async def try_append(self, number: int, batch: Batch) -> AppendResult:
        (result,) = await self.log.append([(number, batch)])
        return result

    async def append(self, number: int, batch: Batch) -> Appended:
        result = await self.try_append(number, batch)
        assert isinstance(result, Appended), result
        return result

    async def append_each(self, number: int, *values: bytes) -> None:
        """One batch for each value, one after the other."""
        for value in values:
            await self.append(number, batch_of(value))

    async def read(
        self, number: int, offset: int = 0, bytes_max: int = ALL_BYTES, *, committed: bool = False
    ) -> Fetched:
        return await self.log.read(number, offset, bytes_max, committed=committed)

    async def values(self, number: int, offset: int = 0) -> list[bytes | None]:
        """The values of everything from the offset on; a log may give it in as many reads as it likes."""
        return [record.value for record in await self.records(number, offset)]

    async def records(self, number: int, offset: int = 0) -> list[Record]:
        return [record for batch in await self.batches(number, offset) for record in read_records(batch)]

    async def batches(self, number: int, offset: int = 0) -> list[Batch]:
        found: list[Batch] = []
        while got := stored_batches(await self.read(number, offset)):
            found += got
            offset = got[-1].last_offset + 1
        return found

    async def committed_values(self, number: int, offset: int = 0) -> list[bytes | None]:
        """What a committed reader makes of the log, by the rules that Kafka's own consumer follows."""
        seen: list[bytes | None] = []
        while got := await self.read(number, offset, committed=True):
            batches = stored_batches(got)
            if not batches:
                break
            seen += _skipping_aborted(got, batches)
            offset = batches[-1].last_offset + 1
        return seen


def _skipping_aborted(got: Fetched, batches: list[Batch]) -> list[bytes | None]:
    waiting = sorted(got.aborted, key=lambda aborted: aborted.first_offset)
    skipped: set[int] = set()
    seen: list[bytes | None] = []
    for batch in batches:
        while waiting and waiting[0].first_offset <= batch.last_offset:
            skipped.add(waiting.pop(0).producer_id)
        if batch.is_control:
            skipped.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in skipped):
            seen += [record.value for record in read_records(batch)]
    return seen


def stored_batches(fetched: Fetched) -> list[Batch]:
    batches = []
    position = 0
    while position < len(fetched.data):
        batches.append(parse_batch(fetched.data, position))
        assert batches[-1].matches_checksum()
        position += batches[-1].size_bytes
    return batches


def batch_of(*values: bytes | None, at_ms: int = BEGAN_MS, codec: Codec = Codec.NONE) -> Batch:
    """One batch of these values, without keys."""
    return build_batch([Record(delta, at_ms, None, value) for delta, value in enumerate(values)], codec=codec)


def keyed(*pairs: tuple[bytes | None, bytes | None], at_ms: int = BEGAN_MS, codec: Codec = Codec.NONE) -> Batch:
    """One batch of (key, value)."""
    return build_batch([Record(delta, at_ms, key, value) for delta, (key, value) in enumerate(pairs)], codec=codec)


def timed(*times_ms: int, codec: Codec = Codec.NONE) -> Batch:
    """One batch of records with these times."""
    return build_batch([Record(delta, at_ms, None, b"at") for delta, at_ms in enumerate(times_ms)], codec=codec)


def sent(
    *values: bytes,
    sequence: int,
    producer: int = 7,
    epoch: int = 0,
    transactional: bool = False,
    key: bytes | None = None,
) -> Batch:
    """One batch of an idempotent producer."""
    return build_batch(
        [Record(delta, BEGAN_MS, key, value) for delta, value in enumerate(values)],
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def marker(kind: Marker, *, producer: int = 7, epoch: int = 0, at_ms: int = BEGAN_MS) -> Batch:
    """The end of a producer's transaction."""
    return build_marker(kind, producer_id=producer, producer_epoch=epoch, timestamp_ms=at_ms)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another task or thread brings about; ten seconds at the most."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the condition is no event of ours
            await asyncio.sleep(0.001)
