"""Spans around sending and handling, joined by the context in the message; and nothing at all without OpenTelemetry."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from braidmq.sdk import Consumer, Producer, Received, _tracing

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


def handled(target: Any, topic: str, group: str, *, failing: bool = False) -> Received:
    found: list[Received] = []

    def handle(message: Received) -> None:
        found.append(message)
        consumer.stop()
        if failing:
            raise RuntimeError("not now")

    with Consumer(target, group=group, topics=topic, wait_s=0.2) as consumer:
        consumer.run(handle)
    return found[0]


def test_handling_is_a_child_of_sending(target: Any, topic: str, group: str, spans: InMemorySpanExporter) -> None:
    with Producer(target) as producer:
        sent = producer.send(topic, "x")
    message = handled(target, topic, group)
    send, process = spans.get_finished_spans()
    assert (send.name, process.name) == (f"send {topic}", f"process {topic}")
    assert send.context is not None
    assert process.context is not None
    assert process.context.trace_id == send.context.trace_id
    assert process.parent is not None
    assert process.parent.span_id == send.context.span_id
    assert send.attributes is not None
    assert send.attributes["messaging.message.id"] == sent.id
    assert message.properties["traceparent"].split("-")[1] == f"{send.context.trace_id:032x}"


def test_a_failing_handler_is_seen(target: Any, topic: str, group: str, spans: InMemorySpanExporter) -> None:
    with Producer(target) as producer:
        producer.send_many(topic, ["x"])
    handled(target, topic, group, failing=True)
    process = spans.get_finished_spans()[-1]
    assert not process.status.is_ok
    assert process.attributes is not None
    assert process.attributes["error.type"] == "RuntimeError"


def test_a_context_that_the_user_gives_stays(target: Any, topic: str, group: str, spans: InMemorySpanExporter) -> None:
    with Producer(target) as producer:
        producer.send(topic, "x", properties={"traceparent": GIVEN})
    assert handled(target, topic, group).properties["traceparent"] == GIVEN


def test_without_the_package_messages_go_all_the_same(
    target: Any, topic: str, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_tracing, "HAS_OPENTELEMETRY", False)
    with Producer(target) as producer:
        producer.send(topic, "x")
    assert "traceparent" not in handled(target, topic, group).properties


def test_the_sdk_loads_where_the_package_is_missing() -> None:
    program = (
        "import sys; sys.modules['opentelemetry'] = None; import braidmq.sdk._tracing as t; "
        "assert not t.HAS_OPENTELEMETRY; with_nothing = t.sending('x', []); with_nothing.__enter__()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
