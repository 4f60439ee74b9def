"""Asking producers without a connection of their own what became of their half messages: they come and look.

A producer that polls is a live producer of its group while it waits, and for a moment after it was answered, so that it
can come again. What it is asked waits for it in a short queue; what it does not take is asked again later, of it or of
another.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from braidmq.core.desk.message_views import MessageView, message_view
from braidmq.core.halves import Question
from braidmq.core.members import Member, Members
from braidmq.core.timing import Clock
from braidmq.model import BraidError, check_group_name
from braidmq.model.errors import InvalidRequest, TooManyReceivers

AWAY_MAX_MS: Final = 5_000
"""How long a producer counts as live between two polls."""
PRODUCERS_MAX: Final = 10_000
QUESTIONS_MAX: Final = 100
NAME_LENGTH_MAX: Final = 255
WAIT_MAX_S: Final = 30


class CheckView(msgspec.Struct, frozen=True, kw_only=True):
    """A half message whose producer is asked. The answer is its commit or rollback, with `asked`."""

    half: Annotated[str, Meta(description="Its handle.")]
    checks: Annotated[int, Meta(examples=[1], description="How often was asked, this time with it.")]
    message: MessageView


class Checks(msgspec.Struct, frozen=True, kw_only=True):
    """What a producer is asked; nothing where nothing came in time."""

    checks: list[CheckView]


class _Producer:
    """One that polls. It is the channel of its member."""

    def __init__(self, group: str, name: str) -> None:
        self.group = group
        self.name = name
        self.questions: deque[CheckView] = deque()
        self.news = asyncio.Event()
        self.waiting = 0
        self.seen_ms = 0.0


class PolledChecks:
    """See `core.halves.Checker`."""

    def __init__(self, members: Members, clock: Clock) -> None:
        self._members = members
        self._clock = clock
        self._producers: dict[tuple[str, str], _Producer] = {}

    def live(self) -> Mapping[str, Sequence[str]]:
        self._expire()
        found: dict[str, list[str]] = {}
        for group, name in self._producers:
            found.setdefault(group, []).append(name)
        return found

    def ask(self, group: str, producer: str, question: Question) -> bool:
        found = self._producers.get((group, producer))
        if found is None or len(found.questions) >= QUESTIONS_MAX:
            return False
        try:
            view = _view(question)
        except BraidError:
            return False  # a row that cannot be read is not for producers; it is parked in the end
        found.questions.append(view)
        found.news.set()
        return True

    async def poll(self, group: str, *, producer: str = "", wait_s: float = 0.0, address: str = "") -> Checks:
        """What this producer is asked, after so long a wait at most. Producers of a group that give no name are one.

        Raises InvalidName, InvalidRequest, TooManyReceivers.
        """
        if len(producer) > NAME_LENGTH_MAX or not 0 <= wait_s <= WAIT_MAX_S:
            raise InvalidRequest(
                f"producer: it has at most {NAME_LENGTH_MAX} characters; wait_s: it is 0 to {WAIT_MAX_S}"
            )
        found = self._adopt(check_group_name(group), producer or "http", address)
        found.waiting += 1
        try:
            if not found.questions and wait_s > 0:
                await self._news(found, wait_s)
            taken = list(found.questions)
            found.questions.clear()
            return Checks(checks=taken)
        finally:
            found.waiting -= 1
            found.seen_ms = self._clock.passed_ms()

    async def _news(self, producer: _Producer, wait_s: float) -> None:
        producer.news.clear()
        try:
            async with asyncio.timeout(wait_s):
                await producer.news.wait()
        except TimeoutError:
            return

    def _adopt(self, group: str, name: str, address: str) -> _Producer:
        self._expire()
        producer = self._producers.get((group, name))
        if producer is None:
            if len(self._producers) >= PRODUCERS_MAX:
                raise TooManyReceivers(f"{PRODUCERS_MAX} producers wait for questions; ask again later")
            producer = self._producers[group, name] = _Producer(group, name)
        member = Member(id=name, group=group, address=address, channel=producer, traits={"protocol": "http"})
        self._members.add_producer(member)
        return producer

    def _expire(self) -> None:
        """Forget those that have not come back."""
        before_ms = self._clock.passed_ms() - AWAY_MAX_MS
        gone = [each for each in self._producers.values() if not each.waiting and each.seen_ms < before_ms]
        for producer in gone:
            del self._producers[producer.group, producer.name]
            self._members.lost(producer)


def _view(question: Question) -> CheckView:
    half = question.half
    message = msgspec.structs.replace(question.message(), topic=half.topic, partition=half.partition)
    return CheckView(half=question.handle, checks=half.checks, message=message_view(message))
