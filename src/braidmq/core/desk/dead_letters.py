"""Dead letters of groups: why they are there, and what can be done about them.

A list goes through one group, or through all of them in the order of their names, a bounded piece at a time. A cursor
is opaque to its bearer: where the next piece begins, and where the list ended when it was begun, so that what dies
again while it is being replayed is not replayed in a circle.
"""

import base64
import binascii
from collections.abc import AsyncIterator, Callable
from typing import Final, NamedTuple, Protocol

import msgspec

from braidmq.core.delivery import Delivered
from braidmq.core.desk._dead_letter_exports import WRITERS
from braidmq.core.desk._named import LIMIT, checked_limit
from braidmq.core.desk.dead_letter_views import (
    AgeView,
    DeadAges,
    DeadFilterAsk,
    DeadGroups,
    DeadGroupView,
    DeadLetterPage,
    DeadLetterView,
    DeleteAsk,
    DeletedView,
    ExportFormat,
    PlaceView,
    ReplayAsk,
    ReplayResult,
    ReplayView,
)
from braidmq.core.desk.message_views import message_view
from braidmq.core.desk.sending import error_view
from braidmq.core.retry import Cursor, DeadFilter, DeadLetter, DeadLetters, Place, Replayed, ReplayTo
from braidmq.log import Log
from braidmq.model import DEFAULT_INSTANCE, Group, Topic, dead_letter_topic_name, retry_topic_name
from braidmq.model.errors import InvalidRequest, UnknownGroup, UnknownMessage, UnknownTopic
from braidmq.model.names import DEAD_LETTER_TOPIC_PREFIX
from braidmq.model.saying import Saying, say

EXPORT_PAGE: Final = 500
AGES_MS: Final = (0, 3_600_000, 6 * 3_600_000, 24 * 3_600_000, 7 * 24 * 3_600_000)
"""Where one age ends and the next begins."""
AGED_GROUPS_MAX: Final = 100
"""Of how many groups the ages are looked up at once."""


class Catalog(Protocol):
    """What exists; see `store.Catalog`."""

    def topic(self, instance: str, name: str) -> Topic | None: ...

    def topics(self) -> list[Topic]: ...

    def group(self, instance: str, name: str) -> Group | None: ...


class _Mark(NamedTuple):
    """What a cursor says."""

    group: str
    partition: int
    offset: int
    ends: tuple[int, ...]


