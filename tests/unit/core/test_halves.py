"""Half messages: committed once, rolled back for good, asked for, parked, and never lost."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any
from uuid import UUID

import pytest

from braidmq.core.halves import Ended
from braidmq.log import AppendResult
from braidmq.log.memory import MemoryLog
from braidmq.model import BraidError, Half, HalfState, Message, Topic
from braidmq.model.errors import (
    EndTooLate,
    HalfEndedOtherwise,
    InvalidHandle,
    MessageTooLarge,
    StorageFull,
    StoreFailed,
    UnknownHalf,
)
from deferral_support import GROUP, Place
from groups_support import settle

STORED_AT_ONCE = pytest.mark.parametrize("place", [False], ids=["store"], indirect=True)
"""For what is otherwise where halves wait in the log first: see test_waiting_room.py."""
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


class RefusingLog(MemoryLog):
    """Refuses when it is told to, or does not answer."""

    refusal: BraidError | None = None
    is_silent = False

    def append(self, entries: Any) -> "asyncio.Future[list[AppendResult]]":
        if self.is_silent:
            return asyncio.get_running_loop().create_future()
        if self.refusal is None:
            return super().append(entries)
        refused: asyncio.Future[list[AppendResult]] = asyncio.get_running_loop().create_future()
        refused.set_result([self.refusal for _ in entries])
        return refused


@pytest.fixture(params=[False, True], ids=["store", "room"])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    place = Place(RefusingLog, has_room=request.param)
    await place.start()
    yield place
    await place.close()


@pytest.fixture
async def topic(place: Place) -> Topic:
    return await place.topics.make("orders")


async def prepare(place: Place, topic: Topic, body: bytes = b"half", **more: Any) -> str:
    message = Message.create(body, id=f"id of {body.decode()}")
    handle, message_id = await place.halves.prepare(topic, message, group=GROUP, **more)
    assert message_id == message.id
    await settle()
    return handle


async def prepare_old(place: Place, topic: Topic) -> str:
    """A half that is not this node's alone to decide about any more."""
    handle = await prepare(place, topic)
    await place.clock.advance(5_500)
    return handle


def the_half(place: Place) -> Half:
    (half,) = place.half_rows.by_id.values()
    return half


def count(place: Place, name: str) -> float:
    return next(metric.value for metric in place.halves.metrics() if metric.name == f"braid_halves_{name}")


# Ending.


