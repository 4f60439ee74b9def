"""ShareFetch (78): a share consumer says what became of messages that it holds, and takes more of them.

Messages are taken from the group's cursors, one by one; what goes out are the batches that hold them, as they lie in
the log, and the ranges of offsets that are the member's (KIP-932). The client passes over all other records of a batch.
Never more messages are given than the client wants, whichever acquire mode it names (from version 2 on).

A request of epoch 0 opens the session (see `_share_sessions`) and cannot acknowledge anything yet; epoch -1 closes it
and takes nothing. A request that renews locks takes nothing, either.
"""

import bisect
from collections.abc import Iterable, Sequence
from typing import Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.cursors import Ask, Beginning, Delivered
from braidmq.log import GroupOffset, Log
from braidmq.model import DEFAULT_INSTANCE, BraidError, Group, Topic
from braidmq.model.errors import NotPermitted, OffsetOutOfRange, UnknownTopic
from braidmq.model.group_settings import forbidden_topics
from braidmq.model.share_settings import SharePolicy, share_policy
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import error_code
from braidmq.protocols.kafka._operations import answers
from braidmq.protocols.kafka._partitions import find_topic, partition_of
from braidmq.protocols.kafka._share_acknowledgements import acknowledge
from braidmq.protocols.kafka._share_sessions import FINAL_EPOCH, INITIAL_EPOCH, Interest, ShareSession
from braidmq.protocols.kafka.codec import ApiKey, Buffer, ErrorCode
from braidmq.protocols.kafka.codec.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from braidmq.records import batches_in

_BYTES_MAX: Final = 64 << 20
_RECORDS_MAX: Final = 10_000
"""No answer has more, whatever a client asks for."""
_INTERESTS_MAX: Final = 100_000
"""How many partitions a session may name."""
_READ_MIN_BYTES: Final = 16 << 10
_READ_MAX_BYTES: Final = 1 << 20
_COUNT_MAX: Final = (1 << 15) - 1
_WAIT_MAX_MS: Final = 600_000

_Acquired = ShareFetchResponse.AcquiredRecords
_Partition = ShareFetchResponse.PartitionData
_Topic = ShareFetchResponse.ShareFetchableTopicResponse


@answers(ApiKey.SHARE_FETCH, versions=(1, 2), action=Action.CONSUME, resource=ResourceKind.GROUP)
async def share_fetch(call: Call[ShareFetchRequest]) -> ShareFetchResponse:
    refusal = _refusal(call)
    if refusal is not None:
        return refusal
    session = _session(call)
    if isinstance(session, ErrorCode):
        return ShareFetchResponse(error_code=session)
    return await _ShareFetch(call, session).answer()


def _refusal(call: Call[ShareFetchRequest]) -> ShareFetchResponse | None:
    """What is said to a request that cannot be right, whatever the session is."""
    request = call.request
    if not call.services.groups.is_share(request.group_id or ""):
        message = f"there is no group {request.group_id!r} whose members share partitions; join it by a heartbeat first"
        return ShareFetchResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=message)
    if request.share_session_epoch == INITIAL_EPOCH and any(_acknowledged(request)):
        message = "a session that begins has nothing to acknowledge"
        return ShareFetchResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=message)
    if request.is_renew_ack and (request.max_records or request.max_bytes or request.min_bytes or request.max_wait_ms):
        message = "a request that renews locks takes no messages: its limits and its waiting time are 0"
        return ShareFetchResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=message)
    return None


def _acknowledged(request: ShareFetchRequest) -> Iterable[tuple[bytes, ShareFetchRequest.FetchPartition]]:
    for topic in request.topics:
        for asked in topic.partitions:
            if asked.acknowledgement_batches:
                yield topic.topic_id, asked


