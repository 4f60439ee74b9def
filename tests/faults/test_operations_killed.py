"""A node that is killed loses nothing of what operators have set, and of the audit log only the last moments."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from braidmq.protocols.kafka.codec import ApiMessage
from braidmq.protocols.kafka.codec.messages.alter_client_quotas import AlterClientQuotasRequest
from braidmq.protocols.kafka.codec.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from braidmq.protocols.kafka.codec.messages.describe_client_quotas import DescribeClientQuotasRequest
from braidmq.protocols.kafka.codec.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafka_support import RawClient
from running_node import RunningNode, WaitFor

Launch = Callable[[], RunningNode]
RULE = {"name": "lag", "kind": "lag", "threshold": 5}
QUOTA = AlterClientQuotasRequest(
    entries=[
        AlterClientQuotasRequest.EntryData(
            entity=[AlterClientQuotasRequest.EntityData(entity_type="user", entity_name=None)],
            ops=[AlterClientQuotasRequest.OpData(key="request_percentage", value=12.5)],
        )
    ]
)
CREDENTIAL = AlterUserScramCredentialsRequest(
    upsertions=[
        AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
            name="ann", mechanism=2, iterations=4096, salt=b"salt", salted_password=b"salted"
        )
    ]
)


@pytest.fixture
def launch(tmp_path: Path, wait_for: WaitFor) -> Iterator[Launch]:
    nodes: list[RunningNode] = []

    def start() -> RunningNode:
        folder = tmp_path / f"process-{len(nodes)}"
        folder.mkdir()
        arguments = ["--data", str(tmp_path / "data"), "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0"]
        nodes.append(RunningNode(folder, arguments, {"BRAID_TRACE_KEEP_S": "1d"}, wait_for))
        return nodes[-1].wait_ready()

    yield start
    for node in nodes:
        node.clean_up()


def api_of(node: RunningNode) -> httpx.Client:
    return httpx.Client(base_url=f"{node.url}/api/v1")


def ask_kafka(node: RunningNode, *requests: ApiMessage) -> list[Any]:
    """The answers, of which the last comes just before the connection is closed."""

    async def ask() -> list[Any]:
        host, port = node.ready["listeners"]["kafka"][0]
        client = RawClient(*await asyncio.open_connection(host, port))
        answers = [await client.ask(request, request.VERSIONS[1]) for request in requests]
        await client.end()
        return answers

    return asyncio.run(ask())


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


def test_quotas_and_credentials_that_were_answered_outlive_a_kill(launch: Launch) -> None:
    node = launch()
    quotas, credentials = ask_kafka(node, QUOTA, CREDENTIAL)
    node.process.kill()
    node.wait_ended()
    assert [each.error_code for each in (*quotas.entries, *credentials.results)] == [0, 0]
    quotas, credentials = ask_kafka(launch(), DescribeClientQuotasRequest(), DescribeUserScramCredentialsRequest())
    (quota,) = quotas.entries
    assert [(each.entity_type, each.entity_name) for each in quota.entity] == [("user", None)]
    assert [(each.key, each.value) for each in quota.values] == [("request_percentage", 12.5)]
    (credential,) = credentials.results
    assert (credential.user, [(each.mechanism, each.iterations) for each in credential.credential_infos]) == (
        "ann",
        [(2, 4096)],
    )
