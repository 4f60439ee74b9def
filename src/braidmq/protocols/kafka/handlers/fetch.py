"""Fetch (1): whole batches out of partitions. Hot path: bytes go out as they lie in the log.

A fetch is answered at once when it has enough bytes or an error; otherwise it waits for data, for at most the time the
client gives, without keeping anybody else waiting. At least one batch is given even if it is larger than the limits. A
fetch inside a batch gets that batch. Readers of committed records get nothing behind the stable offset, and the list of
aborted transactions to skip. Versions below 4 get messages of the old formats; where nothing is left for them of what
was read, because it marks the ends of transactions only, what lies behind it is read. Sessions: see `_sessions`.

Through a filter (see `_filtered_names` and `_sieve`) records are looked at one by one, a piece at a time, until chosen
ones are found, the end is reached or the client's time is over. Only batches with chosen records count as the bytes
that the client waits for: it is not answered just to hear that there is nothing for it; but when it is answered, it
learns how far the search came. The old formats cannot say that, so versions below 4 have no filters.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from braidmq.core.access import Action, ResourceKind
from braidmq.core.filters import Everything, Filter
from braidmq.log import Bounds, Fetched, Watch
from braidmq.model import BraidError
from braidmq.model.errors import UnknownTopic
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._later import Later
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import Source, find_source, partition_of, stale_epoch
from braidmq.protocols.kafka._sessions import FINAL_EPOCH, INITIAL_EPOCH, FetchSession, Interest, PartitionKey
from braidmq.protocols.kafka._sieve import Sieve
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey, Buffer, ErrorCode, Uuid
from braidmq.protocols.kafka.codec.messages.fetch import FetchRequest, FetchResponse
from braidmq.records import Codec, batches_in, downgrade_batches

_READ_COMMITTED: Final = 1
_BATCHES_MIN_VERSION: Final = 4
_TIMESTAMPS_MIN_VERSION: Final = 2
_SESSIONS_MIN_VERSION: Final = 7
_ZSTD_MIN_VERSION: Final = 10
_BYTES_MAX: Final = 64 << 20
"""No answer is larger, whatever a client asks for, but for a single batch."""
_SIFTED_BYTES: Final = 256 << 10
"""How much is looked through at a time, while everybody else waits."""
_NOTHING = Fetched(b"")

_Partition = FetchResponse.PartitionData
_Topic = FetchResponse.FetchableTopicResponse


@answers(ApiKey.FETCH, versions=(0, 18), action=Action.CONSUME, resource=ResourceKind.TOPIC)
def fetch(call: Call[FetchRequest]) -> FetchResponse | Later | Awaitable[FetchResponse]:
    session = _session(call)
    if isinstance(session, ErrorCode):
        return FetchResponse(error_code=session)
    work = _Fetch(call, session)
    if not work.read_now():
        return work.answer()
    return work.response() if work.is_enough() else _Waiting(work).answer


def _session(call: Call[FetchRequest]) -> FetchSession | ErrorCode | None:
    """The session of this fetch; None for a fetch that names all it wants."""
    request = call.request
    sessions = call.services.fetch_sessions
    if call.version < _SESSIONS_MIN_VERSION:
        return None
    if request.session_epoch in (FINAL_EPOCH, INITIAL_EPOCH):
        if request.session_id:
            sessions.close(request.session_id)
        session = sessions.open() if request.session_epoch == INITIAL_EPOCH else None
    else:
        resumed = sessions.resume(request.session_id, request.session_epoch)
        if isinstance(resumed, ErrorCode):
            return resumed
        session = resumed
    if session is not None:
        for interest in _interests(request):
            session.update(interest)
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                session.interests.pop((topic.topic, topic.topic_id, index), None)
    return session


def _interests(request: FetchRequest) -> Iterable[Interest]:
    for topic in request.topics:
        for asked in topic.partitions:
            yield Interest(
                topic.topic,
                topic.topic_id,
                asked.partition,
                asked.fetch_offset,
                asked.partition_max_bytes,
                asked.current_leader_epoch,
            )


class _Read(NamedTuple):
    """What was found in one partition. `number` is -1 where there is no such partition."""

    interest: Interest
    number: int
    error: int
    bounds: Bounds
    fetched: Fetched
    sieve: Sieve | None = None

    @property
    def wanted_bytes(self) -> int:
        """How much of what the client waits for is here."""
        return len(self.fetched.data) if self.sieve is None else self.sieve.kept_bytes


class _Fetch:
    """One request, until it has enough to answer."""

    __slots__ = (
        "_call",
        "_committed",
        "_deadline",
        "_is_full",
        "_known",
        "_log",
        "_reads",
        "_session",
        "_sieves",
        "_version",
        "_wanted",
    )

    def __init__(self, call: Call[FetchRequest], session: FetchSession | None) -> None:
        self._call = call
        self._version = call.version
        self._committed = call.request.isolation_level == _READ_COMMITTED
        self._log = call.services.log
        self._session = session
        self._is_full = session is None or call.request.session_epoch == INITIAL_EPOCH
        self._wanted = list(_interests(call.request) if session is None else session.interests.values())
        self._reads: list[_Read] = []
        self._sieves: dict[PartitionKey, Sieve] = {}
        self._known: tuple[str, Uuid, Source] | None = None
        """The topic that was looked up last."""
        self._deadline = asyncio.get_running_loop().time() + call.request.max_wait_ms / 1000

    def watch(self, on_data: Callable[[int], None]) -> Watch:
        """Hear of what comes to the partitions that were read. Raises UnknownPartition."""
        return self._log.watch([read.number for read in self._reads if read.number >= 0], on_data)

    def left_s(self) -> float:
        """How long the client still waits."""
        return self._deadline - asyncio.get_running_loop().time()

    async def answer(self) -> FetchResponse:
        """Read from the disk, and wait for more, as far as needed."""
        if not self.read_now():
            await self._read()
        while not self.is_enough() and (left_s := self.left_s()) > 0:
            await self._wait(left_s)
            if not self.read_now():
                await self._read()
        return self.response()

    async def _wait(self, timeout_s: float) -> None:
        """Until a partition has something new, or the time is over."""
        arrived = asyncio.get_running_loop().create_future()

        def on_data(_: int) -> None:
            if not arrived.done():
                arrived.set_result(None)

        numbers = {read.number: read.bounds for read in self._reads if read.number >= 0}
        try:
            watch = self.watch(on_data)
        except BraidError:
            return  # a topic went away; reading again says so
        try:
            if any(self._log.bounds(number) != bounds for number, bounds in numbers.items()):
                return  # it came while the disk was read for another partition
            await asyncio.wait((arrived,), timeout=timeout_s)
        finally:
            watch.cancel()

    def read_now(self) -> bool:
        """Read what needs no waiting for the disk; whether that was all."""
        reads: list[_Read] = []
        left = self._bytes_max()
        before = self._reads
        self._known = None
        for place, interest in enumerate(self._wanted):
            if before and self._is_as_before(before[place]):
                reads.append(before[place])
                continue
            found = self._look_up(interest)
            if found.sieve is not None:
                return False
            if not found.error and left > 0 and interest.offset != found.bounds.end:
                fetched = self._try(found, min(left, interest.bytes_max))
                if fetched is None:
                    return False
                found = _fitting(fetched, found, min(left, interest.bytes_max), reads)
                left -= len(found.fetched.data)
            reads.append(found)
        self._reads = reads
        return True

    def _is_as_before(self, read: _Read) -> bool:
        """Whether the client had come to the end of the partition, and nothing has changed there."""
        if read.interest.offset != read.bounds.end or read.sieve is not None:
            return False
        try:
            return self._log.bounds(read.number) == read.bounds
        except BraidError:
            return False

    async def _read(self) -> None:
        reads: list[_Read] = []
        left = self._bytes_max()
        for interest in self._wanted:
            self._known = None
            found = self._look_up(interest)
            if not found.error and left > 0:
                fetched = await self._read_one(found, min(left, interest.bytes_max), reads)
                found = _fitting(fetched, found, min(left, interest.bytes_max), reads)
                left -= len(found.fetched.data)
            reads.append(found)
        self._reads = reads

    def _bytes_max(self) -> int:
        return min(self._call.request.max_bytes, _BYTES_MAX)

    def _look_up(self, interest: Interest) -> _Read:
        number = -1
        try:
            source = self._source(interest)
            number = partition_of(source.topic, interest.index).number
            bounds = self._log.bounds(number)
        except UnknownTopic as error:
            by_id = interest.topic_id != NO_UUID
            return _failed(interest, number, ErrorCode.UNKNOWN_TOPIC_ID if by_id else error_code(error))
        except BraidError as error:
            return _failed(interest, number, error_code(error))
        if (stale := stale_epoch(interest.leader_epoch)) is not None:
            return _failed(interest, number, stale)
        if source.chosen is not None and self._version < _BATCHES_MIN_VERSION:
            return _failed(interest, number, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
        return _Read(interest, number, 0, bounds, _NOTHING, self._sieve(interest, source.chosen))

    def _source(self, interest: Interest) -> Source:
        """Partitions of one topic come one behind the other, and are looked up together. Raises UnknownTopic,
        InvalidFilter."""
        known = self._known
        if known is None or known[0] != interest.topic or known[1] != interest.topic_id:
            source = find_source(self._call.services, interest.topic, interest.topic_id)
            known = self._known = (interest.topic, interest.topic_id, source)
        return known[2]

    def _sieve(self, interest: Interest, chosen: Filter | None) -> Sieve | None:
        """The partition's sieve, which stays the same while this fetch goes on."""
        if chosen is None or isinstance(chosen, Everything):
            return None
        if (sieve := self._sieves.get(interest.key)) is None:
            sieve = self._sieves[interest.key] = Sieve(chosen, interest.offset)
        return sieve

    def _try(self, found: _Read, bytes_max: int) -> _Read | None:
        offset: int | None = found.interest.offset
        try:
            while offset is not None:
                fetched = self._log.read_now(found.number, offset, max(bytes_max, 1), committed=self._committed)
                if fetched is None:
                    return None
                found, offset = self._taken(found, fetched)
        except BraidError as error:
            return _failed(found.interest, found.number, error_code(error))
        return found

    async def _read_one(self, found: _Read, bytes_max: int, before: list[_Read]) -> _Read:
        if found.sieve is not None:
            missing_bytes = self._call.request.min_bytes - sum(read.wanted_bytes for read in before)
            return await self._sift(found, found.sieve, bytes_max, missing_bytes)
        offset: int | None = found.interest.offset
        try:
            while offset is not None:
                fetched = await self._log.read(found.number, offset, max(bytes_max, 1), committed=self._committed)
                found, offset = self._taken(found, fetched)
        except BraidError as error:
            return _failed(found.interest, found.number, error_code(error))
        return found

    async def _sift(self, found: _Read, sieve: Sieve, bytes_max: int, missing_bytes: int) -> _Read:
        """Look through one piece, and on until nothing is missing or the time is over. Others have their turn between
        two pieces."""
        time = asyncio.get_running_loop().time
        try:
            while sieve.size_bytes < bytes_max and not sieve.is_tired:
                piece_bytes = min(bytes_max - sieve.size_bytes, _SIFTED_BYTES)
                fetched = await self._log.read(found.number, sieve.offset, piece_bytes, committed=self._committed)
                sieve.take(fetched)
                if not fetched.data or sieve.kept_bytes >= missing_bytes or time() >= self._deadline:
                    break
                await asyncio.sleep(0)
        except BraidError as error:
            return _failed(found.interest, found.number, error_code(error))
        return found._replace(fetched=sieve.result())

    def _taken(self, found: _Read, fetched: Fetched) -> tuple[_Read, int | None]:
        """The read with what was fetched; and where to read on, if a client of old formats gets nothing of it."""
        if self._version >= _BATCHES_MIN_VERSION or not fetched.data:
            return _Read(found.interest, found.number, 0, found.bounds, fetched, found.sieve), None
        magic = 1 if self._version >= _TIMESTAMPS_MIN_VERSION else 0
        messages = downgrade_batches(fetched.data, magic, found.interest.offset)
        return found._replace(fetched=Fetched(messages)), None if messages else _offset_behind(fetched.data)

    def is_enough(self) -> bool:
        request = self._call.request
        if request.max_wait_ms <= 0 or not self._reads:
            return not self._is_waiting_for_nothing()
        total = 0
        for read in self._reads:
            if read.error or (read.sieve is not None and read.sieve.is_tired):
                return True
            total += read.wanted_bytes
        return total >= request.min_bytes

    def _is_waiting_for_nothing(self) -> bool:
        """A session without partitions has nothing to be answered before its time is over."""
        return not self._reads and self._session is not None and self._call.request.max_wait_ms > 0

    def response(self) -> FetchResponse:
        topics: dict[tuple[str, bytes], _Topic] = {}
        for read in self._reads:
            interest = read.interest
            if not self._is_full and not _has_news(read):
                continue
            interest.told_end, interest.told_start = read.bounds.end, read.bounds.start
            key = interest.topic, interest.topic_id
            if (topic := topics.get(key)) is None:
                topic = topics[key] = _Topic(topic=interest.topic, topic_id=interest.topic_id, partitions=[])
            topic.partitions.append(self._partition(read))
            if read.fetched.data:
                self._served(read)
        return FetchResponse(
            session_id=self._session.id if self._session is not None else 0, responses=list(topics.values())
        )

    def _served(self, read: _Read) -> None:
        if self._session is not None:
            self._session.served(read.interest)
        if self._version >= _BATCHES_MIN_VERSION:
            self._call.services.outlet.gave_batches(read.number, read.fetched.data)

    def _partition(self, read: _Read) -> _Partition:
        index = read.interest.index
        if read.error:
            return _Partition(partition_index=index, error_code=read.error, high_watermark=-1)
        records: Buffer = read.fetched.data
        if _BATCHES_MIN_VERSION <= self._version < _ZSTD_MIN_VERSION and _has_zstd(records):
            return _Partition(partition_index=index, error_code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        aborted = None
        if self._committed:
            aborted = [
                FetchResponse.AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
                for each in read.fetched.aborted
            ]
        return _Partition(
            partition_index=index,
            high_watermark=read.bounds.end,
            last_stable_offset=read.bounds.stable,
            log_start_offset=read.bounds.start,
            aborted_transactions=aborted,
            records=records,
        )


class _Waiting:
    """A fetch that waits for data. Who brings it answers it, in the same turn; a task only reads from the disk."""

    __slots__ = ("_timer", "_watch", "_work", "answer")

    def __init__(self, work: _Fetch) -> None:
        self._work = work
        self._watch: Watch | None = None
        self.answer = Later()
        self.answer.on_lost = self._stop
        self._timer = asyncio.get_running_loop().call_later(max(work.left_s(), 0), self._time_over)
        try:
            self._watch = work.watch(self._on_data)
        except BraidError:
            self._go_on()  # a topic went away; reading again says so

    def _stop(self) -> None:
        self._timer.cancel()
        if self._watch is not None:
            self._watch.cancel()

    def _on_data(self, _: int) -> None:
        try:
            if not self._work.read_now():
                self._go_on()
            elif self._work.is_enough():
                self._tell()
        except Exception as error:  # goes to the connection; the log, from inside of which this comes, goes on
            self._stop()
            self.answer.fail(error)

    def _time_over(self) -> None:
        if self._work.read_now():
            self._tell()
        else:
            self._go_on()

    def _tell(self) -> None:
        self._stop()
        self.answer.tell(self._work.response())

    def _go_on(self) -> None:
        """Something must be read from the disk, or is not there any more."""
        self._stop()
        self.answer.follow(asyncio.ensure_future(self._work.answer()))


def _fitting(fetched: _Read, empty: _Read, bytes_max: int, before: list[_Read]) -> _Read:
    """What was fetched; or nothing where it is more than that: only the first data may be larger than all limits."""
    if len(fetched.fetched.data) <= bytes_max or not any(read.fetched.data for read in before):
        return fetched
    return empty


def _failed(interest: Interest, number: int, error: int) -> _Read:
    return _Read(interest, number, error, Bounds(-1, -1, -1), _NOTHING)


def _has_news(read: _Read) -> bool:
    return bool(
        read.error
        or read.fetched.data
        or read.bounds.end != read.interest.told_end
        or read.bounds.start != read.interest.told_start
    )


def _offset_behind(records: Buffer) -> int:
    offset = 0
    for batch in batches_in(records):
        offset = batch.last_offset + 1
    return offset


def _has_zstd(records: Buffer) -> bool:
    return any(batch.codec is Codec.ZSTD for batch in batches_in(records))
