"""A client of RocketMQ's gRPC interface that says exactly what a test wants said."""

import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio

from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc.codes import ClientType, Code, FilterType, MessageType

_ids = itertools.count()


class GrpcClient:
    """One channel, one client id."""

    def __init__(self, address: str, client_id: str = "tester", *, channel: grpc.aio.Channel | None = None) -> None:
        self.id = client_id
        self.channel = channel or grpc.aio.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)])
        self.metadata = [("x-mq-client-id", client_id), ("x-mq-language", "PYTHON")]

    async def call(self, name: str, *, timeout_s: float = 10.0, metadata: Any = None, **fields: Any) -> Any:
        method = self.channel.unary_unary(
            f"/{wire.SERVICE}/{name}",
            request_serializer=getattr(wire, f"{name}Request").SerializeToString,
            response_deserializer=getattr(wire, f"{name}Response").FromString,
        )
        request = getattr(wire, f"{name}Request")(**fields)
        return await method(request, timeout=timeout_s, metadata=self.metadata if metadata is None else metadata)

    async def stream(self, name: str, *, timeout_s: float = 10.0, **fields: Any) -> list[Any]:
        """All answers."""
        method = self.channel.unary_stream(
            f"/{wire.SERVICE}/{name}",
            request_serializer=getattr(wire, f"{name}Request").SerializeToString,
            response_deserializer=getattr(wire, f"{name}Response").FromString,
        )
        call = method(getattr(wire, f"{name}Request")(**fields), timeout=timeout_s, metadata=self.metadata)
        return [answer async for answer in call]

    def telemetry(self) -> Any:
        method = self.channel.stream_stream(
            f"/{wire.SERVICE}/Telemetry",
            request_serializer=wire.TelemetryCommand.SerializeToString,
            response_deserializer=wire.TelemetryCommand.FromString,
        )
        return method(metadata=self.metadata)

    @asynccontextmanager
    async def introduced(self, settings: Any) -> AsyncIterator[tuple[Any, Any]]:
        """A telemetry stream on which the client has introduced itself, and the answer."""
        stream = self.telemetry()
        await stream.write(wire.TelemetryCommand(settings=settings))
        yield stream, await stream.read()
        stream.cancel()

    async def send(self, *messages: Any) -> Any:
        return await self.call("SendMessage", messages=messages)

    async def receive(self, topic: str, group: str, *, wait_ms: int = 0, **fields: Any) -> tuple[Code, list[Any]]:
        """The status and the messages."""
        asked = {"batch_size": 32, "invisible_duration": span(30_000), "long_polling_timeout": span(wait_ms)} | fields
        answers = await self.stream("ReceiveMessage", group=resource(group), message_queue=queue(topic), **asked)
        kinds = [answer.WhichOneof("content") for answer in answers]
        if answers[0].status.code in (Code.OK, Code.MESSAGE_NOT_FOUND):
            assert kinds == ["status", *["message"] * (len(kinds) - 2), "delivery_timestamp"]
        return Code(answers[0].status.code), [answer.message for answer in answers if answer.HasField("message")]

    async def acknowledge(self, topic: str, group: str, *handles: str) -> Any:
        entries = [wire.AckMessageEntry(message_id="m", receipt_handle=handle) for handle in handles]
        return await self.call("AckMessage", group=resource(group), topic=resource(topic), entries=entries)

    async def close(self) -> None:
        await self.channel.close()


def resource(name: str) -> Any:
    return wire.Resource(name=name)


def queue(topic: str, queue_id: int = -1) -> Any:
    return wire.MessageQueue(topic=resource(topic), id=queue_id)


def span(ms: int) -> Any:
    return wire.Duration(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000)


def moment(ms: int) -> Any:
    return wire.Timestamp(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def message(topic: str, body: bytes = b"body", *, properties: dict[str, str] | None = None, **fields: Any) -> Any:
    """`fields` are system properties."""
    said = {"message_id": f"M{next(_ids):08}", "message_type": MessageType.NORMAL, "born_timestamp": moment(now_ms())}
    return wire.Message(
        topic=resource(topic),
        body=body,
        user_properties=properties or {},
        system_properties=wire.SystemProperties(**said | fields),
    )


def producer_settings(*topics: str) -> Any:
    publishing = wire.Publishing(topics=[resource(topic) for topic in topics])
    return wire.Settings(client_type=ClientType.PRODUCER, publishing=publishing)


def consumer_settings(
    group: str, topic: str, expression: str = "*", kind: ClientType = ClientType.SIMPLE_CONSUMER
) -> Any:
    wanted = wire.FilterExpression(type=FilterType.TAG, expression=expression)
    entry = wire.SubscriptionEntry(topic=resource(topic), expression=wanted)
    return wire.Settings(client_type=kind, subscription=wire.Subscription(group=resource(group), subscriptions=[entry]))
