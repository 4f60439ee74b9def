"""A writer that cuts its table's log all the time is killed at random; the table and its past stay whole."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from braidmq.pipeline.archive import Folders, messages_table
from braidmq.pipeline.audit import audit

KILLS = 12
START_LIMIT_S = 60.0


def run_and_kill(path: Path, chance: random.Random) -> tuple[int, int]:
    """How far the writer said that it had come, and how many commits it had cut off."""
    command = [sys.executable, str(Path(__file__).with_name("table_writer.py")), str(path)]
    tests = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.uniform(0, 0.5))  # a random moment is what is tested
        process.kill()
        lines = [first, *process.stdout.read().splitlines()]
    whole = [line.split() for line in lines if len(line.split()) == 2]
    assert whole, "the writer did not come to its first batch"
    return int(whole[-1][0]), sum(int(removed) for _, removed in whole)


@pytest.mark.timeout(300)
def test_a_writer_that_cuts_the_log_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    chance = random.Random(7)
    cut = 0
    for _ in range(KILLS):
        said, removed = run_and_kill(tmp_path, chance)
        cut += removed
        report = audit(tmp_path)
        assert report.findings == []
        (partition,) = report.partitions
        assert partition.rows == partition.covered == partition.end >= said
    assert cut > KILLS, "the log was hardly ever cut"
    rows = DeltaTable(str(Folders(tmp_path).messages)).to_pyarrow_table(columns=["offset"]).column("offset").to_pylist()
    assert sorted(rows) == list(range(len(rows)))
    assert len(os.listdir(messages_table(tmp_path).path / "_delta_log")) < 40
