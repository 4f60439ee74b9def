"""Driver, workers and node are killed at random while the jobs usage and dlq run: each sample and each letter is in its
table once, and what is made of them is made of each of them once."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from deltalake import DeltaTable

from braidmq.model import ID_HEADER
from braidmq.model.names import DEAD_LETTER_TOPIC_PREFIX
from braidmq.model.telemetry import USAGE_TOPIC, UsageSample
from braidmq.pipeline.jobs import dlq, usage
from braidmq.pipeline.tables import Table
from faults.pipeline.scene import Driver, Numbered, Scene
from running_node import WaitFor

LETTERS_TOPIC = f"{DEAD_LETTER_TOPIC_PREFIX}payers"
LETTERS_PARTITIONS = 2
BEGAN_MS = 1_780_000_000_000
DAY_MS = 86_400_000
MINUTE_MS = 60_000


def message(number: int) -> Numbered:
    """Of two, one is a sample of usage, of one of two days, and one a dead letter."""
    if number % 2:
        return Numbered(LETTERS_TOPIC, number // 2 % LETTERS_PARTITIONS, b"x", [(ID_HEADER, b"%d" % number)])
    from_ms = BEGAN_MS + number // 2 % 2 * DAY_MS + number // 4 % 30 * MINUTE_MS
    sample = UsageSample(
        node="n", life_ms=1, from_ms=from_ms, until_ms=from_ms + MINUTE_MS, topic="orders", protocol="kafka",
        direction="in", messages=1, bytes=number,
    )  # fmt: skip
    return Numbered(USAGE_TOPIC, 0, msgspec.json.encode(sample))


class Tables:
    """What the jobs have made."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def rows(self, name: str, columns: Iterable[str]) -> list[dict[str, Any]]:
        path = self._root / name
        if not Table.exists(path):
            return []
        found: list[dict[str, Any]] = DeltaTable(str(path)).to_pyarrow_table(columns=list(columns)).to_pylist()
        return found

    def sums(self) -> dict[str, int]:
        """How many samples and letters each table has counted."""
        counted = dict.fromkeys(usage.TABLES, "messages") | {dlq.TOP: "letters"}
        return {name: sum(row[column] for row in self.rows(name, [column])) for name, column in counted.items()}

    def kept(self) -> dict[tuple[str, int, int], int]:
        """The number of each sample and letter by its place, of which none is there twice."""
        samples = self.rows(usage.SAMPLES, ["partition", "offset", "bytes"])
        letters = self.rows(dlq.LETTERS, ["partition", "offset", "id"])
        places = [(USAGE_TOPIC, row["partition"], row["offset"]) for row in samples]
        places += [(LETTERS_TOPIC, row["partition"], row["offset"]) for row in letters]
        assert len(set(places)) == len(places), "a row is there twice"
        numbers = [int(row["bytes"]) for row in samples] + [int(row["id"]) for row in letters]
        return dict(zip(places, numbers, strict=True))


def check(scene: Scene, tables: Tables) -> None:
    kept = tables.kept()
    assert len(scene.sender.acknowledged) > 100
    for number, place in scene.sender.acknowledged.items():
        assert kept.get(place) == number, f"message {number} at {place} is lost"
    letters = sum(1 for topic, _, _ in kept if topic == LETTERS_TOPIC)
    expected = dict.fromkeys(usage.TABLES, len(kept) - letters) | {dlq.TOP: letters}
    scene.wait_until(lambda: tables.sums() == expected, f"{expected} in the tables made of them")
    scene.driver.kill()
    assert tables.sums() == expected
    assert tables.kept() == kept


def run(folder: Path, wait_for: WaitFor, kills: int, seed: int) -> None:
    root = folder / "tables"
    scene = Scene(
        folder, wait_for, seed, topics={USAGE_TOPIC: 1, LETTERS_TOPIC: LETTERS_PARTITIONS}, message=message,
        tables={name: root / name for name in (usage.SAMPLES, dlq.LETTERS)},
        driver=lambda bootstrap: Driver(folder, "jobs_driver.py", bootstrap, str(root)),
    )  # fmt: skip
    try:
        for _ in range(kills):
            scene.kill_something()
        scene.finish()
        check(scene, Tables(root))
    finally:
        scene.close()


@pytest.mark.timeout(1500)
def test_two_kills_lose_nothing_and_double_nothing(tmp_path: Path, wait_for: WaitFor) -> None:
    run(tmp_path, wait_for, 2, seed=4)


@pytest.mark.slow
@pytest.mark.timeout(10800)
def test_thirty_kills_lose_nothing_and_double_nothing(tmp_path: Path, wait_for: WaitFor) -> None:
    run(tmp_path, wait_for, 30, seed=int(os.environ.get("BRAID_SEED", "0")))