def _session(call: Call[ShareFetchRequest]) -> ShareSession | ErrorCode:
    request, sessions = call.request, call.services.share_sessions
    group, member_id = request.group_id or "", request.member_id or ""
    if request.share_session_epoch == INITIAL_EPOCH:
        session = sessions.open(group, member_id, call.client.bound)
    else:
        session = sessions.resume(group, member_id, request.share_session_epoch)
    if isinstance(session, ErrorCode) or request.share_session_epoch == FINAL_EPOCH:
        return session
    for topic in request.topics:
        for asked in topic.partitions:
            session.interests.setdefault((topic.topic_id, asked.partition_index))
    for forgotten in request.forgotten_topics_data:
        for index in forgotten.partitions:
            session.interests.pop((forgotten.topic_id, index), None)
    while len(session.interests) > _INTERESTS_MAX:
        session.interests.popitem()
    return session


class _ShareFetch:
    """One request, until it is answered."""

    def __init__(self, call: Call[ShareFetchRequest], session: ShareSession) -> None:
        self._request = call.request
        self._services = call.services
        self._session = session
        self._client_id = call.client_id
        self._group = call.services.catalog.group(DEFAULT_INSTANCE, session.group) or Group(name=session.group)
        self._policy: SharePolicy = share_policy(self._group.settings)
        self._partitions: dict[Interest, _Partition] = {}
        self._places: dict[int, Interest] = {}

    async def answer(self) -> ShareFetchResponse:
        await self._acknowledge()
        if self._request.share_session_epoch == FINAL_EPOCH:
            self._services.share_sessions.end(self._session, counts=False)
        elif not self._request.is_renew_ack:
            try:
                await self._take()
            except BraidError as error:
                return ShareFetchResponse(error_code=error_code(error), error_message=error.message)
        return ShareFetchResponse(acquisition_lock_timeout_ms=self._policy.lock_ms, responses=self._topics())

    def _partition(self, interest: Interest) -> _Partition:
        found = self._partitions.get(interest)
        if found is None:
            found = self._partitions[interest] = _Partition(partition_index=interest[1])
        return found

    def _topics(self) -> list[_Topic]:
        topics: dict[bytes, _Topic] = {}
        for (topic_id, _), partition in self._partitions.items():
            if topic_id not in topics:
                topics[topic_id] = _Topic(topic_id=topic_id, partitions=[])
            topics[topic_id].partitions.append(partition)
        return list(topics.values())

    async def _acknowledge(self) -> None:
        for topic_id, asked in _acknowledged(self._request):
            answer = self._partition((topic_id, asked.partition_index))
            try:
                await acknowledge(
                    self._services,
                    self._session,
                    topic_id,
                    asked.partition_index,
                    asked.acknowledgement_batches,
                    may_renew=self._request.is_renew_ack,
                )
            except BraidError as error:
                answer.acknowledge_error_code = _code(error)
                answer.acknowledge_error_message = error.message

    # Taking messages.

    async def _take(self) -> None:
        asks = await self._asks()
        if not asks or self._request.max_records <= 0 or self._request.max_bytes <= 0:
            return
        # Who has something to hear is not kept waiting.
        wait_ms = 0 if self._partitions else min(max(self._request.max_wait_ms, 0), _WAIT_MAX_MS)
        batch = await self._services.cursors.receive_any(asks, wait_s=wait_ms / 1000)
        if self._session.is_ended:
            self._services.cursors.take_back(self._session.group, batch)
            return
        self._session.hold(batch, self._services.cursors.now_ms(), self._policy.lock_ms)
        await self._give(batch)

    async def _asks(self) -> list[Ask]:
        asks = []
        forbidden = forbidden_topics(self._group.settings)
        for interest in list(self._session.interests):
            try:
                topic = find_topic(self._services, "", interest[0])
                number = partition_of(topic, interest[1]).number
                if topic.name in forbidden:
                    raise NotPermitted(f"the group {self._group.name!r} is forbidden to read {topic.name!r}")
                await self._begin(number)
            except BraidError as error:
                answer = self._partition(interest)
                answer.error_code, answer.error_message = _code(error), error.message
                continue
            self._places[number] = interest
            asks.append(self._ask(topic, interest[1]))
        return asks

    async def _begin(self, number: int) -> None:
        """Where a group begins by time, it is set there before it takes anything."""
        ago_ms = self._policy.reset.ago_ms
        if ago_ms is None or self._services.cursors.has_begun(self._session.group, number):
            return
        since_ms = max(self._services.cursors.now_ms() - ago_ms, 0)
        found = await self._services.log.offset_for_time(number, since_ms)
        offset = self._services.log.bounds(number).stable if found is None else found.offset
        offsets = {number: GroupOffset(offset)}
        await self._services.groups.commit(self._session.group, None, offsets, is_progress=False)

    def _ask(self, topic: Topic, index: int) -> Ask:
        return Ask(
            group=self._session.group,
            topic=topic,
            partition=index,
            count_max=min(self._request.max_records, _RECORDS_MAX),
            bytes_max=min(self._request.max_bytes, _BYTES_MAX),
            invisible_ms=self._policy.lock_ms,
            is_ordered=self._group.ordered,
            client=self._client_id,
            beginning=Beginning.START if self._policy.reset.at_start else Beginning.END,
            committed=self._policy.is_committed,
        )

    async def _give(self, batch: Sequence[Delivered]) -> None:
        by_number: dict[int, list[Delivered]] = {}
        for each in batch:
            by_number.setdefault(each.receipt.number, []).append(each)
        for number, given in by_number.items():
            given.sort(key=lambda each: each.record.offset)
            answer = self._partition(self._places[number])
            answer.records = await _batches(self._services.log, number, given)
            answer.acquired_records = _acquired(given)
        self._session.served(self._places[number] for number in by_number)
        self._services.outlet.gave_each(self._session.group, ((each.receipt.number, each.record) for each in batch))


