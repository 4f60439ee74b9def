"""Plain produce requests: the most frequent of requests, from a frame to the log and back. Hot path.

Nothing is meant here that `handlers/produce.py` does not mean: what is plain ends as it would end there, and whatever
is not is left to it before anything has happened. So is everything where the codec of plain requests is not compiled.
"""

import time
from typing import TYPE_CHECKING

from braidmq.log import Appended, AppendResult
from braidmq.model import BraidError
from braidmq.protocols.kafka._call import Call, Client
from braidmq.protocols.kafka._later import Later
from braidmq.protocols.kafka._partitions import find_own_topic
from braidmq.protocols.kafka._services import KafkaServices
from braidmq.protocols.kafka.codec import decode_request, encode_response
from braidmq.protocols.kafka.codec.messages.produce import ProduceRequest
from braidmq.protocols.kafka.handlers.produce import answer_stored
from braidmq.records import Batch

try:
    from braidmq.protocols.kafka.codec._produces import read_produce
except ImportError:
    _IS_COMPILED = False
else:
    _IS_COMPILED = True

if TYPE_CHECKING:
    from braidmq.protocols.kafka.codec._produces import Produce


def begin_plain(frame: bytes, client: Client, services: KafkaServices) -> Later | None:
    """The answer to a plain request, as a frame; None where the general way must be gone: then nothing has happened."""
    plain = read_produce(frame) if _IS_COMPILED else None
    if plain is None:
        return None
    entries = _admitted(plain, services)
    if entries is None:
        return None
    client.id = plain.client_id
    work = _PlainProduce(frame, plain, entries, client, services)
    services.log.append_then(entries, work.finish)
    return work.answer


def _admitted(plain: "Produce", services: KafkaServices) -> list[tuple[int, Batch]] | None:
    """What goes to the log; None where something is refused, or gets another time than its producer's."""
    entries: list[tuple[int, Batch]] = []
    now_ms = time.time_ns() // 1_000_000
    try:
        for name, indexes, batches in plain.topics:
            topic = find_own_topic(services, name) if isinstance(name, str) else find_own_topic(services, "", name)
            admission = services.admissions.of(topic)
            if admission.append_time:
                return None
            admit, numbers = admission.admit, topic.partition_numbers
            if min(indexes) < 0 or max(indexes) >= len(numbers):
                return None
            for index, batch in zip(indexes, batches, strict=True):
                entries.append((numbers[index], admit(batch, now_ms)))
    except BraidError:
        return None
    return entries


class _PlainProduce:
    """A request whose batches are on their way to the log."""

    __slots__ = ("_client", "_entries", "_frame", "_plain", "_services", "answer")

    def __init__(
        self, frame: bytes, plain: "Produce", entries: list[tuple[int, Batch]], client: Client, services: KafkaServices
    ) -> None:
        self._frame = frame
        self._plain = plain
        self._entries = entries
        self._client = client
        self._services = services
        self.answer = Later()

    def finish(self, results: list[AppendResult]) -> None:
        try:
            self.answer.tell(self._told(results))
        except Exception as error:  # goes to the connection; the log, from inside of which this comes, goes on
            self.answer.fail(error)

    def _told(self, results: list[AppendResult]) -> bytes:
        appended = [result for result in results if isinstance(result, Appended)]
        if len(appended) < len(results):
            return self._told_in_general(results)
        tally = self._services.tally
        for (number, batch), result in zip(self._entries, appended, strict=True):
            if not result.duplicate:
                tally.stored(number, batch)
        return self._plain.answer(appended)

    def _told_in_general(self, results: list[AppendResult]) -> bytes:
        header, request = decode_request(self._frame)
        assert isinstance(request, ProduceRequest)
        call = Call(header, request, self._client, self._services)
        return encode_response(header, answer_stored(call, self._entries, results))
