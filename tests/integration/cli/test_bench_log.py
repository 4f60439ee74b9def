"""`braid bench log` runs, and prints a ratio for each comparison: what it measures is another matter."""

import re
import subprocess
import sys
from pathlib import Path

FIGURE = re.compile(r"^(ok|missed) +(.+?) {2,}([\d.]+)x? +\(>= ([\d.]+)x?\) .+MB/s$", re.MULTILINE)


def test_the_logs_bench_measures_reading_and_both_ways_of_appending(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = [sys.executable, "-m", "braidmq", "bench", "log", "--rounds", "1", "--size-mib", "8"]
    ended = subprocess.run(
        [*command, "--folder", str(folder), "read", "append"], capture_output=True, text=True, check=False
    )
    assert ended.returncode in (0, 1), ended.stderr
    assert "Traceback" not in ended.stderr
    figures = {name: float(ratio) for _, name, ratio, _ in FIGURE.findall(ended.stdout)}
    assert [name.split(" /")[0] for name in figures] == [
        "sequential read",
        "append 16 KiB batches, 8 partitions, interval",
        "append, 64 writers, commit",
    ]
    assert all(ratio > 0 for ratio in figures.values())
    assert list(folder.iterdir()) == [], "nothing is left behind"
