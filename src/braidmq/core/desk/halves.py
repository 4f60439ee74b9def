"""Half messages, as producers end them and operators see them."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from braidmq.core.deferral import handle_of
from braidmq.core.desk._named import LIMIT, Catalog, checked_limit, named_topic
from braidmq.core.desk.message_views import MessageView, message_view
from braidmq.core.desk.timers import ReleaseAsk
from braidmq.core.halves import Halves
from braidmq.model import DEFAULT_INSTANCE, Half, HalfState, Message

SCAN_ROWS: Final = 10_000
SCAN_PAGE: Final = 1_000
"""How many halves one list looks through for those of a group or state, and how many at a time."""


class HalfView(msgspec.Struct, frozen=True, kw_only=True):
    """A message that waits for its producer's word, or was ended a short time ago."""

    handle: Annotated[str, Meta(examples=["0199c3b8f00000010000000000000001"])]
    instance: Annotated[str, Meta(examples=["default"])]
    topic: Annotated[str, Meta(examples=["payments"])]
    group: Annotated[str, Meta(examples=["payment-service"], description="The producers that are asked.")]
    message_id: str
    state: HalfState
    prepared_ms: Annotated[int, Meta(examples=[1760000000000])]
    checks: Annotated[int, Meta(examples=[0], description="How often producers were asked.")]
    parked: Annotated[str | None, Meta(description="Why it waits for an operator; null where it does not.")]
    size_bytes: int
    message: Annotated[MessageView | None, Meta(description="Left out of lists, and gone with the end.")] = None


class HalfPage(msgspec.Struct, frozen=True, kw_only=True):
    """Halves by the time of their preparation. With `cursor` the list goes on; a page may be short although there are
    more."""

    items: list[HalfView]
    cursor: str | None


class EndAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose word it is: a producer's, which names its group, or else an operator's."""

    group: Annotated[str | None, Meta(examples=["payment-service"])] = None
    asked: Annotated[bool, Meta(description="Whether it answers a question: then it is never too late.")] = False


class EndedView(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a half. Without a place, a commit that was said before, or that the log takes a little later."""

    message_id: str
    committed: bool
    repeated: Annotated[bool, Meta(description="The same was said before, and nothing was changed.")]
    partition: int | None = None
    offset: int | None = None


class HalfDesk:
    """Shows halves, and passes on what is to become of them."""

    def __init__(self, catalog: Catalog, halves: Halves) -> None:
        self._catalog = catalog
        self._halves = halves

    async def end(self, handle: str, ask: EndAsk, *, commit: bool) -> EndedView:
        """Decided and carried out when this returns. Raises InvalidHandle, UnknownHalf, HalfEndedOtherwise,
        EndTooLate, StoreFailed."""
        asked = ask.asked or ask.group is None
        ended = await self._halves.end(handle, commit=commit, group=ask.group, asked=asked)
        place = ended.delivered or (None, None)
        return EndedView(
            message_id=ended.message_id,
            committed=ended.committed,
            repeated=ended.repeated,
            partition=place[0],
            offset=place[1],
        )

    async def page(
        self,
        *,
        group: str | None = None,
        state: HalfState | None = None,
        topic: str | None = None,
        parked: bool = False,
        cursor: str | None = None,
        limit: int = LIMIT,
        instance: str = DEFAULT_INSTANCE,
    ) -> HalfPage:
        """Raises UnknownTopic, InvalidRequest, InvalidHandle, StoreFailed."""
        checked_limit(limit)
        found = None if topic is None else named_topic(self._catalog, topic, instance)
        items: list[HalfView] = []
        for _ in range(SCAN_ROWS // SCAN_PAGE):
            rows = await self._halves.page(topic=found, parked=parked, after=cursor, limit=SCAN_PAGE, instance=instance)
            for row in rows:
                cursor = handle_of(row.id)
                if group in (None, row.group) and state in (None, row.state):
                    items.append(_view(row))
                if len(items) == limit:
                    return HalfPage(items=items, cursor=cursor)
            if len(rows) < SCAN_PAGE:
                return HalfPage(items=items, cursor=None)
        return HalfPage(items=items, cursor=cursor)

    async def find(self, handle: str, *, with_base64: bool = False) -> HalfView:
        """Raises InvalidHandle, UnknownHalf, StoreFailed."""
        half, message = await self._halves.find(handle)
        return _view(half, message, with_base64=with_base64)

    async def release(self, handle: str, ask: ReleaseAsk, *, instance: str = DEFAULT_INSTANCE) -> None:
        """Append a committed message whose topic is gone to another. Raises UnknownTopic, InvalidHandle, UnknownHalf,
        StoreFailed."""
        await self._halves.release(handle, named_topic(self._catalog, ask.topic, instance))

    async def discard(self, handle: str) -> None:
        """Give up a committed message whose topic is gone. Raises InvalidHandle, UnknownHalf, StoreFailed."""
        await self._halves.discard(handle)


def _view(half: Half, message: Message | None = None, *, with_base64: bool = False) -> HalfView:
    shown = None
    if message is not None:
        placed = msgspec.structs.replace(message, topic=half.topic, partition=half.partition)
        shown = message_view(placed, with_base64=with_base64)
    return HalfView(
        handle=handle_of(half.id),
        instance=half.instance,
        topic=half.topic,
        group=half.group,
        message_id=half.message_id,
        state=half.state,
        prepared_ms=half.prepared_ms,
        checks=half.checks,
        parked=half.parked or None,
        size_bytes=half.size_bytes,
        message=shown,
    )
