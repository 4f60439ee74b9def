"""RocketMQ's mqadmin 5.3.3, as its administrators use it: each command, and what it prints.

One Java process runs all commands one after the other. Everything passes on Apache RocketMQ 5.3.3, too, but for the
settings: RocketMQ takes other names, and passes over those that it does not know.
"""

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compat_support import ROCKETMQ, jars
from running_node import RunningNode

pytestmark = pytest.mark.timeout(200)

CLUSTER = "DefaultCluster"
WaitFor = Callable[..., None]


class Admin:
    """A running driver of mqadmin."""

    def __init__(self, process: "subprocess.Popen[str]", name_server: str, topic: str) -> None:
        self._process = process
        self.name_server = name_server
        self.topic = topic
        self.group = f"{topic}-consumers"
        self.sent: list[dict[str, Any]] = []

    def ask(self, *words: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"mqadmin ended with {self._process.wait(10)} at {words}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __call__(self, command: str, *arguments: str) -> str:
        """What a command prints; whatever it throws fails the test."""
        out = self.says(command, *arguments)
        assert "\n\tat " not in out, out
        return out

    def says(self, command: str, *arguments: str) -> str:
        return str(self.ask(command, "-n", self.name_server, *arguments)["out"])

    def progress(self, group: str) -> dict[int, "Progress"]:
        lines = self("consumerProgress", "-g", group).splitlines()
        rows = [line.split() for line in lines if line.split()[:1] == [self.topic]]
        return {int(row[2]): Progress(*map(int, row[3:6])) for row in rows}


class Progress(NamedTuple):
    """Of one queue."""

    end: int
    offset: int
    behind: int


StartAdmin = Callable[..., contextlib.AbstractContextManager[Admin]]


@pytest.fixture(scope="module")
def start_admin(
    require_tool: Callable[[str, str], object],
    compile_java: Callable[[str, str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> StartAdmin:
    """Starts mqadmin, with options for Java, and ends it."""
    require_tool("javac", "compiles the driver of mqadmin")
    require_tool("mvn", "fetches mqadmin")
    tools = jars(f"rocketmq-tools-{ROCKETMQ}", f"org.apache.rocketmq:rocketmq-tools:{ROCKETMQ}")
    classpath = compile_java("RocketMQAdmin", tools)

    @contextlib.contextmanager
    def start(name_server: str, *options: str) -> Iterator[Admin]:
        folder = tmp_path_factory.mktemp("mqadmin")
        command = [
            "java", "-Xmx300m", "-XX:TieredStopAtLevel=1", f"-Duser.home={folder}",
            "-Drocketmq.client.logUseSlf4j=true", "-Drocketmq.client.rebalance.waitInterval=1000",
            *options, "-cp", classpath, "RocketMQAdmin",
        ]  # fmt: skip
        with (folder / "err").open("w") as errors:
            process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
            try:
                yield Admin(process, name_server, f"mqadmin-{os.getpid()}")
            finally:
                process.kill()
                process.communicate()

    return start


@pytest.fixture(scope="module")
def admin(name_server: str, start_admin: StartAdmin) -> Iterator[Admin]:
    """mqadmin, and a topic with ten messages in four queues, their producer and a consumer that has had them."""
    with start_admin(name_server) as made:
        made("updateTopic", "-c", CLUSTER, "-t", made.topic, "-r", "4", "-w", "4")
        made.sent = made.ask("@clients", name_server, made.topic)["sent"]
        yield made


@pytest.fixture(scope="module")
def broker_name(admin: Admin) -> str:
    return str(admin.sent[0]["broker"])


def test_the_cluster_shows_its_broker(admin: Admin, broker_name: str, broker_address: str) -> None:
    head, row = [line for line in admin("clusterList").splitlines() if line]
    assert head.split()[:6] == ["#Cluster", "Name", "#Broker", "Name", "#BID", "#Addr"]
    fields = row.split()
    assert fields[:4] == [CLUSTER, broker_name, "0", broker_address]
    assert re.fullmatch(r"V5_\d+_\d+", fields[4])
    assert re.fullmatch(r"\d+\.\d\d\(\d+,\d+ms\)", fields[5])
    assert fields[-1] == "true"


def test_topics_are_listed_alone_and_with_their_groups(admin: Admin) -> None:
    assert {admin.topic, f"%RETRY%{admin.group}"} <= set(admin("topicList").split())
    rows = [line.split() for line in admin("topicList", "-c").splitlines()]
    assert [CLUSTER, admin.topic, admin.group] in rows


def test_a_route_names_broker_and_queues(admin: Admin, broker_name: str, broker_address: str) -> None:
    route = re.sub(r"\s", "", admin("topicRoute", "-t", admin.topic))
    assert f'"brokerAddrs":{{0:"{broker_address}"}},"brokerName":"{broker_name}","cluster":"{CLUSTER}"' in route
    assert f'{{"brokerName":"{broker_name}","perm":6,"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}}' in route


def test_a_topics_status_counts_each_queue(admin: Admin, broker_name: str) -> None:
    rows = [line.split() for line in admin("topicStatus", "-t", admin.topic).splitlines() if broker_name in line]
    assert [(row[0], int(row[1]), int(row[2])) for row in rows] == [(broker_name, queue, 0) for queue in range(4)]
    assert sorted(int(row[3]) for row in rows)[:2] == [2, 2]
    assert sum(int(row[3]) for row in rows) >= 10
    assert {re.sub(r"\d", "0", f"{row[4]} {row[5]}") for row in rows} == {"0000-00-00 00:00:00,000"}


def test_a_topic_is_made_changed_and_deleted(admin: Admin, broker_address: str) -> None:
    topic = f"{admin.topic}-other"
    made = admin("updateTopic", "-c", CLUSTER, "-t", topic, "-r", "3", "-w", "3")
    assert f"create topic to {broker_address} success." in made
    assert f"TopicConfig [topicName={topic}, readQueueNums=3, writeQueueNums=3, perm=RW-" in made
    assert re.search(r'"readQueueNums":3', admin("topicRoute", "-t", topic))
    admin("updateTopic", "-c", CLUSTER, "-t", topic, "-r", "5", "-w", "5")
    assert re.search(r'"readQueueNums":5', admin("topicRoute", "-t", topic))
    assert len([line for line in admin("topicStatus", "-t", topic).splitlines() if line.split()[1:2]]) >= 5
    gone = admin("deleteTopic", "-c", CLUSTER, "-t", topic)
    assert f"delete topic [{topic}] from cluster [{CLUSTER}] success." in gone
    assert f"delete topic [{topic}] from NameServer success." in gone
    assert topic not in admin("topicList").split()
    assert "CODE: 17" in admin.says("topicRoute", "-t", topic)


def test_a_group_is_made_with_its_settings_and_deleted(admin: Admin, broker_address: str) -> None:
    group = f"{admin.topic}-made"
    made = admin("updateSubGroup", "-c", CLUSTER, "-g", group, "-r", "7", "-q", "2")
    assert f"create subscription group to {broker_address} success." in made
    assert f"groupName={group}" in made
    kept = admin("getConsumerConfig", "-g", group)
    assert re.search(r"retryMaxTimes\s*=\s*7\b", kept)
    assert re.search(r"retryQueueNums\s*=\s*2\b", kept)
    gone = admin("deleteSubGroup", "-c", CLUSTER, "-g", group, "-r", "true")
    assert f"delete subscription group [{group}] from broker [{broker_address}] in cluster [{CLUSTER}] success." in gone
    assert "retryMaxTimes" not in admin.says("getConsumerConfig", "-g", group)


def test_topics_and_groups_are_made_by_the_list(admin: Admin, broker_address: str, tmp_path: Path) -> None:
    topics = [f"{admin.topic}-listed-{number}" for number in range(2)]
    wanted = [{"topicName": topic, "readQueueNums": 2, "writeQueueNums": 2, "perm": 6} for topic in topics]
    (tmp_path / "topics").write_text(json.dumps(wanted))
    assert "success" in admin("updateTopicList", "-b", broker_address, "-f", str(tmp_path / "topics"))
    for topic in topics:
        assert re.search(r'"readQueueNums":2', admin("topicRoute", "-t", topic))
    groups = [{"groupName": f"{topic}-readers", "retryMaxTimes": 3} for topic in topics]
    (tmp_path / "groups").write_text(json.dumps(groups))
    assert "success" in admin("updateSubGroupList", "-b", broker_address, "-f", str(tmp_path / "groups"))
    for group in groups:
        assert re.search(r"retryMaxTimes\s*=\s*3\b", admin("getConsumerConfig", "-g", str(group["groupName"])))


def test_a_consumers_progress_is_shown_by_queue_and_in_total(admin: Admin, wait_for: WaitFor) -> None:
    def caught_up() -> bool:
        progress = admin.progress(admin.group)
        return set(progress) == {0, 1, 2, 3} and all(each.behind == 0 for each in progress.values())

    wait_for(caught_up, 60)
    shown = admin("consumerProgress", "-g", admin.group)
    assert "Consume Diff Total: 0" in shown
    assert sum(each.offset for each in admin.progress(admin.group).values()) >= 10
    (row,) = [line.split() for line in admin("consumerProgress").splitlines() if line.split()[:1] == [admin.group]]
    assert row[1:5] == ["1", "V5_3_3", "PUSH", "CLUSTERING"]


def test_connections_show_client_and_subscription(admin: Admin) -> None:
    shown = admin("consumerConnection", "-g", admin.group)
    assert re.search(rf"@{admin.group}\s+127\.0\.0\.1:\d+\s+JAVA\s+V5_3_3", shown)
    assert re.search(rf"^{admin.topic}\s+tag0 \|\| tag1$", shown, re.MULTILINE)
    assert re.search(rf"^%RETRY%{admin.group}\s+\*$", shown, re.MULTILINE)
    for line in ("ConsumeType: CONSUME_PASSIVELY", "MessageModel: CLUSTERING", "CONSUME_FROM_FIRST_OFFSET"):
        assert line in shown
    producers = admin("producerConnection", "-g", f"{admin.topic}-producers", "-t", admin.topic)
    assert re.search(rf"0001\s+\S+@{admin.topic}-producers\s+127\.0\.0\.1:\d+\s+JAVA\s+V5_3_3", producers)


def test_all_producers_are_listed(admin: Admin, broker_address: str) -> None:
    shown = str(admin.ask("producer", "-b", broker_address)["out"])
    assert re.search(
        rf"producer group \({admin.topic}-producers\) instance : clientId=\S+@{admin.topic}-producers,"
        r"remoteIP=/?127\.0\.0\.1:\d+, language=JAVA, version=479",
        shown,
    )


def test_a_running_consumer_tells_of_itself(admin: Admin) -> None:
    shown = admin("consumerStatus", "-g", admin.group)
    assert re.search(rf"^1\s+\S+@{admin.group}\s+V5_3_3\s+\S+/\S+@{admin.group}", shown, re.MULTILINE)
    assert "Same subscription in the same group of consumer" in shown
    assert "Rebalance OK" in shown
    whole = admin("consumerStatus", "-g", admin.group, "-i", re.findall(rf"\S+@{admin.group}", shown)[0])
    assert "#Consumer Properties#" in whole
    assert re.search(rf"Topic: {admin.topic}\s+ClassFilter: false\s+SubExpression: tag0 \|\| tag1", whole)


def test_the_broker_tells_of_itself(admin: Admin, broker_address: str) -> None:
    lines = admin("brokerStatus", "-b", broker_address).splitlines()
    shown = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines) if value}
    assert shown["brokerActive"] == "true"
    assert shown["brokerVersionDesc"].startswith("V5_")
    assert int(shown["bootTimestamp"]) > 1_600_000_000_000
    assert int(shown["msgPutTotalTodayNow"]) - int(shown["msgPutTotalTodayMorning"]) >= 10
    for rate in ("putTps", "getTransferredTps"):
        assert len(shown[rate].split()) == 3
    assert "days" in shown["runtime"]


def test_settings_are_changed_while_the_broker_runs(admin: Admin, broker_address: str) -> None:
    def shown(name: str) -> str:
        lines = admin("getBrokerConfig", "-b", broker_address).splitlines()
        return next(line.partition("=")[2].strip() for line in lines if line.split()[:1] == [name])

    before = shown("transactionCheckMax")
    told = admin("updateBrokerConfig", "-b", broker_address, "-k", "transactionCheckMax", "-v", "11")
    assert f"update broker config success, {broker_address}" in told
    assert shown("transactionCheckMax") == "11"
    assert f"update broker config success, {broker_address}" in admin(
        "updateBrokerConfig", "-c", CLUSTER, "-k", "transactionCheckMax", "-v", before
    )
    assert shown("transactionCheckMax") == before
    refused = admin.says("updateBrokerConfig", "-b", broker_address, "-k", "flushDiskType", "-v", "SYNC_FLUSH")
    assert "CODE: 16  DESC: nothing was changed. flushDiskType: " in refused
    assert "can be changed: maxMessageSize, " in refused
    assert "update broker config success" not in refused


def test_settings_are_changed_by_way_of_the_name_server_too(admin: Admin) -> None:
    told = admin("updateNamesrvConfig", "-k", "halves.checks_max", "-v", "15")
    assert "update name server config success!" in told
    assert re.search(r"halves\.checks_max\s*=\s*15\b", admin("getNamesrvConfig"))
    refused = admin.says("updateNamesrvConfig", "-k", "orderMessageEnable", "-v", "true")
    assert "orderMessageEnable: stands for no setting of this node" in refused


def test_statistics_count_what_went_in_and_out(admin: Admin, wait_for: WaitFor) -> None:
    def row() -> list[str]:
        shown = admin("statsAll", "-t", admin.topic).splitlines()
        return next((line.split() for line in shown if line.split()[:2] == [admin.topic, admin.group]), [])

    wait_for(lambda: len(row()) == 7 and int(row()[5]) >= 10 and int(row()[6]) >= 10, 90)
    wait_for(lambda: row()[2:3] == ["0"], 60)  # the consumer commits by its own clock


def details(out: str) -> dict[str, str]:
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in out.splitlines())}


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("queryMsgById", ("-i", "{offset_id}")),
        ("queryMsgById", ("-i", "{id}")),
        ("queryMsgByUniqueKey", ("-i", "{id}")),
        ("queryMsgByOffset", ("-b", "{broker}", "-i", "{queue}", "-o", "{offset}")),
    ],
    ids=["by offset id", "by unique id", "by unique key", "by offset"],
)
def test_a_message_is_found(admin: Admin, command: str, arguments: tuple[str, ...], wait_for: WaitFor) -> None:
    at = 3
    sent = admin.sent[at]
    wait_for(lambda: all(each.behind == 0 for each in admin.progress(admin.group).values()), 60)
    out = admin(command, "-t", admin.topic, *(each.format(**sent) for each in arguments))
    shown = details(out)
    assert shown["Topic"] == admin.topic
    assert (shown["Tags"], shown["Keys"]) == ("[tag1]", "[key3]")
    assert (shown["Queue ID"], shown["Queue Offset"]) == (str(sent["queue"]), str(sent["offset"]))
    assert shown["Reconsume Times"] == "0"
    assert "number=3" in shown["Properties"]
    assert f"UNIQ_KEY={sent['id']}" in shown["Properties"]
    if command != "queryMsgByUniqueKey":
        assert shown["OffsetID"] == sent["offset_id"]
    body = Path(shown["Message Body Path"])
    assert body.read_bytes() == b"body 3"
    body.unlink()
    assert f"MessageTrack [consumerGroup={admin.group}, trackType=CONSUMED, exceptionDesc=null]" in out


