"""The query index through crashes at any moment, and through damage."""

import asyncio
import logging
import os
import time
from collections.abc import Iterator

import pytest

from simulator.query_world import World

LIVES = 8


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """What the index tells operators is not for thousands of lives."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def run_world(seed: int) -> World:
    """One world through several lives; a failure names the seed and the life."""

    async def lives() -> World:
        world = World(seed)
        await world.make()
        for life in range(LIVES):
            try:
                await world.go_through_a_life()
            except Exception as error:
                raise AssertionError(f"seed {seed}, life {life}: {error!r}") from error
        return world

    return asyncio.run(lives())


def run_seeds(first: int, seconds: float) -> tuple[int, int, int]:
    """How many answers were right, after how many crashes and damages."""
    seeds = [int(os.environ["BRAID_SIMULATOR_SEED"])] if "BRAID_SIMULATOR_SEED" in os.environ else range(first, 1 << 31)
    until = time.monotonic() + seconds
    answers = crashes = damages = 0
    for seed in seeds:
        world = run_world(seed)
        answers, crashes, damages = answers + world.answers, crashes + world.crashes, damages + world.damages
        if time.monotonic() > until:
            break
    print(f"{answers} answers, {crashes} crashes, {damages} damages in {seconds} s, seeds {first} to {seed}")
    return answers, crashes, damages


def test_every_question_is_answered_rightly_through_crashes_at_any_moment() -> None:
    assert all(run_seeds(0, 8.0))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_question_is_answered_rightly_for_a_long_time() -> None:
    assert all(run_seeds(100_000, 120.0))
