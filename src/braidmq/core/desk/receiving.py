"""Messages taken one by one by clients that have no connection of their own: a receipt stands for each.

A receipt is one opaque word, sealed for its group: it names the message, and nobody can make one up. A message that is
neither acknowledged nor put off comes again when its time is over, to whoever asks.
"""

from collections.abc import Iterable
from typing import Annotated, Final, NamedTuple, Protocol

import msgspec
from msgspec import Meta

from braidmq.core.cursors import Ask, Beginning, Cursors, Delivered, read_receipt, write_receipt
from braidmq.core.desk._named import named_filter, named_topic
from braidmq.core.desk.message_views import MessageView, message_view
from braidmq.core.desk.receivers import Caller, Receivers
from braidmq.core.desk.sending import ErrorView, error_view
from braidmq.core.members import Interest
from braidmq.core.retry import Retries
from braidmq.core.shapes import check_reading
from braidmq.core.telemetry import Outlet
from braidmq.model import (
    DEFAULT_INSTANCE,
    BraidError,
    FilterKind,
    Group,
    Topic,
    check_group_name,
    dead_letter_topic_name,
    retry_topic_name,
)
from braidmq.model.errors import InvalidGroup, InvalidName
from braidmq.records import record_message

COUNT_MAX: Final = 256
RECEIPTS_MAX: Final = 1_024
BYTES_MAX: Final = 4 << 20
WAIT_MAX_S: Final = 30
INVISIBLE_MAX_S: Final = 12 * 3_600
DELAY_MAX_S: Final = 12 * 3_600
NOBODY: Final = Caller()


class FilterAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which messages a group wants. The others are passed over for it, and do not come again."""

    kind: Annotated[FilterKind, Meta(examples=["tag"])] = FilterKind.TAG
    expression: Annotated[str, Meta(examples=["paid || refunded"])] = ""


class ReceiveAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a receiver wants, and how long it waits for it."""

    topic: Annotated[str, Meta(examples=["orders"])]
    filter: FilterAsk = FilterAsk()
    count_max: Annotated[int, Meta(ge=1, le=COUNT_MAX, examples=[16])] = 16
    wait_s: Annotated[float, Meta(ge=0, le=WAIT_MAX_S, examples=[20])] = 0
    invisible_s: Annotated[
        float,
        Meta(ge=1, le=INVISIBLE_MAX_S, examples=[60], description="How long the messages are nobody else's."),
    ] = 60
    attempt_id: Annotated[
        str,
        Meta(
            max_length=255,
            examples=["worker-1-7"],
            description="Who lost the answer asks again with the same word, and gets the same messages.",
        ),
    ] = ""
    with_retries: Annotated[
        bool,
        Meta(
            description="Also messages that were sent to the topic and came back to the group by its retry topic, such "
            "as replayed dead letters. They name that topic as their place, and theirs in the property RETRY_TOPIC."
        ),
    ] = True


class ReceivedView(MessageView, frozen=True, kw_only=True):
    """A message that is the receiver's for a while."""

    receipt: Annotated[str, Meta(description="By this the receiver says what became of the message.")]
    attempt: Annotated[int, Meta(examples=[1], description="How often the group was given it, this time with it.")]
    invisible_until_ms: Annotated[int, Meta(examples=[1760000060000])]


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """The messages, the oldest of each partition first; none where nothing came in time."""

    messages: list[ReceivedView]


class AcknowledgeAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages that are done."""

    receipts: Annotated[list[str], Meta(min_length=1, max_length=RECEIPTS_MAX)]


class ReceiptResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one receipt."""

    receipt: str
    error: ErrorView | None = None


class Acknowledged(msgspec.Struct, frozen=True, kw_only=True):
    """One result for each receipt, in order."""

    results: list[ReceiptResult]


class ExtendAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """More time for a message, from now on."""

    receipt: str
    invisible_s: Annotated[float, Meta(ge=1, le=INVISIBLE_MAX_S, examples=[60])]


class RejectAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message that its receiver could not work on; it comes again after this time, and at last no more."""

    receipt: str
    delay_s: Annotated[float, Meta(ge=0, le=DELAY_MAX_S, examples=[10])] = 0


class BuryAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message that nobody will be able to work on."""

    receipt: str


class ReceiptView(msgspec.Struct, frozen=True, kw_only=True):
    """The receipt that counts from now on; the one before does not any more."""

    receipt: str


class Batch(NamedTuple):
    """What a receiver was given, for whoever has to take it back."""

    group: str
    delivered: list[Delivered]
    view: Received


class Catalog(Protocol):
    """What exists; see `store.Catalog`."""

    def topic(self, instance: str, name: str) -> Topic | None: ...

    def group(self, instance: str, name: str) -> Group | None: ...


