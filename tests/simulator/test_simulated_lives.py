"""Thousands of lives and deaths of a log, each one replayable from its seed.

BRAID_SIMULATOR_SEED=1234 ./braid test -- tests/simulator       one world again, with its seed
"""

import os
import time

import pytest

from braidmq.log.embedded._turn import SyncJob
from simulator.world import Flush, World

LIVES = 12
STEPS = 60


def run_world(seed: int, flush: Flush) -> int:
    """One world through several lives; a failure names the seed and the life."""
    world = World(seed, flush)
    for life in range(LIVES):
        try:
            world.live(STEPS)
        except Exception as error:
            raise AssertionError(f"seed {seed}, flush {flush}, life {life}: {error!r}") from error
    return world.rounds


def run_seeds(first: int, seconds: float, flush: Flush) -> int:
    if seed := os.environ.get("BRAID_SIMULATOR_SEED"):
        return run_world(int(seed), flush)
    rounds, seed_number, until = 0, first, time.monotonic() + seconds
    while time.monotonic() < until:
        rounds += run_world(seed_number, flush)
        seed_number += 1
    print(f"{rounds} lives in {seconds} s, seeds {first} to {seed_number - 1}, flush {flush}")
    return rounds


@pytest.mark.parametrize("flush", ["commit", "interval"])
def test_every_promise_holds_through_crashes_at_any_moment(flush: Flush) -> None:
    assert run_seeds(0, 10.0, flush) > 0


@pytest.mark.parametrize("flush", ["commit", "interval"])
def test_a_seed_runs_the_same_way_each_time(flush: Flush) -> None:
    """Or a failing one could not be looked into."""
    worlds = []
    for _ in range(2):
        world = World(7, flush)
        for _ in range(LIVES):
            world.live(STEPS)
        worlds.append(world)
    first, second = worlds
    assert first.disk.picture() == second.disk.picture()
    assert first.disk.steps == second.disk.steps > 0


def test_a_log_that_does_not_wait_for_the_disk_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator itself must be able to fail."""
    monkeypatch.setattr(SyncJob, "run", lambda _: None)
    with pytest.raises(AssertionError, match=r"seed \d+, .*(promised|damaged|is gone)"):
        run_seeds(0, 30.0, "commit")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("flush", ["commit", "interval"])
def test_every_promise_holds_through_many_thousand_crashes(flush: Flush) -> None:
    assert run_seeds(1_000_000, 300.0, flush) > 10_000