def test_messages_are_found_by_key(admin: Admin) -> None:
    rows = [line.split() for line in admin("queryMsgByKey", "-t", admin.topic, "-k", "key3").splitlines()[1:] if line]
    assert sorted(rows) == sorted([sent["id"], str(sent["queue"]), str(sent["offset"])] for sent in admin.sent[3::5])


def test_messages_are_printed(admin: Admin) -> None:
    shown = admin("printMsg", "-t", admin.topic, "-d", "true")
    for at, sent in enumerate(admin.sent):
        (line,) = [line for line in shown.splitlines() if f"MSGID: {sent['id']}" in line]
        assert f"queueId={sent['queue']}" in line
        assert f"queueOffset={sent['offset']}" in line
        assert line.endswith(f"BODY: body {at}")
    only = admin("printMsg", "-t", admin.topic, "-s", "tag0")
    assert [sent["id"] in only for sent in admin.sent] == [at % 2 == 0 for at in range(10)]


def test_messages_are_consumed_from_a_queue(admin: Admin, broker_name: str) -> None:
    sent = sorted((each for each in admin.sent if each["queue"] == 1), key=lambda each: int(each["offset"]))
    shown = admin("consumeMessage", "-t", admin.topic, "-b", broker_name, "-i", "1", "-c", "2")
    assert "Consume ok" in shown
    assert re.findall(r"MSGID: (\w+)", shown) == [each["id"] for each in sent[:2]]


