"""Messages of RocketMQ's gRPC clients and messages of the house. Hot path.

What lies in the log is what RocketMQ's other clients would have written: properties are headers under their names, and
the small header of RocketMQ's own says where and when the message came in.
"""

import hashlib
import zlib
from collections.abc import Mapping
from typing import Any, Final

from braidmq.core.properties import (
    ID_BYTES_MAX,
    PROPERTIES_BYTES_MAX,
    PROPERTIES_MAX,
    carried_bytes,
    has_control_characters,
    is_tag,
)
from braidmq.model import (
    ATTEMPT_HEADER,
    BORN_HEADER,
    DEAD_ID_HEADER,
    DEAD_TOPIC_HEADER,
    HTTP_HEADER,
    ID_HEADER,
    KEYS_HEADER,
    LITE_TOPIC_HEADER,
    PRIORITY_HEADER,
    ROCKETMQ_HEADER,
    SHARDING_KEY_HEADER,
    TAG_HEADER,
    Header,
    Message,
)
from braidmq.model.errors import MessageTooLarge
from braidmq.model.numbers import TIME_DIGITS_MAX, whole_number
from braidmq.protocols.rocketmq.codec import Host
from braidmq.protocols.rocketmq.codec.mapping import own_header, read_own_header
from braidmq.protocols.rocketmq.codec.messages import TRANSACTION_COMMIT
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc.codes import Code, DigestType, Encoding, MessageType, Refused
from braidmq.records import Record

DELIVER_AT: Final = "TIMER_DELIVER_MS"
HALF: Final = "TRAN_MSG"
TRACE_CONTEXT: Final = "TRACE_CONTEXT"
BORN_HOST: Final = "__BORNHOST"
DELAY_LEVEL: Final = "DELAY"

RESERVED: Final = frozenset(
    {
        TAG_HEADER,
        KEYS_HEADER,
        ID_HEADER,
        SHARDING_KEY_HEADER,
        PRIORITY_HEADER,
        LITE_TOPIC_HEADER,
        ATTEMPT_HEADER,
        BORN_HEADER,
        DEAD_TOPIC_HEADER,
        DEAD_ID_HEADER,
        HTTP_HEADER,
        ROCKETMQ_HEADER,
        DELIVER_AT,
        HALF,
        TRACE_CONTEXT,
        BORN_HOST,
        DELAY_LEVEL,
        *[
            "WAIT",
            "CLUSTER",
            "MSG_REGION",
            "TRACE_ON",
            "INSTANCE_ID",
            "TIMER_DELAY_SEC",
            "TIMER_DELAY_MS",
            "TIMER_OUT_MS",
        ],
        *[
            "TIMER_ENQUEUE_MS",
            "TIMER_DEQUEUE_MS",
            "TIMER_ROLL_TIMES",
            "TIMER_DEL_UNIQKEY",
            "PGROUP",
            "__transactionId__",
        ],
        *["TRAN_PREPARED_QUEUE_OFFSET", "TRANSACTION_CHECK_TIMES", "CHECK_IMMUNITY_TIME_IN_SECONDS", "REAL_TOPIC"],
        *[
            "REAL_QID",
            "RETRY_TOPIC",
            "ORIGIN_MESSAGE_ID",
            "MAX_RECONSUME_TIMES",
            "POP_CK",
            "1ST_POP_TIME",
            "CORRELATION_ID",
        ],
        *["REPLY_TO_CLIENT", "TTL", "ARRIVE_TIME", "PUSH_REPLY_TIME", "MSG_TYPE", "INNER_MULTI_DISPATCH"],
        *["INNER_MULTI_QUEUE_OFFSET", "MIN_OFFSET", "MAX_OFFSET", "CONSUME_START_TIME"],
    }
)
"""Properties with a meaning of their own: users neither set nor see them by the name."""

GROUP_BYTES_MAX: Final = 64

_TYPES: Final = {HALF: MessageType.TRANSACTION, DELIVER_AT: MessageType.DELAY, DELAY_LEVEL: MessageType.DELAY}
_EITHER_HEADER: Final = 32 + zlib.MAX_WBITS


# What clients send.


def type_of(message: Any) -> MessageType:
    """What kind of message it is, by what it carries. Raises Refused where it says that it is another."""
    properties = message.system_properties
    declared = properties.message_type
    found = MessageType.NORMAL
    marks = [
        properties.HasField("delivery_timestamp"),
        bool(properties.message_group),
        properties.HasField("priority"),
        properties.HasField("lite_topic"),
    ]
    if declared == MessageType.TRANSACTION:
        found = MessageType.TRANSACTION
    elif marks[0]:
        found = MessageType.DELAY
    elif marks[1]:
        found = MessageType.FIFO
    elif marks[2]:
        found = MessageType.PRIORITY
    elif marks[3]:
        found = MessageType.LITE
    if declared == MessageType.LITE and not marks[3]:
        raise Refused(Code.ILLEGAL_LITE_TOPIC, "a message of this type names its lite topic")
    if declared == MessageType.FIFO and not marks[1]:
        raise Refused(Code.ILLEGAL_MESSAGE_GROUP, "an ordered message needs a message group")
    if declared not in (0, found) or sum(marks) + (found is MessageType.TRANSACTION) > 1:
        raise Refused(
            Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
            f"the message says that it is of type {declared}, and what it carries makes it {found.name}",
        )
    return found


