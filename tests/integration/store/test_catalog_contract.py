"""What the catalog promises, on both databases."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import msgspec
import pytest
import sqlalchemy as sa

from braidmq.model import (
    DEFAULT_INSTANCE,
    PARTITION_NUMBER_MAX,
    FilterKind,
    Group,
    Instance,
    Partition,
    Subscription,
    Topic,
    TopicKind,
)
from braidmq.model.credentials import ScramCredential, ScramMechanism
from braidmq.model.errors import (
    AlreadyExists,
    BraidError,
    InstanceInUse,
    InvalidCredential,
    InvalidName,
    InvalidPartitions,
    InvalidQuota,
    InvalidSetting,
    UnknownCredential,
    UnknownGroup,
    UnknownInstance,
    UnknownTopic,
)
from braidmq.model.limits import OTHERS, Holder, Quota, named
from braidmq.store import (
    Catalog,
    Change,
    GroupChanged,
    InstanceChanged,
    QuotaChanged,
    ScramCredentialChanged,
    Setting,
    SettingChanged,
    Store,
    SubscriptionChanged,
    TopicChanged,
)


@pytest.fixture
async def catalog(store: Store) -> Catalog:
    return await Catalog.open(store, now_ms=lambda: 1_700_000_000_000)


@pytest.fixture
async def changes(catalog: Catalog) -> AsyncIterator[list[Change]]:
    heard: list[Change] = []
    unsubscribe = catalog.subscribe(heard.append)
    yield heard
    unsubscribe()


async def reopened_like(catalog: Catalog, store: Store) -> bool:
    """Whether what is in memory is what is in the database."""
    other = await Catalog.open(store)
    return other._memory.things == catalog._memory.things and other.revision == catalog.revision


async def test_an_empty_catalog_has_the_default_instance_and_nothing_else(catalog: Catalog) -> None:
    assert list(catalog.instances()) == [Instance(name=DEFAULT_INSTANCE)]
    assert not [*catalog.topics(), *catalog.groups(), *catalog.settings(), *catalog.subscriptions()]


async def test_a_created_topic_is_found_by_name_by_id_and_by_partition(catalog: Catalog, store: Store) -> None:
    topic = await catalog.create_topic(
        "orders",
        partitions=3,
        kind=TopicKind.FIFO,
        retention_ms=1000,
        retention_bytes=2000,
        settings={"cleanup.policy": "compact"},
    )
    assert topic.partition_numbers == (0, 1, 2)
    assert catalog.topic(DEFAULT_INSTANCE, "orders") == topic
    assert catalog.topic_by_id(topic.id) == topic
    assert catalog.partition_by_number(1) == Partition(topic.id, 1, 1)
    assert catalog.partition_by_number(3) is None
    assert list(catalog.topics()) == [topic]
    assert await reopened_like(catalog, store)


async def test_a_topic_may_be_made_with_an_id_of_the_callers(catalog: Catalog) -> None:
    given = uuid4()
    assert (await catalog.create_topic("a", partitions=1, id=given)).id == given
    with pytest.raises(AlreadyExists, match=str(given)):
        await catalog.create_topic("b", partitions=1, id=given)


async def test_a_name_is_given_once_in_an_instance(catalog: Catalog) -> None:
    await catalog.create_topic("orders", partitions=1)
    with pytest.raises(AlreadyExists, match="'orders' exists already"):
        await catalog.create_topic("orders", partitions=1)
    await catalog.create_instance(Instance(name="bank"))
    other = await catalog.create_topic("orders", partitions=1, instance="bank")
    assert catalog.topic("bank", "orders") == other
    with pytest.raises(UnknownInstance, match="create it first"):
        await catalog.create_topic("orders", partitions=1, instance="shop")


async def test_names_that_differ_only_in_dot_and_underscore_collide(catalog: Catalog) -> None:
    await catalog.create_topic("a.b_c", partitions=1)
    with pytest.raises(InvalidName, match=r"'a_b.c' collides with 'a.b_c'"):
        await catalog.create_topic("a_b.c", partitions=1)


@pytest.mark.parametrize("partitions", [-1, 0, 10_001])
async def test_a_topic_has_one_to_ten_thousand_partitions(catalog: Catalog, partitions: int) -> None:
    with pytest.raises(InvalidPartitions, match="1 to 10,000"):
        await catalog.create_topic("a", partitions=partitions)
    assert catalog.topic(DEFAULT_INSTANCE, "a") is None


async def test_a_topic_of_ten_thousand_partitions_can_be_made_and_not_be_expanded(catalog: Catalog) -> None:
    topic = await catalog.create_topic("wide", partitions=10_000)
    assert topic.partition_numbers == tuple(range(10_000))
    with pytest.raises(InvalidPartitions):
        await catalog.expand_topic(topic.id, 10_001)


async def test_what_is_not_allowed_is_refused_alike_on_both_databases(catalog: Catalog) -> None:
    for name in ("", "a b", "..", "x" * 250, "no\0pe"):
        with pytest.raises(InvalidName):
            await catalog.create_topic(name, partitions=1)
    for settings in ({"": "x"}, {"a": "\0"}, {"\ud800": "x"}, {"a": "x" * 70_000}):
        with pytest.raises(InvalidSetting):
            await catalog.create_topic("a", partitions=1, settings=settings)
    for retention_ms in (-2, 2**63):
        with pytest.raises(InvalidSetting, match="retention_ms"):
            await catalog.create_topic("a", partitions=1, retention_ms=retention_ms)
    for group in (Group(name="g", attempts_max=0), Group(name="g", settings={"a": "\0"})):
        with pytest.raises(InvalidSetting):
            await catalog.save_group(group)
    for broken in ("", "x" * 65):
        with pytest.raises(InvalidName):
            await catalog.save_subscription(Subscription(group="g", topic="t", event_code=broken))
    assert catalog.revision == 0


async def test_partitions_are_added_behind_and_never_taken_away(catalog: Catalog, store: Store) -> None:
    topic = await catalog.create_topic("orders", partitions=2)
    await catalog.create_topic("between", partitions=1)
    expanded = await catalog.expand_topic(topic.id, 4)
    assert expanded.partition_numbers == (0, 1, 3, 4)
    assert catalog.partition_by_number(4) == Partition(topic.id, 3, 4)
    for partitions in (4, 1):
        with pytest.raises(InvalidPartitions, match="only grow"):
            await catalog.expand_topic(topic.id, partitions)
    with pytest.raises(UnknownTopic):
        await catalog.expand_topic(uuid4(), 2)
    assert await reopened_like(catalog, store)


def changing(**values: Any) -> Callable[[Topic], Topic]:
    return lambda topic: msgspec.structs.replace(topic, **values)


async def test_a_topic_is_revised_in_what_may_change(catalog: Catalog, store: Store) -> None:
    topic = await catalog.create_topic("orders", partitions=1, settings={"a": "1"})
    revised = await catalog.revise_topic(topic.id, changing(kind=TopicKind.DELAY, retention_ms=-1))
    assert (revised.kind, revised.retention_ms, revised.settings) == (TopicKind.DELAY, -1, {"a": "1"})
    revised = await catalog.revise_topic(topic.id, changing(settings={}, retention_bytes=5))
    assert (revised.retention_bytes, revised.settings) == (5, {})
    assert catalog.topic(DEFAULT_INSTANCE, "orders") == revised
    assert await reopened_like(catalog, store)
    with pytest.raises(InvalidSetting):
        await catalog.revise_topic(topic.id, changing(retention_bytes=-2))
    with pytest.raises(UnknownTopic):
        await catalog.revise_topic(uuid4(), changing(retention_bytes=1))


async def test_a_refused_revision_is_told_and_changes_nothing(catalog: Catalog, store: Store) -> None:
    topic = await catalog.create_topic("orders", partitions=1)

    def refuse(_: Topic) -> Topic:
        raise InvalidSetting("not so")

    with pytest.raises(InvalidSetting, match="not so"):
        await catalog.revise_topic(topic.id, refuse)
    assert catalog.topic(DEFAULT_INSTANCE, "orders") == topic
    assert await reopened_like(catalog, store)


async def test_revisions_at_the_same_time_each_see_the_other(catalog: Catalog, store: Store) -> None:
    topic = await catalog.create_topic("orders", partitions=1)

    def adding(name: str) -> Callable[[Topic], Topic]:
        return lambda topic: msgspec.structs.replace(topic, settings={**topic.settings, name: "1"})

    await asyncio.gather(*(catalog.revise_topic(topic.id, adding(name)) for name in "abcdefgh"))
    found = catalog.topic(DEFAULT_INSTANCE, "orders")
    assert found is not None
    assert found.settings == dict.fromkeys("abcdefgh", "1")
    assert await reopened_like(catalog, store)


async def test_a_topic_being_deleted_is_hidden_and_its_name_is_free_at_once(catalog: Catalog, store: Store) -> None:
    old = await catalog.create_topic("orders", partitions=2)
    deleting = await catalog.begin_topic_deletion(old.id)
    assert catalog.topic(DEFAULT_INSTANCE, "orders") is None
    assert list(catalog.topics()) == []
    assert catalog.topics_deleting() == [deleting]
    assert catalog.topic_by_id(old.id) == deleting
    new = await catalog.create_topic("orders", partitions=2)
    assert new.id != old.id
    assert catalog.topic(DEFAULT_INSTANCE, "orders") == new
    await catalog.finish_topic_deletion(old.id)
    await catalog.finish_topic_deletion(old.id)
    assert catalog.topics_deleting() == []
    assert catalog.topic_by_id(old.id) is None
    assert catalog.partition_by_number(0) is None
    assert catalog.topic(DEFAULT_INSTANCE, "orders") == new
    assert await reopened_like(catalog, store)


async def test_a_topic_being_deleted_can_not_be_changed_nor_a_live_one_forgotten(catalog: Catalog) -> None:
    topic = await catalog.create_topic("orders", partitions=1)
    with pytest.raises(UnknownTopic, match="begin its deletion first"):
        await catalog.finish_topic_deletion(topic.id)
    await catalog.begin_topic_deletion(topic.id)
    for refused in (
        catalog.begin_topic_deletion(topic.id),
        catalog.expand_topic(topic.id, 2),
        catalog.revise_topic(topic.id, changing(retention_ms=1)),
    ):
        with pytest.raises(UnknownTopic):
            await refused


async def test_a_partition_number_is_never_given_again(catalog: Catalog, database_url: str) -> None:
    topic = await catalog.create_topic("a", partitions=5)
    await catalog.begin_topic_deletion(topic.id)
    await catalog.finish_topic_deletion(topic.id)
    with pytest.raises(AlreadyExists):
        await asyncio.gather(*(catalog.create_topic("b", partitions=1) for _ in range(2)))
    other_store = await Store.open(database_url)
    other = await Catalog.open(other_store)
    assert (await other.create_topic("c", partitions=2)).partition_numbers == (6, 7)
    await other_store.close()


async def test_when_all_partition_numbers_are_given_it_is_said_so(catalog: Catalog, store: Store) -> None:
    nearly = {"value": PARTITION_NUMBER_MAX}
    await store.write(
        lambda connection: connection.execute(
            sa.text("UPDATE counters SET value = :value WHERE name = 'partition_number'"), nearly
        )
    )
    with pytest.raises(InvalidPartitions, match="only 1 of the 8,388,608 partition numbers are left"):
        await catalog.create_topic("a", partitions=2)
    assert (await catalog.create_topic("a", partitions=1)).partition_numbers == (PARTITION_NUMBER_MAX,)


async def test_of_concurrent_creations_exactly_one_succeeds(catalog: Catalog, database_url: str) -> None:
    other_store = await Store.open(database_url)
    other = await Catalog.open(other_store)
    results = await asyncio.gather(
        *(side.create_topic("same", partitions=1) for side in (catalog, other) for _ in range(5)),
        return_exceptions=True,
    )
    failed = [result for result in results if isinstance(result, BaseException)]
    assert [type(error) for error in failed] == [AlreadyExists] * 9
    await other_store.close()


async def test_groups_are_saved_replaced_and_deleted_with_their_subscriptions(catalog: Catalog, store: Store) -> None:
    group = await catalog.save_group(Group(name="g:1 ü", attempts_max=3, settings={"a": "b"}))
    changed = await catalog.save_group(Group(name="g:1 ü", broadcast=True, ordered=True))
    assert catalog.group(DEFAULT_INSTANCE, group.name) == changed
    assert list(catalog.groups()) == [changed]
    await catalog.save_subscription(Subscription(group=group.name, topic="t"))
    assert await reopened_like(catalog, store)
    await catalog.delete_group(DEFAULT_INSTANCE, group.name)
    assert not [*catalog.groups(), *catalog.subscriptions()]
    assert await reopened_like(catalog, store)
    with pytest.raises(UnknownGroup):
        await catalog.delete_group(DEFAULT_INSTANCE, group.name)
    with pytest.raises(UnknownInstance):
        await catalog.save_group(Group(name="g", instance="nowhere"))


async def test_subscriptions_are_found_by_group_and_by_topic(catalog: Catalog, store: Store) -> None:
    for name in ("g1", "g2"):
        await catalog.save_group(Group(name=name))
    first = await catalog.save_subscription(Subscription(group="g1", topic="t1"))
    second = await catalog.save_subscription(
        Subscription(group="g1", topic="t2", event_code="EC", filter_kind=FilterKind.SQL, expression="a > 1")
    )
    third = await catalog.save_subscription(Subscription(group="g2", topic="t1"))
    assert list(catalog.subscriptions(group="g1")) == [first, second]
    assert list(catalog.subscriptions(topic="t1")) == [first, third]
    assert list(catalog.subscriptions(group="g1", topic="t2")) == [second]
    assert len(catalog.subscriptions()) == 3
    assert not [*catalog.subscriptions(group="g3"), *catalog.subscriptions("other")]
    assert await reopened_like(catalog, store)
    assert await catalog.delete_subscription(DEFAULT_INSTANCE, "g1", "t1")
    assert not await catalog.delete_subscription(DEFAULT_INSTANCE, "g1", "t1")
    assert list(catalog.subscriptions(topic="t1")) == [third]
    with pytest.raises(UnknownGroup):
        await catalog.save_subscription(Subscription(group="g3", topic="t1"))


async def test_an_instance_is_deleted_only_without_topics_and_the_default_one_never(
    catalog: Catalog, store: Store
) -> None:
    await catalog.create_instance(Instance(name="bank", description="the bank's"))
    with pytest.raises(AlreadyExists):
        await catalog.create_instance(Instance(name="bank"))
    with pytest.raises(InvalidName):
        await catalog.create_instance(Instance(name="a/b"))
    topic = await catalog.create_topic("orders", partitions=1, instance="bank")
    await catalog.save_group(Group(name="g", instance="bank"))
    await catalog.save_subscription(Subscription(group="g", topic="orders", instance="bank"))
    with pytest.raises(InstanceInUse, match="delete them first"):
        await catalog.delete_instance("bank")
    await catalog.begin_topic_deletion(topic.id)
    await catalog.finish_topic_deletion(topic.id)
    await catalog.delete_instance("bank")
    assert catalog.instance("bank") is None
    assert not [*catalog.groups(), *catalog.subscriptions("bank")]
    with pytest.raises(UnknownInstance):
        await catalog.delete_instance("bank")
    with pytest.raises(InstanceInUse, match="always exists"):
        await catalog.delete_instance(DEFAULT_INSTANCE)
    assert await reopened_like(catalog, store)


async def test_a_setting_tells_who_changed_it_when_and_in_which_revision(catalog: Catalog, store: Store) -> None:
    await catalog.set_setting("log.flush", "interval", changed_by="ann")
    setting = await catalog.set_setting("log.flush", "commit", changed_by="bob")
    assert setting == Setting(
        name="log.flush", value="commit", revision=2, changed_by="bob", changed_ms=1_700_000_000_000
    )
    assert catalog.setting("log.flush") == setting
    assert list(catalog.settings()) == [setting]
    assert await reopened_like(catalog, store)
    assert await catalog.unset_setting("log.flush")
    assert not await catalog.unset_setting("log.flush")
    assert catalog.setting("log.flush") is None
    with pytest.raises(InvalidSetting):
        await catalog.set_setting("", "x", changed_by="ann")


async def test_several_settings_are_set_all_or_none(catalog: Catalog, store: Store, changes: list[Change]) -> None:
    await catalog.set_settings({"a": "1", "b": "2"}, changed_by="ann")
    assert [(each.name, each.value, each.revision, each.changed_by) for each in catalog.settings()] == [
        ("a", "1", 1, "ann"),
        ("b", "2", 2, "ann"),
    ]
    assert changes == [SettingChanged(at, None, catalog.setting(name)) for at, name in ((1, "a"), (2, "b"))]
    with pytest.raises(InvalidSetting):
        await catalog.set_settings({"a": "9", "b": "nul \0"}, changed_by="bob")
    assert [each.value for each in catalog.settings()] == ["1", "2"]
    assert await reopened_like(catalog, store)


def credential(mechanism: ScramMechanism = ScramMechanism.SHA_256, iterations: int = 4096) -> ScramCredential:
    return ScramCredential(
        user="ann", mechanism=mechanism, iterations=iterations, salt=b"\x00salt", stored_key=b"\xff", server_key=b"\x01"
    )


async def test_a_quota_gains_and_loses_limits_and_is_gone_with_the_last(catalog: Catalog, store: Store) -> None:
    holder = Holder(user=named("*"), client=OTHERS)
    quota = await catalog.revise_quota(holder, {"a": 0.1, "b": 2.0**63})
    assert quota == Quota(user="=*", client="*", limits={"a": 0.1, "b": 2.0**63})
    for other in (Holder(user=OTHERS, client=OTHERS), Holder(host=named("127.0.0.1"))):
        await catalog.revise_quota(other, {"a": 1.0})
    assert len(catalog.quotas()) == 3
    revision = catalog.revision
    assert await catalog.revise_quota(holder, {"a": 0.1, "c": None}) == quota
    assert catalog.revision == revision
    assert await catalog.revise_quota(holder, {"a": None}) == Quota(user="=*", client="*", limits={"b": 2.0**63})
    assert await reopened_like(catalog, store)
    assert await catalog.revise_quota(holder, {"b": None}) is None
    assert await catalog.revise_quota(holder, {"b": None}) is None
    assert len(catalog.quotas()) == 2
    assert await reopened_like(catalog, store)
    for wrong in ("x" * 256, "x\0"):
        with pytest.raises(InvalidQuota):
            await catalog.revise_quota(Holder(user=named(wrong)), {"a": 1.0})


async def test_credentials_of_a_user_are_kept_and_forgotten_together(catalog: Catalog, store: Store) -> None:
    await catalog.revise_credentials("ann", put=[credential(), credential(ScramMechanism.SHA_512)])
    assert catalog.scram_credential("ann", ScramMechanism.SHA_256) == credential()
    assert len(catalog.scram_credentials()) == 2
    newer = credential(iterations=8192)
    await catalog.revise_credentials("ann", put=[newer], delete=[ScramMechanism.SHA_512])
    assert catalog.scram_credentials() == [newer]
    assert await reopened_like(catalog, store)
    with pytest.raises(UnknownCredential, match="'ann'"):
        await catalog.revise_credentials("ann", put=[credential()], delete=[ScramMechanism.SHA_512])
    assert catalog.scram_credentials() == [newer]
    with pytest.raises(InvalidCredential):
        await catalog.revise_credentials("x" * 257)
    with pytest.raises(InvalidCredential):
        await catalog.revise_credentials("ann", put=[msgspec.structs.replace(newer, salt=bytes(1025))])


async def test_quotas_and_credentials_of_another_node_are_heard_of(
    catalog: Catalog, changes: list[Change], database_url: str
) -> None:
    other_store = await Store.open(database_url)
    other = await Catalog.open(other_store)
    quota = await other.revise_quota(Holder(user=OTHERS), {"a": 1.0})
    await other.revise_credentials("ann", put=[credential()])
    await catalog.set_setting("a", "b", changed_by="ann")
    await other_store.close()
    assert changes[:2] == [QuotaChanged(1, None, quota), ScramCredentialChanged(2, None, credential())]
    assert catalog.quotas() == [quota]


async def test_every_change_is_told_once_with_old_and_new(catalog: Catalog, changes: list[Change]) -> None:
    topic = await catalog.create_topic("t", partitions=1)
    deleting = await catalog.begin_topic_deletion(topic.id)
    await catalog.finish_topic_deletion(topic.id)
    instance = await catalog.create_instance(Instance(name="bank"))
    group = await catalog.save_group(Group(name="g", instance="bank"))
    subscription = await catalog.save_subscription(Subscription(group="g", topic="t", instance="bank"))
    setting = await catalog.set_setting("a", "b", changed_by="ann")
    await catalog.delete_instance("bank")
    assert changes == [
        TopicChanged(1, None, topic),
        TopicChanged(2, topic, deleting),
        TopicChanged(3, deleting, None),
        InstanceChanged(4, None, instance),
        GroupChanged(5, None, group),
        SubscriptionChanged(6, None, subscription),
        SettingChanged(7, None, setting),
        SubscriptionChanged(8, subscription, None),
        GroupChanged(9, group, None),
        InstanceChanged(10, instance, None),
    ]


async def test_saving_the_same_again_is_no_change(catalog: Catalog, changes: list[Change]) -> None:
    topic = await catalog.create_topic("t", partitions=1)
    await catalog.save_group(Group(name="g"))
    await catalog.save_subscription(Subscription(group="g", topic="t"))
    changes.clear()
    await catalog.revise_topic(topic.id, changing(retention_ms=topic.retention_ms))
    await catalog.save_group(Group(name="g"))
    await catalog.save_subscription(Subscription(group="g", topic="t"))
    assert changes == []


async def test_a_change_is_visible_to_the_callback_and_a_failing_callback_stops_nobody(catalog: Catalog) -> None:
    seen: list[bool] = []

    def stumble(_change: Change) -> None:
        raise ValueError("mine")

    catalog.subscribe(stumble)
    unsubscribe = catalog.subscribe(lambda _: seen.append(catalog.topic(DEFAULT_INSTANCE, "t") is not None))
    await catalog.create_topic("t", partitions=1)
    assert seen == [True]
    unsubscribe()
    unsubscribe()
    await catalog.create_topic("u", partitions=1)
    assert seen == [True]


async def test_a_change_whose_caller_was_cancelled_still_reaches_the_memory(catalog: Catalog, store: Store) -> None:
    creating = asyncio.create_task(catalog.create_topic("t", partitions=1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    creating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await creating
    await store.write(lambda _: None)
    assert await reopened_like(catalog, store)


async def test_many_changes_at_once_are_all_made_and_told_in_order(
    catalog: Catalog, store: Store, changes: list[Change]
) -> None:
    topics = await asyncio.gather(*(catalog.create_topic(f"t{number}", partitions=2) for number in range(300)))
    assert len(catalog.topics()) == len(topics) == 300
    assert [change.revision for change in changes] == list(range(1, 301))
    assert await reopened_like(catalog, store)
    with pytest.raises(BraidError):
        await catalog.create_topic("t1", partitions=1)
