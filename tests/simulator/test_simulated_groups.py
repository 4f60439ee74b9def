"""Thousands of steps in the lives of groups, each one replayable from its seed.

BRAID_SIMULATOR_SEED=1234 ./braid test -- tests/simulator/test_simulated_groups.py     one world again
"""

import asyncio
import logging
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from braidmq.core.groups import Spoken
from braidmq.core.groups._classic import ClassicGroup
from braidmq.core.groups._consumer import ConsumerGroup
from braidmq.core.groups._consumer_member import ConsumerMember
from braidmq.core.groups._share import ShareGroup
from groups_support import PlainSpeech
from simulator.assigned_world import AssignedWorld
from simulator.groups_world import GroupsWorld
from simulator.mixed_world import MixedWorld
from simulator.share_world import ShareWorld

LIVES = 4
STEPS = 150


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """A line for every generation would take longer than the generation."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


World = type[GroupsWorld] | type[AssignedWorld] | type[MixedWorld] | type[ShareWorld]


async def run_world(kind: World, seed: int) -> GroupsWorld | AssignedWorld | ShareWorld:
    """One world through several lives; a failure names the seed and the life."""
    world = await kind(seed).start()
    for life in range(LIVES):
        try:
            await world.live(STEPS)
        except Exception as error:
            raise AssertionError(f"{kind.__name__}, seed {seed}, life {life}, step {world.steps}: {error!r}") from error
    return world


async def run_seeds(kind: World, first: int, seconds: float) -> dict[str, int]:
    if seed := os.environ.get("BRAID_SIMULATOR_SEED"):
        return (await run_world(kind, int(seed))).counts
    total: dict[str, int] = {"steps": 0}
    seed_number, until = first, time.monotonic() + seconds
    while time.monotonic() < until:
        world = await run_world(kind, seed_number)
        total["steps"] += world.steps
        for what, count in world.counts.items():
            total[what] = total.get(what, 0) + count
        seed_number += 1
    print(f"{total} in {seconds} s, seeds {first} to {seed_number - 1}")
    return total


async def test_every_promise_holds_whatever_members_store_and_time_do() -> None:
    total = await run_seeds(GroupsWorld, 0, 10.0)
    assert min(total[what] for what in ("joins", "syncs", "commits", "leaves", "crashes")) > 0


async def test_no_partition_is_in_two_hands_whatever_members_topics_store_and_time_do() -> None:
    total = await run_seeds(AssignedWorld, 0, 10.0)
    assert min(total[what] for what in ("assignments", "commits", "leaves", "crashes")) > 0


async def test_clients_are_changed_over_one_by_one_whatever_else_happens() -> None:
    total = await run_seeds(MixedWorld, 0, 10.0)
    assert min(total[what] for what in ("joins", "assignments", "commits", "upgrades", "downgrades", "crashes")) > 0


async def test_groups_that_share_partitions_are_what_their_members_were_told_whatever_happens() -> None:
    total = await run_seeds(ShareWorld, 0, 6.0)
    assert min(total[what] for what in ("heartbeats", "departures", "leaves", "crashes")) > 0


async def test_a_share_group_that_answers_before_it_has_kept_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = ShareGroup.keep

    def keep_later(group: ShareGroup) -> None:
        keep(group)

    monkeypatch.setattr(ShareGroup, "keep", keep_later)
    with pytest.raises(AssertionError, match="seed"):
        await run_seeds(ShareWorld, 0, 30.0)


async def test_a_share_group_that_misses_new_topics_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShareGroup, "topics_changed", lambda _: None)
    with pytest.raises(AssertionError, match="instead of"):
        await run_seeds(ShareWorld, 0, 30.0)


async def test_a_group_that_does_not_keep_its_generations_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator itself must be able to fail."""

    def keep_nothing(_: ClassicGroup, **__: object) -> "asyncio.Future[None]":
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.set_result(None)
        return future

    monkeypatch.setattr(ClassicGroup, "_keep", keep_nothing)
    with pytest.raises(AssertionError, match="seed"):
        await run_seeds(GroupsWorld, 0, 30.0)


async def test_a_group_that_believes_every_generation_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def believe(group: ClassicGroup, identity: object) -> object:
        return group._roster.find(identity.member_id, identity.instance_id)  # type: ignore[attr-defined]

    monkeypatch.setattr(ClassicGroup, "_in_generation", believe)
    with pytest.raises(AssertionError, match="is believed"):
        await run_seeds(GroupsWorld, 0, 30.0)


async def test_a_group_that_gives_what_another_holds_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def hold(group: ConsumerGroup, member: ConsumerMember, *state: Any) -> None:
        member.progress, member.assigned, member.revoking = state

    monkeypatch.setattr(ConsumerGroup, "_hold", hold)
    with pytest.raises(AssertionError, match="in the hands of"):
        await run_seeds(AssignedWorld, 0, 30.0)


async def test_a_group_that_does_not_ask_what_is_still_held_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of cooperative clients, who give up only what they are told to."""
    monkeypatch.setattr(
        PlainSpeech, "spoken", lambda speech, metadata: Spoken(speech.topics_of(metadata), frozenset(), None)
    )
    with pytest.raises(AssertionError, match="in the hands of"):
        await run_seeds(MixedWorld, 0, 30.0)


async def test_a_group_that_answers_before_it_has_kept_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = ConsumerGroup.keep

    def keep_later(group: ConsumerGroup) -> None:
        keep(group)

    monkeypatch.setattr(ConsumerGroup, "keep", keep_later)
    with pytest.raises(AssertionError, match="seed"):
        await run_seeds(AssignedWorld, 0, 30.0)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", [GroupsWorld, AssignedWorld, MixedWorld, ShareWorld])
async def test_every_promise_holds_through_hundreds_of_thousands_of_steps(kind: World) -> None:
    total = await run_seeds(kind, 1_000_000, 300.0)
    assert total["steps"] > 100_000
