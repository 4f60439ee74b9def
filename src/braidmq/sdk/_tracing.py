"""Spans of OpenTelemetry around sending and handling, and the trace's context in the messages' properties.

Only the API package is used, and only where it is installed: without it nothing is recorded, and properties stay as
they are. Names and attributes are those of OpenTelemetry's conventions for messaging.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from braidmq.sdk.values import Message

try:
    from opentelemetry import propagate, trace
    from opentelemetry.trace import Link, SpanKind, Status, StatusCode
except ImportError:
    HAS_OPENTELEMETRY = False
else:
    HAS_OPENTELEMETRY = True

_SCOPE: Final = "braidmq.sdk"


def sending(topic: str, messages: list[dict[str, Any]]) -> AbstractContextManager[None]:
    """Around a send: the messages as they go on the wire get the context of its span."""
    return _sending(topic, messages) if HAS_OPENTELEMETRY else nullcontext()


def handling(message: Message, group: str) -> AbstractContextManager[None]:
    """Around the work on a message: a child of the span that sent it."""
    return _handling(message, group) if HAS_OPENTELEMETRY else nullcontext()


@contextmanager
def _sending(topic: str, messages: list[dict[str, Any]]) -> Iterator[None]:
    attributes = _attributes("send", topic, messages[0]["id"] if len(messages) == 1 else None)
    if len(messages) > 1:
        attributes["messaging.batch.message_count"] = len(messages)
    with _span(f"send {topic}", SpanKind.PRODUCER, attributes):
        for message in messages:
            _inject(message)
        yield


@contextmanager
def _handling(message: Message, group: str) -> Iterator[None]:
    attributes = _attributes("process", message.topic, message.id)
    attributes["messaging.consumer.group.name"] = group
    attributes["messaging.destination.partition.id"] = str(message.partition)
    parent = propagate.extract(message.properties)
    span = trace.get_current_span(parent).get_span_context()
    links = [Link(span)] if span.is_valid else []
    with _span(f"process {message.topic}", SpanKind.CONSUMER, attributes, context=parent, links=links):
        yield


@contextmanager
def _span(name: str, kind: Any, attributes: Mapping[str, Any], **more: Any) -> Iterator[None]:
    tracer = trace.get_tracer(_SCOPE)
    with tracer.start_as_current_span(
        name, kind=kind, attributes=attributes, set_status_on_exception=False, record_exception=False, **more
    ) as span:
        try:
            yield
        except BaseException as error:  # also what ends the program is an end of the span
            span.record_exception(error)
            span.set_attribute("error.type", getattr(error, "code", None) or type(error).__name__)
            span.set_status(Status(StatusCode.ERROR, str(error)))
            raise


def _inject(message: dict[str, Any]) -> None:
    """A context that the user has said stays."""
    carried: dict[str, str] = {}
    propagate.inject(carried)
    if carried:
        message["properties"] = carried | message.get("properties", {})


def _attributes(operation: str, topic: str, id: str | None) -> dict[str, Any]:
    attributes = {
        "messaging.system": "braidmq",
        "messaging.operation.type": operation,
        "messaging.operation.name": operation,
        "messaging.destination.name": topic,
    }
    if id is not None:
        attributes["messaging.message.id"] = id
    return attributes