def test_a_message_is_sent(admin: Admin, broker_name: str, wait_for: WaitFor) -> None:
    before = admin.ask("@seen")["seen"]
    shown = admin("sendMessage", "-t", admin.topic, "-p", "by mqadmin", "-k", "mqadmin-key", "-c", "tag0")
    _, row = [line.split() for line in shown.splitlines() if line]
    assert (row[0], row[2]) == (broker_name, "SEND_OK")
    wait_for(lambda: row[3] in admin.says("queryMsgByKey", "-t", admin.topic, "-k", "mqadmin-key"), 30)
    wait_for(lambda: admin.ask("@seen")["seen"] > before, 30)


def test_a_trace_is_found_by_message_id(admin: Admin, wait_for: WaitFor) -> None:
    sent = admin.sent[0]["id"]
    wait_for(lambda: "Pub" in admin.says("queryMsgTraceById", "-i", sent), 60)
    shown = admin("queryMsgTraceById", "-i", sent)
    assert re.search(rf"^Pub\s+{admin.topic}-producers\s+\S+\s+\S+ \S+\s+\d+ms\s+success", shown, re.MULTILINE)


def test_offsets_are_reset_by_time_while_the_consumer_runs(admin: Admin, broker_name: str, wait_for: WaitFor) -> None:
    before = admin.ask("@seen")["seen"]
    shown = admin("resetOffsetByTime", "-g", admin.group, "-t", admin.topic, "-s", "0")
    rows = [line.split() for line in shown.splitlines() if line.startswith(broker_name)]
    assert sorted(rows) == [[broker_name, str(queue), "0"] for queue in range(4)]
    wait_for(lambda: admin.ask("@seen")["seen"] >= before + 10, 60)


