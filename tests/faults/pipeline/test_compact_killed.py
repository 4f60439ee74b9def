"""A writer that compacts its table all the time is killed at random; every row stays, and none is there twice."""

import random
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from braidmq.pipeline.tables import Table

KILLS = 12


def run_and_kill(path: Path, chance: random.Random) -> tuple[int, int]:
    """How far the writer said that it had come, and how many files it had compacted."""
    command = [sys.executable, str(Path(__file__).with_name("samples_writer.py")), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.uniform(0, 0.3))  # a random moment is what is tested
        process.kill()
        lines = [first, *process.stdout.read().splitlines()]
    whole = [line.split() for line in lines if len(line.split()) == 2]
    assert whole, "the writer did not come to its first batch"
    return int(whole[-1][0]), sum(int(files) for _, files in whole)


@pytest.mark.timeout(300)
def test_a_writer_that_compacts_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    chance = random.Random(11)
    compacted = 0
    for _ in range(KILLS):
        said, files = run_and_kill(tmp_path, chance)
        compacted += files
        rows = DeltaTable(str(tmp_path)).to_pyarrow_table().column("offset").to_pylist()
        assert sorted(rows) == list(range(len(rows)))
        assert len(rows) >= said
    assert compacted > 2 * KILLS, "hardly anything was compacted"
    table = Table.open(tmp_path)
    assert table.state("samples").covered.ends() == {("samples", 0): len(rows)}
    table.vacuum(timedelta(0))
    on_disk = {str(path.relative_to(tmp_path)) for path in tmp_path.glob("day=*/*.parquet")}
    assert on_disk == {file.path for file in table.files()}, "nothing is left of who was killed"
