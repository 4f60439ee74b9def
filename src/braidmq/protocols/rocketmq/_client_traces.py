"""What RocketMQ's clients tell of themselves, in a topic of their own, where tracing is turned on in them.

A message of that topic holds several records, and has the ids of the messages that they are about among its keys: so
they are found as any other message is. Clients write what they like there; what cannot be read is passed over.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from braidmq.core.query import Query
from braidmq.model import TraceEvent, TraceKind
from braidmq.model.errors import IndexOff
from braidmq.protocols.rocketmq._queues import TRACE_TOPIC
from braidmq.protocols.rocketmq._services import RocketMQServices

RECORD_END: Final = "\x02"
FIELD_END: Final = "\x01"
MESSAGES_MAX: Final = 100


class ClientTraces:
    """See `core.trace.Witness`."""

    def __init__(self, services: RocketMQServices) -> None:
        self._topics = services.topics
        self._query: Query = services.query

    async def events(self, message_id: str) -> Sequence[TraceEvent]:
        topic = self._topics.find(TRACE_TOPIC)
        if topic is None:
            return ()
        try:
            found = await self._query.by_key(topic, message_id, limit=MESSAGES_MAX)
        except IndexOff:
            return ()
        return [
            event
            for message in found
            for event in read_traces((message.body or b"").decode(errors="replace"), message.born_ms)
            if event.message_id == message_id
        ]


def read_traces(text: str, told_ms: int) -> Iterator[TraceEvent]:
    """The records of one message; `told_ms` is when it was sent, for those that say no time."""
    for record in text.split(RECORD_END):
        fields = record.split(FIELD_END)
        read = _READERS.get(fields[0])
        if read is not None:
            try:
                yield read(fields, told_ms)
            except (IndexError, ValueError):
                continue


def _sent(fields: Sequence[str], _: int) -> TraceEvent:
    # type, time, region, group, topic, id, tags, keys, store host, body length, cost, kind, offset id, success, client
    return TraceEvent(
        kind=TraceKind.CLIENT_SENT,
        at_ms=int(fields[1]),
        message_id=fields[5],
        topic=fields[4],
        group=fields[3],
        client=fields[14] if len(fields) > 14 else "",
        value=int(fields[10]) if fields[13] == "true" else -1,
    )


def _began(fields: Sequence[str], _: int) -> TraceEvent:
    # type, time, region, group, request id, id, retry times, keys
    return TraceEvent(
        kind=TraceKind.CLIENT_BEGAN,
        at_ms=int(fields[1]),
        message_id=fields[5],
        group=fields[3],
        value=int(fields[6]),
    )


def _finished(fields: Sequence[str], told_ms: int) -> TraceEvent:
    # type, request id, id, cost, success, keys, context code, time, group: the last two of clients since 4.x only
    return TraceEvent(
        kind=TraceKind.CLIENT_FINISHED,
        at_ms=int(fields[7]) if len(fields) > 8 else told_ms,
        message_id=fields[2],
        group=fields[8] if len(fields) > 8 else "",
        value=int(fields[3]) if fields[4] == "true" else -1,
    )


def _ended(fields: Sequence[str], _: int) -> TraceEvent:
    # type, time, region, group, topic, id, tags, keys, store host, kind, transaction id, state, from a check
    return TraceEvent(
        kind=TraceKind.CLIENT_ENDED,
        at_ms=int(fields[1]),
        message_id=fields[5],
        topic=fields[4],
        group=fields[3],
        value={"COMMIT_MESSAGE": 1, "ROLLBACK_MESSAGE": 0}.get(fields[11], -1),
    )


def _recalled(fields: Sequence[str], _: int) -> TraceEvent:
    # type, time, region, group, topic, id, success
    return TraceEvent(
        kind=TraceKind.CLIENT_RECALLED,
        at_ms=int(fields[1]),
        message_id=fields[5],
        topic=fields[4],
        group=fields[3],
        value=1 if fields[6] == "true" else -1,
    )


_READERS: Final = {
    "Pub": _sent,
    "SubBefore": _began,
    "SubAfter": _finished,
    "EndTransaction": _ended,
    "Recall": _recalled,
}
