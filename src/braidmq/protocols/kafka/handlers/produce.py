"""Produce (0): batches into partitions. Hot path: batches are checked and stored as they came, not opened.

Versions 0 to 2 carry message sets of the old formats, which are made into one batch. From version 3 on a partition's
records are exactly one batch of format 2. acks 1 and all mean the same here: answered when stored as `log.flush` says.
acks 0 gets no answer, and a closed connection where something was refused. A batch of a transaction needs one that is
open and has its partition, else INVALID_TXN_STATE (TRANSACTION_ABORTABLE for clients that know it). From version 12 on
the partition is added by this, which has to be durable before the records are stored; what follows on the same
connection waits behind it, so that sequences stay in order.
"""

import time
from collections.abc import Awaitable
from typing import Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.transactions import ProducerIdentity
from braidmq.log import Appended, AppendResult
from braidmq.model import BraidError, Topic
from braidmq.model.errors import (
    InvalidRecord,
    InvalidTransactionState,
    OutOfOrderSequence,
    ProducerFenced,
    StoreFailed,
    UnsupportedCompression,
)
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._errors import CloseConnection, error_code
from braidmq.protocols.kafka._later import Later
from braidmq.protocols.kafka._operations import Response, answers
from braidmq.protocols.kafka._partitions import find_own_topic, partition_of
from braidmq.protocols.kafka.codec import NO_UUID, ApiKey, Buffer, ErrorCode
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest, ProduceResponse
from braidmq.records import Batch, Codec, split_batches, upgrade_message_set

_BATCHES_MIN_VERSION: Final = 3
_ZSTD_MIN_VERSION: Final = 7
_ABORTABLE_MIN_VERSION: Final = 11
_ADDS_MIN_VERSION: Final = 12
_ACKS: Final = (-1, 0, 1)

_Partition = ProduceResponse.PartitionProduceResponse
_Topic = ProduceResponse.TopicProduceResponse
_Fate = BraidError | ErrorCode | None
"""Why a partition's records are refused before they reach the log; None if they are not."""


@answers(ApiKey.PRODUCE, versions=(0, 13), action=Action.PUBLISH, resource=ResourceKind.TOPIC)
def produce(call: Call[ProduceRequest]) -> Later | Awaitable[Response]:
    work = _Produce(call)
    work.check()
    return work.begin()


def answer_stored(
    call: Call[ProduceRequest], entries: list[tuple[int, Batch]], results: list[AppendResult]
) -> ProduceResponse:
    """The answer to a request of which every partition went to the log; it is counted."""
    work = _Produce(call)
    work.take(entries)
    return work.count_and_answer(results)


