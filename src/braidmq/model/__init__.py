"""The words of the domain. Nothing here does input or output, and nothing here knows the rest of the house.

Times are milliseconds since the epoch (`_ms`), sizes are bytes (`_bytes`), and every name that a user chose has passed
`names` before it reaches one of these structs.
"""

from braidmq.model._deferred import NEVER_MS, Half, HalfState, Timer, deferred_id, deferred_time_ms
from braidmq.model._message import (
    ATTEMPT_HEADER,
    BORN_HEADER,
    DEAD_ID_HEADER,
    DEAD_TOPIC_HEADER,
    ID_HEADER,
    KEYS_HEADER,
    ORIGIN_ID_HEADER,
    REPLAY_HEADER,
    RETRY_TOPIC_HEADER,
    SHARDING_KEY_HEADER,
    TAG_HEADER,
    Header,
    Message,
)
from braidmq.model._resources import (
    DEFAULT_INSTANCE,
    DEFAULT_RETENTION_MS,
    PARTITION_NUMBER_MAX,
    TOPIC_PARTITIONS_MAX,
    FilterKind,
    Group,
    Instance,
    Partition,
    Subscription,
    Topic,
    TopicKind,
)
from braidmq.model._trace import TRACE_SPAN_MAX, TraceEvent, TraceKind, TraceRange
from braidmq.model._transaction import NO_EPOCH, NO_PRODUCER_ID, Transaction, TransactionState
from braidmq.model.errors import BraidError
from braidmq.model.names import (
    RESERVED_TOPIC_NAMES,
    check_group_name,
    check_instance_name,
    check_topic_name,
    dead_letter_topic_name,
    retry_topic_name,
)

__all__ = [
    "ATTEMPT_HEADER",
    "BORN_HEADER",
    "DEAD_ID_HEADER",
    "DEAD_TOPIC_HEADER",
    "DEFAULT_INSTANCE",
    "DEFAULT_RETENTION_MS",
    "ID_HEADER",
    "KEYS_HEADER",
    "NEVER_MS",
    "NO_EPOCH",
    "NO_PRODUCER_ID",
    "ORIGIN_ID_HEADER",
    "PARTITION_NUMBER_MAX",
    "REPLAY_HEADER",
    "RESERVED_TOPIC_NAMES",
    "RETRY_TOPIC_HEADER",
    "SHARDING_KEY_HEADER",
    "TAG_HEADER",
    "TOPIC_PARTITIONS_MAX",
    "TRACE_SPAN_MAX",
    "BraidError",
    "FilterKind",
    "Group",
    "Half",
    "HalfState",
    "Header",
    "Instance",
    "Message",
    "Partition",
    "Subscription",
    "Timer",
    "Topic",
    "TopicKind",
    "TraceEvent",
    "TraceKind",
    "TraceRange",
    "Transaction",
    "TransactionState",
    "check_group_name",
    "check_instance_name",
    "check_topic_name",
    "dead_letter_topic_name",
    "deferred_id",
    "deferred_time_ms",
    "retry_topic_name",
]
