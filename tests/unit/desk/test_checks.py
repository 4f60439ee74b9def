"""Producers that come and look are asked while they are there."""

import asyncio
from uuid import UUID

import pytest

from braidmq.core.delivery import pack
from braidmq.core.desk.checks import AWAY_MAX_MS, QUESTIONS_MAX, PolledChecks
from braidmq.core.halves import Question
from braidmq.core.members import Members
from braidmq.core.timing import Timer
from braidmq.model import Half, Message
from braidmq.model.errors import InvalidName, InvalidRequest


class HandClock:
    """Time goes on when a test says so."""

    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> int:
        return self.ms

    def passed_ms(self) -> float:
        return self.ms

    def call_later(self, delay_ms: float, act: object) -> Timer:
        raise NotImplementedError


def question(at: int, content: bytes | None = None) -> Question:
    half = Half(
        id=UUID(int=at),
        topic_id=UUID(int=1),
        instance="default",
        topic="payments",
        group="g",
        message_id=str(at),
        prepared_ms=0,
        wake_ms=0,
        checks=1,
        size_bytes=0,
        content=pack(Message(body=b"pay")) if content is None else content,
    )
    return Question(f"{at:032x}", half)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def members(clock: HandClock) -> Members:
    return Members(clock)


@pytest.fixture
def checks(members: Members, clock: HandClock) -> PolledChecks:
    return PolledChecks(members, clock)


async def test_a_producer_that_waits_is_live_and_hears_what_it_is_asked(checks: PolledChecks) -> None:
    polling = asyncio.create_task(checks.poll("g", producer="p", wait_s=20))
    await asyncio.sleep(0)
    assert checks.live() == {"g": ["p"]}
    assert checks.ask("g", "p", question(7))
    heard = (await polling).checks
    assert [(each.half, each.checks, each.message.body) for each in heard] == [(f"{7:032x}", 1, "pay")]
    assert heard[0].message.topic == "payments"


async def test_a_producer_is_live_for_a_moment_after_it_was_answered(
    checks: PolledChecks, clock: HandClock, members: Members
) -> None:
    await checks.poll("g", producer="p")
    clock.ms += AWAY_MAX_MS
    assert checks.live() == {"g": ["p"]}
    assert checks.ask("g", "p", question(1))
    assert len((await checks.poll("g", producer="p")).checks) == 1
    assert [each.traits["protocol"] for each in members.producers("g")] == ["http"]
    clock.ms += AWAY_MAX_MS + 1
    assert checks.live() == {}
    assert not checks.ask("g", "p", question(1))
    assert members.producers("g") == []


async def test_a_producer_that_does_not_take_its_questions_is_asked_no_more(checks: PolledChecks) -> None:
    await checks.poll("g", producer="p")
    asked = [checks.ask("g", "p", question(at)) for at in range(QUESTIONS_MAX + 1)]
    assert asked == [True] * QUESTIONS_MAX + [False]


async def test_a_row_that_cannot_be_read_is_asked_of_nobody(checks: PolledChecks) -> None:
    await checks.poll("g")
    assert not checks.ask("g", "http", question(1, content=b"\xc1"))


async def test_polls_of_what_cannot_be_are_refused(checks: PolledChecks) -> None:
    with pytest.raises(InvalidName):
        await checks.poll("")
    with pytest.raises(InvalidRequest, match="wait_s"):
        await checks.poll("g", wait_s=31)
    with pytest.raises(InvalidRequest, match="producer"):
        await checks.poll("g", producer="p" * 256)
