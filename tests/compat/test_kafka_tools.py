"""Kafka's own command-line tools, as its administrators use them."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_support import RunProgram, kafka_jars
from running_node import RunningNode

Tool = Callable[..., str]

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
ALL_GROUPS = "org.apache.kafka.tools.GroupsCommand"
SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
SHARE_CONSUME = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
PRODUCE = "org.apache.kafka.tools.ProducerPerformance"
CONSUME = "org.apache.kafka.tools.ConsumerPerformance"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="session")
def tool(broker: RunningNode, run: RunProgram, require_tool: Callable[[str, str], object]) -> Tool:
    """Runs a tool by its class against the broker."""
    require_tool("java", "runs Kafka's tools")
    require_tool("mvn", "fetches Kafka's tools")
    classpath = kafka_jars()

    def call(name: str, *arguments: str, given: str = "", bootstrap: bool = True) -> str:
        address = ["--bootstrap-server", broker.bootstrap] if bootstrap else []
        return run(["java", "-Xshare:auto", "-cp", classpath, name, *address, *arguments], given=given)

    return call


@pytest.fixture
def filled(tool: Tool, broker: RunningNode, request: pytest.FixtureRequest) -> str:
    """A topic of its own for the test, with 100 records in two partitions."""
    topic = re.sub(r"[^a-z0-9]+", "-", request.node.name)
    tool(TOPICS, "--create", "--topic", topic, "--partitions", "2", "--replication-factor", "1")
    produce(tool, broker, topic, 100)
    return topic


def produce(tool: Tool, broker: RunningNode, topic: str, records: int, *settings: str) -> str:
    return tool(
        PRODUCE, "--topic", topic, "--num-records", str(records), "--record-size", "100", "--throughput", "-1",
        "--producer-props", f"bootstrap.servers={broker.bootstrap}", *settings, bootstrap=False,
    )  # fmt: skip


def consume(tool: Tool, topic: str, group: str, records: int = 100) -> str:
    return tool(CONSUME, "--topic", topic, "--messages", str(records), "--group", group, "--timeout", "30000")


def total(tool: Tool, topic: str, *more: str) -> int:
    return sum(int(line.rsplit(":", 1)[1]) for line in tool(OFFSETS, "--topic", topic, *more).split())


def test_topics_are_made_described_grown_and_deleted(tool: Tool) -> None:
    tool(TOPICS, "--create", "--topic", "tools-topic", "--partitions", "3", "--config", "retention.ms=3600000")
    described = tool(TOPICS, "--describe", "--topic", "tools-topic")
    assert "PartitionCount: 3\tReplicationFactor: 1\tConfigs: retention.ms=3600000" in described
    tool(TOPICS, "--alter", "--topic", "tools-topic", "--partitions", "5")
    assert "PartitionCount: 5" in tool(TOPICS, "--describe", "--topic", "tools-topic")
    assert "tools-topic" in tool(TOPICS, "--list").split()
    tool(TOPICS, "--delete", "--topic", "tools-topic")
    assert "tools-topic" not in tool(TOPICS, "--list").split()


def test_configs_are_set_appended_to_shown_and_removed(tool: Tool) -> None:
    entity = ("--entity-type", "topics", "--entity-name", "tools-configs")
    tool(TOPICS, "--create", "--topic", "tools-configs")
    tool(CONFIGS, *entity, "--alter", "--add-config", "cleanup.policy=[compact,delete],max.message.bytes=2000000")
    shown = tool(CONFIGS, *entity, "--describe")
    assert "cleanup.policy=compact,delete" in shown
    assert "max.message.bytes=2000000" in shown
    assert "DYNAMIC_TOPIC_CONFIG:max.message.bytes=2000000" in shown
    everything = tool(CONFIGS, *entity, "--describe", "--all")
    assert len(re.findall(r"^  [a-z.]+=", everything, re.MULTILINE)) >= 30
    tool(CONFIGS, *entity, "--alter", "--delete-config", "max.message.bytes")
    assert "max.message.bytes" not in tool(CONFIGS, *entity, "--describe")


def test_what_a_topic_cannot_have_is_refused_with_kafkas_words(tool: Tool) -> None:
    tool(TOPICS, "--create", "--topic", "tools.refused")
    for arguments, words in (
        (("--topic", "tools_refused"), "collides with"),
        (("--topic", "tools.refused"), "exists"),
        (("--topic", "new", "--replication-factor", "3"), "only 1 broker(s) are registered"),
        (("--topic", "new", "--replica-assignment", "1,2"), "cannot be on [2]"),
        (("--topic", "new", "--config", "segment.ms=0"), "Invalid value 0 for configuration segment.ms"),
        (("--topic", "new", "--config", "nope=1"), "Unknown topic config name: nope"),
    ):
        with pytest.raises(AssertionError, match=re.escape(words)):
            tool(TOPICS, "--create", *arguments)
    tool(TOPICS, "--create", "--topic", "assigned", "--replica-assignment", "1,1,1")
    assert "PartitionCount: 3" in tool(TOPICS, "--describe", "--topic", "assigned")


def test_a_node_shows_its_settings_and_what_it_has_none_of(tool: Tool) -> None:
    node = tool(CONFIGS, "--describe", "--all", "--entity-type", "brokers", "--entity-name", "1")
    assert "log.retention.ms=259200000 sensitive=false synonyms={DEFAULT_CONFIG:log.retention.ms=259200000}" in node
    for kind in ("users", "clients", "groups", "client-metrics"):
        tool(CONFIGS, "--describe", "--entity-type", kind)
    with pytest.raises(AssertionError, match="no accounts"):
        tool("org.apache.kafka.tools.AclCommand", "--list")


def test_quotas_and_credentials_are_set_shown_and_removed(tool: Tool) -> None:
    user = ("--entity-type", "users", "--entity-name", "u")
    pair = (*user, "--entity-type", "clients", "--entity-default")
    addresses = ("--entity-type", "ips", "--entity-default")
    scram = "SCRAM-SHA-256=[iterations=8192,password=secret]"
    assert "Completed updating config" in tool(CONFIGS, *user, "--alter", "--add-config", scram)
    tool(CONFIGS, *user, "--alter", "--add-config", "request_percentage=200.5,controller_mutation_rate=0.5")
    tool(CONFIGS, *pair, "--alter", "--add-config", "producer_byte_rate=1024,consumer_byte_rate=2048")
    tool(CONFIGS, *addresses, "--alter", "--add-config", "connection_creation_rate=70000")
    shown = tool(CONFIGS, *user, "--describe")
    assert "SCRAM credential configs for user-principal 'u' are SCRAM-SHA-256=iterations=8192" in shown
    assert "request_percentage=200.5" in shown
    assert "controller_mutation_rate=0.5" in shown
    shown = tool(CONFIGS, *pair, "--describe")
    assert "Quota configs for user-principal 'u', the default client-id are" in shown
    assert "consumer_byte_rate=2048.0" in shown
    shown = tool(CONFIGS, *addresses, "--describe")
    assert "Quota configs for the default ip are connection_creation_rate=70000.0" in shown
    tool(CONFIGS, *user, "--alter", "--delete-config", "request_percentage")
    tool(CONFIGS, *user, "--alter", "--delete-config", "SCRAM-SHA-256")
    tool(CONFIGS, *addresses, "--alter", "--delete-config", "connection_creation_rate")
    shown = tool(CONFIGS, "--entity-type", "users", "--describe")
    assert "controller_mutation_rate=0.5" in shown
    assert "request_percentage" not in shown
    assert "SCRAM" not in shown
    with pytest.raises(AssertionError, match="producer_byte_rate must be greater than 0"):
        tool(CONFIGS, *pair, "--alter", "--add-config", "producer_byte_rate=-1")


def test_a_quota_slows_the_perf_test_down_to_its_rate(tool: Tool, broker: RunningNode) -> None:
    entity = ("--entity-type", "clients", "--entity-name", "tools-slow")
    tool(CONFIGS, *entity, "--alter", "--add-config", "producer_byte_rate=100000")
    # Ten seconds of the quota pass at once, the other 400 kB take four.
    out = tool(
        PRODUCE, "--topic", "tools-slow", "--num-records", "14000", "--record-size", "100", "--throughput", "-1",
        "--producer-props", f"bootstrap.servers={broker.bootstrap}", "client.id=tools-slow", "acks=1",
        "--print-metrics", bootstrap=False,
    )  # fmt: skip
    throttled = re.search(r"produce-throttle-time-max:.*: ([0-9.]+)", out)
    assert throttled is not None
    assert float(throttled[1]) > 0
    rate = re.search(r"14000 records sent, ([0-9.]+) records/sec", out)
    assert rate is not None
    assert 1000 < float(rate[1]) < 14000 / 3


def test_partitions_are_where_they_are(tool: Tool, filled: str, tmp_path: Path) -> None:
    elected = tool(
        "org.apache.kafka.tools.LeaderElectionCommand", "--election-type", "preferred", "--topic", filled,
        "--partition", "0",
    )  # fmt: skip
    assert f"Valid replica already elected for partitions {filled}-0" in elected
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": filled, "partition": 0, "replicas": [1]}]}))
    move = ("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "--reassignment-json-file", str(plan))
    assert "Successfully started" in tool(*move, "--execute")
    assert f"Reassignment of partition {filled}-0 is completed" in tool(*move, "--verify")


def test_the_console_consumer_reads_through_a_filter_in_both_spellings(tool: Tool, filled: str) -> None:
    tagged = "TAGS:{}\t{}\n"
    given = "".join(tagged.format(tag, f"{tag}{at}") for at in range(10) for tag in "ABC")
    tool(
        "org.apache.kafka.tools.ConsoleProducer", "--topic", filled, "--property", "parse.headers=true",
        given=given,
    )  # fmt: skip
    for name, count in ((f"{filled}?tag=A||B", 20), (f"{filled}..tag..C", 10)):
        read = tool(
            "org.apache.kafka.tools.consumer.ConsoleConsumer", "--topic", name, "--from-beginning",
            "--max-messages", str(count), "--timeout-ms", "30000", "--group", f"{filled}-{count}",
        )  # fmt: skip
        wanted = "AB" if count == 20 else "C"
        assert sorted(read.split()) == sorted(f"{tag}{at}" for at in range(10) for tag in wanted)


def test_perf_tests_and_offsets_agree(tool: Tool, broker: RunningNode, filled: str) -> None:
    assert "100 records sent" in produce(tool, broker, filled, 100, "acks=all")
    fields = consume(tool, filled, f"{filled}-group", 200).splitlines()[-1].split(", ")
    assert fields[4] == "200"
    assert total(tool, filled) == 200
    assert total(tool, filled, "--time", "earliest") == 0


def test_records_are_deleted_up_to_an_offset(tool: Tool, filled: str, tmp_path: Path) -> None:
    wanted = tmp_path / "offsets.json"
    partitions = [{"topic": filled, "partition": index, "offset": -1} for index in (0, 1)]
    wanted.write_text(json.dumps({"partitions": partitions, "version": 1}))
    out = tool("org.apache.kafka.tools.DeleteRecordsCommand", "--offset-json-file", str(wanted))
    assert "low_watermark" in out
    assert total(tool, filled, "--time", "earliest") == 100


def test_groups_are_listed_described_and_deleted(tool: Tool, filled: str) -> None:
    group = f"{filled}-group"
    consume(tool, filled, group)
    assert group in tool(GROUPS, "--list").split()
    rows = [line.split() for line in tool(GROUPS, "--describe", "--group", group).splitlines() if filled in line]
    assert {row[2] for row in rows} == {"0", "1"}
    assert sum(int(row[3]) for row in rows) == 100
    assert {row[5] for row in rows} == {"0"}
    assert "Empty" in tool(GROUPS, "--describe", "--group", group, "--state")
    out = tool(GROUPS, "--delete-offsets", "--group", group, "--topic", filled)
    assert "Successful" in out
    tool(GROUPS, "--delete", "--group", group)
    assert group not in tool(GROUPS, "--list").split()


RESETS: list[tuple[list[str], Callable[[int], int]]] = [
    (["--to-earliest"], lambda _: 0),
    (["--to-latest"], lambda end: end),
    (["--shift-by", "-2"], lambda end: max(end - 2, 0)),
    (["--to-current"], lambda end: max(end - 2, 0)),
    (["--to-offset", "3"], lambda end: min(end, 3)),
    (["--to-datetime", "2000-01-01T00:00:00.000"], lambda _: 0),
    (["--by-duration", "PT1H"], lambda _: 0),
]
"""Each mode, one after the other, and where a partition with this end is then."""


def test_offsets_are_reset_in_every_mode(tool: Tool, filled: str) -> None:
    group = f"{filled}-group"
    consume(tool, filled, group)
    for mode, expected in RESETS:
        reset = ("--reset-offsets", "--group", group, "--topic", filled, *mode)
        preview = tool(GROUPS, *reset, "--dry-run")
        done = tool(GROUPS, *reset, "--execute")
        assert [line.split() for line in preview.splitlines()] == [line.split() for line in done.splitlines()]
        rows = [line.split() for line in tool(GROUPS, "--describe", "--group", group).splitlines() if filled in line]
        assert rows
        assert [int(row[3]) for row in rows] == [expected(int(row[4])) for row in rows], mode


def test_offsets_are_exported_and_imported(tool: Tool, filled: str, tmp_path: Path) -> None:
    group = f"{filled}-group"
    consume(tool, filled, group)
    kept = tmp_path / "offsets.csv"
    kept.write_text(tool(GROUPS, "--reset-offsets", "--group", group, "--all-topics", "--to-current", "--export"))
    assert f'"{filled}",0,' in kept.read_text()
    tool(GROUPS, "--reset-offsets", "--group", group, "--all-topics", "--to-earliest", "--execute")
    tool(GROUPS, "--reset-offsets", "--group", group, "--from-file", str(kept), "--execute")
    rows = [line.split() for line in tool(GROUPS, "--describe", "--group", group).splitlines() if filled in line]
    assert sum(int(row[3]) for row in rows) == 100


def test_transactions_are_listed_and_described(tool: Tool, broker: RunningNode, filled: str) -> None:
    produce(tool, broker, filled, 100, f"transactional.id={filled}", "transaction.timeout.ms=60000")
    assert filled in tool(TRANSACTIONS, "list")
    described = tool(TRANSACTIONS, "describe", "--transactional-id", filled)
    assert "CompleteCommit" in described
    assert "ProducerId" in tool(TRANSACTIONS, "describe-producers", "--topic", filled, "--partition", "0")
    hanging = tool(TRANSACTIONS, "find-hanging", "--broker-id", "1")
    assert filled not in hanging


def test_the_cluster_is_described(tool: Tool, broker: RunningNode) -> None:
    assert re.search(
        r"Cluster ID: \S{22}",
        tool(
            "org.apache.kafka.tools.ClusterTool", "cluster-id", "--bootstrap-server", broker.bootstrap, bootstrap=False
        ),
    )
    dirs = tool("org.apache.kafka.tools.LogDirsCommand", "--describe")
    assert '"brokers":[{"broker":1' in dirs
    versions = tool("org.apache.kafka.tools.BrokerApiVersionsCommand")
    assert re.search(r"Produce\(0\): 0 to 1[123]", versions)


def test_clients_of_kafkas_own_compatibility_test_find_what_they_expect(tool: Tool) -> None:
    flags = {
        "topic": "tools-compatibility",
        "num-cluster-nodes": "1",
        "offsets-for-times-supported": "true",
        "cluster-id-supported": "true",
        "expect-record-too-large-exception": "false",
        "create-topics-supported": "true",
        "describe-acls-supported": "true",
        "describe-configs-supported": "true",
        "idempotent-producer-supported": "true",
    }
    arguments = [word for name, value in flags.items() for word in (f"--{name}", value)]
    tool(TOPICS, "--create", "--topic", "tools-compatibility", "--partitions", "1")
    assert "SUCCESS" in tool("org.apache.kafka.tools.ClientCompatibilityTest", *arguments)


def test_share_groups_are_set_read_described_and_deleted(tool: Tool, filled: str) -> None:
    group = f"{filled}-share"
    tool(
        CONFIGS, "--alter", "--entity-type", "groups", "--entity-name", group,
        "--add-config", "share.auto.offset.reset=earliest",
    )  # fmt: skip
    assert "share.auto.offset.reset=earliest" in tool(
        CONFIGS, "--describe", "--entity-type", "groups", "--entity-name", group
    )
    read = tool(
        SHARE_CONSUME, "--topic", filled, "--group", group, "--max-messages", "100", "--timeout-ms", "20000"
    )  # fmt: skip
    assert len(read.splitlines()) >= 100
    assert group in tool(SHARE_GROUPS, "--list").split()
    assert re.search(rf"{group}\s+Share", tool(ALL_GROUPS, "--list"))
    described = tool(SHARE_GROUPS, "--describe", "--group", group)
    assert {line.split()[2] for line in described.splitlines() if filled in line} == {"0", "1"}
    assert sum(int(line.split()[3]) for line in described.splitlines() if filled in line) == 100  # where it begins
    tool(SHARE_GROUPS, "--delete", "--group", group)
    assert group not in tool(SHARE_GROUPS, "--list").split()
