"""The statements behind every change of the catalog. They run inside the store's transaction.

One idea: `lock_catalog` comes first in each, so that what it has checked still holds when it writes,
whichever nodes change the catalog at the same time. The constraints of the tables are a second line of
defence, not the way errors are found.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import cast
from uuid import UUID

import msgspec
import sqlalchemy as sa

from braidmq.model import PARTITION_NUMBER_MAX, Group, Instance, Subscription, Topic
from braidmq.model.credentials import ScramCredential, ScramMechanism
from braidmq.model.errors import (
    AlreadyExists,
    ChangedMeanwhile,
    InstanceInUse,
    InvalidName,
    InvalidPartitions,
    UnknownCredential,
    UnknownGroup,
    UnknownInstance,
    UnknownTopic,
)
from braidmq.model.limits import Holder, Quota
from braidmq.store import _tables as tables
from braidmq.store._checks import check_topic
from braidmq.store._journal import Changed, Entry, lock_catalog, record_deleted, record_saved
from braidmq.store._things import TABLES, Kind, Setting, Thing, key_of, matches, read_thing, read_things


def create_topic(connection: sa.Connection, topic: Topic, partitions: int) -> Changed[Topic]:
    """The topic with the numbers that its partitions were given."""
    lock_catalog(connection)
    _check_instance(connection, topic.instance)
    _check_free(connection, topic)
    row = msgspec.structs.asdict(topic) | {"claimed_name": _claim(topic.name)}
    del row["partition_numbers"]
    connection.execute(sa.insert(tables.topics), row)
    created = _add_partitions(connection, topic, partitions)
    return Changed(created, [record_saved(connection, created)])


def expand_topic(connection: sa.Connection, topic_id: UUID, partitions: int) -> Changed[Topic]:
    lock_catalog(connection)
    topic = _live_topic(connection, topic_id)
    present = len(topic.partition_numbers)
    if partitions <= present:
        raise InvalidPartitions(
            f"the topic {topic.name!r} has {present} partitions already, and their number can only grow"
        )
    expanded = _add_partitions(connection, topic, partitions - present)
    return Changed(expanded, [record_saved(connection, expanded)])


def revise_topic(connection: sa.Connection, topic_id: UUID, revise: Callable[[Topic], Topic]) -> Changed[Topic]:
    """Set what `revise` has changed."""
    lock_catalog(connection)
    topic = _live_topic(connection, topic_id)
    revised = revise(topic)
    check_topic(revised)
    values = {name: getattr(revised, name) for name in ("kind", "retention_ms", "retention_bytes", "settings")}
    if revised == topic:
        return Changed(topic, ())
    connection.execute(sa.update(tables.topics).where(tables.topics.c.id == topic_id).values(values))
    return Changed(revised, [record_saved(connection, revised)])


def begin_topic_deletion(connection: sa.Connection, topic_id: UUID) -> Changed[Topic]:
    lock_catalog(connection)
    topic = msgspec.structs.replace(_live_topic(connection, topic_id), deleting=True)
    values = {"deleting": True, "claimed_name": None}
    connection.execute(sa.update(tables.topics).where(tables.topics.c.id == topic_id).values(values))
    return Changed(topic, [record_saved(connection, topic)])


def finish_topic_deletion(connection: sa.Connection, topic_id: UUID) -> Changed[None]:
    lock_catalog(connection)
    topic = cast("Topic | None", read_thing(connection, Kind.TOPIC, (topic_id,)))
    if topic is None:
        return Changed(None, ())
    if not topic.deleting:
        raise UnknownTopic(f"the topic {topic.name!r} is not being deleted; begin its deletion first")
    return Changed(None, [_delete(connection, topic)])


def create_instance(connection: sa.Connection, instance: Instance) -> Changed[Instance]:
    lock_catalog(connection)
    if read_thing(connection, Kind.INSTANCE, (instance.name,)) is not None:
        raise AlreadyExists(f"the instance {instance.name!r} exists already")
    return Changed(instance, [_save(connection, instance)])


def delete_instance(connection: sa.Connection, name: str) -> Changed[None]:
    """Delete it with its groups and their subscriptions."""
    lock_catalog(connection)
    instance = _check_instance(connection, name)
    holds_topics = sa.select(sa.exists().where(tables.topics.c.instance == name))
    if connection.execute(holds_topics).scalar_one():
        raise InstanceInUse(f"the instance {name!r} still holds topics; delete them first")
    groups = read_things(connection, Kind.GROUP, (name,))
    doomed = [*read_things(connection, Kind.SUBSCRIPTION, (name,)), *groups, instance]
    return Changed(None, [_delete(connection, thing) for thing in doomed])


def save_group(connection: sa.Connection, group: Group) -> Changed[Group]:
    lock_catalog(connection)
    _check_instance(connection, group.instance)
    if read_thing(connection, *key_of(group)) == group:
        return Changed(group, ())
    return Changed(group, [_save(connection, group)])


def delete_group(connection: sa.Connection, instance: str, name: str) -> Changed[None]:
    """Delete it with its subscriptions."""
    lock_catalog(connection)
    group = _check_group(connection, instance, name)
    doomed = [*read_things(connection, Kind.SUBSCRIPTION, (instance, name)), group]
    return Changed(None, [_delete(connection, thing) for thing in doomed])


def save_subscription(connection: sa.Connection, subscription: Subscription) -> Changed[Subscription]:
    lock_catalog(connection)
    _check_group(connection, subscription.instance, subscription.group)
    if read_thing(connection, *key_of(subscription)) == subscription:
        return Changed(subscription, ())
    return Changed(subscription, [_save(connection, subscription)])


def save_setting(connection: sa.Connection, setting: Setting, expected_revision: int | None = None) -> Changed[Setting]:
    """The setting with the revision that it was given."""
    lock_catalog(connection)
    _check_revision(connection, setting.name, expected_revision)
    entry = record_saved(connection, setting)
    saved = msgspec.structs.replace(setting, revision=entry.revision)
    _put(connection, saved)
    return Changed(saved, [entry._replace(new=saved)])


def save_settings(connection: sa.Connection, settings: list[Setting]) -> Changed[None]:
    """All of them, or none."""
    return Changed(None, [entry for each in settings for entry in save_setting(connection, each).entries])


def delete_setting(connection: sa.Connection, name: str, expected_revision: int | None) -> Changed[bool]:
    """Whether it was set."""
    lock_catalog(connection)
    _check_revision(connection, name, expected_revision)
    present = read_thing(connection, Kind.SETTING, (name,))
    return Changed(False, ()) if present is None else Changed(True, [_delete(connection, present)])


def revise_quota(
    connection: sa.Connection, holder: Holder, limits: Mapping[str, float | None]
) -> Changed[Quota | None]:
    """Set these limits, and take away those that are None; a quota without limits is gone."""
    lock_catalog(connection)
    present = cast("Quota | None", read_thing(connection, Kind.QUOTA, tuple(holder)))
    before = {} if present is None else present.limits
    after = {name: value for name, value in {**before, **limits}.items() if value is not None}
    if after == before:
        return Changed(present, ())
    if present is not None and not after:
        return Changed(None, [_delete(connection, present)])
    quota = Quota(user=holder.user, client=holder.client, host=holder.host, limits=after)
    return Changed(quota, [_save(connection, quota)])


def revise_credentials(
    connection: sa.Connection, user: str, put: Sequence[ScramCredential], delete: Sequence[ScramMechanism]
) -> Changed[None]:
    """All of one user's, or nothing."""
    lock_catalog(connection)
    doomed = [read_thing(connection, Kind.SCRAM_CREDENTIAL, (user, mechanism.value)) for mechanism in delete]
    if None in doomed:
        raise UnknownCredential(f"the user {user!r} has no such credential that could be deleted")
    deleted = [_delete(connection, thing) for thing in doomed if thing is not None]
    return Changed(None, [*deleted, *(_save(connection, credential) for credential in put)])