class DeadLetterDesk:
    """Shows dead letters, and passes on what is to become of them. `is_group` knows groups by their members and
    offsets."""

    def __init__(
        self,
        catalog: Catalog,
        log: Log,
        letters: DeadLetters,
        now_ms: Callable[[], int],
        is_group: Callable[[str], bool],
    ) -> None:
        self._catalog = catalog
        self._log = log
        self._letters = letters
        self._now_ms = now_ms
        self._is_group = is_group

    async def page(
        self,
        *,
        group: str | None = None,
        chosen: DeadFilterAsk | None = None,
        cursor: str | None = None,
        limit: int = LIMIT,
        instance: str = DEFAULT_INSTANCE,
        with_base64: bool = False,
    ) -> DeadLetterPage:
        """Of one group, or of all. Raises UnknownGroup, InvalidName, InvalidRequest, DamagedLog."""
        checked_limit(limit)
        mark = _parse(cursor)
        groups = self._groups(instance) if group is None else [self._known(instance, group)]
        if mark is not None:
            groups = [each for each in groups if each >= mark.group]
        wanted = _filter(chosen or DeadFilterAsk())
        items: list[DeadLetterView] = []
        for at, name in enumerate(groups):
            after = _cursor(mark) if mark is not None and mark.group == name else None
            left = limit - len(items)
            found = await self._letters.page(name, chosen=wanted, after=after, limit=left, instance=instance)
            items += [self._view(instance, name, each, with_base64=with_base64) for each in found.letters]
            if found.next is not None:
                return DeadLetterPage(items=items, cursor=_write(name, found.next))
            if len(items) >= limit and at + 1 < len(groups):
                return DeadLetterPage(items=items, cursor=_write(groups[at + 1], None))
        return DeadLetterPage(items=items, cursor=None)

    def groups(self, *, instance: str = DEFAULT_INSTANCE) -> DeadGroups:
        """Those that have dead letters."""
        found = [DeadGroupView(group=name, letters=self._letters_of(instance, name)) for name in self._groups(instance)]
        found.sort(key=lambda each: (-each.letters, each.group))
        return DeadGroups(items=[each for each in found if each.letters])

    async def ages(self, *, group: str | None = None, instance: str = DEFAULT_INSTANCE) -> DeadAges:
        """How old the dead letters of one group are, or of all. Raises UnknownGroup, InvalidName."""
        groups = self._groups(instance) if group is None else [self._known(instance, group)]
        now_ms = self._now_ms()
        older = [0] * (len(AGES_MS) + 1)
        for name in groups[:AGED_GROUPS_MAX]:
            topic = self._catalog.topic(instance, dead_letter_topic_name(name))
            for number in () if topic is None else topic.partition_numbers:
                for nth, age_ms in enumerate(AGES_MS):
                    older[nth] += await self._died_before(number, now_ms - age_ms + 1)
        items = [AgeView(from_age_ms=age_ms, letters=older[nth] - older[nth + 1]) for nth, age_ms in enumerate(AGES_MS)]
        return DeadAges(items=items, complete=len(groups) <= AGED_GROUPS_MAX)

    async def _died_before(self, number: int, time_ms: int) -> int:
        found = await self._log.offset_for_time(number, time_ms)
        bounds = self._log.bounds(number)
        return max(0, (bounds.end if found is None else found.offset) - bounds.start)

    async def at(
        self, group: str, place: PlaceView, *, instance: str = DEFAULT_INSTANCE, with_base64: bool = False
    ) -> DeadLetterView:
        """Raises UnknownGroup, InvalidName, UnknownMessage, DamagedLog."""
        self._known(instance, group)
        wanted = Place(place.partition, place.offset)
        if self._catalog.topic(instance, dead_letter_topic_name(group)) is None:
            raise UnknownMessage(say("the group {group} has no dead letters", group=repr(group)))
        found = (await self._letters.some(group, [wanted], instance=instance))[wanted]
        if isinstance(found, UnknownMessage):
            raise found
        return self._view(instance, group, found, with_base64=with_base64)

    async def replay(self, ask: ReplayAsk, *, dry_run: bool = False, instance: str = DEFAULT_INSTANCE) -> ReplayView:
        """Append dead letters anew; they stay where they are. Raises UnknownGroup, InvalidName, InvalidRequest,
        DamagedLog."""
        group = self._known(instance, ask.group)
        if bool(ask.places) == ask.all:
            raise InvalidRequest("say either which dead letters (places), or all: true")
        if ask.places and ask.filter != DeadFilterAsk():
            raise InvalidRequest("filter: it goes with all: true; places are replayed whatever they hold")
        if ask.places:
            return await self._replay_places(group, ask, instance, dry_run=dry_run)
        after = _cursor(_parse(ask.cursor))
        wanted = _filter(ask.filter)
        if dry_run:
            seen = await self._letters.page(group, chosen=wanted, after=after, limit=ask.limit, instance=instance)
            results = [self._thought(instance, group, each, ask.to) for each in seen.letters]
            return ReplayView(results=results, cursor=_following(group, seen.next), dry_run=True)
        page = await self._letters.replay(
            group, chosen=wanted, to=ask.to, after=after, limit=ask.limit, instance=instance
        )
        results = [_result(each) for each in page.replayed]
        return ReplayView(results=results, cursor=_following(group, page.next), dry_run=False)

    async def _replay_places(self, group: str, ask: ReplayAsk, instance: str, *, dry_run: bool) -> ReplayView:
        places = [Place(each.partition, each.offset) for each in ask.places]
        if self._catalog.topic(instance, dead_letter_topic_name(group)) is None:
            none = UnknownMessage(f"the group {group!r} has no dead letters")
            results = [_result(Replayed(place, "", "", none)) for place in dict.fromkeys(places)]
        elif dry_run:
            letters = await self._letters.some(group, places, instance=instance)
            results = [
                _result(Replayed(place, "", "", each))
                if isinstance(each, UnknownMessage)
                else self._thought(instance, group, each, ask.to)
                for place, each in letters.items()
            ]
        else:
            done = await self._letters.replay_some(group, places, to=ask.to, instance=instance)
            results = [_result(each) for each in done]
        return ReplayView(results=results, cursor=None, dry_run=dry_run)

    async def delete(self, ask: DeleteAsk, *, dry_run: bool = False, instance: str = DEFAULT_INSTANCE) -> DeletedView:
        """Raises UnknownGroup, InvalidName, InvalidRequest, UnknownPartition, OffsetOutOfRange."""
        group = self._known(instance, ask.group)
        if (ask.last is None) != ask.all:
            raise InvalidRequest("say either up to which dead letter (last), or all: true")
        topic = self._catalog.topic(instance, dead_letter_topic_name(group))
        places = [] if topic is None else self._last_places(topic, ask.last)
        if dry_run or topic is None:
            deleted = 0 if topic is None else sum(self._count(topic, place) for place in places)
            return DeletedView(deleted=deleted, dry_run=dry_run)
        gone = [await self._letters.delete(group, place, instance=instance) for place in places]
        return DeletedView(deleted=sum(gone), dry_run=False)

    def export(
        self, form: ExportFormat, *, group: str | None = None, instance: str = DEFAULT_INSTANCE
    ) -> AsyncIterator[bytes]:
        """All dead letters of a group, or of all groups, piece by piece. Raises UnknownGroup, InvalidName, at once."""
        if group is not None:
            self._known(instance, group)
        return WRITERS[form](self._pages(group, instance))

    # How it is done.

    async def _pages(self, group: str | None, instance: str) -> AsyncIterator[list[DeadLetterView]]:
        cursor: str | None = None
        while True:
            page = await self.page(group=group, cursor=cursor, limit=EXPORT_PAGE, instance=instance)
            yield page.items
            cursor = page.cursor
            if cursor is None:
                return

    def _thought(self, instance: str, group: str, letter: DeadLetter, to: ReplayTo) -> ReplayResult:
        name = retry_topic_name(group) if to is ReplayTo.GROUP else letter.topic
        is_there = to is ReplayTo.GROUP or self._catalog.topic(instance, name) is not None
        error = None if is_there else error_view(UnknownTopic(f"there is no topic {name!r} any more"))
        return ReplayResult(place=_place(letter.place), message_id=letter.message.id, topic=name, error=error)

    def _groups(self, instance: str) -> list[str]:
        """Those that have dead letters."""
        prefix = DEAD_LETTER_TOPIC_PREFIX
        names = (each.name for each in self._catalog.topics() if each.instance == instance)
        return sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix) and name != prefix)

    def _letters_of(self, instance: str, group: str) -> int:
        topic = self._catalog.topic(instance, dead_letter_topic_name(group))
        bounds = [] if topic is None else [self._log.bounds(number) for number in topic.partition_numbers]
        return sum(each.end - each.start for each in bounds)

    def _known(self, instance: str, group: str) -> str:
        """Raises UnknownGroup, InvalidName."""
        topic = self._catalog.topic(instance, dead_letter_topic_name(group))
        if topic is None and self._catalog.group(instance, group) is None and not self._is_group(group):
            raise UnknownGroup(say("there is no group {group}", group=repr(group)))
        return group

    def _last_places(self, topic: Topic, last: PlaceView | None) -> list[Place]:
        if last is not None:
            return [Place(last.partition, last.offset)]
        ends = ((partition.index, self._log.bounds(partition.number).end) for partition in topic.partitions)
        return [Place(index, end - 1) for index, end in ends if end > 0]

    def _count(self, topic: Topic, last: Place) -> int:
        if last.partition >= len(topic.partition_numbers):
            raise InvalidRequest(say("last: the dead letters have no partition {partition}", partition=last.partition))
        bounds = self._log.bounds(topic.partition_numbers[last.partition])
        return max(0, min(last.offset + 1, bounds.end) - bounds.start)

    def _view(self, instance: str, group: str, letter: DeadLetter, *, with_base64: bool) -> DeadLetterView:
        cause = self._cause(instance, group, letter)
        return DeadLetterView(
            group=group,
            place=_place(letter.place),
            origin_topic=letter.topic,
            origin_id=letter.origin_id,
            attempts=letter.attempts,
            cause=str(cause),
            said=cause,
            died_ms=letter.died_ms,
            age_ms=max(0, self._now_ms() - letter.died_ms),
            message=message_view(letter.message, with_base64=with_base64),
        )

    def _cause(self, instance: str, group: str, letter: DeadLetter) -> Saying:
        """As far as the letter tells it: whoever gives a message up before its last attempt does not say why."""
        found = self._catalog.group(instance, group) or Group(name=group)
        if letter.attempts > found.attempts_max:
            one, many = "delivered once in vain, which is all that its group allows", _IN_VAIN
        else:
            one, many = "given up by a consumer after it was delivered once", _GIVEN_UP
        if not letter.attempts:
            return say("given up by a consumer")
        return say(one) if letter.attempts == 1 else say(many, times=letter.attempts)


