"""A node that is killed loses nothing of what operators have set, and of the audit log only the last moments."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from running_node import RunningNode, WaitFor

Launch = Callable[[], RunningNode]
RULE = {"name": "lag", "kind": "lag", "threshold": 5}


@pytest.fixture
def launch(tmp_path: Path, wait_for: WaitFor) -> Iterator[Launch]:
    nodes: list[RunningNode] = []

    def start() -> RunningNode:
        folder = tmp_path / f"process-{len(nodes)}"
        folder.mkdir()
        arguments = ["--data", str(tmp_path / "data"), "--http", "127.0.0.1:0", "--kafka", "off"]
        nodes.append(RunningNode(folder, arguments, {"BRAID_TRACE_KEEP_S": "1d"}, wait_for))
        return nodes[-1].wait_ready()

    yield start
    for node in nodes:
        node.clean_up()


def api_of(node: RunningNode) -> httpx.Client:
    return httpx.Client(base_url=f"{node.url}/api/v1")


def outcomes(node: RunningNode) -> list[str]:
    with api_of(node) as api:
        return [each["operation"] for each in api.get("/audit").json()["items"]]


def test_rules_settings_answers_and_seen_entries_outlive_a_kill(launch: Launch) -> None:
    node = launch()
    key = {"Idempotency-Key": "k"}
    with api_of(node) as api:
        made = api.post("/alarms/rules", json=RULE, headers=key)
        assert made.status_code == 201
        assert api.put("/settings/trace.events", json={"value": "off"}).status_code == 200
        beaten = api.put("/settings/trace.keep_s", json={"value": "2d"}).json()
        assert (beaten["value"], beaten["origin"]) == ("1d", "environment BRAID_TRACE_KEEP_S")
        assert beaten["central"] == "2d"
    assert outcomes(node) == ["save_setting", "save_setting", "create_alarm_rule"]
    node.process.kill()
    node.wait_ended()
    node = launch()
    assert outcomes(node) == ["save_setting", "save_setting", "create_alarm_rule"]
    with api_of(node) as api:
        assert api.get("/alarms/rules/lag").status_code == 200
        again = api.post("/alarms/rules", json=RULE, headers=key)
        assert (again.status_code, again.headers["idempotency-replayed"]) == (201, "true")
        setting = api.get("/settings/trace.events").json()
        assert (setting["value"], setting["origin"]) == ("off", "central")
        assert api.get("/settings/trace.keep_s").json()["value"] == "1d"