def _check_revision(connection: sa.Connection, name: str, expected: int | None) -> None:
    """Raises ChangedMeanwhile where the setting is not as somebody has seen it; 0 stands for one that is not set."""
    if expected is None:
        return
    present = cast("Setting | None", read_thing(connection, Kind.SETTING, (name,)))
    revision = 0 if present is None else present.revision
    if revision != expected:
        raise ChangedMeanwhile(f"the setting {name!r} was changed in revision {revision}, not in {expected}")


def delete_if_present(connection: sa.Connection, kind: Kind, key: tuple[str, ...]) -> Changed[bool]:
    """Whether the thing was there."""
    lock_catalog(connection)
    present = read_thing(connection, kind, key)
    return Changed(False, ()) if present is None else Changed(True, [_delete(connection, present)])


def _save(connection: sa.Connection, thing: Thing) -> Entry:
    _put(connection, thing)
    return record_saved(connection, thing)


def _put(connection: sa.Connection, thing: Thing) -> None:
    """Update the thing's row, or insert it; nobody can come between, because the catalog is locked."""
    kind, key = key_of(thing)
    row = msgspec.structs.asdict(thing)
    if connection.execute(sa.update(TABLES[kind]).where(matches(kind, key)).values(row)).rowcount == 0:
        connection.execute(sa.insert(TABLES[kind]), row)


