"""RocketMQ's Java clients 4.9.8 and 5.3.3, unmodified: everything they can do, in both serializations.

The Java programs try things and print what came of it; what should have come is said here. One process tries everything
side by side, because most of it is waiting. The same tests pass on Apache RocketMQ 5.3.3 (`COMPAT_ROCKETMQ=HOST:PORT`,
with `enablePropertyFilter`, `recallMessageEnable` and a long `waitTimeMillsInSendQueue`).
"""

import json
import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compat_support import RunProgram, jars

ODD_TEXT = 'na\u00efve \u4e2d\u6587 \U0001f600 =;|"\\ \t end'
UNIQUE_ID = re.compile(r"[0-9A-F]{32}|[0-9A-F]{56}")
OFFSET_ID = re.compile(r"[0-9A-F]{32}")
LATE_MS = 6_000
"""How late something may be on a machine where everything runs at once."""

pytestmark = pytest.mark.timeout(400)

Message = dict[str, Any]


class Run(NamedTuple):
    """One version with one way to write its headers."""

    version: str
    serialization: str

    @property
    def name(self) -> str:
        return f"{self.version}-{self.serialization.lower()}"

    @property
    def program(self) -> str:
        return "RocketMQModernClients" if self.version.startswith("5") else "RocketMQClients"


def run_of(version: str, serialization: str, *marks: pytest.MarkDecorator) -> Any:
    run = Run(version, serialization)
    return pytest.param(run, id=run.name, marks=marks)


RUNS = [
    run_of("4.9.8", "ROCKETMQ"),
    run_of("5.3.3", "JSON"),
    run_of("4.9.8", "JSON", pytest.mark.slow),
    run_of("5.3.3", "ROCKETMQ", pytest.mark.slow),
]


class Facts:
    """What the trials of one run found."""

    def __init__(self, run: Run, prefix: str, lines: list[str]) -> None:
        self.run = run
        self.prefix = prefix
        self._facts: dict[str, dict[str, Any]] = {each["trial"]: each for each in map(json.loads, lines)}

    def of(self, trial: str) -> dict[str, Any]:
        assert trial in self._facts, f"{trial} is missing; there are {sorted(self._facts)}"
        facts = self._facts[trial]
        assert "failure" not in facts, facts["failure"] + json.dumps(facts, ensure_ascii=False)[:4000]
        return facts

    def topic(self, trial: str) -> str:
        return f"{self.prefix}-{trial}"