def test_one_queue_of_an_absent_group_is_set_to_an_offset(admin: Admin, broker_address: str) -> None:
    group = f"{admin.topic}-absent"
    admin.ask("@group", admin.name_server, admin.topic, group)
    reset = ("resetOffsetByTime", "-g", group, "-t", admin.topic, "-b", broker_address)
    for queue in range(4):
        assert "reset consumer offset to 1" in admin(*reset, "-q", str(queue), "-s", "-1", "-o", "1")
    assert {queue: each.offset for queue, each in admin.progress(group).items()} == dict.fromkeys(range(4), 1)
    assert "reset consumer offset to 2" in admin(*reset, "-q", "2", "-s", "-1", "-o", "2")
    assert {queue: each.offset for queue, each in admin.progress(group).items()} == {0: 1, 1: 1, 2: 2, 3: 1}


def test_a_groups_offsets_are_cloned(admin: Admin, wait_for: WaitFor) -> None:
    group = f"{admin.topic}-clone"
    admin("updateTopic", "-c", CLUSTER, "-t", f"{group}-topic", "-r", "1", "-w", "1")
    admin.ask("@group", admin.name_server, f"{group}-topic", group)
    wait_for(lambda: all(each.behind == 0 for each in admin.progress(admin.group).values()), 60)
    shown = admin("cloneGroupOffset", "-s", admin.group, "-d", group, "-t", admin.topic)
    assert f"clone group offset success. srcGroup[{admin.group}], destGroup=[{group}], topic[{admin.topic}]" in shown
    cloned, original = admin.progress(group), admin.progress(admin.group)
    assert {queue: each.offset for queue, each in cloned.items()} == {
        queue: each.offset for queue, each in original.items()
    }
    assert set(cloned) == {0, 1, 2, 3}


