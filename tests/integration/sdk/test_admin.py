"""The administrator's client: every operation of the interface, with answers that have types."""

import contextlib
import itertools
from typing import Any

import httpx
import pytest

from braidmq.model import FilterKind, TopicKind
from braidmq.model.errors import AlreadyExists, ArchiveOff, ChangedMeanwhile, InvalidRequest, UnknownGroup, UnknownTopic
from braidmq.sdk import Admin, AsyncAdmin, Consumer, Producer
from braidmq.sdk.errors import Unreachable
from running_node import RunningNode

ELSEWHERE = {
    "send_messages": "Producer.send",
    "poll_checks": "Producer(check=...)",
    "receive_messages": "Consumer.receive",
    "acknowledge_messages": "Consumer.acknowledge",
    "extend_message": "Received.extend",
    "reject_message": "Received.reject",
    "bury_message": "Received.bury",
    "tail_topic": "BroadcastConsumer",
}
NOT_FOR_PROGRAMS = {"healthz", "readyz", "metrics", "name_servers", "version"}


@pytest.fixture
def target(node: RunningNode) -> str:
    return node.url


def test_every_operation_of_the_interface_has_a_method(node: RunningNode) -> None:
    paths = httpx.get(f"{node.url}/schema/openapi.json").json()["paths"].values()
    operations = {each["operationId"] for path in paths for each in path.values() if "operationId" in each}
    wanted = operations - set(ELSEWHERE) - NOT_FOR_PROGRAMS
    missing = sorted(name for name in wanted if not hasattr(Admin, name) or not hasattr(AsyncAdmin, name))
    assert not missing


def test_topics_live_and_die(node: RunningNode, topic: str) -> None:
    with Admin(node.url) as admin, Producer(node.url) as producer:
        with pytest.raises(AlreadyExists):
            admin.create_topic(topic)
        assert admin.change_topic(topic, partitions=3, settings={"retention.ms": "60000"}).retention_ms == 60000
        producer.send(topic, "x", key="k", partition=1)
        assert [each.end_offset for each in admin.list_partitions(topic)] == [0, 1, 0]
        assert admin.describe_topic(topic).kind is TopicKind.MIXED
        assert [each.name for each in admin.list_topics(search=topic).items] == [topic]
        assert any(each.name == "retention.ms" and each.origin == "topic" for each in admin.list_topic_settings(topic))
        assert admin.list_topic_groups(topic) == []
        assert isinstance(admin.list_producers(topic), list)
        cut = admin.delete_messages(topic, before={1: 1}, dry_run=True)
        assert [(each.partition, each.messages) for each in cut.partitions] == [(1, 1)]
        assert admin.delete_topic(topic, dry_run=True).messages == 1
        admin.delete_topic(topic)
        with pytest.raises(UnknownTopic):
            admin.describe_topic(topic)


def test_lite_topics_are_listed_and_deleted(node: RunningNode) -> None:
    with Admin(node.url) as admin, Producer(node.url) as producer:
        admin.create_topic("meters", partitions=1, kind=TopicKind.LITE)
        admin.create_topic("%LITE%meters|meter-1", partitions=1)
        producer.send("%LITE%meters|meter-1", "x")
        assert [(each.name, each.messages) for each in admin.list_lite_topics("meters").items] == [("meter-1", 1)]
        found = admin.describe_lite_topic("meters", "meter-1")
        assert (found.parent, found.ends_ms, found.subscribers, found.progress) == ("meters", None, [], [])
        assert admin.list_lite_subscriptions("meters", search="meter").items == []
        assert admin.delete_lite_topic("meters", "meter-1", dry_run=True).messages == 1
        assert admin.delete_topic("meters", dry_run=True).lite_topics == 1
        admin.delete_lite_topic("meters", "meter-1")
        with pytest.raises(UnknownTopic, match="no lite topic"):
            admin.describe_lite_topic("meters", "meter-1")
        admin.delete_topic("meters")


def test_groups_are_made_paused_moved_and_deleted(node: RunningNode, topic: str, group: str) -> None:
    with Admin(node.url) as admin, Producer(node.url) as producer:
        for nth in range(3):
            producer.send(topic, f"{nth}", partition=0)
        assert admin.create_group(group, attempts_max=3).attempts_max == 3
        assert admin.change_group(group, attempts_max=5).attempts_max == 5
        assert admin.pause_group(group).paused
        assert not admin.resume_group(group).paused
        moves = admin.reset_offsets(group, "earliest", topics=[topic], dry_run=True)
        assert moves.dry_run
        assert {each.new for each in moves.moves} == {0}
        admin.reset_offsets(group, "earliest", topics=[topic])
        assert {each.committed for each in admin.list_offsets(group, topic=topic)} == {0}
        admin.clone_offsets(f"{group}-two", group, topics=[topic])
        assert sum(each.new or 0 for each in admin.skip_offsets(group, topics=[topic]).moves) == 3
        admin.delete_offsets(group, topic=topic)
        assert admin.list_members(group) == []
        assert admin.list_differences(group) == []
        saved = admin.save_subscription(group, topic, filter_kind=FilterKind.TAG, expression="paid")
        assert admin.list_subscriptions(group=group).items == [saved]
        admin.delete_subscription(group, topic)
        assert group in {each.name for each in admin.list_groups(search=group).items}
        admin.delete_group(group)
        with pytest.raises(UnknownGroup):
            admin.describe_group(group)


