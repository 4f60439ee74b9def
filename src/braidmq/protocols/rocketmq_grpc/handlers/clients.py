"""Clients come, say what they want, show that they live, and go.

A client's first word on its telemetry stream are its settings. It waits for the answer, which is the same settings with
what this node wants it to do. Beyond that the stream only has to stay: by it the node asks producers about their half
messages and consumers about themselves, and knows that a consumer still works on what it was given.
"""

import asyncio
import contextlib
from typing import Any, Final

from braidmq.core.access import Action, ResourceKind
from braidmq.core.members import Interest
from braidmq.model import DEFAULT_INSTANCE, BraidError, Group
from braidmq.model.names import LITE_NAME_BYTES_MAX, retry_topic_name
from braidmq.protocols.rocketmq_grpc import wire
from braidmq.protocols.rocketmq_grpc._call import LANGUAGE, Call
from braidmq.protocols.rocketmq_grpc._clients import LITE_CONSUMERS, Client, Stream
from braidmq.protocols.rocketmq_grpc._context import END, GrpcStatus
from braidmq.protocols.rocketmq_grpc._operations import TELEMETRY, answers
from braidmq.protocols.rocketmq_grpc._queues import choice_of, filter_of_expression, group_name, group_of
from braidmq.protocols.rocketmq_grpc.codes import OK, ClientType, Code, Refused, status_of
from braidmq.protocols.rocketmq_grpc.messages import duration, ms_of, name_of

TOPICS_MAX: Final = 1_000
"""How many topics a client may name."""
SEND_ATTEMPTS: Final = 3
SEND_AGAIN_FIRST_MS: Final = 10
SEND_AGAIN_MAX_MS: Final = 1_000
ANSWERS: Final = frozenset({"thread_stack_trace", "verify_message_result"})
"""What a client says when it was asked."""
BATCH_SIZE: Final = 32
POLL_MS: Final = 20_000


@answers(TELEMETRY, action=Action.DESCRIBE, resource=ResourceKind.NODE, streams=True)
async def telemetry(call: Call) -> None:
    stream = Stream(call.context)
    sending = asyncio.create_task(stream.send_all())
    client: Client | None = None
    try:
        while (command := await call.context.read()) is not END:
            said = command.WhichOneof("command")
            if said == "settings":
                client = await _introduced(call, command.settings, stream)
            elif said in ANSWERS and client is not None:
                client.hear(getattr(command, said).nonce, command)
    except BraidError as error:
        await call.context.write(wire.TelemetryCommand(status=status_of(error)))
        await call.context.abort(GrpcStatus.INVALID_ARGUMENT, error.message)
    finally:
        sending.cancel()
        if client is not None and client.stream is stream:
            client.stream = None
        with contextlib.suppress(asyncio.CancelledError):
            await sending


async def _introduced(call: Call, settings: Any, stream: Stream) -> Client:
    """Raises Refused, InvalidFilter, InvalidGroup, InvalidName."""
    kind = _kind_of(settings)
    group: str | None = None
    interests: dict[str, Interest] = {}
    topics: tuple[str, ...] = ()
    if settings.HasField("subscription"):
        subscription = settings.subscription
        _check_count(subscription.subscriptions)
        group = group_name(subscription.group)
        for entry in subscription.subscriptions:
            filter_of_expression(entry.expression)
            interests[name_of(entry.topic)] = Interest(*choice_of(entry.expression))
        await _make_group(call, group)
    else:
        _check_count(settings.publishing.topics)
        topics = tuple(name_of(topic) for topic in settings.publishing.topics)
    client = call.port.clients.adopt(call.client_id)
    client.kind, client.group, client.topics, client.interests = kind, group, topics, interests
    client.address = str(call.peer)
    client.language = str(call.metadata.get(LANGUAGE, ""))
    client.request_s = ms_of(settings.request_timeout) / 1000
    client.stream = stream
    call.port.clients.enrol(client)
    client.tell(wire.TelemetryCommand(status=OK, settings=answered_settings(call, settings, group)))
    return client


def _kind_of(settings: Any) -> ClientType:
    """What the client says that it is, or what it looks like."""
    if settings.WhichOneof("pub_sub") is None:
        raise Refused(Code.UNRECOGNIZED_CLIENT_TYPE, "settings say what is published or what is subscribed to")
    if not settings.HasField("client_type"):
        return ClientType.SIMPLE_CONSUMER if settings.HasField("subscription") else ClientType.PRODUCER
    try:
        kind = ClientType(settings.client_type)
    except ValueError:
        raise Refused(Code.UNRECOGNIZED_CLIENT_TYPE, f"a client is not of type {settings.client_type}") from None
    if (kind is ClientType.PRODUCER) is settings.HasField("subscription"):
        raise Refused(Code.UNRECOGNIZED_CLIENT_TYPE, f"what the client wants is not for one of type {kind.name}")
    return kind


def _check_count(named: Any) -> None:
    if len(named) > TOPICS_MAX:
        raise Refused(Code.BAD_REQUEST, f"a client names at most {TOPICS_MAX} topics, not {len(named)}")


async def _make_group(call: Call, name: str) -> None:
    """Groups are made by being used, as with RocketMQ."""
    catalog = call.services.catalog
    if catalog.group(DEFAULT_INSTANCE, name) is None:
        retry_topic_name(name)  # whether it can have dead letters
        await catalog.save_group(Group(name=name))


def answered_settings(call: Call, given: Any, group: str | None) -> Any:
    """The client's settings, with what it is to do."""
    settings = wire.Settings()
    settings.CopyFrom(given)
    settings.metric.on = False
    policy = settings.backoff_policy
    if group is None:
        policy.max_attempts = SEND_ATTEMPTS
        policy.exponential_backoff.initial.CopyFrom(duration(SEND_AGAIN_FIRST_MS))
        policy.exponential_backoff.max.CopyFrom(duration(SEND_AGAIN_MAX_MS))
        policy.exponential_backoff.multiplier = 2
        settings.publishing.max_body_size = call.services.publisher.limits.body_bytes_max
        settings.publishing.validate_message_type = True
        return settings
    found = group_of(call.services, group)
    policy.max_attempts = found.attempts_max + 1
    steps_ms = call.services.retries.steps_ms(DEFAULT_INSTANCE, group)
    policy.customized_backoff.CopyFrom(wire.CustomizedBackoff(next=[duration(step_ms) for step_ms in steps_ms]))
    settings.subscription.fifo = found.ordered
    settings.subscription.receive_batch_size = BATCH_SIZE
    settings.subscription.long_polling_timeout.CopyFrom(duration(POLL_MS))
    if given.client_type in LITE_CONSUMERS:
        settings.subscription.fifo = True
        settings.subscription.lite_subscription_quota = call.services.lite.quota(group)
        settings.subscription.max_lite_topic_size = LITE_NAME_BYTES_MAX
    return settings


@answers("Heartbeat", action=Action.DESCRIBE, resource=ResourceKind.NODE)
async def heartbeat(call: Call) -> Any:
    client = call.client
    if client is None:
        raise Refused(Code.UNRECOGNIZED_CLIENT_TYPE, "the client has not sent its settings")
    call.port.clients.enrol(client)
    return wire.HeartbeatResponse(status=OK)


@answers("NotifyClientTermination", action=Action.DESCRIBE, resource=ResourceKind.NODE)
async def terminate(call: Call) -> Any:
    client = call.client
    if client is not None:
        call.port.clients.forget(client)
    return wire.NotifyClientTerminationResponse(status=OK)