def test_producers_are_kept_from_a_broker_and_let_back(admin: Admin, broker_name: str) -> None:
    def permission() -> list[str]:
        return re.findall(r'"perm":(\d)', admin("topicRoute", "-t", admin.topic))

    assert re.search(r"OK, [1-9]\d*", admin("wipeWritePerm", "-b", broker_name))
    assert permission() == ["4"]
    assert re.search(r"OK, [1-9]\d*", admin("addWritePerm", "-b", broker_name))
    assert permission() == ["6"]


def test_a_topics_permission_is_changed(admin: Admin, broker_address: str) -> None:
    topic = f"{admin.topic}-closed"
    admin("updateTopic", "-c", CLUSTER, "-t", topic, "-r", "1", "-w", "1")
    told = admin("updateTopicPerm", "-b", broker_address, "-t", topic, "-p", "4")
    assert f"update topic perm from 6 to 4 in {broker_address} success." in told
    assert '"perm":4' in re.sub(r"\s", "", admin("topicRoute", "-t", topic))
    admin("updateTopicPerm", "-c", CLUSTER, "-t", topic, "-p", "6")
    assert '"perm":6' in re.sub(r"\s", "", admin("topicRoute", "-t", topic))
    assert admin("topicClusterList", "-t", topic).split() == [CLUSTER]


