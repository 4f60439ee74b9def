"""Answers that are still being made."""

import asyncio
import gc
import weakref
from collections.abc import Callable

import pytest

from braidmq.protocols.kafka._later import Later
from braidmq.protocols.kafka.codec import ApiMessage
from braidmq.protocols.kafka.codec.messages.fetch import FetchResponse


class Work:
    """Who makes an answer, and wants to know when nobody waits for it."""

    def __init__(self) -> None:
        self.answer = Later()
        self.answer.on_lost = self.stop
        self.is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True


def test_an_answer_is_told_once() -> None:
    told: list[object] = []
    later = Later()
    later.when_done = lambda: told.append(later.response)
    response = FetchResponse()
    later.tell(response)
    later.tell(FetchResponse())
    later.fail(ValueError())
    later.lose()
    assert told == [response]
    assert later.error is None


def test_who_works_hears_that_nobody_waits() -> None:
    work = Work()
    work.answer.lose()
    work.answer.tell(FetchResponse())
    assert work.is_stopped
    assert work.answer.response is None


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda answer: answer.tell(None), id="told"),
        pytest.param(lambda answer: answer.fail(ValueError()), id="failed"),
        pytest.param(lambda answer: answer.lose(), id="lost"),
    ],
)
def test_what_has_ended_goes_without_the_collector(end: Callable[[Later], None]) -> None:
    gc.disable()
    try:
        work = Work()
        gone = weakref.ref(work)
        end(work.answer)
        del work
        assert gone() is None
    finally:
        gc.enable()


async def test_a_task_that_nobody_waits_for_ends() -> None:
    later = Later()
    task: asyncio.Future[ApiMessage | None] = asyncio.ensure_future(asyncio.sleep(60, None))
    later.follow(task)
    later.lose()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_can_wait_gets_the_answer_or_the_error() -> None:
    later, failed = Later(), Later()
    loop = asyncio.get_running_loop()
    loop.call_soon(later.tell, FetchResponse(session_id=7))
    loop.call_soon(failed.fail, ValueError("not this time"))
    assert await later.wait() == FetchResponse(session_id=7)
    with pytest.raises(ValueError, match="not this time"):
        await failed.wait()
