"""A writer that compacts its table all the time is killed at random; every row stays, and none is there twice."""

import random
from datetime import timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from braidmq.pipeline.tables import Table
from killed_writers import run_and_kill

KILLS = 12
WRITER = Path(__file__).with_name("samples_writer.py")


@pytest.mark.timeout(300)
def test_a_writer_that_compacts_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    chance = random.Random(11)
    compacted = 0
    for _ in range(KILLS):
        said, files = run_and_kill(WRITER, tmp_path, 0.3, chance)
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