def test_values_are_kept_by_namespace_and_key(admin: Admin, broker_name: str) -> None:
    assert "success" in admin("updateKvConfig", "-s", admin.topic, "-k", "a key", "-v", "a value")
    assert "success" in admin("deleteKvConfig", "-s", admin.topic, "-k", "a key")
    order = f"{broker_name}:4"
    assert f"orderConf=[{order}]" in admin("updateOrderConf", "-m", "put", "-t", admin.topic, "-v", order)
    assert f"orderConf=[{order}]" in admin("updateOrderConf", "-m", "get", "-t", admin.topic)
    assert "success" in admin("updateOrderConf", "-m", "delete", "-t", admin.topic)
    assert "CODE: 22" in admin.says("updateOrderConf", "-m", "get", "-t", admin.topic)


def test_what_consumers_have_left_is_shown_for_the_whole_broker(admin: Admin, broker_address: str) -> None:
    rows = [line.split() for line in admin("brokerConsumeStats", "-b", broker_address, "-t", "50000").splitlines()]
    mine = [row for row in rows if row[:2] == [admin.topic, admin.group]]
    assert sorted(row[3] for row in mine) == ["0", "1", "2", "3"]
    assert all(int(row[4]) - int(row[5]) == int(row[6]) for row in mine)


def test_a_queue_is_shown_as_its_index_and_as_its_messages(admin: Admin, broker_name: str) -> None:
    sent = sorted((each for each in admin.sent if each["queue"] == 0), key=lambda each: int(each["offset"]))
    index = admin("queryCq", "-t", admin.topic, "-q", "0", "-i", "0", "-c", "2")
    assert re.search(r"max: \d+, min: 0", index)
    assert len(re.findall(r"ConsumeQueueData\{physicOffset=\d+, physicSize=\d+, tagsCode=-?\d+", index)) == 2
    shown = admin("printMsgByQueue", "-t", admin.topic, "-a", broker_name, "-i", "0", "-p", "true", "-d", "true")
    assert re.findall(r"MSGID: (\w+)", shown)[: len(sent)] == [each["id"] for each in sent]


