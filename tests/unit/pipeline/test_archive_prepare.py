"""What the archive adds to a message, beside the same said row by row."""

import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from braidmq.pipeline.archive import ARCHIVED, prepared
from braidmq.pipeline.archive._layout import bucket_of
from braidmq.pipeline.columns import MESSAGE, SCHEMA_VERSION, UNREADABLE, UNREADABLE_REASON
from braidmq.pipeline.decode import instance_of

START = datetime(1970, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
TIMES = st.one_of(
    st.integers(0, 4_000_000_000_000_000).map(lambda at_us: START + timedelta(microseconds=at_us)),
    st.sampled_from([datetime(2000, 1, 1, tzinfo=UTC), NOW, NOW + timedelta(days=1)]),
)
TOPICS = st.sampled_from(["orders", "a|c%orders", "stock"])
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["orders", "a|c%orders", "stock"]), st.none() | st.binary(max_size=40), TIMES, st.booleans()
    ),
    max_size=20,
)


def row_of(topic: str, value: bytes | None, time: datetime, is_range: bool) -> dict[str, Any]:
    return {
        "instance": instance_of(topic),
        "topic": topic,
        "partition": 0,
        "offset": -1 if is_range else 7,
        "store_time": time,
        "value": value,
        "protocol": "range" if is_range else "kafka",
        "traffic": "normal",
    }


def reason_of(row: dict[str, Any]) -> str | None:
    if row["offset"] == -1:
        return None
    if row["store_time"] < datetime(2000, 1, 1, tzinfo=UTC):
        return "store time before 2000"
    return "store time in the future" if row["store_time"] > NOW + timedelta(days=1) else None


@given(ROWS, st.integers(0, 3))
def test_a_batch_is_prepared_as_its_rows_would_be_one_by_one(
    drawn: list[tuple[str, bytes | None, datetime, bool]], skipped: int
) -> None:
    given_rows = [row_of(*each) for each in drawn]
    batch = pa.RecordBatch.from_pylist(given_rows, schema=MESSAGE).slice(skipped)
    made = prepared(batch, NOW)
    made.validate(full=True)
    assert made.schema.names == [*ARCHIVED.names, "reason"]
    for found, row in zip(made.to_pylist(), given_rows[skipped:], strict=True):
        assert found == found | row
        assert found["day"] == row["store_time"].date()
        assert found["bucket"] == bucket_of(row["topic"], row["instance"])
        assert found["body_crc"] == (None if row["value"] is None else zlib.crc32(row["value"]))
        assert found["schema_ver"] == SCHEMA_VERSION
        assert found["reason"] == reason_of(row)


def test_a_batch_that_cannot_be_read_is_for_the_quarantine() -> None:
    row = row_of("orders", b"as it lies in the log", START, is_range=False) | {"protocol": UNREADABLE}
    made = prepared(pa.RecordBatch.from_pylist([row], schema=MESSAGE), NOW)
    assert made.column("reason").to_pylist() == [UNREADABLE_REASON]
