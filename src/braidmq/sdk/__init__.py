"""BraidMQ for Python programs: producers, consumers and administration of a node, blocking or async.

Each class has a twin: `Producer` blocks and uses threads, `AsyncProducer` is for asyncio; what they do is the same.
Errors are those of `braidmq.model.errors` and `braidmq.sdk.errors`; all are a `BraidError`.
"""

from braidmq.model import BraidError
from braidmq.sdk._async._broadcast import AsyncBroadcastConsumer
from braidmq.sdk._async._consumer import AsyncConsumer
from braidmq.sdk._async._outbox import AsyncOutbox, AsyncOutboxRelay
from braidmq.sdk._async._producer import AsyncProducer
from braidmq.sdk._async._received import AsyncReceived
from braidmq.sdk._async._transactions import AsyncTransaction
from braidmq.sdk._async.admin import AsyncAdmin
from braidmq.sdk._sync._broadcast import BroadcastConsumer
from braidmq.sdk._sync._consumer import Consumer
from braidmq.sdk._sync._outbox import Outbox, OutboxRelay
from braidmq.sdk._sync._producer import Producer
from braidmq.sdk._sync._received import Received
from braidmq.sdk._sync._transactions import Transaction
from braidmq.sdk._sync.admin import Admin
from braidmq.sdk.errors import BufferFull, Closed, Refused, Unreachable, Unsettled
from braidmq.sdk.inbox import Inbox
from braidmq.sdk.offsets import FileOffsets, MemoryOffsets, Offsets
from braidmq.sdk.values import Filter, Message, Outgoing, Sent, by_properties, by_sql, by_tag

__all__ = [
    "Admin",
    "AsyncAdmin",
    "AsyncBroadcastConsumer",
    "AsyncConsumer",
    "AsyncOutbox",
    "AsyncOutboxRelay",
    "AsyncProducer",
    "AsyncReceived",
    "AsyncTransaction",
    "BraidError",
    "BroadcastConsumer",
    "BufferFull",
    "Closed",
    "Consumer",
    "FileOffsets",
    "Filter",
    "Inbox",
    "MemoryOffsets",
    "Message",
    "Offsets",
    "Outbox",
    "OutboxRelay",
    "Outgoing",
    "Producer",
    "Received",
    "Refused",
    "Sent",
    "Transaction",
    "Unreachable",
    "Unsettled",
    "by_properties",
    "by_sql",
    "by_tag",
]