def house_message(message: Any, found: MessageType, born_host: Host, store_ms: int, body_bytes_max: int) -> Message:
    """The message to keep. Raises Refused, MessageTooLarge."""
    properties = message.system_properties
    check_properties(message)
    named: dict[str, str] = {}
    if properties.tag:
        named[TAG_HEADER] = properties.tag
    if properties.keys:
        named[KEYS_HEADER] = " ".join(properties.keys)
    named[ID_HEADER] = properties.message_id
    key = properties.message_group or (properties.keys[0] if properties.keys else "")
    if properties.message_group:
        named[SHARDING_KEY_HEADER] = properties.message_group
    if properties.born_host:
        named[BORN_HOST] = properties.born_host
    if properties.trace_context:
        named[TRACE_CONTEXT] = properties.trace_context
    if found is MessageType.DELAY:
        named[DELIVER_AT] = str(ms_of(properties.delivery_timestamp))
    elif found is MessageType.TRANSACTION:
        named[HALF] = "true"
    elif found is MessageType.PRIORITY:
        named[PRIORITY_HEADER] = str(properties.priority)
    elif found is MessageType.LITE:
        named[LITE_TOPIC_HEADER] = properties.lite_topic
    born_ms = ms_of(properties.born_timestamp) if properties.HasField("born_timestamp") else store_ms
    if found is MessageType.LITE:  # by the time of its last message a lite topic's life is counted
        named[BORN_HEADER], born_ms = str(born_ms), store_ms
    named.update(message.user_properties)
    headers: list[Header] = [(name, value.encode()) for name, value in named.items()]
    sys_flag = TRANSACTION_COMMIT if found is MessageType.TRANSACTION else 0
    headers.append((ROCKETMQ_HEADER, own_header(0, sys_flag, store_ms, born_host)))
    return Message(
        body=_body(message, body_bytes_max),
        key=key.encode() if key else None,
        headers=tuple(headers),
        born_ms=born_ms,
    )


def check_properties(message: Any) -> None:
    """Raises Refused for what no consumer could be given back."""
    properties = message.system_properties
    if not 0 < len(properties.message_id.encode()) <= ID_BYTES_MAX:
        raise Refused(Code.ILLEGAL_MESSAGE_ID, f"a message id has 1 to {ID_BYTES_MAX} bytes")
    if len(properties.message_group.encode()) > GROUP_BYTES_MAX:
        raise Refused(Code.ILLEGAL_MESSAGE_GROUP, f"a message group has at most {GROUP_BYTES_MAX} bytes")
    if properties.HasField("message_group") and not properties.message_group.strip():
        raise Refused(Code.ILLEGAL_MESSAGE_GROUP, "a message group is not blank")
    if properties.priority < 0:
        raise Refused(Code.BAD_REQUEST, f"a priority is 0 or more, and not {properties.priority}")
    tag = properties.tag
    if properties.HasField("tag") and not is_tag(tag):
        raise Refused(Code.ILLEGAL_MESSAGE_TAG, "a tag is not blank, and holds neither | nor control characters")
    if properties.keys:
        _check_keys(properties.keys)
    if message.user_properties:
        _check_user_properties(message.user_properties)
    if carried_bytes(tag, properties.keys, message.user_properties) > PROPERTIES_BYTES_MAX:
        raise Refused(
            Code.MESSAGE_PROPERTIES_TOO_LARGE,
            f"tag, keys and properties of a message have at most {PROPERTIES_BYTES_MAX} bytes together",
        )


def _check_keys(keys: Any) -> None:
    for key in keys:
        if not key.strip() or has_control_characters(key):
            raise Refused(Code.ILLEGAL_MESSAGE_KEY, "a key is not blank, and holds no control characters")


def _check_user_properties(given: Mapping[str, str]) -> None:
    if len(given) > PROPERTIES_MAX:
        raise Refused(Code.MESSAGE_PROPERTIES_TOO_LARGE, f"a message has at most {PROPERTIES_MAX} properties")
    for name, value in given.items():
        if name in RESERVED:
            raise Refused(Code.ILLEGAL_MESSAGE_PROPERTY_KEY, f"the property {name} is RocketMQ's own")
        if not name or has_control_characters(name) or has_control_characters(value):
            raise Refused(Code.ILLEGAL_MESSAGE_PROPERTY_KEY, "properties have a name, and hold no control characters")


def _body(message: Any, bytes_max: int) -> bytes:
    """As its user wrote it."""
    properties = message.system_properties
    body: bytes = message.body
    if not body:
        raise Refused(Code.MESSAGE_BODY_EMPTY, "a message has a body")
    if properties.HasField("body_digest"):
        _check_digest(body, properties.body_digest)
    if properties.body_encoding == Encoding.GZIP:
        return _opened(body, bytes_max)
    return body


