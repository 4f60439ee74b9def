"""The endpoints of a running node."""

from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import braidmq

Launch = Callable[..., Any]


@pytest.fixture
def node(launch: Launch) -> Any:
    return launch().wait_ready()


def test_a_running_node_is_alive_and_ready(node: Any) -> None:
    assert node.get("/healthz").json == {"status": "alive"}
    ready = node.get("/readyz")
    assert (ready.status, ready.json) == (200, {"ready": True, "reasons": {}})
    assert node.get("/version").json == {"name": "node-1", "version": braidmq.__version__}


def test_metrics_are_in_prometheus_format_with_process_and_log(node: Any) -> None:
    answer = node.get("/metrics")
    assert answer.content_type.startswith("text/plain; version=")
    families = {family.name: family for family in text_string_to_metric_families(answer.body.decode())}
    assert families["braid_ready"].samples[0].value == 1
    assert families["braid_log_appended_batches"].type == "counter"
    assert families["braid_version_info"].samples[0].labels == {"node": "node-1", "version": braidmq.__version__}
    assert "process_resident_memory_bytes" in families


def test_the_openapi_description_is_served_with_examples_and_without_foreign_pages(node: Any) -> None:
    schema = node.get("/schema/openapi.json").json
    assert schema["openapi"].startswith("3.1")
    assert {"/healthz", "/readyz", "/metrics", "/version"} <= set(schema["paths"])
    assert schema["components"]["schemas"]["Readiness"]["properties"]["reasons"]["examples"]
    assert node.get("/schema/openapi.yaml").body.startswith(b"components:")
    for page in ("/schema", "/schema/swagger", "/schema/elements"):
        assert b"<script" not in node.get(page).body


def test_an_unknown_path_is_a_problem(node: Any) -> None:
    answer = node.get("/nowhere")
    assert (answer.status, answer.content_type) == (404, "application/problem+json")
    assert answer.json["code"] == "not_found"