_IN_VAIN: Final = "delivered {times} times in vain, which is all that its group allows"
_GIVEN_UP: Final = "given up by a consumer after it was delivered {times} times"


def _filter(ask: DeadFilterAsk) -> DeadFilter:
    return DeadFilter(**msgspec.structs.asdict(ask))


def _place(place: Place) -> PlaceView:
    return PlaceView(partition=place.partition, offset=place.offset)


def _result(replayed: Replayed) -> ReplayResult:
    fate = replayed.fate
    place = fate if isinstance(fate, Delivered) else (None, None)
    return ReplayResult(
        place=_place(replayed.place),
        message_id=replayed.message_id or None,
        topic=replayed.topic or None,
        partition=place[0],
        offset=place[1],
        error=None if isinstance(fate, Delivered) else error_view(fate),
    )


def _following(group: str, cursor: Cursor | None) -> str | None:
    return None if cursor is None else _write(group, cursor)


# Cursors.


def _write(group: str, cursor: Cursor | None) -> str:
    """A cursor without a place is at the beginning of its group."""
    place, ends = (Place(0, -1), ()) if cursor is None else cursor
    mark = _Mark(group, place.partition, place.offset, ends)
    return base64.urlsafe_b64encode(msgspec.json.encode(mark)).decode().rstrip("=")


def _parse(text: str | None) -> _Mark | None:
    """Raises InvalidRequest."""
    if text is None:
        return None
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(raw, type=_Mark)
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        raise InvalidRequest("cursor: it is not one of this list; take it from the answer before, as it is") from error


def _cursor(mark: _Mark | None) -> Cursor | None:
    if mark is None or mark.offset < 0:
        return None
    return Cursor(Place(mark.partition, mark.offset), mark.ends)