def test_a_consumer_is_given_one_message_to_try(admin: Admin) -> None:
    client = re.findall(rf"\S+@{admin.group}", admin("consumerConnection", "-g", admin.group))[0]
    before = admin.ask("@seen")["seen"]
    sent = admin.sent[0]["id"]
    told = admin("queryMsgById", "-i", sent, "-t", admin.topic, "-g", admin.group, "-d", client)
    assert re.search(r"consumeResult=CR_SUCCESS", told), told
    assert admin.ask("@seen")["seen"] == before + 1


def test_a_backlog_is_skipped(admin: Admin) -> None:
    group = f"{admin.topic}-skips"
    admin.ask("@group", admin.name_server, admin.topic, group)
    admin("skipAccumulatedMessage", "-g", group, "-t", admin.topic)
    progress = admin.progress(group)
    assert set(progress) == {0, 1, 2, 3}
    assert all(each.behind == 0 and each.offset == each.end > 0 for each in progress.values())


def test_how_a_group_consumes_is_set(admin: Admin, broker_address: str) -> None:
    told = admin("setConsumeMode", "-c", CLUSTER, "-t", admin.topic, "-g", f"{admin.topic}-modes", "-m", "PULL")
    assert f"set consume mode to {broker_address} success." in told


def test_the_way_to_the_broker_is_tried_by_sending(admin: Admin, broker_name: str) -> None:
    tries = admin("sendMsgStatus", "-b", broker_name, "-s", "64", "-c", "2")
    assert tries.count("sendStatus=SEND_OK") == 2
    topic = f"{admin.topic}-tries"
    admin("updateTopic", "-c", CLUSTER, "-t", topic, "-r", "2", "-w", "2")
    rows = [line.split() for line in admin("checkMsgSendRT", "-t", topic, "-a", "3", "-s", "64").splitlines()]
    assert [row[2] for row in rows if row[:1] == [broker_name]] == ["true"] * 3


def test_cleaning_up_is_asked_for(admin: Admin, broker_address: str) -> None:
    for command in ("cleanExpiredCQ", "deleteExpiredCommitLog"):
        assert admin(command, "-b", broker_address).strip() == "success"


@pytest.mark.parametrize("what", ["Metadata", "Configs", "Metrics"])
def test_what_the_cluster_holds_is_exported(admin: Admin, tmp_path: Path, what: str) -> None:
    assert "success" in admin(f"export{what}", "-c", CLUSTER, "-f", str(tmp_path))
    exported = json.loads((tmp_path / f"{what.lower()}.json").read_text())
    assert exported
    if what == "Metadata":
        assert admin.topic in exported["topicConfigTable"]
        assert admin.group in exported["subscriptionGroupTable"]


def test_without_any_name_server_the_node_is_found_by_its_address_server(
    start_admin: StartAdmin, rocketmq_broker: RunningNode
) -> None:
    host, port = rocketmq_broker.ready["listeners"]["http"][0]
    with start_admin("", f"-Drocketmq.namesrv.domain={host}:{port}") as lost:
        head, row = [line for line in str(lost.ask("clusterList")["out"]).splitlines() if line]
        assert head.startswith("#Cluster Name")
        assert row.split()[0] == CLUSTER
    with start_admin("", f"-Drocketmq.namesrv.domain={host}:1") as nowhere:
        assert CLUSTER not in str(nowhere.ask("clusterList")["out"])
