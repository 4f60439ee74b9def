"""Driver, workers and node are killed at random while messages come; nothing is lost, and nothing doubled."""

import os
from pathlib import Path

import pytest
from deltalake import DeltaTable

from braidmq.pipeline import archive
from braidmq.pipeline.audit import audit
from faults.pipeline.scene import Driver, Numbered, Scene
from running_node import WaitFor

PARTITIONS = 3
TOPIC = "orders"


def message(number: int) -> Numbered:
    return Numbered(TOPIC, number % PARTITIONS, f"{number} {'x' * 200}".encode())


def check(scene: Scene, path: str) -> None:
    rows = DeltaTable(str(archive.Folders(path).messages)).to_pyarrow_table(columns=["partition", "offset", "value"])
    found: dict[tuple[str, int, int], int] = {}
    for row in rows.to_pylist():
        place = TOPIC, row["partition"], row["offset"]
        assert place not in found, f"{place} is there twice"
        found[place] = int(row["value"].split()[0])
    assert len(scene.sender.acknowledged) > 100
    for number, place in scene.sender.acknowledged.items():
        assert found.get(place) == number, f"message {number} at {place} is lost"
    assert audit(path, bootstrap=scene.bootstrap).findings == []
    marks = archive.read_marks(scene.bootstrap)
    ends = archive.messages_table(path).state("archive").covered.ends()
    assert all(marks[place] <= end for place, end in ends.items() if place in marks), "a mark is ahead of the table"


def run(folder: Path, wait_for: WaitFor, kills: int, seed: int) -> None:
    path = str(folder / "archive")
    scene = Scene(
        folder, wait_for, seed, topics={TOPIC: PARTITIONS}, message=message,
        tables={"archive": archive.Folders(path).messages},
        driver=lambda bootstrap: Driver(folder, "archive_driver.py", bootstrap, path, TOPIC),
    )  # fmt: skip
    try:
        for _ in range(kills):
            scene.kill_something()
        scene.finish()
        scene.driver.kill()
        check(scene, path)
    finally:
        scene.close()


@pytest.mark.timeout(1500)
def test_five_kills_lose_nothing_and_double_nothing(tmp_path: Path, wait_for: WaitFor) -> None:
    run(tmp_path, wait_for, 5, seed=4)


@pytest.mark.slow
@pytest.mark.timeout(10800)
def test_fifty_kills_lose_nothing_and_double_nothing(tmp_path: Path, wait_for: WaitFor) -> None:
    run(tmp_path, wait_for, 50, seed=int(os.environ.get("BRAID_SEED", "0")))
