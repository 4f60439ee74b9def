"""Messages that users write by hand or by a program without a client of its own: checked, given an id, published.

A message is what it says it is: one with a time is delayed, one with a transaction is a half, all others go in at once.
Messages that come together stand each for itself; each has its own answer. What is answered with a place, a timer or a
half is kept.
"""

import asyncio
import base64
import binascii
import secrets
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from braidmq.core.loads import partition_for
from braidmq.core.properties import check_id, check_keys, check_properties, check_size, check_tag
from braidmq.core.publish import Publisher
from braidmq.core.shapes import check_writable, writable_partitions
from braidmq.core.topics import Topics
from braidmq.model import DEFAULT_INSTANCE, HTTP_HEADER, HTTP_MARK, BraidError, Message, Topic, check_group_name
from braidmq.model.errors import InvalidMessage, InvalidRequest
from braidmq.model.saying import say

MESSAGES_MAX: Final = 1_024
IMMUNITY_MAX_S: Final = 40 * 86_400
ID_BYTES: Final = 16


class TransactionAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Makes a message a half: it counts when its producer commits it."""

    group: Annotated[str, Meta(examples=["payments"], description="The producers that are asked what became of it.")]
    immunity_s: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=IMMUNITY_MAX_S,
                examples=[30],
                description="How long nobody is asked; after it, only the answer to a question counts.",
            ),
        ]
        | None
    ) = None


class Outgoing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message to send. Exactly one of `body`, `body_base64` and `json` says its content."""

    body: Annotated[
        str | UnsetType | None,
        Meta(examples=["hello"], description="Text. Null is a tombstone: it deletes its key in a compacted topic."),
    ] = UNSET
    body_base64: Annotated[str | UnsetType, Meta(examples=["aGVsbG8="], description="Any bytes.")] = UNSET
    json: Annotated[Any, Meta(examples=[{"order": 17}], description="Any JSON value, written compactly.")] = UNSET
    tag: Annotated[str | None, Meta(examples=["paid"])] = None
    keys: Annotated[list[str], Meta(examples=[["order-17"]], description="By these it is found.")] = []
    key: Annotated[
        str | None,
        Meta(
            examples=["order-17"],
            description="The record key, as Kafka's clients see it. Else the sharding key, or the first of the keys.",
        ),
    ] = None
    sharding_key: Annotated[
        str | None, Meta(examples=["account-9"], description="Messages with the same one are in order.")
    ] = None
    id: Annotated[str | None, Meta(examples=["order-17-paid"], description="One is given where none is said.")] = None
    properties: Annotated[dict[str, str], Meta(examples=[{"region": "north"}])] = {}
    partition: Annotated[int, Meta(ge=0, examples=[0])] | None = None
    deliver_at_ms: Annotated[int, Meta(ge=0, examples=[1760000000000])] | None = None
    delay_ms: Annotated[int, Meta(ge=0, examples=[60000])] | None = None
    transaction: TransactionAsk | None = None


