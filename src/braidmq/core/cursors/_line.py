"""Receivers that wait: one line for each group and topic.

Whatever may bring messages (new ones in the log, one whose time is over, one that came back, a lane that is free) is
news for the line, which then serves its receivers in the order of their coming. Receivers who want the same as one who
was given nothing are not asked for in vain.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from braidmq.core.cursors._words import Ask, Delivered
from braidmq.core.timing import Clock, Deadline
from braidmq.log import Log, Watch
from braidmq.model import BraidError

LOOK_MS: Final = 10_000
"""How long a line goes without looking, whatever it hears: clocks may jump."""

Collect = Callable[[Ask], Awaitable[list[Delivered]]]
TakeBack = Callable[[str, Iterable[Delivered]], None]
NextDue = Callable[[Ask], float | None]
"""In how many milliseconds something comes back that this receiver may have; None for never."""
Numbers = Callable[[Ask], tuple[int, ...]]
"""The partitions in which something may come for this receiver."""


_Wish = tuple[int | None, int, bool, bool]


class _Receiver:
    """One who waits."""

    __slots__ = ("answer", "ask")

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.answer: asyncio.Future[list[Delivered]] = asyncio.get_running_loop().create_future()

    @property
    def wish(self) -> "_Wish":
        ask = self.ask
        return ask.partition, id(ask.chosen), ask.is_ordered, ask.with_retries


class Line:
    """See the module's opening."""

    def __init__(
        self, log: Log, clock: Clock, collect: Collect, take_back: TakeBack, next_due: NextDue, numbers: Numbers
    ) -> None:
        self._log = log
        self._collect = collect
        self._take_back = take_back
        self._next_due = next_due
        self._numbers = numbers
        self._receivers: dict[_Receiver, None] = {}
        self._news = asyncio.Event()
        self._alarm = Deadline(clock, self._news.set)
        self._watch: Watch | None = None
        self._watched: tuple[int, ...] = ()
        self._server: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._receivers)

    def tell(self) -> None:
        """Something may have become ready."""
        self._news.set()

    async def wait(self, ask: Ask, wait_s: float) -> list[Delivered]:
        """The first messages that come for this receiver, or nothing when its time is over. Raises what prevents it."""
        receiver = _Receiver(ask)
        self._receivers[receiver] = None
        self._news.set()
        if self._server is None:
            self._server = asyncio.create_task(self._serve())
        batch: list[Delivered] = []
        try:
            async with asyncio.timeout(wait_s):
                batch = await asyncio.shield(receiver.answer)
            return batch
        except TimeoutError:
            return batch
        finally:
            self._receivers.pop(receiver, None)
            self._leave(ask, receiver.answer, batch)

    def _leave(self, ask: Ask, answer: "asyncio.Future[list[Delivered]]", told: list[Delivered]) -> None:
        """What came in the moment of going is somebody else's."""
        if not answer.done():
            answer.cancel()
        elif not answer.cancelled() and answer.exception() is None and answer.result() is not told:
            self._take_back(ask.group, answer.result())

    async def close(self) -> None:
        """All go with nothing."""
        for receiver in list(self._receivers):
            if not receiver.answer.done():
                receiver.answer.set_result([])
        if self._server is not None:
            self._server.cancel()
            await asyncio.wait((self._server,))

    async def _serve(self) -> None:
        try:
            while self._receivers:
                self._news.clear()
                self._keep_watching()
                await self._serve_all()
                self._set_alarm()
                await self._news.wait()
        finally:
            self._alarm.cancel()
            if self._watch is not None:
                self._watch.cancel()
            self._watch, self._watched, self._server = None, (), None

    async def _serve_all(self) -> None:
        in_vain: set[_Wish] = set()
        for receiver in list(self._receivers):
            if receiver.answer.done() or receiver.wish in in_vain:
                continue
            try:
                batch = await self._collect(receiver.ask)
            except BraidError as error:
                if not receiver.answer.done():
                    receiver.answer.set_exception(error)
                continue
            if not batch:
                in_vain.add(receiver.wish)
            elif receiver.answer.done():
                self._take_back(receiver.ask.group, batch)
            else:
                receiver.answer.set_result(batch)
                del self._receivers[receiver]

    def _keep_watching(self) -> None:
        """Of a topic that has grown, the new partitions, too."""
        numbers = max((self._numbers(receiver.ask) for receiver in self._first_of_each_wish()), key=len)
        if numbers != self._watched:
            if self._watch is not None:
                self._watch.cancel()
            self._watch = self._log.watch(numbers, lambda _: self._news.set())
            self._watched = tuple(numbers)

    def _set_alarm(self) -> None:
        dues = [due for receiver in self._first_of_each_wish() if (due := self._next_due(receiver.ask)) is not None]
        self._alarm.set(max(0.0, min([LOOK_MS, *dues])))

    def _first_of_each_wish(self) -> Iterable[_Receiver]:
        return {receiver.wish: receiver for receiver in self._receivers}.values()
