"""Groups in memory: which messages were given out, to come again, and which are done."""

import base64
import itertools
from typing import Final, NamedTuple

import msgspec

from braidmq.core.desk import named_filter
from braidmq.core.desk.message_views import message_view
from braidmq.core.desk.receiving import ReceiveAsk, ReceivedView
from braidmq.core.filters import Filter
from braidmq.model import DEAD_TOPIC_HEADER, Message, retry_topic_name
from braidmq.model.errors import HandleExpired, InvalidHandle
from braidmq.records import message_record
from braidmq.testing._topics import MemoryTopic

ATTEMPTS_MAX: Final = 16
REPEATED_MAX: Final = 1_000


class _Given(msgspec.Struct):
    """One message of a group that was given out, or is done."""

    serial: int = 0
    attempt: int = 0
    until_ms: int = 0
    is_done: bool = False


class Place(NamedTuple):
    """Where a message is."""

    topic: str
    partition: int
    offset: int


class MemoryGroup:
    """A group. `dead` are the messages that it could not work on."""

    def __init__(self, name: str, *, attempts_max: int = ATTEMPTS_MAX, ordered: bool = False) -> None:
        self.name = name
        self.attempts_max = attempts_max
        self.ordered = ordered
        self.paused = False
        self.dead: list[tuple[Message, int]] = []
        self._given: dict[Place, _Given] = {}
        self._serials = itertools.count(1)
        self._repeated: dict[str, list[ReceivedView]] = {}

    @property
    def retry_topic(self) -> str:
        return retry_topic_name(self.name)

    def receive(self, topic: MemoryTopic, ask: ReceiveAsk, now_ms: int, *, with_base64: bool) -> list[ReceivedView]:
        """Raises InvalidFilter."""
        chosen = named_filter(ask.filter.kind, ask.filter.expression)
        if ask.attempt_id in self._repeated:
            return self._repeated[ask.attempt_id]
        found: list[ReceivedView] = []
        for log in [] if self.paused else topic.partitions:
            self._collect(log, chosen, ask, now_ms, found, with_base64=with_base64)
        if found and ask.attempt_id:
            self._repeated[ask.attempt_id] = found
            while len(self._repeated) > REPEATED_MAX:
                del self._repeated[next(iter(self._repeated))]
        return found

    def acknowledge(self, receipt: str, now_ms: int) -> None:
        """Raises InvalidHandle, HandleExpired."""
        self._held(receipt, now_ms)[1].is_done = True

    def put_off(self, receipt: str, delay_s: float, now_ms: int) -> str:
        """The receipt that counts from now on. Raises InvalidHandle, HandleExpired."""
        place, given = self._held(receipt, now_ms)
        given.serial = next(self._serials)
        given.until_ms = now_ms + int(delay_s * 1000)
        return _receipt(place, given.serial)

    def bury(self, topic: MemoryTopic, receipt: str, now_ms: int) -> None:
        """Raises InvalidHandle, HandleExpired."""
        place, given = self._held(receipt, now_ms)
        self._bury(topic.at(place.partition, place.offset), given)

    def _collect(
        self,
        log: list[Message],
        chosen: Filter,
        ask: ReceiveAsk,
        now_ms: int,
        found: list[ReceivedView],
        *,
        with_base64: bool,
    ) -> None:
        blocked: set[str] = set()
        for message in log:
            if len(found) >= ask.count_max:
                return
            given = self._given.setdefault(Place(message.topic, message.partition, message.offset), _Given())
            if given.is_done or self._pass_over(message, given, chosen):
                continue
            key = message.sharding_key
            is_free = given.until_ms <= now_ms and not (self.ordered and key in blocked)
            if self.ordered and key is not None:
                blocked.add(key)
            if is_free and given.attempt > self.attempts_max:
                self._bury(message, given)
            elif is_free:
                found.append(self._give(message, given, ask, now_ms, with_base64=with_base64))

    def _pass_over(self, message: Message, given: _Given, chosen: Filter) -> bool:
        given.is_done = given.attempt == 0 and not chosen.matches(message_record(message))
        return given.is_done

    def _give(
        self, message: Message, given: _Given, ask: ReceiveAsk, now_ms: int, *, with_base64: bool
    ) -> ReceivedView:
        given.serial = next(self._serials)
        given.attempt += 1
        given.until_ms = now_ms + int(ask.invisible_s * 1000)
        place = Place(message.topic, message.partition, message.offset)
        return ReceivedView(
            **msgspec.structs.asdict(message_view(message, with_base64=with_base64)),
            receipt=_receipt(place, given.serial),
            attempt=given.attempt,
            invisible_until_ms=given.until_ms,
        )

    def _bury(self, message: Message, given: _Given) -> None:
        given.is_done = True
        self.dead.append((message.with_headers({DEAD_TOPIC_HEADER: message.topic}), given.attempt))

    def _held(self, receipt: str, now_ms: int) -> tuple[Place, _Given]:
        place, serial = read_receipt(receipt)
        given = self._given.get(place)
        if given is None:
            raise InvalidHandle("this is not a receipt that was given out here")
        if given.is_done or given.serial != serial or given.until_ms <= now_ms:
            raise HandleExpired("the message was this receiver's, and is not any more")
        return place, given


def _receipt(place: Place, serial: int) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((*place, serial))).decode()


def read_receipt(receipt: str) -> tuple[Place, int]:
    """Raises InvalidHandle."""
    try:
        topic, partition, offset, serial = msgspec.json.decode(
            base64.urlsafe_b64decode(receipt), type=tuple[str, int, int, int]
        )
    except (ValueError, msgspec.DecodeError) as error:
        raise InvalidHandle("this is not a receipt that was given out here") from error
    return Place(topic, partition, offset), serial
