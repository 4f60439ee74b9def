"""RocketMQ's Go client 2.1.2, in programs after the manner of its examples. All passes on Apache RocketMQ 5.3.3."""

import json
import os
import re
from itertools import pairwise
from typing import Any

import pytest

from compat_support import RunProgram

ODD_TEXT = 'na\u00efve \u4e2d\u6587 \U0001f600 =;|"\\ \t end'
SEND_OK = 0
LATE_MS = 6_000

pytestmark = pytest.mark.timeout(400)

Message = dict[str, Any]


class Facts:
    """What the trials found."""

    def __init__(self, prefix: str, lines: list[str]) -> None:
        self.prefix = prefix
        self._facts: dict[str, dict[str, Any]] = {each["trial"]: each for each in map(json.loads, lines)}

    def of(self, trial: str) -> dict[str, Any]:
        assert trial in self._facts, f"{trial} is missing; there are {sorted(self._facts)}"
        facts = self._facts[trial]
        assert "failure" not in facts, facts["failure"] + json.dumps(facts, ensure_ascii=False)[:4000]
        return facts

    def topic(self, trial: str) -> str:
        return f"{self.prefix}-{trial}"


@pytest.fixture(scope="module")
def facts(go_client: str, name_server: str, broker_address: str, run: RunProgram) -> Facts:
    prefix = f"go-{os.getpid()}"
    return Facts(prefix, run([go_client, "trials", name_server, broker_address, prefix], limit_s=180).splitlines())


def bodies(messages: list[Message]) -> list[str]:
    return [message["body"] for message in messages]


def numbered(count: int, name: str = "body") -> list[str]:
    return [f"{name} {at}" for at in range(count)]


def test_a_synchronous_send_tells_where_the_message_is_and_it_arrives_whole(facts: Facts) -> None:
    found = facts.of("sync")
    seen = {message["body"]: message for message in found["seen"]}
    assert len(seen) == len(found["seen"]) == 12
    for at, sent in enumerate(found["sent"]):
        message = seen[sent["body"]]
        assert (sent["status"], sent["region"], sent["transaction"]) == (SEND_OK, "DefaultRegion", sent["id"])
        assert re.fullmatch(r"[0-9A-Fa-f]{32}|[0-9A-Fa-f]{56}", sent["id"])
        for name in ("id", "offset_id", "queue", "offset", "topic"):
            assert message[name] == sent[name]
        assert (message["tags"], message["keys"], message["flag"]) == (f"tag{at % 3}", f"key{at} all", at)
        assert message["born"] <= message["stored"] <= message["at"]
        assert message["born_host"].startswith("127.0.0.1:")
        assert message["properties"].items() >= {"number": str(at), "odd \u4e2d": ODD_TEXT}.items()


def test_asynchronous_sends_are_all_called_back(facts: Facts) -> None:
    found = facts.of("async")
    assert found["failed"] == []
    assert sorted(bodies(found["seen"])) == sorted(numbered(50))
    assert set(found["ids"]) == {each["id"] for each in found["seen"]}


def test_one_way_messages_arrive(facts: Facts) -> None:
    assert sorted(bodies(facts.of("oneway")["seen"])) == sorted(numbered(20))


def test_a_batch_lies_in_one_queue_in_order(facts: Facts) -> None:
    found = facts.of("batch")
    sent, seen = found["sent"], sorted(found["seen"], key=lambda message: int(message["offset"]))
    assert bodies(seen) == numbered(20)
    assert [each["offset"] for each in seen] == list(range(sent["offset"], sent["offset"] + 20))
    assert {each["queue"] for each in seen} == {sent["queue"]}
    assert [each["offset_id"] for each in seen] == sent["offset_id"].split(",")
    assert [(each["tags"], each["keys"], each["properties"]["number"]) for each in seen] == [
        (f"tag{at % 2}", f"key{at}", str(at)) for at in range(20)
    ]


def test_a_large_body_is_compressed_on_the_way_and_whole_at_the_end(facts: Facts) -> None:
    assert facts.of("large")["whole"] is True


