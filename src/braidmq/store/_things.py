"""The kinds of thing that a catalog holds, what each is found by, and how each is read from its rows."""

import enum
import sys
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

import msgspec
import sqlalchemy as sa

from braidmq.model import FilterKind, Group, Instance, Subscription, Topic, TopicKind
from braidmq.model.credentials import ScramCredential, ScramMechanism
from braidmq.model.limits import Quota
from braidmq.store import _tables as tables


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A central setting, as it is for all nodes."""

    name: str
    value: str
    revision: int
    """The catalog's revision that set it: a later value has a higher one."""
    changed_by: str
    changed_ms: int


Thing = Instance | Topic | Group | Subscription | Setting | Quota | ScramCredential
Key = tuple[Any, ...]


class Kind(enum.StrEnum):
    """In the order in which things depend on each other."""

    INSTANCE = "instance"
    TOPIC = "topic"
    GROUP = "group"
    SUBSCRIPTION = "subscription"
    SETTING = "setting"
    QUOTA = "quota"
    SCRAM_CREDENTIAL = "scram_credential"


TABLES: dict[Kind, sa.Table] = {
    Kind.INSTANCE: tables.instances,
    Kind.TOPIC: tables.topics,
    Kind.GROUP: tables.groups,
    Kind.SUBSCRIPTION: tables.subscriptions,
    Kind.SETTING: tables.settings,
    Kind.QUOTA: tables.quotas,
    Kind.SCRAM_CREDENTIAL: tables.scram_credentials,
}

KEYS: dict[Kind, tuple[sa.Column[Any], ...]] = {
    Kind.INSTANCE: (tables.instances.c.name,),
    Kind.TOPIC: (tables.topics.c.id,),
    Kind.GROUP: (tables.groups.c.instance, tables.groups.c.name),
    Kind.SUBSCRIPTION: tuple(tables.subscriptions.primary_key.columns),
    Kind.SETTING: (tables.settings.c.name,),
    Kind.QUOTA: (tables.quotas.c.user, tables.quotas.c.client, tables.quotas.c.host),
    Kind.SCRAM_CREDENTIAL: (tables.scram_credentials.c.user, tables.scram_credentials.c.mechanism),
}


def key_of(thing: Thing) -> tuple[Kind, Key]:
    """What the thing is found by; the values are in the order of KEYS."""
    match thing:
        case Instance():
            return Kind.INSTANCE, (thing.name,)
        case Topic():
            return Kind.TOPIC, (thing.id,)
        case Group():
            return Kind.GROUP, (thing.instance, thing.name)
        case Subscription():
            return Kind.SUBSCRIPTION, (thing.instance, thing.group, thing.topic, thing.event_code)
        case Setting():
            return Kind.SETTING, (thing.name,)
        case Quota():
            return Kind.QUOTA, tuple(thing.holder)
        case ScramCredential():
            return Kind.SCRAM_CREDENTIAL, (thing.user, thing.mechanism.value)


def matches(kind: Kind, key: Key) -> sa.ColumnElement[bool]:
    """The condition that chooses the thing with this key, or all whose keys begin with it."""
    return sa.and_(*(column == value for column, value in zip(KEYS[kind], key, strict=False)))


def read_things(connection: sa.Connection, kind: Kind, key: Key = ()) -> Sequence[Thing]:
    """All things of the kind, or those whose key begins with this."""
    query = sa.select(TABLES[kind])
    rows = connection.execute(query.where(matches(kind, key)) if key else query)
    match kind:
        case Kind.INSTANCE:
            return [Instance(name=row.name, description=row.description) for row in rows]
        case Kind.TOPIC:
            return _read_topics(rows, _read_partition_numbers(connection, key))
        case Kind.GROUP:
            return [_group(row) for row in rows]
        case Kind.SUBSCRIPTION:
            return [_subscription(row) for row in rows]
        case Kind.SETTING:
            return [Setting(**row._mapping) for row in rows]
        case Kind.QUOTA:
            return [Quota(**row._mapping) for row in rows]
        case Kind.SCRAM_CREDENTIAL:
            return [_scram_credential(row) for row in rows]


def read_thing(connection: sa.Connection, kind: Kind, key: Key) -> Thing | None:
    """The thing with this whole key."""
    return next(iter(read_things(connection, kind, key)), None)


def _read_partition_numbers(connection: sa.Connection, topic_key: Key) -> dict[UUID, list[int]]:
    columns = tables.partitions.c
    query = sa.select(columns.topic_id, columns.number).order_by(columns.topic_id, columns.index)
    if topic_key:
        query = query.where(columns.topic_id == topic_key[0])
    numbers: dict[UUID, list[int]] = {}
    for topic_id, number in connection.execute(query):
        numbers.setdefault(topic_id, []).append(number)
    return numbers


def _read_topics(rows: Iterable[sa.Row[Any]], numbers: dict[UUID, list[int]]) -> list[Topic]:
    return [
        Topic(
            id=row.id,
            name=row.name,
            instance=sys.intern(row.instance),
            kind=TopicKind(row.kind),
            partition_numbers=tuple(numbers.get(row.id, ())),
            retention_ms=row.retention_ms,
            retention_bytes=row.retention_bytes,
            settings=row.settings,
            deleting=row.deleting,
        )
        for row in rows
    ]


def _group(row: sa.Row[Any]) -> Group:
    return Group(
        name=row.name,
        instance=sys.intern(row.instance),
        broadcast=row.broadcast,
        ordered=row.ordered,
        attempts_max=row.attempts_max,
        settings=row.settings,
    )


def _subscription(row: sa.Row[Any]) -> Subscription:
    return Subscription(
        group=row.group,
        topic=row.topic,
        instance=sys.intern(row.instance),
        event_code=row.event_code,
        filter_kind=FilterKind(row.filter_kind),
        expression=row.expression,
    )


def _scram_credential(row: sa.Row[Any]) -> ScramCredential:
    return ScramCredential(
        user=row.user,
        mechanism=ScramMechanism(row.mechanism),
        iterations=row.iterations,
        salt=bytes(row.salt),
        stored_key=bytes(row.stored_key),
        server_key=bytes(row.server_key),
    )
