"""Delayed and half messages through crashes at any moment."""

import asyncio
import logging
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import pytest

from braidmq.core.delivery import Parcel
from braidmq.core.halves import Ended, Halves, WaitingRoom
from braidmq.core.halves._waiting_room import OnNoted
from braidmq.core.timers import Timers
from braidmq.model import Half, Timer
from braidmq.model.errors import StorageFull
from simulator.deferred_world import DELAY_MAX_MS, World
from simulator.transactions import LOOKING

LIVES = 6


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """What the services tell operators is not for thousands of lives."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def run_world(seed: int) -> World:
    """One world through several lives; a failure names the seed and the life."""

    async def lives() -> World:
        world = await World.make(seed)
        for life in range(LIVES):
            try:
                await world.go_through_a_life()
            except Exception as error:
                raise AssertionError(f"seed {seed}, life {life}: {error!r}") from error
        return world

    return asyncio.run(lives())


def run_seeds(first: int, seconds: float) -> int:
    """How many promises were kept."""
    if seed := os.environ.get("BRAID_SIMULATOR_SEED"):
        return run_world(int(seed)).kept_promises
    kept, seed_number, until = 0, first, time.monotonic() + seconds
    while time.monotonic() < until:
        kept += run_world(seed_number).kept_promises
        seed_number += 1
    print(f"{(seed_number - first) * LIVES} lives, {kept} promises in {seconds} s, seeds {first} to {seed_number - 1}")
    return kept


def test_what_was_promised_happens_through_crashes_at_any_moment() -> None:
    assert run_seeds(0, 8.0) > 0


async def _too_late_to_recall(monkeypatch: pytest.MonkeyPatch) -> tuple[World, Timers, "asyncio.Future[Any]"]:
    """A world without trouble in which the only message is due and was recalled in vain, and what the log will say."""
    world = await World.make(0)
    world.moments.begin(LOOKING * 2)
    timers, _, _ = world._services()
    await timers.start()
    await world._delay(timers)
    assert world.promises.handles
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(world.log, "append", lambda _: answer)
    await world.clock.advance(DELAY_MAX_MS)
    await world._turns()
    await world._recall(timers)
    assert not world.promises.recalled
    return world, timers, answer


async def test_a_message_that_the_log_refused_and_its_publisher_took_back_is_not_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, timers, answer = await _too_late_to_recall(monkeypatch)
    answer.set_result([StorageFull()])
    await world._turns()
    await world._recall(timers)
    assert world.promises.recalled
    world._check_timers()
    await timers.close()


async def test_a_message_is_missed_however_often_it_was_recalled_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    world, timers, answer = await _too_late_to_recall(monkeypatch)
    world.timer_rows.by_id.clear()
    await world._recall(timers)
    with pytest.raises(AssertionError, match="lost"):
        world._check_timers()
    answer.set_result([StorageFull()])
    await timers.close()


async def _forget_before_appending(self: Timers, claimed: list[Timer]) -> None:
    await self._rows.delete([timer.id for timer in claimed])
    await _deliver(self, claimed)


_deliver = Timers._deliver


async def _append_before_deciding(self: Halves, half_id: UUID, **word: Any) -> Ended:
    half = await self._rows.find(half_id)
    if word["commit"] and half is not None and half.content:
        await self._delivery.deliver([Parcel(half.topic_id, half.partition, half.content)])
    return await _end(self, half_id, **word)


_end = Halves._end


async def _forget_what_was_appended(self: Timers) -> None:
    self._appended.clear()


def _tell_before_it_is_durable(self: WaitingRoom, halves: Sequence[Half], on_noted: OnNoted) -> None:
    _keep(self, halves, lambda _: None)
    on_noted(None)


_keep = WaitingRoom.keep


async def _note_before_moving(self: WaitingRoom, halves: Sequence[Half]) -> None:
    ids = [half.id for half in halves]
    await _tell_moved(self, ids)
    self._moving |= {half.id: half for half in halves}
    await _add_missing(self, halves)


_add_missing, _tell_moved = WaitingRoom._add_missing, WaitingRoom._tell_moved


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("braidmq.core.timers._timers.Timers._deliver", _forget_before_appending),
        ("braidmq.core.timers._timers.Timers._forget_appended", _forget_what_was_appended),
        ("braidmq.core.halves._halves.Halves._end", _append_before_deciding),
        ("braidmq.core.halves._waiting_room.WaitingRoom.keep", _tell_before_it_is_durable),
        ("braidmq.core.halves._waiting_room.WaitingRoom._add_missing", _note_before_moving),
    ],
)
def test_a_service_with_a_fault_is_found_out(monkeypatch: pytest.MonkeyPatch, where: str, fault: object) -> None:
    """The simulator itself must be able to fail."""
    monkeypatch.setattr(where, fault)
    with pytest.raises(AssertionError, match=r"seed \d+, life \d+"):
        run_seeds(0, 20.0)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_was_promised_happens_through_many_thousand_crashes() -> None:
    assert run_seeds(1_000_000, 300.0) > 10_000
