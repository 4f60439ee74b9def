"""A batch that no client can open, which one buggy producer sent: it stops nothing, and is kept as it is."""

import contextlib
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from braidmq.pipeline import archive
from braidmq.pipeline.audit import audit
from braidmq.pipeline.audit._log_check import LogReader
from braidmq.pipeline.columns import UNREADABLE_REASON
from braidmq.records import Batch, Codec, Record, build_batch
from pipeline_support import Broker, packed_badly, send_as_it_is

pytestmark = pytest.mark.timeout(240)
TIME_MS = 1_700_000_000_000


def unreadable(codec: Codec = Codec.GZIP) -> Batch:
    records = [Record(at, TIME_MS, None, b"x" * 50, ()) for at in range(3)]
    return packed_badly(build_batch(records, codec=codec))


def test_the_archive_and_its_audit_go_on_past_it(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic(retention_ms="-1")
    broker.send(topic, ["before"])
    send_as_it_is(broker.bootstrap, topic, unreadable())
    broker.send(topic, ["after"])
    path = str(tmp_path)
    query = archive.start(spark, bootstrap=broker.bootstrap, path=path, topics=[topic], trigger="once")
    query.awaitTermination()
    assert [(each.offset, each.value) for each in archive.find(path, topic=topic)] == [(0, b"before"), (4, b"after")]
    (bad,) = DeltaTable(str(archive.Folders(path).quarantine)).to_pyarrow_table().to_pylist()
    assert (bad["topic"], bad["offset"], bad["reason"]) == (topic, 1, UNREADABLE_REASON)
    assert bad["value"][16:] == bytes(unreadable().data)[16:]
    report = audit(path, bootstrap=broker.bootstrap, topics=[topic])  # others of this node are for other tests
    assert report.findings == []
    (judged,) = report.partitions
    assert (judged.gaps, judged.quarantined, judged.compared_with_log) == ({"unreadable": 3}, 1, 2)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_the_log_is_compared_up_to_it_and_behind_it(broker: Broker, codec: Codec) -> None:
    topic = broker.topic(retention_ms="-1")
    broker.send(topic, ["before"])
    send_as_it_is(broker.bootstrap, topic, unreadable(codec))
    broker.send(topic, ["after"])
    with contextlib.closing(LogReader(broker.bootstrap, {})) as log:
        assert list(log.checksums(topic, 0, 0, 1, is_cut=True)) == [0]
        assert list(log.checksums(topic, 0, 4, 5)) == [4]
