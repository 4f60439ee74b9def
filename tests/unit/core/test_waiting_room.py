"""Halves that wait in the log first: kept before they are acknowledged, moved in time, found again by the next life."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

import pytest

from braidmq.core.deferral import handle_of, parse_handle
from braidmq.core.delivery import pack
from braidmq.core.halves import WaitingRoom, _waiting_room
from braidmq.model import NEVER_MS, BraidError, Half, HalfState, Message, Topic
from braidmq.model.errors import HalfEndedOtherwise, StorageFailed, StorageFull, StoreFailed, UnknownHalf
from braidmq.store import Page
from deferral_support import GROUP, WAITING, CountedLog, Place, log_of
from groups_support import settle

MINUTE_MS = 60_000


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    place = Place(CountedLog, has_room=True)
    await place.start()
    yield place
    await place.close()


@pytest.fixture
async def topic(place: Place) -> Topic:
    return await place.topics.make("orders")


def room_of(place: Place) -> WaitingRoom:
    assert place.room is not None
    return place.room


async def prepare(place: Place, topic: Topic, body: bytes = b"half") -> str:
    handle, _ = await place.halves.prepare(topic, Message.create(body, id=f"id of {body.decode()}"), group=GROUP)
    return handle


def prepare_now(place: Place, topic: Topic, *bodies: bytes) -> list[list[UUID] | BraidError]:
    """What is told of them, once it is."""
    told: list[list[UUID] | BraidError] = []
    messages = [Message.create(body, id=f"id of {body.decode()}", keys=["k"]) for body in bodies]
    halves = [(pack(message), message.id or "", GROUP) for message in messages]
    assert place.halves.prepare_now(topic, 0, halves, told.append)
    return told


async def commit_now(place: Place, ids: Sequence[UUID]) -> tuple[Sequence[int], list[int]]:
    done: list[int] = []
    others = place.halves.commit_now([(each, GROUP, False) for each in ids], done.append)
    await settle()
    return others, done


def waiting_records(place: Place) -> int:
    bounds = place.log.bounds(WAITING)
    return bounds.end - bounds.start


# Lives of halves.


async def test_a_half_that_ends_at_once_never_sees_the_store(place: Place, topic: Topic) -> None:
    place.half_rows.is_failing = True
    await place.halves.end(await prepare(place, topic, b"a"), commit=True, group=GROUP)
    await place.halves.end(await prepare(place, topic, b"b"), commit=False, group=GROUP)
    await settle()
    assert place.bodies(topic) == [b"a"]
    place.half_rows.is_failing = False
    await place.restart()
    assert place.half_rows.by_id == {}


async def test_a_half_that_stays_is_moved_to_the_store(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    await place.clock.advance(1_000)
    assert place.half_rows.by_id == {}
    await place.clock.advance(3_500)
    assert list(place.half_rows.by_id) == [parse_handle(handle)]
    assert (await place.halves.end(handle, commit=True, group=GROUP)).delivered is not None
    await settle()
    assert place.half_rows.by_id == {}
    assert place.bodies(topic) == [b"half"]


async def test_the_next_life_takes_over_what_the_last_one_left_open(place: Place, topic: Topic) -> None:
    open_handle, ended = await prepare(place, topic, b"open"), await prepare(place, topic, b"ended")
    await place.halves.end(ended, commit=False, group=GROUP)
    before = await place.halves.find(open_handle)
    await place.restart()
    assert await place.halves.find(open_handle) == before
    assert list(place.half_rows.by_id) == [parse_handle(open_handle)]
    with pytest.raises(UnknownHalf):
        await place.halves.find(ended)


async def test_a_row_that_the_last_life_moved_without_noting_it_stays_as_it_is(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    (half,) = await room_of(place).page(Page())
    await place.restart()
    assert place.half_rows.by_id == {parse_handle(handle): half}


async def test_a_kill_between_append_and_noting_the_end_is_recognised_in_the_next_life(
    place: Place, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle, undecided = await prepare(place, topic), await prepare(place, topic, b"undecided")
    monkeypatch.setattr(place.halves, "_begin_forgetting", lambda: None)
    await place.halves.end(handle, commit=True)
    place.producers.names = {GROUP: ["p"]}
    await place.restart()
    with pytest.raises(HalfEndedOtherwise):
        await place.halves.end(handle, commit=False)
    assert (await place.halves.end(handle, commit=True)).repeated
    await place.clock.advance(MINUTE_MS)
    assert {question.handle for _, question in place.producers.asked} == {undecided}
    assert place.bodies(topic) == [b"half"], "once"


async def test_a_node_that_stops_leaves_everything_in_the_store(place: Place, topic: Topic) -> None:
    handles = [await prepare(place, topic, b"%d" % number) for number in range(3)]
    await place.close()
    assert sorted(place.half_rows.by_id) == sorted(map(parse_handle, handles))
    assert waiting_records(place) == 0
    await place.restart()
    assert (await place.halves.end(handles[1], commit=True)).delivered is not None


async def test_what_nobody_needs_goes_from_the_log(place: Place, topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_waiting_room, "TRIM_RECORDS", 10)
    for number in range(20):
        await place.halves.end(await prepare(place, topic, b"%d" % number), commit=True, group=GROUP)
    handle = await prepare(place, topic, b"open")
    await settle()
    assert waiting_records(place) >= 21
    await place.clock.advance(10_000)
    assert waiting_records(place) < 10
    await place.restart()
    assert (await place.halves.find(handle))[0].message_id == "id of open"


# What an operator and the alarm see.


async def test_pages_claims_and_revisions_find_what_waits_in_the_log(place: Place, topic: Topic) -> None:
    room = room_of(place)
    ids = sorted([parse_handle(await prepare(place, topic, b"%d" % number)) for number in range(3)])
    assert await room.latest_id() == ids[-1]
    assert await room.next_wake_ms() == place.clock.now_ms() + place.limits.immunity_ms
    assert (await room.find(ids[0])) is not None
    assert [half.id for half in await room.page(Page())] == ids
    fourth = parse_handle(await prepare(place, topic, b"fourth"))
    assert [half.id for half in await room.revise([fourth], lambda half: half)] == [fourth]
    fifth = parse_handle(await prepare(place, topic, b"fifth"))
    now_ms = place.clock.now_ms() + place.limits.immunity_ms
    claimed, _ = await room.claim(now_ms, lambda half: half, rows_max=10, bytes_max=1 << 20)
    assert {half.id for half in claimed} == {*ids, fourth, fifth}
    await room.delete([*ids, fourth, fifth])
    assert (await room.latest_id(), await room.next_wake_ms()) == (None, NEVER_MS)


# Trouble.


async def test_a_half_that_the_log_does_not_take_is_not_acknowledged(place: Place, topic: Topic) -> None:
    log_of(place).refusal = StorageFull()
    with pytest.raises(StorageFull):
        await prepare(place, topic)
    log_of(place).refusal = None
    assert await place.halves.page() == []


async def test_a_rollback_is_noted_before_it_is_answered(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    log_of(place).refusal = StorageFailed()
    with pytest.raises(StoreFailed, match="could not be noted"):
        await place.halves.end(handle, commit=False)
    log_of(place).refusal = None
    await place.halves.end(handle, commit=False)
    await place.restart()
    assert place.half_rows.by_id == {}
    assert place.bodies(topic) == []


async def test_a_commit_that_the_disk_has_no_room_for_leaves_the_half_open(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    log_of(place).refusal = StorageFull()
    with pytest.raises(StoreFailed):
        await place.halves.end(handle, commit=True)
    log_of(place).refusal = None
    await place.clock.advance(1_000)
    place.producers.names = {GROUP: ["p"]}
    await place.clock.advance(MINUTE_MS)
    assert {question.handle for _, question in place.producers.asked} == {handle}
    assert (await place.halves.end(handle, commit=True, asked=True)).delivered is not None
    assert place.bodies(topic) == [b"half"]


async def test_a_store_that_fails_holds_nothing_up_and_is_tried_again(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    place.half_rows.is_failing = True
    await place.clock.advance(5_000)
    with pytest.raises(StoreFailed):
        await place.halves.page()
    other = await prepare(place, topic, b"other")
    assert (await place.halves.end(other, commit=True)).delivered is not None
    place.half_rows.is_failing = False
    await place.clock.advance(5_000)
    assert [half.message_id for half in await place.halves.page()] == ["id of half"]
    assert (await place.halves.end(handle, commit=True, asked=True)).delivered is not None


async def test_too_many_that_the_store_does_not_take_are_refused(
    place: Place, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_waiting_room, "HELD_MAX", 1_000)
    place.half_rows.is_failing = True
    for number in range(2):
        await prepare(place, topic, b"x" * 250 + b"%d" % number)
        await place.clock.advance(1_000)
    with pytest.raises(StoreFailed, match="too many half messages wait"):
        await prepare(place, topic)
    place.half_rows.is_failing = False
    await place.clock.advance(5_000)
    await prepare(place, topic)


# Without waiting.


async def test_many_at_a_time_are_kept_and_committed(place: Place, topic: Topic) -> None:
    told = prepare_now(place, topic, b"a", b"b", b"c")
    assert told == []
    await settle()
    (kept,) = told
    assert isinstance(kept, list)
    assert (await place.halves.find(handle_of(kept[1])))[0].message_id == "id of b"
    assert await commit_now(place, kept[:2]) == ([], [2])
    assert place.bodies(topic) == [b"a", b"b"]
    assert [half.id for half in await place.halves.page()] == kept[2:]
    with pytest.raises(HalfEndedOtherwise):
        await place.halves.end(handle_of(kept[0]), commit=False, group=GROUP)


async def test_words_that_are_not_so_simple_are_left_to_who_may_wait(place: Place, topic: Topic) -> None:
    told = prepare_now(place, topic, b"a", b"b")
    await settle()
    (kept,) = told
    assert isinstance(kept, list)
    others = place.halves.commit_now([(kept[0], "strangers", False), (UUID(int=7), GROUP, False)], lambda _: None)
    assert others == [0, 1]
    await place.clock.advance(MINUTE_MS)
    assert await commit_now(place, kept) == ([0, 1], [])
    assert place.bodies(topic) == []


async def test_what_cannot_be_kept_is_told(place: Place, topic: Topic) -> None:
    log_of(place).refusal = StorageFull()
    told = prepare_now(place, topic, b"a")
    await settle()
    assert [type(each) for each in told] == [StorageFull]
    log_of(place).refusal = None


async def test_a_commit_that_the_log_does_not_take_now_is_carried_out_by_the_store(
    place: Place, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = prepare_now(place, topic, b"a")
    await settle()
    (kept,) = told
    assert isinstance(kept, list)
    append = place.log.append

    def refuse_once(entries: Any) -> "asyncio.Future[Any]":
        monkeypatch.setattr(place.log, "append", append)
        refused: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        refused.set_result([StorageFull() for _ in entries])
        return refused

    monkeypatch.setattr(place.log, "append", refuse_once)
    assert await commit_now(place, kept) == ([], [1])
    await place.clock.advance(100)
    await settle()
    assert place.bodies(topic) == [b"a"]
    half: Half = place.half_rows.by_id[kept[0]]
    assert half.state is HalfState.COMMITTED