@pytest.fixture(scope="module", params=RUNS)
def facts(
    request: pytest.FixtureRequest,
    name_server: str,
    run: RunProgram,
    require_tool: Callable[[str, str], object],
    compile_java: Callable[[str, str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Facts:
    require_tool("javac", "compiles the programs")
    require_tool("mvn", "fetches the RocketMQ clients")
    which: Run = request.param
    client = jars(f"rocketmq-client-{which.version}", f"org.apache.rocketmq:rocketmq-client:{which.version}")
    prefix = f"j{which.name.replace('.', '')}-{os.getpid()}"
    command = java(compile_java(which.program, client), tmp_path_factory.mktemp("home"))
    command += [f"-Drocketmq.serialize.type={which.serialization}", which.program, name_server, prefix]
    return Facts(which, prefix, run(command, limit_s=180).splitlines())


def java(classpath: str, home: Path) -> list[str]:
    """A JVM that starts soon, writes its logs into a folder of its own, and shares queues out again each second."""
    return [
        "java", "-Xmx400m", "-XX:TieredStopAtLevel=1", f"-Duser.home={home}", "-Drocketmq.client.logUseSlf4j=true",
        "-Drocketmq.client.rebalance.waitInterval=1000", "-Dcom.rocketmq.remoting.client.connect.timeout=20000",
        "-cp", classpath,
    ]  # fmt: skip


def bodies(messages: list[Message]) -> list[str]:
    return [message["body"] for message in messages]


def by_body(messages: list[Message]) -> dict[str, Message]:
    found = {message["body"]: message for message in messages}
    assert len(found) == len(messages), f"twice: {bodies(messages)}"
    return found


def numbered(count: int, name: str = "body") -> list[str]:
    return [f"{name} {at}" for at in range(count)]


def test_a_synchronous_send_tells_where_the_message_is_and_it_arrives_whole(facts: Facts) -> None:
    found = facts.of("sync")
    sent = found["sent"]
    for result in sent:
        assert result["status"] == "SEND_OK"
        assert result["topic"] == facts.topic("sync")
        assert result["region"] == "DefaultRegion"
        assert result["transaction"] == result["id"]
        assert UNIQUE_ID.fullmatch(result["id"])
        assert OFFSET_ID.fullmatch(result["offset_id"])
    queues = {queue: [each["offset"] for each in sent if each["queue"] == queue] for queue in range(4)}
    assert [offset for offsets in queues.values() for offset in offsets] == [
        offset for offsets in queues.values() for offset in range(len(offsets))
    ]
    assert sum(map(len, queues.values())) == len(sent) == 12
    seen = by_body(found["seen"])
    for at, result in enumerate(sent):
        message = seen[result["body"]]
        assert {name: message[name] for name in ("id", "offset_id", "queue", "offset", "topic")} == {
            name: result[name] for name in ("id", "offset_id", "queue", "offset", "topic")
        }
        assert (message["tags"], message["keys"], message["flag"]) == (f"tag{at % 3}", f"key{at} all", at)
        assert message["attempts"] == 0
        assert message["born"] <= message["stored"] <= message["at"]
        assert message["born_host"] == "127.0.0.1"
        ours = {"number": str(at), "odd \u4e2d": ODD_TEXT, "TAGS": message["tags"], "KEYS": message["keys"]}
        theirs = {"UNIQ_KEY": message["id"], "WAIT": "true", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
        assert message["properties"].items() >= (ours | theirs).items()


def test_asynchronous_sends_are_all_called_back(facts: Facts) -> None:
    found = facts.of("async")
    assert found["failed"] == []
    assert {each["status"] for each in found["sent"]} == {"SEND_OK"}
    assert sorted(bodies(found["seen"])) == sorted(numbered(100))
    assert {each["id"] for each in found["sent"]} == {each["id"] for each in found["seen"]}


def test_one_way_messages_arrive(facts: Facts) -> None:
    assert sorted(bodies(facts.of("oneway")["seen"])) == sorted(numbered(20))


def test_a_batch_lies_in_one_queue_in_order_and_each_message_has_its_own_ids(facts: Facts) -> None:
    found = facts.of("batch")
    sent, seen = found["sent"], sorted(found["seen"], key=lambda message: int(message["offset"]))
    assert sent["status"] == "SEND_OK"
    assert bodies(seen) == numbered(20)
    assert [each["offset"] for each in seen] == list(range(sent["offset"], sent["offset"] + 20))
    assert {each["queue"] for each in seen} == {sent["queue"]}
    if facts.run.version.startswith("4"):  # newer ones give the messages other ids than they tell
        assert [each["id"] for each in seen] == sent["id"].split(",")
    assert [each["offset_id"] for each in seen] == sent["offset_id"].split(",")
    assert [(each["tags"], each["keys"], each["properties"]["number"]) for each in seen] == [
        (f"tag{at % 2}", f"key{at}", str(at)) for at in range(20)
    ]


def test_an_ordered_listener_gets_each_key_in_order_and_a_suspended_message_again_before_the_next(
    facts: Facts,
) -> None:
    seen = bodies(facts.of("ordered")["seen"])
    for order in range(3):
        expected = numbered(20, f"order{order}")
        if order == 1:
            expected.insert(5, "order1 5")
        assert [body for body in seen if body.startswith(f"order{order}")] == expected


def test_delay_levels_deliver_after_their_time(facts: Facts) -> None:
    found = facts.of("delay")
    seen = by_body(found["seen"])
    for (level, delay_ms), sent in zip(((2, 5_000), (1, 1_000), (0, 0)), found["sent"], strict=True):
        message = seen[f"level {level}"]
        assert message["id"] == sent["id"]
        assert message["topic"] == facts.topic("delay")
        assert delay_ms - 200 <= message["at"] - message["born"] <= delay_ms + LATE_MS
    assert seen["level 1"]["at"] < seen["level 2"]["at"]


def test_transactions_are_committed_rolled_back_and_asked_about(facts: Facts) -> None:
    found = facts.of("transaction")
    assert [(each["status"], each["state"]) for each in found["sent"]] == [
        ("SEND_OK", "ROLLBACK_MESSAGE"),
        ("SEND_OK", "COMMIT_MESSAGE"),
        ("SEND_OK", "UNKNOW"),
        ("SEND_OK", "UNKNOW"),
    ]
    _, commit, later_rollback, later_commit = found["sent"]
    checks = by_body(found["checks"])
    assert set(checks) == {"body later-rollback", "body later-commit"}
    for sent, body in ((later_rollback, "body later-rollback"), (later_commit, "body later-commit")):
        assert checks[body]["transaction"] == sent["transaction"] == sent["id"]
        assert checks[body]["topic"] == facts.topic("transaction")
        assert checks[body]["queue"] == sent["queue"]
        assert checks[body]["properties"]["own"] == ODD_TEXT
        assert checks[body]["at"] - checks[body]["born"] >= 5_000
    seen = by_body(found["seen"])
    assert set(seen) == {"body commit", "body later-commit"}
    for sent, body in ((commit, "body commit"), (later_commit, "body later-commit")):
        message = seen[body]
        assert (message["id"], message["queue"], message["keys"]) == (
            sent["id"],
            sent["queue"],
            body.replace("body", "key"),
        )
        expected = {"TRAN_MSG": "true", "PGROUP": f"{facts.topic('transaction')}-group-producer", "own": ODD_TEXT}
        assert message["properties"].items() >= expected.items()


def test_a_half_message_whose_producer_died_is_asked_about_at_another_of_its_group(facts: Facts) -> None:
    found = facts.of("orphan")
    assert bodies(found["checks"]) == ["orphan"]
    assert bodies(found["seen"]) == ["orphan"]
    assert found["checks of the dead"] == []


def test_broadcast_messages_reach_every_member(facts: Facts) -> None:
    found = facts.of("broadcast")
    assert sorted(bodies(found["one"])) == sorted(bodies(found["two"])) == numbered(10)


def test_members_of_a_group_share_the_queues_and_the_survivor_takes_over(facts: Facts) -> None:
    found = facts.of("sharing")
    assert found["queues"] == 4
    shared = [{body for body in bodies(found[member]) if body.startswith("shared")} for member in ("one", "two")]
    assert all(shared)
    assert not shared[0] & shared[1]
    assert shared[0] | shared[1] == set(numbered(40, "shared"))
    assert {body for body in bodies(found["survivor"]) if body.startswith("left")} == set(numbered(8, "left"))


def test_a_lite_pull_consumer_goes_on_where_the_last_one_committed(facts: Facts) -> None:
    found = facts.of("lite-subscribe")
    assert sorted(bodies(found["first"])) == sorted(f"body {at}" for at in range(0, 20, 2))
    assert sorted(bodies(found["second"])) == sorted(f"body {at}" for at in range(20, 30, 2))


def test_a_lite_pull_consumer_seeks_in_a_queue_that_it_chose(facts: Facts) -> None:
    found = facts.of("lite-assign")
    assert found["queues"] == 4
    assert bodies(found["from the beginning"]) == numbered(10)
    assert bodies(found["from seven"]) == numbered(10)[7:]
    assert found["committed"] == 10
    assert found["offset between"] == 6
    assert bodies(found["from the end"]) == ["last"]


def test_a_pull_consumer_gets_each_status(facts: Facts) -> None:
    found = facts.of("pull")
    for fact, status, after, expected in (
        ("four", "FOUND", 4, numbered(4)),
        ("only b", "FOUND", 10, numbered(10)[1::2]),
        ("nothing of this tag", "NO_MATCHED_MSG", 10, []),
        ("at the end", "NO_NEW_MSG", 10, []),
        ("far beyond the end", "OFFSET_ILLEGAL", 10, []),
    ):
        result = found[fact]
        assert (result["status"], result["next"], result["min"], result["max"]) == (status, after, 0, 10), fact
        assert bodies(result["seen"]) == expected
    (awaited,) = found["awaited"]["seen"]
    assert awaited["at"] - int(awaited["properties"]["sent"]) < LATE_MS
    assert found["offset"] == 6


def test_a_message_that_is_not_taken_comes_again_and_ends_among_the_dead_letters(facts: Facts) -> None:
    found = facts.of("retry")
    vain, at_once, good = found["sent"]
    group, topic = f"{facts.topic('retry')}-group", facts.topic("retry")
    tries = [message for message in found["seen"] if message["body"] == "in vain"]
    assert [message["attempts"] for message in tries] == [0, 1, 2]
    assert {(message["id"], message["topic"]) for message in tries} == {(vain["id"], topic)}
    for before, after in pairwise(tries):
        assert 900 <= after["at"] - before["at"] <= 1000 + LATE_MS
        assert after["properties"].items() >= {
            "RETRY_TOPIC": topic, "ORIGIN_MESSAGE_ID": vain["offset_id"], "own": ODD_TEXT,
        }.items()  # fmt: skip
    assert [each["id"] for each in found["seen"] if each["body"] != "in vain"].count(good["id"]) == 1
    assert bodies(found["seen"]).count("at once") == 1
    assert found["dead queues"] == 1
    dead = by_body(found["dead"])
    assert set(dead) == {"in vain", "at once"}
    for body, sent in (("in vain", vain), ("at once", at_once)):
        message = dead[body]
        assert (message["topic"], message["id"], message["tags"]) == (f"%DLQ%{group}", sent["id"], "tag")
        assert message["properties"].items() >= {
            "RETRY_TOPIC": topic, "ORIGIN_MESSAGE_ID": sent["offset_id"], "own": ODD_TEXT, "KEYS": "key",
        }.items()  # fmt: skip


def test_a_tag_filter_passes_only_its_tags(facts: Facts) -> None:
    assert bodies(facts.of("tags")["seen"]) == ["A 0", "C C", "BB BB", "A A", "BB BB", "C C", "the end"]


def test_sql_filters_run_on_the_server_and_wrong_ones_are_refused_at_the_start(facts: Facts) -> None:
    found = facts.of("sql")
    for name, numbers in {
        "between": (2, 3, 4, 5), "and": (4, 6, 8), "in": (0, 1, 3, 5, 9), "quote": (1, 2, 4),
    }.items():  # fmt: skip
        assert found[name] == [*(f"number {at}" for at in numbers), "the end"], name
    assert found["wrong"]["code"] == 23


def test_a_request_gets_the_reply_of_whoever_consumes_it(facts: Facts) -> None:
    if facts.run.version.startswith("5"):
        pytest.skip("5.3.3 takes the answer to its own send for the reply, on every server")
    found = facts.of("request")
    assert found["answer"] == "answer to question"
    assert found["properties"]["MSG_TYPE"] == "reply"
    assert found["called back"] == "answer to another"
    assert found["nobody"]["kind"] == "RequestTimeoutException"


def test_the_clients_own_trace_is_found_by_id_and_key(facts: Facts) -> None:
    found = facts.of("trace")
    assert set(found["by id"]) == set(found["by key"]) == {"Pub", "SubBefore", "SubAfter"}
    (published,) = [each["body"].split("\x01") for each in found["records"] if each["body"].startswith("Pub")]
    topic = facts.topic("trace")
    assert published[2:8] == [
        "DefaultRegion", f"{topic}-group-producer", topic, found["sent"]["id"], "traced", f"{topic}-key",
    ]  # fmt: skip
    assert published[12] == found["sent"]["offset_id"]


def test_messages_are_found_by_either_id_by_key_and_by_time(facts: Facts) -> None:
    found = facts.of("query")
    sent = found["sent"]
    for way in ("by offset id", "by unique id"):
        assert bodies(found[way]) == ["first", "second", "third"]
        assert [each["id"] for each in found[way]] == [each["id"] for each in sent]
        assert [each["offset_id"] for each in found[way]] == [each["offset_id"] for each in sent]
        assert [each["offset"] for each in found[way]] == [0, 1, 2]
    assert sorted(bodies(found["by key both"])) == ["first", "second"]
    assert bodies(found["by key three"]) == ["third"]
    assert found["no such key"]["code"] == found["not in this time"]["code"] == 208
    assert (found["min"], found["max"]) == (0, 3)
    assert (found["at the beginning of time"], found["in the future"]) == (0, 3)
    assert found["began"] <= found["earliest"] <= found["by offset id"][0]["at"]


def test_a_namespace_of_old_is_a_part_of_the_name(facts: Facts) -> None:
    found = facts.of("namespace")
    assert [(each["topic"], each["attempts"]) for each in found["seen"]] == [
        (facts.topic("namespace"), 0),
        (facts.topic("namespace"), 1),
    ]
    (outside,) = found["outside"]
    assert (outside["topic"], outside["body"]) == (f"space%{facts.topic('namespace')}", "in a space")


def test_the_second_port_takes_what_clients_send_there(facts: Facts) -> None:
    found = facts.of("vip")
    assert (found["sent"]["status"], found["max"], found["queues"]) == ("SEND_OK", 1, 4)
    assert bodies(found["seen"]) == ["by the second port"]


def test_large_bodies_arrive_and_too_large_ones_are_refused_and_not_stored(facts: Facts) -> None:
    found = facts.of("large")
    *large, end = sorted(found["seen"], key=lambda message: -int(message["length"]))
    assert sorted(each["crc"] for each in large) == sorted(found["crcs"])
    assert [each["length"] > 1 << 20 for each in large] == [True, True]
    assert end["body"] == "the end"
    assert (found["refused"]["kind"], found["refused"]["code"]) == ("MQBrokerException", 13)


def test_what_cannot_be_is_refused_with_rocketmqs_own_code(facts: Facts) -> None:
    refusals = facts.of("refused")["refusals"]
    assert (refusals["queue"]["kind"], refusals["queue"]["code"]) == ("MQBrokerException", 29)
    assert "99" in refusals["queue"]["text"]
    assert "answer" not in refusals["system"]
    assert "answer" not in refusals["no topic"]
    assert refusals["no id"]["code"] == 208


def modern(facts: Facts) -> None:
    if not facts.run.version.startswith("5"):
        pytest.skip("clients of 4.9 have no such call")


def test_a_message_is_delivered_at_the_time_it_names(facts: Facts) -> None:
    modern(facts)
    found = facts.of("timer")
    seen = by_body(found["seen"])
    for body, delay_ms in (("deliver at", 6_000), ("milliseconds", 4_000), ("seconds", 3_000), ("in the past", 0)):
        since = found["began"] if body == "deliver at" else seen[body]["born"]
        # RocketMQ's timer counts whole seconds.
        assert delay_ms - 1_000 <= seen[body]["at"] - since <= delay_ms + LATE_MS, body
    assert (found["too late"]["kind"], found["too late"]["code"]) == ("MQBrokerException", 13)


def test_a_delayed_message_is_recalled_by_its_handle(facts: Facts) -> None:
    modern(facts)
    found = facts.of("recall")
    assert found["answer"] == found["sent"]["id"]
    assert bodies(found["seen"]) == ["first", "kept"]
    assert "answer" not in found["nonsense"]


def test_messages_that_the_client_gathers_by_itself_are_all_there(facts: Facts) -> None:
    modern(facts)
    found = facts.of("auto-batch")
    seen = by_body(found["seen"])
    assert sorted(seen) == numbered(10)
    for sent in found["sent"]:
        message = seen[sent["body"]]
        for name in ("queue", "offset", "offset_id"):
            assert message[name] == sent[name]


def test_consumers_that_pop_share_the_messages_and_get_those_again_that_failed(facts: Facts) -> None:
    modern(facts)
    found = facts.of("pop")
    assert sorted(bodies(found["seen"])) == sorted(["first", *numbered(20), "fails once", "fails once"])
    assert found["failures"] == 1
