"""The catalog in memory: everything that exists, found by plain dictionary reads, and what changed when it
was changed.

Lookups run for every request. One idea: the revision only grows. A change is taken when its revision is new,
and left alone otherwise, so that it does not matter how often or by which way the memory hears of it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec

from braidmq.model import Group, Instance, Partition, Subscription, Topic
from braidmq.model.credentials import ScramCredential
from braidmq.model.limits import Quota
from braidmq.store._journal import Entry, Snapshot
from braidmq.store._things import Key, Kind, Setting, Thing, key_of


class InstanceChanged(msgspec.Struct, frozen=True):
    """As all changes: `old` is None for a thing that is new, `new` for one that is gone."""

    revision: int
    old: Instance | None
    new: Instance | None


class TopicChanged(msgspec.Struct, frozen=True):
    """A topic whose deletion has begun is still `new`, with `deleting` set; once it is finished, `new` is None."""

    revision: int
    old: Topic | None
    new: Topic | None


class GroupChanged(msgspec.Struct, frozen=True):
    revision: int
    old: Group | None
    new: Group | None


class SubscriptionChanged(msgspec.Struct, frozen=True):
    revision: int
    old: Subscription | None
    new: Subscription | None


class SettingChanged(msgspec.Struct, frozen=True):
    revision: int
    old: Setting | None
    new: Setting | None


class QuotaChanged(msgspec.Struct, frozen=True):
    revision: int
    old: Quota | None
    new: Quota | None


class ScramCredentialChanged(msgspec.Struct, frozen=True):
    revision: int
    old: ScramCredential | None
    new: ScramCredential | None


Change = (
    InstanceChanged
    | TopicChanged
    | GroupChanged
    | SubscriptionChanged
    | SettingChanged
    | QuotaChanged
    | ScramCredentialChanged
)

_CHANGES: dict[Kind, Any] = {
    Kind.INSTANCE: InstanceChanged,
    Kind.TOPIC: TopicChanged,
    Kind.GROUP: GroupChanged,
    Kind.SUBSCRIPTION: SubscriptionChanged,
    Kind.SETTING: SettingChanged,
    Kind.QUOTA: QuotaChanged,
    Kind.SCRAM_CREDENTIAL: ScramCredentialChanged,
}


class Memory:
    """All things by kind and key; topics also by name and by partition number, subscriptions by group and by topic."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.revision = -1
        self.things: dict[Kind, dict[Key, Any]] = {kind: {} for kind in Kind}
        self.topics_by_name: dict[tuple[str, str], Topic] = {}
        self.topics_by_number: dict[int, Topic] = {}
        self.subscriptions_by_group: dict[tuple[str, str], dict[Key, Subscription]] = {}
        self.subscriptions_by_topic: dict[tuple[str, str], dict[Key, Subscription]] = {}
        self.replace(snapshot)

    def take(self, missed: Snapshot | Sequence[Entry]) -> list[Change]:
        """Take what was read since this memory's revision; what changed by it."""
        return self.replace(missed) if isinstance(missed, Snapshot) else self.apply(missed)

    def apply(self, entries: Iterable[Entry]) -> list[Change]:
        """Take the entries that are new; what changed by them."""
        changes: list[Change] = []
        for entry in entries:
            if entry.revision <= self.revision:
                continue
            self.revision = entry.revision
            if entry.kind is not None:
                changes += self._put(entry.revision, entry.kind, entry.key, entry.new)
        return changes

    def replace(self, snapshot: Snapshot) -> list[Change]:
        """Become the snapshot, unless it is old; what changed by that."""
        if snapshot.revision <= self.revision:
            return []
        self.revision = snapshot.revision
        changes: list[Change] = []
        for kind, key, new in self._differences(snapshot):
            changes += self._put(snapshot.revision, kind, key, new)
        return changes

    def partition(self, number: int) -> Partition | None:
        topic = self.topics_by_number.get(number)
        if topic is None:
            return None
        # Numbers are given in order, so that a topic's are sorted.
        return Partition(topic.id, bisect_left(topic.partition_numbers, number), number)

    def _differences(self, snapshot: Snapshot) -> Iterator[tuple[Kind, Key, Thing | None]]:
        """What to put to become the snapshot: first what is gone, the dependent before what it depends on."""
        there = {kind: {key_of(thing)[1]: thing for thing in snapshot.things[kind]} for kind in Kind}
        for kind in reversed(Kind):
            for key in self.things[kind].keys() - there[kind].keys():
                yield kind, key, None
        for kind in Kind:
            for key, thing in there[kind].items():
                yield kind, key, thing

    def _put(self, revision: int, kind: Kind, key: Key, new: Thing | None) -> Sequence[Change]:
        old = self.things[kind].get(key)
        if old == new:
            return ()
        if new is None:
            del self.things[kind][key]
        else:
            self.things[kind][key] = new
        if kind is Kind.TOPIC:
            self._index_topic(old, cast("Topic | None", new))
        elif kind is Kind.SUBSCRIPTION:
            self._index_subscription(key, old, cast("Subscription | None", new))
        return (cast("Change", _CHANGES[kind](revision, old, new)),)

    def _index_topic(self, old: Topic | None, new: Topic | None) -> None:
        # The name may have passed to another topic already: a snapshot comes in no particular order.
        if old is not None and self.topics_by_name.get((old.instance, old.name)) is old:
            del self.topics_by_name[old.instance, old.name]
        if old is not None and new is None:
            for number in old.partition_numbers:
                del self.topics_by_number[number]
        if new is not None:
            self.topics_by_number.update(dict.fromkeys(new.partition_numbers, new))
            if not new.deleting:
                self.topics_by_name[new.instance, new.name] = new

    def _index_subscription(self, key: Key, old: Subscription | None, new: Subscription | None) -> None:
        for index, place in (
            (self.subscriptions_by_group, (key[0], key[1])),
            (self.subscriptions_by_topic, (key[0], key[2])),
        ):
            if new is not None:
                index.setdefault(place, {})[key] = new
            elif old is not None:
                del index[place][key]
                if not index[place]:
                    del index[place]
