"""An answer that is still being made. Hot path: what a future would do, without a turn of the event loop in between."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from braidmq.protocols.kafka._operations import Response


def _nobody() -> None:
    """Whoever waits asks by himself."""


def _wake(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)


class Later:
    """Told or failed once, by the handler that returned it; `when_done` hears of it at once and may not raise."""

    __slots__ = ("error", "is_done", "on_lost", "response", "when_done")

    def __init__(self) -> None:
        self.is_done = False
        self.response: Response | bytes = None
        """As bytes, it is the whole frame."""
        self.error: BaseException | None = None
        self.when_done: Callable[[], object] = _nobody
        self.on_lost: Callable[[], object] = _nobody
        """Hears that nobody wants the answer any more, unless it was given."""

    def tell(self, response: "Response | bytes") -> None:
        """The answer is there. Where it is there already, or nobody waits any more, nothing happens."""
        if not self.is_done:
            self.response = response
            self._finish()

    def fail(self, error: BaseException) -> None:
        """There will be no answer."""
        if not self.is_done:
            self.error = error
            self._finish()

    def lose(self) -> None:
        """Nobody waits any more."""
        if not self.is_done:
            on_lost, self.when_done = self.on_lost, _nobody
            self._finish()
            on_lost()

    def _finish(self) -> None:
        """Who waits and who works are let go: they know this as well, and such circles would be left to the collector,
        which stops everything for as long as it looks for them."""
        when_done, self.when_done, self.on_lost = self.when_done, _nobody, _nobody
        self.is_done = True
        when_done()

    def follow(self, task: "asyncio.Future[Response]") -> None:
        """The answer is what the task comes to; the task ends when nobody waits for it."""
        self.on_lost = task.cancel
        task.add_done_callback(self._take)

    def _take(self, task: "asyncio.Future[Response]") -> None:
        if task.cancelled():
            self.fail(asyncio.CancelledError())
        elif (error := task.exception()) is not None:
            self.fail(error)
        else:
            self.tell(task.result())

    async def wait(self) -> "Response":
        """The answer, for who can wait and is given no frames. Raises what the handler failed with."""
        if not self.is_done:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.when_done = partial(_wake, done)
            await done
        if self.error is not None:
            raise self.error
        assert not isinstance(self.response, bytes)
        return self.response
