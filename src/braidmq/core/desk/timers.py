"""Messages that wait for their time, as operators see them."""

from typing import Annotated

import msgspec
from msgspec import Meta

from braidmq.core.deferral import handle_of
from braidmq.core.desk._named import LIMIT, Catalog, checked_limit, named_topic
from braidmq.core.desk.message_views import MessageView, message_view
from braidmq.core.timers import Timers
from braidmq.model import DEFAULT_INSTANCE, Message, Timer
from braidmq.model.errors import TooLateToRecall


class TimerView(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is to be in its topic from a certain time on."""

    handle: Annotated[str, Meta(examples=["0199c3b8f00000010000000000000001"])]
    instance: Annotated[str, Meta(examples=["default"])]
    topic: Annotated[str, Meta(examples=["reminders"])]
    partition: Annotated[int | None, Meta(description="Null leaves the choice to the moment of delivery.")]
    message_id: str
    due_ms: Annotated[int, Meta(examples=[1760000000000])]
    is_under_way: Annotated[bool, Meta(description="Its delivery has begun, and it cannot be cancelled any more.")]
    attempts: int
    parked: Annotated[str | None, Meta(description="Why it waits for an operator; null where it does not.")]
    size_bytes: int
    message: Annotated[MessageView | None, Meta(description="Left out of lists.")] = None


class TimerPage(msgspec.Struct, frozen=True, kw_only=True):
    """Timers by their time. With `cursor` the list goes on; null says that it is at its end."""

    items: list[TimerView]
    cursor: str | None


class ReleaseAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a parked message is to go."""

    topic: Annotated[str, Meta(examples=["reminders"])]


class TimerDesk:
    """Shows timers, and passes on what is to become of them."""

    def __init__(self, catalog: Catalog, timers: Timers) -> None:
        self._catalog = catalog
        self._timers = timers

    async def page(
        self,
        *,
        topic: str | None = None,
        from_ms: int | None = None,
        until_ms: int | None = None,
        parked: bool = False,
        cursor: str | None = None,
        limit: int = LIMIT,
        instance: str = DEFAULT_INSTANCE,
    ) -> TimerPage:
        """Due from one time on and before another; `parked` shows only those that wait for an operator. Raises
        UnknownTopic, InvalidRequest, InvalidHandle, StoreFailed."""
        found = None if topic is None else named_topic(self._catalog, topic, instance)
        rows = await self._timers.page(
            topic=found,
            from_ms=from_ms,
            until_ms=until_ms,
            parked=parked,
            after=cursor,
            limit=checked_limit(limit),
            instance=instance,
        )
        following = handle_of(rows[-1].id) if len(rows) == limit else None
        return TimerPage(items=[_view(row) for row in rows], cursor=following)

    async def find(self, handle: str, *, with_base64: bool = False) -> TimerView:
        """Raises InvalidHandle, UnknownTimer, StoreFailed."""
        timer, message = await self._timers.find(handle)
        return _view(timer, message, with_base64=with_base64)

    async def cancel(self, handle: str, *, dry_run: bool = False) -> TimerView:
        """What the timer was. Raises InvalidHandle, UnknownTimer, TooLateToRecall, StoreFailed."""
        if not dry_run:
            return _view(await self._timers.cancel(handle))
        timer, message = await self._timers.find(handle)
        if timer.owner:
            raise TooLateToRecall
        return _view(timer, message)

    async def release(self, handle: str, ask: ReleaseAsk, *, instance: str = DEFAULT_INSTANCE) -> None:
        """Deliver a parked message after all. Raises UnknownTopic, InvalidHandle, UnknownTimer, StoreFailed."""
        await self._timers.release(handle, named_topic(self._catalog, ask.topic, instance))


def _view(timer: Timer, message: Message | None = None, *, with_base64: bool = False) -> TimerView:
    shown = None
    if message is not None:
        placed = msgspec.structs.replace(message, topic=timer.topic, partition=timer.partition)
        shown = message_view(placed, with_base64=with_base64)
    return TimerView(
        handle=handle_of(timer.id),
        instance=timer.instance,
        topic=timer.topic,
        partition=None if timer.partition < 0 else timer.partition,
        message_id=timer.message_id,
        due_ms=timer.due_ms,
        is_under_way=bool(timer.owner),
        attempts=timer.attempts,
        parked=timer.parked or None,
        size_bytes=timer.size_bytes,
        message=shown,
    )