async def test_a_half_is_seen_only_when_it_is_committed(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    assert place.bodies(topic) == []
    ended = await place.halves.end(handle, commit=True, group=GROUP)
    assert ended == Ended("id of half", True, False, ended.delivered)
    assert ended.delivered is not None
    assert ended.delivered.offset == 0
    (message,) = place.messages(topic)
    assert (message.body, message.id) == (b"half", "id of half")


async def test_a_half_that_is_rolled_back_is_never_seen(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    assert await place.halves.end(handle, commit=False) == Ended("id of half", False, False)
    await place.clock.advance(60 * MINUTE_MS)
    assert place.bodies(topic) == []


@pytest.mark.parametrize("commit", [True, False])
async def test_an_end_may_be_repeated_and_not_turned_round(place: Place, topic: Topic, commit: bool) -> None:
    handle = await prepare(place, topic)
    await place.halves.end(handle, commit=commit)
    assert (await place.halves.end(handle, commit=commit)).repeated
    with pytest.raises(HalfEndedOtherwise):
        await place.halves.end(handle, commit=not commit)
    assert place.bodies(topic) == ([b"half"] if commit else [])


async def test_two_ends_at_once_make_one(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    words = [place.halves.end(handle, commit=commit) for commit in (True, False, True, False)]
    first, second, third, fourth = await asyncio.gather(*words, return_exceptions=True)
    assert isinstance(first, Ended)
    assert isinstance(third, Ended)
    assert third.repeated
    assert isinstance(second, HalfEndedOtherwise)
    assert isinstance(fourth, HalfEndedOtherwise)
    assert place.bodies(topic) == [b"half"]


async def test_an_end_is_forgotten_after_a_while(place: Place, topic: Topic) -> None:
    handles = [await prepare(place, topic, body) for body in (b"a", b"b")]
    for handle, commit in zip(handles, (True, False), strict=True):
        await place.halves.end(handle, commit=commit)
    assert all(half.content == b"" for half in place.half_rows.by_id.values())
    await place.clock.advance(11 * MINUTE_MS)
    assert not place.half_rows.by_id
    for handle in handles:
        with pytest.raises(UnknownHalf):
            await place.halves.end(handle, commit=True)
    assert place.bodies(topic) == [b"a"]


async def test_only_the_group_that_prepared_may_end(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    with pytest.raises(UnknownHalf):
        await place.halves.end(handle, commit=True, group="others")
    with pytest.raises(UnknownHalf):
        await place.halves.end("0" * 32, commit=True)
    with pytest.raises(InvalidHandle):
        await place.halves.end("half", commit=True)
    assert place.bodies(topic) == []


async def test_who_asked_for_immunity_is_heard_unasked_only_as_long(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic, immunity_ms=20_000)
    plain = await prepare(place, topic, b"plain")
    await place.clock.advance(20_001)
    with pytest.raises(EndTooLate):
        await place.halves.end(handle, commit=True)
    await place.halves.end(handle, commit=True, asked=True)
    await place.halves.end(plain, commit=True)
    assert place.bodies(topic) == [b"half", b"plain"]


async def test_a_message_that_its_topic_does_not_take_is_refused_at_once(place: Place) -> None:
    topic = await place.topics.make("small", max_message_bytes="1000")
    with pytest.raises(MessageTooLarge):
        await prepare(place, topic, b"x" * 2000)
    assert not place.half_rows.by_id


# Asking.


async def test_producers_are_asked_in_turns_after_the_immunity_and_then_at_intervals(
    place: Place, topic: Topic
) -> None:
    place.producers.names = {GROUP: ["p", "q", "r"], "others": ["x"]}
    handle = await prepare(place, topic)
    await place.clock.advance(5_999)
    assert place.producers.asked == []
    await place.clock.advance(1)
    assert len(place.producers.asked) == 1
    for _ in range(5):
        await place.clock.advance(30_000)
    names = [name for name, _ in place.producers.asked]
    assert len(names) == 6
    assert set(names[:3]) == set(names[3:]) == {"p", "q", "r"}
    question = place.producers.asked[0][1]
    assert (question.handle, question.message().body) == (handle, b"half")
    assert question.half.topic == "orders"
    await place.halves.end(handle, commit=True, asked=True)
    await place.clock.advance(2 * MINUTE_MS)
    assert len(place.producers.asked) == 6


async def test_a_producer_that_has_just_gone_is_passed_over(place: Place, topic: Topic) -> None:
    place.producers.names = {GROUP: ["p", "q", "r"]}
    place.producers.gone = {"p", "q"}
    await prepare(place, topic)
    for _ in range(3):
        await place.clock.advance(30_000)
    assert [name for name, _ in place.producers.asked] == ["r", "r", "r"]


async def test_after_the_last_question_a_half_is_parked_and_an_operator_ends_it(place: Place, topic: Topic) -> None:
    place.producers.names = {GROUP: ["p"]}
    handles = [await prepare(place, topic, body) for body in (b"a", b"b", b"c")]
    await place.clock.advance(20 * MINUTE_MS)
    assert len(place.producers.asked) == 3 * 15
    assert count(place, "checks") == 45
    parked = await place.halves.page(parked=True)
    assert [half.id.hex for half in parked] == handles
    assert "asked 15 times" in parked[0].parked
    assert count(place, "parked") == 3
    half, message = await place.halves.find(handles[0])
    assert message is not None
    assert (half.checks, message.body) == (15, b"a")
    await place.clock.advance(2 * DAY_MS // 24)
    assert len(place.half_rows.by_id) == 3
    await place.halves.end(handles[0], commit=True, asked=True)
    await place.halves.end(handles[1], commit=False, asked=True)
    await place.halves.end(handles[2], commit=True)
    assert place.bodies(topic) == [b"a", b"c"]
    assert await place.halves.page(parked=True) == []


async def test_nobody_to_ask_is_no_question_and_the_half_waits_for_them(place: Place, topic: Topic) -> None:
    await prepare(place, topic)
    await place.clock.advance(60 * MINUTE_MS)
    assert the_half(place).checks == 0
    assert the_half(place).parked == ""
    place.producers.names = {GROUP: ["back"]}
    await place.clock.advance(10 * MINUTE_MS)
    assert place.producers.asked


async def test_a_group_that_never_comes_back_leaves_its_halves_to_an_operator(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    for _ in range(4):
        place.clock.at_ms += DAY_MS / 3
        await place.clock.advance(20_000)
    assert "came back" in the_half(place).parked
    await place.halves.end(handle, commit=True, asked=True)
    assert place.bodies(topic) == [b"half"]


# When something fails.


@STORED_AT_ONCE
async def test_a_half_that_could_not_be_kept_is_not_answered(place: Place, topic: Topic) -> None:
    place.half_rows.is_failing = True
    with pytest.raises(StoreFailed):
        await prepare(place, topic)


async def test_an_end_that_could_not_be_kept_is_not_answered_and_changes_nothing(place: Place, topic: Topic) -> None:
    handle = await prepare_old(place, topic)
    place.half_rows.is_failing = True
    with pytest.raises(StoreFailed):
        await place.halves.end(handle, commit=True)
    assert place.bodies(topic) == []
    place.half_rows.is_failing = False
    await place.halves.end(handle, commit=False)


@STORED_AT_ONCE
async def test_a_commit_that_the_disk_has_no_room_for_is_decided_and_appended_later(place: Place, topic: Topic) -> None:
    log = place.log
    assert isinstance(log, RefusingLog)
    handle = await prepare(place, topic)
    log.refusal = StorageFull()
    assert (await place.halves.end(handle, commit=True)).delivered is None
    with pytest.raises(HalfEndedOtherwise):
        await place.halves.end(handle, commit=False)
    await place.clock.advance(MINUTE_MS)
    log.refusal = None
    await place.clock.advance(1_000)
    assert place.bodies(topic) == [b"half"]


async def test_a_commit_whose_topic_is_gone_is_parked_and_released_or_discarded(place: Place, topic: Topic) -> None:
    handles = [await prepare(place, topic, body) for body in (b"a", b"b")]
    undecided = await prepare(place, topic, b"c")
    await place.topics.delete(topic)
    for handle in handles:
        assert (await place.halves.end(handle, commit=True)).delivered is None
    await place.clock.advance(MINUTE_MS)
    assert [half.id.hex for half in await place.halves.page(parked=True)] == handles
    other = await place.topics.make("other")
    with pytest.raises(UnknownHalf, match="roll it back"):
        await place.halves.discard(undecided)
    await place.halves.release(handles[0], other)
    await place.halves.discard(handles[1])
    await settle()
    assert place.bodies(other) == [b"a"]
    assert await place.halves.page(parked=True) == []


async def test_a_client_that_goes_away_does_not_stop_its_commit(place: Place, topic: Topic) -> None:
    handle = await prepare_old(place, topic)
    word = asyncio.create_task(place.halves.end(handle, commit=True))
    await asyncio.sleep(0)
    word.cancel()
    await settle()
    assert place.bodies(topic) == [b"half"]
    assert the_half(place).state is HalfState.COMMITTED


# Lives.


async def test_the_next_life_asks_for_what_the_last_one_kept(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    await place.close()
    place.producers.names = {GROUP: ["p"]}
    await place.restart()
    await place.clock.advance(6_000)
    assert [question.handle for _, question in place.producers.asked] == [handle]


async def test_a_kill_after_the_decision_appends_in_the_next_life(place: Place, topic: Topic) -> None:
    handle = await prepare_old(place, topic)
    log = place.log
    assert isinstance(log, RefusingLog)
    log.is_silent = True
    word = asyncio.create_task(place.halves.end(handle, commit=True))
    await settle()
    log.is_silent = False
    await place.restart()
    assert place.bodies(topic) == [b"half"]
    assert the_half(place).state is HalfState.COMMITTED
    with pytest.raises(HalfEndedOtherwise):
        await place.halves.end(handle, commit=False)
    word.cancel()


async def test_a_kill_between_append_and_remembering_appends_again_with_the_same_id(
    place: Place, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = await prepare_old(place, topic)

    async def fail() -> None:
        raise StoreFailed("the process ends there")

    monkeypatch.setattr(place.halves, "_tell_appended", fail)
    await place.halves.end(handle, commit=True)
    await place.restart()
    assert [message.id for message in place.messages(topic)] == ["id of half", "id of half"]
    assert the_half(place).state is HalfState.COMMITTED


# Ends within a moment: the append is the decision.


async def test_a_commit_within_a_moment_does_not_wait_for_the_store(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    place.half_rows.is_failing = True
    assert (await place.halves.end(handle, commit=True)).delivered is not None
    assert place.bodies(topic) == [b"half"]
    assert (await place.halves.end(handle, commit=True)).repeated
    with pytest.raises(HalfEndedOtherwise):
        await place.halves.end(handle, commit=False)
    place.producers.names = {GROUP: ["p"]}
    place.half_rows.is_failing = False
    await place.clock.advance(10 * MINUTE_MS)
    assert place.bodies(topic) == [b"half"], "once"
    assert place.producers.asked == []
    assert place.half_rows.by_id == {}


@STORED_AT_ONCE
async def test_the_rows_of_many_that_end_at_once_are_removed_once(
    place: Place, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    handles = [await prepare(place, topic, b"%d" % number) for number in range(32)]
    removed: list[UUID] = []
    delete = place.half_rows.delete

    async def count(ids: Iterable[UUID]) -> None:
        lot = list(ids)
        removed.extend(lot)
        await asyncio.sleep(0)  # as a database, which takes its time
        await delete(lot)

    monkeypatch.setattr(place.half_rows, "delete", count)
    await asyncio.gather(*(place.halves.end(handle, commit=True, group=GROUP) for handle in handles))
    await settle()
    assert not place.half_rows.by_id
    assert len(removed) == len(set(removed)) == len(handles)


@STORED_AT_ONCE
async def test_a_rollback_within_a_moment_is_kept_before_it_is_answered(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    place.half_rows.is_failing = True
    with pytest.raises(StoreFailed):
        await place.halves.end(handle, commit=False)
    place.half_rows.is_failing = False
    await place.halves.end(handle, commit=False)
    assert place.half_rows.by_id == {}
    with pytest.raises(HalfEndedOtherwise):
        await place.halves.end(handle, commit=True)
    assert place.bodies(topic) == []


@STORED_AT_ONCE
async def test_a_kill_between_append_and_forgetting_is_recognised_in_the_next_life(place: Place, topic: Topic) -> None:
    handle = await prepare(place, topic)
    undecided = await prepare(place, topic, b"undecided")
    place.half_rows.deletes_fail = True
    await place.halves.end(handle, commit=True)
    await settle()
    place.half_rows.deletes_fail = False
    place.producers.names = {GROUP: ["p"]}
    await place.restart()
    with pytest.raises(HalfEndedOtherwise):
        await place.halves.end(handle, commit=False)
    assert (await place.halves.end(handle, commit=True)).repeated
    await place.clock.advance(MINUTE_MS)
    assert {question.handle for _, question in place.producers.asked} == {undecided}
    assert place.bodies(topic) == [b"half"], "once"


async def test_halves_that_are_too_much_for_the_memory_end_by_way_of_the_store(
    place: Place, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("braidmq.core.halves._fresh.BYTES_MAX", 1)
    handle = await prepare(place, topic)
    await place.halves.end(handle, commit=True)
    assert the_half(place).state is HalfState.COMMITTED
    assert place.bodies(topic) == [b"half"]


async def test_operators_page_through_what_waits(place: Place, topic: Topic) -> None:
    other = await place.topics.make("other")
    handles = [await prepare(place, each, b"x") for each in (topic, other, topic, topic)]
    first = await place.halves.page(topic=topic, limit=2)
    assert [half.id.hex for half in first] == [handles[0], handles[2]]
    assert [half.id.hex for half in await place.halves.page(topic=topic, after=handles[2])] == [handles[3]]
