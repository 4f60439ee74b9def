"""Messages taken one by one, through crashes: each is given out until it is acknowledged or dead, and not after."""

import asyncio
import logging
import os
import time
from collections.abc import Iterator

import pytest

from braidmq.core.cursors import _cursor, _keeping
from simulator.cursor_world import CursorWorld

LIVES = 4


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done in steps takes several of them in a small world, too."""
    monkeypatch.setattr(_cursor, "PICTURE_STEP", 2)
    monkeypatch.setattr(_cursor, "EXPIRED_MAX", 3)
    monkeypatch.setattr(_keeping, "CHANGES_MAX", 4)


def run_world(seed: int) -> int:
    """One world through several lives; how many messages were given out. A failure names its seed."""

    async def lives() -> int:
        world = await CursorWorld(seed, ordered=seed % 2 == 1).begin()
        for life in range(LIVES):
            try:
                world.rows.is_failing = world.random.random() < 0.2
                world.graveyard.is_failing = world.random.random() < 0.2
                await world.live(60)
                world.rows.is_failing = world.graveyard.is_failing = False
                if world.random.random() < 0.7:
                    await world.die()
            except Exception as error:
                raise AssertionError(f"seed {seed}, life {life}: {error!r}") from error
        try:
            await world.drain()
        except Exception as error:
            raise AssertionError(f"seed {seed}, at the end: {error!r}") from error
        await world.cursors.close()
        return world.given.total()

    return asyncio.run(lives())


def test_every_message_is_given_out_until_it_is_done_and_not_after() -> None:
    if seed := os.environ.get("BRAID_SIMULATOR_SEED"):
        assert run_world(int(seed)) > 0
        return
    given, seed_number, until = 0, 0, time.monotonic() + 8.0
    while time.monotonic() < until:
        given += run_world(seed_number)
        seed_number += 1
    print(f"{seed_number} worlds, {given} given out")
    assert given > 1000