def _delete(connection: sa.Connection, thing: Thing) -> Entry:
    kind, key = key_of(thing)
    connection.execute(sa.delete(TABLES[kind]).where(matches(kind, key)))
    return record_deleted(connection, thing)


def _claim(name: str) -> str:
    """Names that differ only in `.` and `_` are one name, because Kafka's metrics cannot tell them apart."""
    return name.replace(".", "_")


def _check_free(connection: sa.Connection, topic: Topic) -> None:
    columns = tables.topics.c
    claimed = (columns.instance == topic.instance) & (columns.claimed_name == _claim(topic.name))
    for holder in connection.execute(sa.select(columns.id, columns.name).where(claimed | (columns.id == topic.id))):
        if holder.id == topic.id:
            raise AlreadyExists(f"a topic with the id {topic.id} exists already")
        if holder.name == topic.name:
            raise AlreadyExists(f"the topic {topic.name!r} exists already")
        raise InvalidName(
            f"the topic name {topic.name!r} collides with {holder.name!r}: names may not differ only in '.' and '_'"
        )


def _add_partitions(connection: sa.Connection, topic: Topic, count: int) -> Topic:
    first_index = len(topic.partition_numbers)
    first_number = _take_numbers(connection, count)
    rows = [
        {"number": first_number + place, "topic_id": topic.id, "index": first_index + place} for place in range(count)
    ]
    connection.execute(sa.insert(tables.partitions), rows)
    numbers = (*topic.partition_numbers, *range(first_number, first_number + count))
    return msgspec.structs.replace(topic, partition_numbers=numbers)


def _take_numbers(connection: sa.Connection, count: int) -> int:
    """The first of `count` numbers in a row that no partition ever had."""
    columns = tables.counters.c
    taking = (
        sa.update(tables.counters)
        .where(columns.name == tables.PARTITION_NUMBER)
        .values(value=columns.value + count)
        .returning(columns.value)
    )
    end: int = connection.execute(taking).scalar_one()
    if end > PARTITION_NUMBER_MAX + 1:
        raise InvalidPartitions(
            f"only {PARTITION_NUMBER_MAX + 1 - (end - count):,} of the {PARTITION_NUMBER_MAX + 1:,} partition "
            "numbers are left, and numbers of deleted topics are never used again; use a new database"
        )
    return end - count


def _live_topic(connection: sa.Connection, topic_id: UUID) -> Topic:
    topic = cast("Topic | None", read_thing(connection, Kind.TOPIC, (topic_id,)))
    if topic is None or topic.deleting:
        raise UnknownTopic(f"there is no topic with the id {topic_id}")
    return topic


def _check_instance(connection: sa.Connection, name: str) -> Thing:
    instance = read_thing(connection, Kind.INSTANCE, (name,))
    if instance is None:
        raise UnknownInstance(f"there is no instance {name!r}; create it first")
    return instance


def _check_group(connection: sa.Connection, instance: str, name: str) -> Thing:
    group = read_thing(connection, Kind.GROUP, (instance, name))
    if group is None:
        raise UnknownGroup(f"there is no group {name!r} in the instance {instance!r}; create it first")
    return group