def _code(error: BraidError) -> ErrorCode:
    if isinstance(error, NotPermitted):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.UNKNOWN_TOPIC_ID if isinstance(error, UnknownTopic) else error_code(error)


def _acquired(given: Iterable[Delivered]) -> list[_Acquired]:
    """Ranges of offsets that follow each other and were given out equally often."""
    ranges: list[_Acquired] = []
    for each in given:
        offset, count = each.record.offset, min(each.attempt, _COUNT_MAX)
        if ranges and ranges[-1].last_offset == offset - 1 and ranges[-1].delivery_count == count:
            ranges[-1].last_offset = offset
        else:
            ranges.append(_Acquired(first_offset=offset, last_offset=offset, delivery_count=count))
    return ranges


async def _batches(log: Log, number: int, given: Sequence[Delivered]) -> bytes:
    """The batches that hold these messages, in order, and no others."""
    offsets = [each.record.offset for each in given]
    wanted_bytes = sum(len(each.record.value or b"") for each in given)
    read_bytes = min(max(2 * wanted_bytes, _READ_MIN_BYTES), _READ_MAX_BYTES)
    pieces: list[Buffer] = []
    at = 0
    while at < len(offsets):
        try:
            fetched = log.read_now(number, offsets[at], read_bytes) or await log.read(number, offsets[at], read_bytes)
        except OffsetOutOfRange:
            at += 1  # the log has let go of it this moment; the client says that there is a gap
            continue
        at = _pick(fetched.data, offsets, at, pieces)
    return b"".join(pieces)


def _pick(data: Buffer, offsets: Sequence[int], at: int, pieces: list[Buffer]) -> int:
    """Take those of the batches that hold wanted offsets; how many of these are served then, at least one more."""
    first = at
    for batch in batches_in(data):
        behind = bisect.bisect_right(offsets, batch.last_offset, at)
        if behind > at:
            pieces.append(batch.data)
            at = behind
        if at == len(offsets):
            break
    return max(at, first + 1)