class _Produce:
    """One request, from its batches to its answer."""

    __slots__ = ("_answer", "_call", "_entries", "_fates", "_members", "_must_add", "_now_ms")

    def __init__(self, call: Call[ProduceRequest]) -> None:
        self._call = call
        self._entries: list[tuple[int, Batch]] = []
        self._fates: list[_Fate] = []
        self._members: dict[ProducerIdentity, list[int]] | None = None
        """The partitions that producers write to in transactions, where that adds them."""
        self._must_add = False
        self._now_ms = time.time_ns() // 1_000_000
        self._answer = Later()

    def take(self, entries: list[tuple[int, Batch]]) -> None:
        """Take what was sorted elsewhere, and nothing of it refused."""
        self._entries = entries
        self._fates = [None] * len(entries)

    def check(self) -> None:
        """Sort every partition's records into what goes to the log and what is refused."""
        request = self._call.request
        bad_acks = ErrorCode.INVALID_REQUIRED_ACKS if request.acks not in _ACKS else None
        for asked in request.topic_data:
            topic: Topic | None = None
            refused: _Fate = bad_acks
            try:
                topic = find_own_topic(self._call.services, asked.name, asked.topic_id)
            except BraidError as error:
                refused = refused or _unknown(error, by_id=asked.topic_id != NO_UUID)
            for partition in asked.partition_data:
                self._fates.append(
                    refused if refused is not None or topic is None else self._check_partition(topic, partition)
                )

    def _check_partition(self, topic: Topic, asked: ProduceRequest.PartitionProduceData) -> _Fate:
        try:
            number = partition_of(topic, asked.index).number
            batch = _one_batch(asked.records, self._call.version)
            if batch.is_transactional and (refused := self._check_transaction(number, batch)) is not None:
                return refused
            self._entries.append((number, self._call.services.admissions.of(topic).admit(batch, self._now_ms)))
        except BraidError as error:
            return error
        return None

    def _check_transaction(self, number: int, batch: Batch) -> _Fate:
        transactions = self._call.services.transactions
        refused = transactions.check_batch(batch, number)
        if self._call.version >= _ADDS_MIN_VERSION:
            is_missing = isinstance(refused, InvalidTransactionState)
            if refused is None or is_missing:
                self._note_member(number, batch)
                self._must_add = self._must_add or is_missing or transactions.is_changing(batch.producer_id)
                return None
        if isinstance(refused, InvalidTransactionState) and self._call.version >= _ABORTABLE_MIN_VERSION:
            return ErrorCode.TRANSACTION_ABORTABLE
        return refused

    def _note_member(self, number: int, batch: Batch) -> None:
        if self._members is None:
            self._members = {}
        self._members.setdefault(ProducerIdentity(batch.producer_id, batch.producer_epoch), []).append(number)

    def begin(self) -> Later | Awaitable[Response]:
        """The answer, which comes when the log has stored what it was given."""
        if self._must_add and self._members:
            return self._add_and_append(self._members)
        self._append()
        return self._answer

    def _append(self) -> None:
        if self._entries:
            self._call.services.log.append_then(self._entries, self._finish)
        else:
            self._finish([])

    async def _add_and_append(self, members: dict[ProducerIdentity, list[int]]) -> Response:
        """A request is of one producer, so that all of its partitions are added at once, and appended in turn."""
        (producer, numbers), *others = members.items()
        refused: BraidError | ErrorCode | None = ErrorCode.INVALID_REQUEST if others else None
        if refused is None:
            try:
                await self._call.services.transactions.add(
                    self._call.request.transactional_id or "", producer, numbers, then=self._append_in_turn
                )
            except BraidError as error:
                refused = _not_added(error)
        if refused is not None:
            self._refuse({number for each in members.values() for number in each}, refused)
            self._append()
        return await self._answer.wait()

    def _append_in_turn(self) -> None:
        """A partition takes any first sequence of a producer that it does not know. Here that would hide that an
        earlier request, whose partition could not be added, is still to come again."""
        early = {
            number for number, batch in self._entries if batch.base_sequence > 0 and not self._knows(number, batch)
        }
        if early:
            self._refuse(early, OutOfOrderSequence("what the producer sent before is not here yet"))
        self._append()

    def _knows(self, number: int, batch: Batch) -> bool:
        known = self._call.services.log.producers(number)
        return any(producer.producer_id == batch.producer_id for producer in known)

    def _refuse(self, numbers: set[int], why: BraidError | ErrorCode) -> None:
        """Take the batches for these partitions out again."""
        entries = iter(self._entries)
        kept: list[tuple[int, Batch]] = []
        for place, fate in enumerate(self._fates):
            if fate is None:
                entry = next(entries)
                if entry[0] in numbers:
                    self._fates[place] = why
                else:
                    kept.append(entry)
        self._entries = kept

    def _finish(self, results: list[AppendResult]) -> None:
        try:
            self._answer.tell(self._told(results))
        except Exception as error:  # goes to the connection; the log, from inside of which this comes, goes on
            self._answer.fail(error)

    def _told(self, results: list[AppendResult]) -> ProduceResponse | None:
        """Raises CloseConnection where something was refused of what wants no answer."""
        response = self.count_and_answer(results)
        if self._call.request.acks != 0:
            return response
        self._check_silently(results)
        return None

    def count_and_answer(self, results: list[AppendResult]) -> ProduceResponse:
        tally = self._call.services.tally
        for (number, batch), result in zip(self._entries, results, strict=True):
            if not isinstance(result, Appended):
                tally.refused(number, batch)
            elif not result.duplicate:
                tally.stored(number, batch)
        return self._response(results)

    def _check_silently(self, results: list[AppendResult]) -> None:
        refused = next((fate for fate in self._fates if fate is not None), None) or next(
            (result for result in results if isinstance(result, BraidError)), None
        )
        if refused is not None:
            raise CloseConnection(f"records sent without wanting an answer: {refused!r}")

    def _response(self, results: list[AppendResult]) -> ProduceResponse:
        fates = iter(self._fates)
        stored = zip(self._entries, results, strict=True)
        responses = []
        for asked in self._call.request.topic_data:
            partitions = []
            for partition in asked.partition_data:
                fate = next(fates)
                if fate is None:
                    (_, batch), result = next(stored)
                    partitions.append(_stored(partition.index, batch, result))
                else:
                    partitions.append(_refused(partition.index, fate))
            responses.append(_Topic(name=asked.name, topic_id=asked.topic_id, partition_responses=partitions))
        return ProduceResponse(responses=responses)


def _one_batch(records: Buffer | None, version: int) -> Batch:
    """Raises InvalidBatch and its kinds, InvalidRecord."""
    if version < _BATCHES_MIN_VERSION:
        return upgrade_message_set(records or b"")
    batches = split_batches(records or b"")
    if len(batches) != 1:
        raise InvalidRecord(f"a partition's records are one batch, not {len(batches)}")
    if version < _ZSTD_MIN_VERSION and batches[0].codec is Codec.ZSTD:
        raise UnsupportedCompression(f"zstd is not known in Produce version {version}")
    if batches[0].producer_id >= 0 and batches[0].base_sequence < 0:
        raise InvalidRecord(f"a producer with an id counts its records; {batches[0].base_sequence} is no such number")
    return batches[0]


def _not_added(error: BraidError) -> BraidError | ErrorCode:
    """What a producer is told when its partitions could not be added."""
    if isinstance(error, ProducerFenced):
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if isinstance(error, StoreFailed):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return error


def _unknown(error: BraidError, *, by_id: bool) -> _Fate:
    return ErrorCode.UNKNOWN_TOPIC_ID if by_id else error


def _stored(index: int, batch: Batch, result: AppendResult) -> _Partition:
    if isinstance(result, BraidError):
        return _refused(index, result)
    return _Partition(
        index=index,
        base_offset=result.base_offset,
        log_append_time_ms=_append_ms(batch, result),
        log_start_offset=result.start_offset,
    )


def _refused(index: int, why: BraidError | ErrorCode) -> _Partition:
    if isinstance(why, ErrorCode):
        return _Partition(index=index, error_code=why, base_offset=-1)
    rejected = why.rejected if isinstance(why, InvalidRecord) else {}
    return _Partition(
        index=index,
        error_code=error_code(why),
        base_offset=-1,
        record_errors=[
            ProduceResponse.BatchIndexAndErrorMessage(batch_index=place, batch_index_error_message=message)
            for place, message in rejected.items()
        ],
        error_message=why.message,
    )


def _append_ms(batch: Batch, result: Appended) -> int:
    """The time that the records carry; for what had been sent before, about the time they got then."""
    if not batch.is_append_time:
        return -1
    return result.append_ms if result.duplicate else batch.max_timestamp
