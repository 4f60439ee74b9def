"""Messages that are sent back, through crashes at any moment."""

import asyncio
import logging
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from braidmq.core.retry import Retries, SentBack
from braidmq.model import ATTEMPT_HEADER, Message
from simulator.retry_world import RetryWorld

LIVES = 6


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """What the services tell operators is not for thousands of lives."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def run_world(seed: int) -> int:
    """One world through several lives, the last of them in peace; a failure names the seed and the life."""

    async def lives() -> int:
        world = await RetryWorld.make(seed)
        for life in range(LIVES):
            try:
                await world.go_through_a_life()
            except Exception as error:
                raise AssertionError(f"seed {seed}, life {life}: {error!r}") from error
        return world.sent_back.total()

    return asyncio.run(lives())


def run_seeds(first: int, seconds: float) -> int:
    """How often messages were sent back."""
    if seed := os.environ.get("BRAID_SIMULATOR_SEED"):
        return run_world(int(seed))
    sent, seed_number, until = 0, first, time.monotonic() + seconds
    while time.monotonic() < until:
        sent += run_world(seed_number)
        seed_number += 1
    print(f"{(seed_number - first) * LIVES} lives, {sent} sent back in {seconds} s, seeds {first} to {seed_number - 1}")
    return sent


def test_what_is_sent_back_comes_again_or_is_dead_through_crashes_at_any_moment() -> None:
    assert run_seeds(0, 6.0) > 0


def test_where_nothing_fails_every_attempt_and_every_death_is_one_copy() -> None:
    async def life(seed: int) -> int:
        world = await RetryWorld.make(seed)
        await world.live_in_peace(turns=150)
        return world.sent_back.total()

    assert sum(asyncio.run(life(seed)) for seed in range(10)) > 100


async def _answer_before_it_is_kept(self: Retries, *arguments: Any) -> SentBack:
    _, _, message, attempt, *_ = arguments
    task = asyncio.ensure_future(_forward(self, *arguments))
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return SentBack(attempt, False, "", message.id)


async def _forget_the_attempts(self: Retries, instance: str, group: str, message: Message, *more: Any) -> SentBack:
    sent = await _forward(self, instance, group, message, *more)
    await self._timers.add(self._catalog.topics[1], message.with_headers({ATTEMPT_HEADER: "1"}), 0)  # type: ignore[attr-defined]
    return sent


_forward = Retries._forward


@pytest.mark.parametrize("fault", [_answer_before_it_is_kept, _forget_the_attempts])
def test_a_service_with_a_fault_is_found_out(monkeypatch: pytest.MonkeyPatch, fault: object) -> None:
    """The simulator itself must be able to fail."""
    monkeypatch.setattr(Retries, "_forward", fault)
    with pytest.raises(AssertionError, match=r"seed \d+, life \d+"):
        run_seeds(0, 20.0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_is_sent_back_comes_again_or_is_dead_through_many_thousand_crashes() -> None:
    assert run_seeds(1_000_000, 200.0) > 10_000