class SendAsk(Outgoing, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message, or many in `messages`."""

    messages: Annotated[list[Outgoing] | UnsetType, Meta(examples=[[{"body": "one"}, {"body": "two"}]])] = UNSET


class ErrorView(msgspec.Struct, frozen=True, kw_only=True):
    """Why one of several was refused."""

    code: Annotated[str, Meta(examples=["invalid_message"])]
    detail: Annotated[str, Meta(examples=["keys: a key is not blank"])]
    retriable: bool


class SendResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one message: it is at a place, waits under a timer or as a half, or was refused."""

    id: Annotated[str | None, Meta(examples=["9C0B0E0D5F1E4C1FA1C2B3D4E5F60718"])] = None
    partition: Annotated[int | None, Meta(examples=[0])] = None
    offset: Annotated[int | None, Meta(examples=[42])] = None
    timer: Annotated[str | None, Meta(description="The handle by which it can be cancelled before its time.")] = None
    half: Annotated[str | None, Meta(description="The handle by which it is committed or rolled back.")] = None
    error: ErrorView | None = None


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """One result for each message, in order."""

    results: list[SendResult]


class Sending:
    """`publisher` counts for those who send by this way."""

    def __init__(self, topics: Topics, publisher: Publisher, now_ms: Callable[[], int]) -> None:
        self._topics = topics
        self._publisher = publisher
        self._now_ms = now_ms

    async def send(self, name: str, ask: SendAsk, *, instance: str = DEFAULT_INSTANCE) -> Sent:
        """One message, which is taken or raises; or many, each with its own result. Kept when this returns.

        Raises UnknownTopic, InvalidName, NotPermitted, InvalidRequest; for one message also InvalidMessage,
        WrongMessageKind, MessageTooLarge, DelayTooLong, UnknownPartition, and the errors of log and store.
        """
        many = _many(ask)
        topic = await self._topics.ensure(name, instance=instance)
        check_writable(topic)
        if many is None:
            return Sent(results=[await self.send_one(topic, ask)])
        return Sent(results=list(await asyncio.gather(*(self._fate(topic, each) for each in many))))

    async def send_one(self, topic: Topic, outgoing: Outgoing) -> SendResult:
        """Raises what `send` raises for one message."""
        message = house_message(outgoing, self._now_ms())
        partition = _partition(topic, outgoing)
        if outgoing.transaction is not None:
            return await self._prepare(topic, message, outgoing.transaction, partition)
        due_ms = self._due_ms(outgoing)
        if due_ms is not None:
            taken = await self._publisher.publish_at(topic, message, due_ms, partition=partition)
            place = taken.delivered or (None, None)
            return SendResult(id=taken.message_id, timer=taken.handle, partition=place[0], offset=place[1])
        published = await self._publisher.published(topic, (message,), partition=partition)
        return SendResult(id=message.id, partition=published.partition, offset=published.offset)

    async def _prepare(self, topic: Topic, message: Message, ask: TransactionAsk, partition: int) -> SendResult:
        immunity_ms = -1 if ask.immunity_s is None else ask.immunity_s * 1000
        group = check_group_name(ask.group)
        handle, message_id = await self._publisher.prepare(
            topic, message, group=group, partition=partition, immunity_ms=immunity_ms
        )
        return SendResult(id=message_id, half=handle)

    def _due_ms(self, outgoing: Outgoing) -> int | None:
        if outgoing.delay_ms is not None:
            return self._now_ms() + outgoing.delay_ms
        return outgoing.deliver_at_ms

    async def _fate(self, topic: Topic, outgoing: Outgoing) -> SendResult:
        try:
            return await self.send_one(topic, outgoing)
        except BraidError as error:
            return SendResult(id=outgoing.id, error=error_view(error))


def error_view(error: BraidError) -> ErrorView:
    return ErrorView(code=error.code, detail=error.message, retriable=error.retriable)


def new_id() -> str:
    """An id that no other message has."""
    return secrets.token_hex(ID_BYTES).upper()


def house_message(outgoing: Outgoing, now_ms: int) -> Message:
    """The message to keep, with the mark of its protocol. Raises InvalidMessage."""
    _check_kinds(outgoing)
    if outgoing.tag is not None:
        check_tag(outgoing.tag)
    check_keys(outgoing.keys)
    check_properties(outgoing.properties)
    check_size(outgoing.tag, outgoing.keys, outgoing.properties)
    if outgoing.id is not None:
        check_id(outgoing.id)
    if outgoing.sharding_key is not None and not outgoing.sharding_key.strip():
        raise InvalidMessage("sharding_key: it is not blank; leave it out for a message without order")
    message = Message.create(
        _body(outgoing),
        tag=outgoing.tag,
        keys=outgoing.keys,
        sharding_key=outgoing.sharding_key,
        id=outgoing.id or new_id(),
        properties=outgoing.properties,
        born_ms=now_ms,
    )
    key = message.key if outgoing.key is None else outgoing.key.encode()
    return msgspec.structs.replace(message, key=key, headers=(*message.headers, (HTTP_HEADER, HTTP_MARK)))


def _partition(topic: Topic, outgoing: Outgoing) -> int:
    """As asked; by a key that stands alone, as Kafka's producers choose, so that a compacted topic has all of a key in
    one place; else as publishing chooses."""
    if outgoing.partition is not None:
        return outgoing.partition
    if outgoing.key is not None and outgoing.sharding_key is None:
        return partition_for(outgoing.key.encode(), writable_partitions(topic))
    return -1


def _check_kinds(outgoing: Outgoing) -> None:
    """Things that do not go together."""
    kinds = [outgoing.deliver_at_ms is not None, outgoing.delay_ms is not None, outgoing.transaction is not None]
    if sum(kinds) > 1:
        raise InvalidMessage("a message has at most one of deliver_at_ms, delay_ms and transaction")


def _body(outgoing: Outgoing) -> bytes | None:
    said = [each for each in (outgoing.body, outgoing.body_base64, outgoing.json) if each is not UNSET]
    if len(said) != 1:
        raise InvalidMessage("a message has exactly one of body (text), body_base64 (bytes) and json (any value)")
    if outgoing.json is not UNSET:
        return msgspec.json.encode(outgoing.json)
    if not isinstance(outgoing.body_base64, UnsetType):
        return _bytes(outgoing.body_base64)
    return outgoing.body.encode() if isinstance(outgoing.body, str) else None


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidMessage("body_base64: it is not base64; write text in `body`") from error


def _many(ask: SendAsk) -> Sequence[Outgoing] | None:
    """The messages of an ask for many; None for an ask that is one message. Raises InvalidRequest."""
    if isinstance(ask.messages, UnsetType):
        return None
    if msgspec.structs.replace(ask, messages=UNSET) != SendAsk():
        raise InvalidRequest("messages: beside it, the request says nothing; say it in each of the messages")
    if not 1 <= len(ask.messages) <= MESSAGES_MAX:
        raise InvalidRequest(
            say(
                "messages: they are 1 to {messages_max}, not {count}",
                messages_max=MESSAGES_MAX,
                count=len(ask.messages),
            )
        )
    return ask.messages
