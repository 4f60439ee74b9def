"""kio (Aiven): made from Kafka's specs like ours, by other hands. Versions of Kafka 4.x, every API.

It holds times as datetimes, spans as timedeltas and error codes as an enum, so values are narrowed to what those take.
"""

import dataclasses
import datetime
import io
import uuid
from typing import Any

from hypothesis import strategies as st
from kio.index import UnknownAPIKey, UnknownEntity, load_entity_schema, load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from braidmq.protocols.kafka.codec import ApiMessage
from braidmq.protocols.kafka.codec._schema import Field, Kind
from kafka_oracles.values import Plain, comparable, ids_but_zero

NAME = "kio"
ABSENT_IS_DEFAULT = True
UNCOMPARED: frozenset[str] = frozenset()

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_TIMES_MS = st.integers(0, 1 << 41)
_DATA_NAMES = {
    "ConsumerProtocolAssignment": "consumer_protocol_assignment",
    "ConsumerProtocolSubscription": "consumer_protocol_subscription",
    "RequestHeader": "request_header",
    "ResponseHeader": "response_header",
}


def covers(kind: type[ApiMessage], version: int) -> bool:
    return _entity(kind, version) is not None


def narrow(field: Field) -> st.SearchStrategy[Any] | None:
    """Known error codes, times from the epoch on, and ids other than zero."""
    if field.shape.kind is not Kind.FIXED:
        return ids_but_zero(field)
    if field.name.endswith("error_code"):
        return st.sampled_from([code.value for code in ErrorCode])
    if field.shape.format == "q" and ("_ms" in field.name or "timestamp" in field.name):
        return _TIMES_MS
    return ids_but_zero(field)


def read(kind: type[ApiMessage], version: int, data: bytes) -> Plain:
    value, size = entity_reader(_entity(kind, version))(data, 0)
    assert size == len(data)
    found: Plain = _plain(value)
    return found


def rewritten(kind: type[ApiMessage], version: int, data: bytes) -> bytes:
    """The bytes that kio writes for what it read."""
    entity = _entity(kind, version)
    value, _ = entity_reader(entity)(data, 0)
    buffer = io.BytesIO()
    entity_writer(entity)(buffer, value)
    return buffer.getvalue()


def _entity(kind: type[ApiMessage], version: int) -> Any:
    try:
        if kind.API_KEY < 0:
            entity_type = EntityType.header if kind.__name__.endswith("Header") else EntityType.data
            return load_entity_schema(_DATA_NAMES[kind.__name__], version, entity_type)  # type: ignore[arg-type]
        load = load_request_schema if kind.__name__.endswith("Request") else load_response_schema
        return load(kind.API_KEY, version)
    except (UnknownAPIKey, UnknownEntity):
        return None


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {comparable(field.name): _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [_plain(element) for element in value]
    if isinstance(value, datetime.datetime):
        return (value - _EPOCH) // datetime.timedelta(milliseconds=1)
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(milliseconds=1)
    if isinstance(value, uuid.UUID):
        return value.bytes
    return value.value if isinstance(value, ErrorCode) else value
