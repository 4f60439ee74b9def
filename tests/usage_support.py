"""The columns of the pipeline's tables of usage, for tests that write such tables themselves."""

import pyarrow as pa

USAGE = pa.schema(
    [
        ("at", pa.timestamp("us", tz="UTC")),
        ("instance", pa.string()),
        ("topic", pa.string()),
        ("group", pa.string()),
        ("protocol", pa.string()),
        ("traffic", pa.string()),
        ("direction", pa.string()),
        ("messages", pa.int64()),
        ("bytes", pa.int64()),
        ("failures", pa.int64()),
        ("retries", pa.int64()),
        ("dead", pa.int64()),
        ("latency_ms", pa.map_(pa.int32(), pa.int64())),
        ("storage_bytes", pa.int64()),
        ("day", pa.date32()),
    ]
)