def test_messages_are_found_and_sent_again_and_dead_letters_replayed(
    node: RunningNode, topic: str, group: str, wait_for: Any
) -> None:
    with Admin(node.url) as admin, Producer(node.url) as producer:
        sent = producer.send(topic, "x", keys=["o-1"])
        assert sent.partition is not None
        assert sent.offset is not None
        assert admin.show_message(topic, sent.partition, sent.offset).body == b"x"
        wait_for(lambda: bool(admin.find_messages(topic, id=sent.id).items))
        wait_for(lambda: bool(admin.find_messages_everywhere(id=sent.id).items))
        assert admin.pull_messages(topic, sent.partition, offset=0).items[0].id == sent.id
        wait_for(lambda: bool(admin.trace_message(sent.id, topic=topic).steps))
        assert admin.trace_messages_of_key(topic, "o-1").items[0].id == sent.id
        with Consumer(node.url, group=group, topics=topic, wait_s=0.2) as consumer:
            message = consumer.next(10)
            assert message is not None
            message.bury()
            (dead,) = admin.list_dead_letters(group=group).items
            assert (dead.origin_topic, dead.message.body) == (topic, b"x")
            assert b'"x"' in admin.export_dead_letters(group=group, format="json")
            assert admin.replay_dead_letters(group, all=True).results[0].error is None
            again = consumer.next(10)
            assert again is not None, "what is replayed to a group comes by its retry topic"
            assert again.body == b"x"
            again.ack()
        assert admin.delete_dead_letters(group, all=True).deleted >= 1
        assert admin.resend_message(topic, sent.partition, sent.offset).id == sent.id


def test_delayed_messages_are_listed_and_cancelled(node: RunningNode, topic: str) -> None:
    with Admin(node.url) as admin, Producer(node.url) as producer:
        timer = producer.send(topic, "later", delay_s=600).timer
        assert timer is not None
        assert [each.handle for each in admin.list_timers(topic=topic).items] == [timer]
        shown = admin.show_timer(timer)
        assert shown.message is not None
        assert shown.message.body == b"later"
        admin.cancel_timer(timer)
        assert admin.list_timers(topic=topic).items == []


def test_a_node_is_operated(node: RunningNode) -> None:
    with Admin(node.url) as admin:
        assert admin.overview().nodes
        assert admin.list_nodes()
        assert admin.list_samples().names
        assert admin.list_audit().total >= 0
        assert admin.list_alarms().items is not None
        rule = admin.create_alarm_rule("sdk-lag", "lag", threshold=5.0)
        assert rule.rule.threshold == 5.0
        assert admin.save_alarm_rule("sdk-lag", "lag", threshold=6.0).rule.threshold == 6.0
        assert admin.describe_alarm_rule("sdk-lag").rule.threshold == 6.0
        assert "sdk-lag" in {each.rule.name for each in admin.list_alarm_rules(page_size=100).items}
        with pytest.raises(InvalidRequest, match="tells nobody"):
            admin.test_alarm_rule("sdk-lag")
        admin.delete_alarm_rule("sdk-lag")
        report = admin.create_inspection()
        assert admin.describe_inspection(report.id).id == report.id
        assert report.id in {each.id for each in admin.list_inspections().items}
        assert admin.create_instance("retail", description="Shops").description == "Shops"
        assert admin.describe_instance("retail").name == "retail"
        assert {"default", "retail"} <= {each.name for each in admin.list_instances().items}
        admin.delete_instance("retail")
        assert admin.list_connections().items is not None
        with pytest.raises(ArchiveOff):
            admin.list_reports()


def test_settings_are_changed_by_who_has_read_them_last(node: RunningNode) -> None:
    with Admin(node.url) as admin:
        before = next(each for each in admin.list_settings().items if each.key == "topics.partitions")
        changed = admin.save_setting("topics.partitions", "6", etag=before.etag)
        assert changed.value == "6"
        with pytest.raises(ChangedMeanwhile):
            admin.save_setting("topics.partitions", "7", etag=before.etag)
        admin.delete_setting("topics.partitions")
        assert admin.describe_setting("topics.partitions").value == before.value


def test_live_events_come_by_themselves(node: RunningNode) -> None:
    with Admin(node.url) as admin, contextlib.closing(admin.listen_to_events()) as events:
        first, second = itertools.islice(events, 2)
    assert first.at_ms < second.at_ms
    assert "all" in second.rates


async def test_live_events_come_to_tasks_too(node: RunningNode) -> None:
    async with AsyncAdmin(node.url) as admin, contextlib.aclosing(admin.listen_to_events()) as events:
        event = await anext(events)
    assert event.storage_bytes >= 0


def test_live_events_of_a_node_that_is_not_there_are_refused() -> None:
    with Admin("http://127.0.0.1:1", timeout_s=2) as admin, pytest.raises(Unreachable):
        next(admin.listen_to_events())