def _check_digest(body: bytes, digest: Any) -> None:
    """CRC-32 is written in more than one way by clients, and TCP has its own."""
    if digest.type == DigestType.MD5:
        right = hashlib.md5(body, usedforsecurity=False).hexdigest()
    elif digest.type == DigestType.SHA1:
        right = hashlib.sha1(body, usedforsecurity=False).hexdigest()
    else:
        return
    if right != digest.checksum.lower():
        raise Refused(Code.MESSAGE_CORRUPTED, "the body does not match its checksum")


def _opened(body: bytes, bytes_max: int) -> bytes:
    """What a client compressed: with gzip's header, as Node does, or with zlib's, as others do under the same name."""
    reader = zlib.decompressobj(_EITHER_HEADER)
    try:
        plain = reader.decompress(body, bytes_max + 1)
    except zlib.error as error:
        raise Refused(Code.MESSAGE_CORRUPTED, f"the compressed body is broken: {error}") from error
    if len(plain) > bytes_max:
        raise MessageTooLarge(f"the body has more than {bytes_max} bytes when it is opened")
    if not reader.eof:
        raise Refused(Code.MESSAGE_CORRUPTED, "the compressed body ends too early")
    return plain


# What clients are given.


def wire_message(record: Record, topic: Any, partition: int, number: int, store_host: str) -> Any:
    """A record of the log, as clients take it. `topic` is the resource that they asked for."""
    own = b""
    key = ""
    found = MessageType.NORMAL
    properties = wire.SystemProperties(
        queue_id=partition,
        queue_offset=record.offset,
        body_encoding=Encoding.IDENTITY,
        store_host=store_host,
        message_id=f"{number}-{record.offset}",
        delivery_attempt=1,
    )
    message = wire.Message(topic=topic, body=record.value or b"")
    born_ms = record.timestamp_ms
    came_later = False
    for name, raw in record.headers:
        if name == ROCKETMQ_HEADER:
            own = raw or b""
            continue
        value = "" if raw is None else raw.decode(errors="replace")
        if name not in RESERVED:
            message.user_properties[name] = value
        elif name == TAG_HEADER:
            properties.tag = value
        elif name == KEYS_HEADER:
            properties.keys[:] = value.split()
        elif name == ID_HEADER:
            properties.message_id = value
        elif name == SHARDING_KEY_HEADER:
            properties.message_group = key = value
            if found is MessageType.NORMAL:
                found = MessageType.FIFO
        elif name == PRIORITY_HEADER and (priority := whole_number(value)) is not None:
            properties.priority, found = priority, MessageType.PRIORITY
        elif name == LITE_TOPIC_HEADER:
            properties.lite_topic, found = value, MessageType.LITE
        elif name == BORN_HEADER and (said_ms := whole_number(value, TIME_DIGITS_MAX)) is not None:
            born_ms, came_later = said_ms, True
        elif name == BORN_HOST:
            properties.born_host = value
        elif name == TRACE_CONTEXT:
            properties.trace_context = value
        elif name == DEAD_TOPIC_HEADER:
            properties.dead_letter_queue.topic = value
        elif name == DEAD_ID_HEADER:
            properties.dead_letter_queue.message_id = value
        elif name in _TYPES:
            found = _TYPES[name]
            if name == DELIVER_AT and (due_ms := whole_number(value, TIME_DIGITS_MAX)) is not None:
                set_ms(properties.delivery_timestamp, due_ms)
    if record.key is not None and not properties.keys and not key:
        _add_key(properties, record.key)
    _, _, store_ms, born_host, _ = read_own_header(own, record.timestamp_ms)
    if not properties.born_host:
        properties.born_host = f"{born_host.address}:{born_host.port}"
    set_ms(properties.born_timestamp, born_ms)
    set_ms(properties.store_timestamp, record.timestamp_ms if came_later else store_ms)
    properties.message_type = found
    properties.body_digest.type = DigestType.MD5
    properties.body_digest.checksum = hashlib.md5(message.body, usedforsecurity=False).hexdigest().upper()
    message.system_properties.CopyFrom(properties)
    return message


def _add_key(properties: Any, key: bytes) -> None:
    """A Kafka producer's key is what users look for; one that is no text is not worth finding."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return
    if text.strip():
        properties.keys.append(text)


# Times and names.


def ms_of(value: Any) -> int:
    """Of a Timestamp or a Duration."""
    return int(value.seconds) * 1000 + int(value.nanos) // 1_000_000


def set_ms(value: Any, ms: int) -> None:
    value.seconds, rest_ms = divmod(ms, 1000)
    value.nanos = rest_ms * 1_000_000


def duration(ms: int) -> Any:
    value = wire.Duration()
    set_ms(value, ms)
    return value


def name_of(resource: Any) -> str:
    """A namespace is a part of the name, as with RocketMQ's other clients."""
    return f"{resource.resource_namespace}%{resource.name}" if resource.resource_namespace else str(resource.name)
