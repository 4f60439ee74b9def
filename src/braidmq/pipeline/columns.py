"""The columns of a message as a row: what the source `braid` gives, and what the archive keeps."""

from typing import Final

import pyarrow as pa

SCHEMA_VERSION: Final = 2

MESSAGE: Final = pa.schema(
    [
        pa.field("instance", pa.string(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("message_id", pa.string()),
        pa.field("keys", pa.list_(pa.string())),
        pa.field("tag", pa.string()),
        pa.field("store_time", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("born_time", pa.timestamp("us", tz="UTC")),
        pa.field("headers", pa.map_(pa.string(), pa.binary())),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("protocol", pa.string(), nullable=False),
        pa.field("traffic", pa.string(), nullable=False),
        pa.field("trace_id", pa.string()),
        pa.field(
            "repeated_headers", pa.list_(pa.struct([pa.field("name", pa.string()), pa.field("value", pa.binary())]))
        ),
    ]
)
"""`key` is the record's own key; `keys` are what a message is looked up by. `traffic` is `normal` or `pressure`.
A map has each name once, and so `headers` has the last value of each. Where a name comes more than once,
`repeated_headers` has all headers in their order; elsewhere it is null."""

UNREADABLE: Final = "unreadable"
"""The protocol of a row that is no message, but a batch of the log that cannot be read: `value` has its bytes. It comes
only where every offset is accounted for."""
UNREADABLE_REASON: Final = "a batch that cannot be read"

ADDED: Final = {"repeated_headers": 2}
"""The version of the schema that brought a column. Rows of older versions do not have it."""