def test_an_ordered_listener_gets_each_sharding_key_in_order(facts: Facts) -> None:
    seen = bodies(facts.of("orderly")["seen"])
    for order in range(3):
        expected = numbered(20, f"order{order}")
        if order == 1:
            expected.insert(5, "order1 5")
        assert [body for body in seen if body.startswith(f"order{order}")] == expected


def test_delay_levels_deliver_after_their_time(facts: Facts) -> None:
    seen = {message["body"]: message for message in facts.of("delay")["seen"]}
    for level, delay_ms in ((2, 5_000), (1, 1_000)):
        message = seen[f"level {level}"]
        assert delay_ms - 200 <= message["at"] - message["born"] <= delay_ms + LATE_MS


def test_transactions_are_committed_rolled_back_and_asked_about(facts: Facts) -> None:
    found = facts.of("transaction")
    assert {each["status"] for each in found["sent"]} == {SEND_OK}
    _, commit, later_rollback, later_commit = found["sent"]
    assert {(each["body"], each["transaction"]) for each in found["checks"]} == {
        ("body later-rollback", later_rollback["transaction"]),
        ("body later-commit", later_commit["transaction"]),
    }
    assert {(each["body"], each["id"]) for each in found["seen"] if each["body"] != "plain"} == {
        ("body commit", commit["id"]),
        ("body later-commit", later_commit["id"]),
    }


def test_broadcast_messages_reach_every_member(facts: Facts) -> None:
    found = facts.of("broadcast")
    for member in ("one", "two"):
        assert sorted(bodies(found[member])) == sorted([*numbered(10), "first"])


def test_members_of_a_group_share_the_queues(facts: Facts) -> None:
    found = facts.of("sharing")
    assert found["one"] > 0
    assert found["two"] > 0
    assert found["one"] + found["two"] >= found["sent"]


def test_a_pull_consumer_polls_a_tag_and_acknowledges(facts: Facts) -> None:
    assert sorted(bodies(facts.of("poll")["seen"])) == numbered(10)[::2]


def test_a_pull_consumer_pulls_from_an_offset_and_keeps_its_own(facts: Facts) -> None:
    found = facts.of("pull-from")
    assert bodies(found["seen"]) == numbered(10)[4:7]
    assert (found["queues"], found["status"], found["next"], found["end"], found["offset"]) == (4, 0, 7, 10, 7)


def test_a_tag_filter_passes_only_its_tags(facts: Facts) -> None:
    expected = [f"{'ABC'[at % 3]} {at}" for at in range(12) if at % 3 != 1]
    assert facts.of("tags")["seen"] == sorted([*expected, "the end"])


def test_a_sql_filter_runs_on_the_server(facts: Facts) -> None:
    assert facts.of("sql")["seen"] == ["B 4", "B 7", "the end"]


def test_a_message_that_is_not_taken_comes_again(facts: Facts) -> None:
    found = facts.of("retry")
    tries = found["seen"]
    assert [(each["body"], each["attempts"]) for each in tries] == [("in vain", at) for at in range(3)]
    assert {(each["id"], each["topic"]) for each in tries} == {(found["sent"]["id"], facts.topic("retry"))}
    for before, after in pairwise(tries):
        assert 900 <= after["at"] - before["at"] <= 1_000 + LATE_MS


def test_a_request_gets_its_reply(facts: Facts) -> None:
    found = facts.of("request")
    assert found["refused reply"] == ""
    assert (found["answer"], found["called back"]) == ("answer to question", "answer to another")


def test_the_clients_own_trace_lies_in_its_topic(facts: Facts) -> None:
    found = facts.of("trace")
    records = {record.split("\x01")[0]: record.split("\x01") for record in found["records"]}
    assert set(records) == {"Pub", "SubBefore", "SubAfter"}
    topic = facts.topic("trace")
    assert records["Pub"][3:8] == [
        f"{topic}-group-producer", topic, found["sent"]["id"], "traced", f"{topic}-key",
    ]  # fmt: skip


def test_a_namespace_is_a_part_of_the_name(facts: Facts) -> None:
    found = facts.of("namespace")
    assert bodies(found["seen"]) == ["in a space"]


def test_topics_are_made_listed_and_deleted(facts: Facts) -> None:
    found = facts.of("admin")
    assert (found["queues"], found["sent"]["status"], found["gone"]) == (6, SEND_OK, True)