class Receiving:
    """Takes messages for groups."""

    def __init__(
        self,
        catalog: Catalog,
        cursors: Cursors,
        retries: Retries,
        outlet: Outlet,
        receivers: Receivers,
        *,
        new_group_from_start: bool,
    ) -> None:
        self._catalog = catalog
        self._cursors = cursors
        self._retries = retries
        self._outlet = outlet
        self.receivers = receivers
        self._beginning = Beginning.YOUNG if new_group_from_start else Beginning.END

    async def receive(
        self,
        group: str,
        ask: ReceiveAsk,
        *,
        caller: Caller = NOBODY,
        instance: str = DEFAULT_INSTANCE,
        with_base64: bool = False,
    ) -> Batch:
        """Messages that are the receiver's from now on; a group's own retry topic is there as soon as it is asked for.

        Raises UnknownTopic, InvalidGroup, InvalidFilter, NotPermitted, TooManyReceivers, and the log's errors.
        """
        group = _checked_group(group)
        topic = await self._topic(group, ask.topic, instance)
        found = self._catalog.group(instance, group)
        check_reading(topic, found)
        wanted = Ask(
            group=group,
            topic=topic,
            chosen=named_filter(ask.filter.kind, ask.filter.expression),
            count_max=ask.count_max,
            bytes_max=BYTES_MAX,
            invisible_ms=int(ask.invisible_s * 1000),
            is_ordered=found is not None and found.ordered,
            attempt_id=ask.attempt_id,
            client=caller.name,
            beginning=self._beginning,
            with_retries=ask.with_retries,
        )
        self._note(caller, group, topic, ask)
        delivered = await self._cursors.receive(wanted, wait_s=ask.wait_s)
        until_ms = self._cursors.now_ms() + wanted.invisible_ms
        views = [_received(each, until_ms, with_base64=with_base64) for each in delivered]
        return Batch(group, delivered, Received(messages=views))

    def _note(self, caller: Caller, group: str, topic: Topic, ask: ReceiveAsk) -> None:
        """Who asks is a member. A group's own retry topic is nothing to want; and members of groups are known by the
        group's name alone, so those of other instances are not."""
        if topic.instance == DEFAULT_INSTANCE and topic.name != retry_topic_name(group):
            interest = Interest(ask.filter.kind, ask.filter.expression)
            self.receivers.asks(caller, group, topic.name, interest, wait_s=ask.wait_s)

    def gave(self, batch: Batch) -> None:
        """The receiver has the messages."""
        self._outlet.gave_each(batch.group, ((each.receipt.number, each.record) for each in batch.delivered))

    def take_back(self, batch: Batch) -> None:
        """The receiver has gone before it was told: others can have the messages at once."""
        self._cursors.take_back(batch.group, batch.delivered)

    def acknowledge(self, group: str, receipts: Iterable[str], *, caller: Caller = NOBODY) -> Acknowledged:
        """Raises InvalidGroup; what a receipt is refused for is in its result."""
        group = _checked_group(group)
        self.receivers.speaks(caller, group)
        return Acknowledged(results=[self._acknowledged(group, each) for each in receipts])

    def extend(self, group: str, ask: ExtendAsk, *, caller: Caller = NOBODY) -> ReceiptView:
        """Raises InvalidGroup, InvalidHandle, HandleExpired."""
        self.receivers.speaks(caller, group)
        return self._put_off(group, ask.receipt, ask.invisible_s)

    def reject(self, group: str, ask: RejectAsk) -> ReceiptView:
        """Raises what `extend` raises."""
        return self._put_off(group, ask.receipt, ask.delay_s)

    async def bury(self, group: str, receipt: str) -> None:
        """To the group's dead letters; there when this returns. Raises what `extend` raises, and the errors of log and
        store."""
        await self._cursors.bury(_checked_group(group), read_receipt(receipt))

    def _put_off(self, group: str, receipt: str, delay_s: float) -> ReceiptView:
        changed = self._cursors.extend(_checked_group(group), read_receipt(receipt), int(delay_s * 1000))
        return ReceiptView(receipt=write_receipt(changed))

    def _acknowledged(self, group: str, receipt: str) -> ReceiptResult:
        try:
            self._cursors.acknowledge(group, read_receipt(receipt))
        except BraidError as error:
            return ReceiptResult(receipt=receipt, error=error_view(error))
        return ReceiptResult(receipt=receipt)

    async def _topic(self, group: str, name: str, instance: str) -> Topic:
        if name == retry_topic_name(group):
            return await self._retries.retry_topic(group, instance=instance)
        return named_topic(self._catalog, name, instance)


def _checked_group(name: str) -> str:
    """A group that takes messages one by one needs a name under which it can have dead letters, too."""
    try:
        dead_letter_topic_name(check_group_name(name))
    except InvalidName as error:
        raise InvalidGroup(error.message) from error
    return name


def _received(delivered: Delivered, until_ms: int, *, with_base64: bool) -> ReceivedView:
    view = message_view(record_message(delivered.record, delivered.topic, delivered.partition), with_base64=with_base64)
    return ReceivedView(
        **msgspec.structs.asdict(view),
        receipt=write_receipt(delivered.receipt),
        attempt=delivered.attempt,
        invisible_until_ms=until_ms,
    )
