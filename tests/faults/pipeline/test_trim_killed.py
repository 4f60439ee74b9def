"""A writer that cuts its table's log all the time is killed at random; the table and its past stay whole."""

import os
import random
from pathlib import Path

import pytest
from deltalake import DeltaTable

from braidmq.pipeline.archive import Folders, messages_table
from braidmq.pipeline.audit import audit
from killed_writers import run_and_kill

KILLS = 12
WRITER = Path(__file__).with_name("table_writer.py")


@pytest.mark.timeout(300)
def test_a_writer_that_cuts_the_log_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    chance = random.Random(7)
    cut = 0
    for _ in range(KILLS):
        said, removed = run_and_kill(WRITER, tmp_path, 0.5, chance)
        cut += removed
        report = audit(tmp_path)
        assert report.findings == []
        (partition,) = report.partitions
        assert partition.rows == partition.covered == partition.end >= said
    assert cut > KILLS, "the log was hardly ever cut"
    rows = DeltaTable(str(Folders(tmp_path).messages)).to_pyarrow_table(columns=["offset"]).column("offset").to_pylist()
    assert sorted(rows) == list(range(len(rows)))
    assert len(os.listdir(messages_table(tmp_path).path / "_delta_log")) < 40
