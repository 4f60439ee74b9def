"""Thousands of lives and deaths of a transaction coordinator, each one replayable from its seed.

BRAID_SIMULATOR_SEED=1234 ./braid test -- tests/simulator/test_simulated_transactions.py       one world again
"""

import asyncio
import os
import time

import pytest
from msgspec.structs import replace

from braidmq.core.transactions import Transactions
from braidmq.core.transactions._coordinator import _Entry
from braidmq.model import Transaction, TransactionState
from simulator.transactions import World

LIVES = 8


def run_world(seed: int) -> World:
    """One world through several lives; a failure names the seed and the life."""

    async def lives() -> World:
        world = await World.make(seed)
        for life in range(LIVES):
            try:
                await world.live()
            except Exception as error:
                raise AssertionError(f"seed {seed}, life {life}: {error!r}") from error
        return world

    return asyncio.run(lives())


def run_seeds(first: int, seconds: float) -> int:
    """How many transactions came to an answered end."""
    if seed := os.environ.get("BRAID_SIMULATOR_SEED"):
        return run_world(int(seed)).ended
    ended, seed_number, until = 0, first, time.monotonic() + seconds
    while time.monotonic() < until:
        ended += run_world(seed_number).ended
        seed_number += 1
    print(f"{(seed_number - first) * LIVES} lives, {ended} ends in {seconds} s, seeds {first} to {seed_number - 1}")
    return ended


def test_transactions_are_whole_through_crashes_at_any_moment() -> None:
    assert run_seeds(0, 10.0) > 0


async def _tell_before_deciding(self: Transactions, entry: _Entry, decision: Transaction) -> None:
    self._show(entry, decision)


def _fence_nobody(transaction: Transaction, now_ms: int, **_: object) -> Transaction:
    return replace(transaction, state=TransactionState.ABORTING, changed_ms=now_ms)


async def _forget_groups(self: Transactions, entry: _Entry) -> bool:
    self._show(entry, replace(self._current(entry), groups=frozenset()))
    return await _finish(self, entry)


_finish = Transactions._finish


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("braidmq.core.transactions._coordinator.Transactions._decide", _tell_before_deciding),
        ("braidmq.core.transactions._steps.fenced", _fence_nobody),
        ("braidmq.core.transactions._coordinator.Transactions._finish", _forget_groups),
    ],
)
def test_a_coordinator_with_a_fault_is_found_out(monkeypatch: pytest.MonkeyPatch, where: str, fault: object) -> None:
    """The simulator itself must be able to fail."""
    monkeypatch.setattr(where, fault)
    with pytest.raises(AssertionError, match=r"seed \d+, life \d+"):
        run_seeds(0, 30.0)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_transactions_are_whole_through_many_thousand_crashes() -> None:
    assert run_seeds(1_000_000, 300.0) > 10_000
