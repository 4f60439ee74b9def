"""The catalog against a model of it that is a few dictionaries: whatever the order of changes, both hold the same."""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from braidmq.model import Group, Instance, Partition, Subscription, Topic
from braidmq.model.errors import (
    AlreadyExists,
    BraidError,
    InstanceInUse,
    InvalidName,
    InvalidPartitions,
    UnknownGroup,
    UnknownInstance,
)
from braidmq.model.limits import OTHERS, UNNAMED, Holder
from braidmq.store import Catalog, Change, Store
from braidmq.store._journal import read_since, read_snapshot
from braidmq.store._memory import Memory

T = TypeVar("T")

INSTANCES = st.sampled_from(["default", "bank", "shop"])
TOPICS = st.sampled_from(["orders", "a.b", "a_b", "a.b.c"])
GROUPS = st.sampled_from(["g1", "g2"])


class CatalogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.heard: list[Change] = []
        self.instances = {"default"}
        self.topics: dict[UUID, Topic] = {}
        self.groups: dict[tuple[str, str], Group] = {}
        self.subscriptions: set[tuple[str, str, str]] = set()
        self.settings: dict[str, str] = {}
        self.quotas: dict[Holder, dict[str, float]] = {}
        self.next_number = 0
        self.open()
        self.follower = Memory(self.run(self.store.read, read_snapshot))

    def open(self) -> None:
        url = f"sqlite:///{Path(self.folder.name)}/store.db"
        self.store = self.runner.run(Store.open(url))
        self.catalog = self.run(Catalog.open, self.store)
        self.catalog.subscribe(self.heard.append)

    def run(self, call: Callable[..., Coroutine[Any, Any, T]], *args: Any, **named: Any) -> T:
        return self.runner.run(call(*args, **named))

    def refused(self, error: type[BraidError], call: Callable[..., Coroutine[Any, Any, object]], *args: Any) -> None:
        revision = self.catalog.revision
        with pytest.raises(error):
            self.run(call, *args)
        assert self.catalog.revision == revision

    def live(self) -> list[Topic]:
        return [topic for topic in self.topics.values() if not topic.deleting]

    @rule(instance=INSTANCES, name=TOPICS, partitions=st.integers(1, 4))
    def create_topic(self, instance: str, name: str, partitions: int) -> None:
        claimed = {(topic.instance, topic.name.replace(".", "_")) for topic in self.live()}

        def create() -> Coroutine[Any, Any, Topic]:
            return self.catalog.create_topic(name, instance=instance, partitions=partitions)

        if instance not in self.instances:
            return self.refused(UnknownInstance, create)
        if (instance, name.replace(".", "_")) in claimed:
            taken = any((each.instance, each.name) == (instance, name) for each in self.live())
            return self.refused(AlreadyExists if taken else InvalidName, create)
        topic = self.run(create)
        assert topic.partition_numbers == tuple(range(self.next_number, self.next_number + partitions))
        assert topic.id not in self.topics
        self.next_number += partitions
        self.topics[topic.id] = topic
        return None

    @precondition(lambda self: self.live())
    @rule(pick=st.randoms(use_true_random=False), partitions=st.integers(1, 6))
    def expand_topic(self, pick: Any, partitions: int) -> None:
        topic = pick.choice(self.live())
        present = topic.partition_numbers
        if partitions <= len(present):
            return self.refused(InvalidPartitions, self.catalog.expand_topic, topic.id, partitions)
        expanded = self.run(self.catalog.expand_topic, topic.id, partitions)
        added = range(self.next_number, self.next_number + partitions - len(present))
        assert expanded.partition_numbers == (*present, *added)
        self.next_number += len(added)
        self.topics[topic.id] = expanded
        return None

    @precondition(lambda self: self.live())
    @rule(pick=st.randoms(use_true_random=False), retention_ms=st.integers(-1, 5), value=st.text("ab", max_size=2))
    def revise_topic(self, pick: Any, retention_ms: int, value: str) -> None:
        topic = pick.choice(self.live())

        def revise(found: Topic) -> Topic:
            assert found == topic
            return msgspec.structs.replace(found, retention_ms=retention_ms, settings={"a": value})

        revised = self.run(self.catalog.revise_topic, topic.id, revise)
        assert (revised.retention_ms, revised.settings) == (retention_ms, {"a": value})
        self.topics[topic.id] = revised

    @precondition(lambda self: self.live())
    @rule(pick=st.randoms(use_true_random=False))
    def begin_topic_deletion(self, pick: Any) -> None:
        topic = pick.choice(self.live())
        self.topics[topic.id] = self.run(self.catalog.begin_topic_deletion, topic.id)
        assert self.topics[topic.id].deleting

    @precondition(lambda self: len(self.live()) < len(self.topics))
    @rule(pick=st.randoms(use_true_random=False))
    def finish_topic_deletion(self, pick: Any) -> None:
        topic = pick.choice([topic for topic in self.topics.values() if topic.deleting])
        self.run(self.catalog.finish_topic_deletion, topic.id)
        del self.topics[topic.id]

    @rule(name=INSTANCES)
    def create_instance(self, name: str) -> None:
        if name in self.instances:
            return self.refused(AlreadyExists, self.catalog.create_instance, Instance(name=name))
        self.run(self.catalog.create_instance, Instance(name=name))
        self.instances.add(name)
        return None

    @rule(name=INSTANCES)
    def delete_instance(self, name: str) -> None:
        if name == "default" or any(topic.instance == name for topic in self.topics.values()):
            return self.refused(InstanceInUse, self.catalog.delete_instance, name)
        if name not in self.instances:
            return self.refused(UnknownInstance, self.catalog.delete_instance, name)
        self.run(self.catalog.delete_instance, name)
        self.instances.remove(name)
        self.groups = {key: group for key, group in self.groups.items() if key[0] != name}
        self.subscriptions = {key for key in self.subscriptions if key[0] != name}
        return None

    @rule(instance=INSTANCES, name=GROUPS, attempts_max=st.integers(1, 3))
    def save_group(self, instance: str, name: str, attempts_max: int) -> None:
        group = Group(name=name, instance=instance, attempts_max=attempts_max)
        if instance not in self.instances:
            return self.refused(UnknownInstance, self.catalog.save_group, group)
        self.groups[instance, name] = self.run(self.catalog.save_group, group)
        return None

    @rule(instance=INSTANCES, name=GROUPS)
    def delete_group(self, instance: str, name: str) -> None:
        if (instance, name) not in self.groups:
            return self.refused(UnknownGroup, self.catalog.delete_group, instance, name)
        self.run(self.catalog.delete_group, instance, name)
        del self.groups[instance, name]
        self.subscriptions = {key for key in self.subscriptions if key[:2] != (instance, name)}
        return None

    @rule(instance=INSTANCES, group=GROUPS, topic=TOPICS)
    def save_subscription(self, instance: str, group: str, topic: str) -> None:
        subscription = Subscription(group=group, topic=topic, instance=instance)
        if (instance, group) not in self.groups:
            return self.refused(UnknownGroup, self.catalog.save_subscription, subscription)
        self.run(self.catalog.save_subscription, subscription)
        self.subscriptions.add((instance, group, topic))
        return None

    @rule(instance=INSTANCES, group=GROUPS, topic=TOPICS)
    def delete_subscription(self, instance: str, group: str, topic: str) -> None:
        key = (instance, group, topic)
        assert self.run(self.catalog.delete_subscription, *key) == (key in self.subscriptions)
        self.subscriptions.discard(key)

    @rule(name=GROUPS, value=st.text(max_size=3).filter(lambda text: "\0" not in text))
    def set_setting(self, name: str, value: str) -> None:
        self.run(self.catalog.set_setting, name, value, changed_by="ann")
        self.settings[name] = value

    @rule(name=GROUPS)
    def unset_setting(self, name: str) -> None:
        assert self.run(self.catalog.unset_setting, name) == (self.settings.pop(name, None) is not None)

    @rule(
        user=st.sampled_from([UNNAMED, OTHERS, "=u"]),
        client=st.sampled_from([UNNAMED, OTHERS, "=u"]),
        limits=st.dictionaries(st.sampled_from("ab"), st.none() | st.floats(0.5, 2.0), max_size=2),
    )
    def revise_quota(self, user: str, client: str, limits: dict[str, float | None]) -> None:
        holder = Holder(user, client)
        after = {name: value for name, value in {**self.quotas.get(holder, {}), **limits}.items() if value is not None}
        quota = self.run(self.catalog.revise_quota, holder, limits)
        assert ({} if quota is None else quota.limits) == after
        self.quotas.pop(holder, None)
        if after:
            self.quotas[holder] = after

    @rule()
    def restart(self) -> None:
        self.runner.run(self.store.close())
        self.heard.clear()
        self.open()

    @rule(whole=st.booleans())
    def another_node_catches_up(self, whole: bool) -> None:
        work = read_snapshot if whole else partial(read_since, revision=self.follower.revision)
        missed = self.run(self.store.read, work)
        before = self.follower.revision
        changes = self.follower.take(missed)
        assert all(before < change.revision <= self.follower.revision for change in changes)
        assert vars(self.follower) == vars(self.catalog._memory)
        assert self.follower.replace(self.run(self.store.read, read_snapshot)) == []

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        catalog = self.catalog
        assert {each.name for each in catalog.instances()} == self.instances
        assert {(each.instance, each.name): each for each in catalog.groups()} == self.groups
        assert {each.name: each.value for each in catalog.settings()} == self.settings
        assert {each.holder: each.limits for each in catalog.quotas()} == self.quotas
        found = [each for instance in self.instances for each in catalog.subscriptions(instance)]
        assert {(each.instance, each.group, each.topic) for each in found} == self.subscriptions
        assert len(found) == len(self.subscriptions)
        for instance, group, topic in self.subscriptions:
            assert catalog.subscriptions(instance, group=group, topic=topic)
            assert catalog.subscriptions(instance, topic=topic)

    @invariant()
    def finds_every_topic_in_every_way(self) -> None:
        catalog = self.catalog
        assert {topic.id: topic for topic in catalog.topics()} == {topic.id: topic for topic in self.live()}
        assert {topic.id for topic in catalog.topics_deleting()} == {
            topic.id for topic in self.topics.values() if topic.deleting
        }
        for topic in self.topics.values():
            assert catalog.topic_by_id(topic.id) == topic
            assert (catalog.topic(topic.instance, topic.name) == topic) or topic.deleting
            for index, number in enumerate(topic.partition_numbers):
                assert catalog.partition_by_number(number) == Partition(topic.id, index, number)
        assert catalog.partition_by_number(self.next_number) is None

    @invariant()
    def has_told_every_revision_in_order(self) -> None:
        revisions = [change.revision for change in self.heard]
        assert revisions == sorted(set(revisions))
        assert not revisions or revisions[-1] == self.catalog.revision

    def teardown(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()
        self.folder.cleanup()


CatalogMachine.TestCase.settings = settings(max_examples=15, stateful_step_count=40, deadline=None)
TestCatalogHoldsWhatItsModelHolds = pytest.mark.thorough(CatalogMachine.TestCase)
