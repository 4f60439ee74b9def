"""The catalog: what exists, whole in memory, changed through the store.

Lookups run for every request and never wait. One idea: a change is written by the store, and the memory takes
it when it is committed, directly if it is the next revision; else, when another node's change lies between,
by reading what was missed. Either way a caller sees its own change as soon as its call returns, and the
memory never goes back.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast
from uuid import UUID, uuid4

from braidmq.logger import get_logger
from braidmq.model import (
    DEFAULT_INSTANCE,
    DEFAULT_RETENTION_MS,
    Group,
    Instance,
    Partition,
    Subscription,
    Topic,
    TopicKind,
)
from braidmq.model.credentials import ScramCredential, ScramMechanism
from braidmq.model.errors import InstanceInUse, StoreFailed
from braidmq.model.limits import Holder, Quota
from braidmq.store import _changes, _checks
from braidmq.store._database import Work
from braidmq.store._journal import CHANNEL, Changed, read_since, read_snapshot
from braidmq.store._memory import Change, Memory
from braidmq.store._store import Store
from braidmq.store._things import Kind, Setting

CATCH_UP_TIMEOUT_S = 30.0

T = TypeVar("T")

log = get_logger(__name__)


class Catalog:
    """Made by `open`; ends with its store. Every change may raise StoreFailed besides what it names."""

    def __init__(self, store: Store, memory: Memory, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._memory = memory
        self._now_ms = now_ms
        self._grown = asyncio.Event()
        self._callbacks: dict[object, Callable[[Change], None]] = {}
        self._watch = store.watch(CHANNEL, self._catch_up)

    @classmethod
    async def open(cls, store: Store, *, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> "Catalog":
        """Read everything, and from then on hear of every change."""
        return cls(store, Memory(await store.read(read_snapshot)), now_ms)

    # Lookups

    @property
    def revision(self) -> int:
        """Grows with every change; what another node has changed up to here is seen here."""
        return self._memory.revision

    def topic(self, instance: str, name: str) -> Topic | None:
        """The topic of this name, unless its deletion has begun."""
        return self._memory.topics_by_name.get((instance, name))

    def topic_by_id(self, topic_id: UUID) -> Topic | None:
        """The topic with this id, also while it is being deleted."""
        return cast("Topic | None", self._memory.things[Kind.TOPIC].get((topic_id,)))

    def partition_by_number(self, number: int) -> Partition | None:
        """The partition with this number, also while its topic is being deleted."""
        return self._memory.partition(number)

    def topics(self) -> list[Topic]:
        """All topics but those whose deletion has begun."""
        return list(self._memory.topics_by_name.values())

    def topics_deleting(self) -> list[Topic]:
        """The topics whose deletion has begun and is not finished."""
        return [topic for topic in self._memory.things[Kind.TOPIC].values() if topic.deleting]

    def group(self, instance: str, name: str) -> Group | None:
        return cast("Group | None", self._memory.things[Kind.GROUP].get((instance, name)))

    def groups(self) -> list[Group]:
        return list(self._memory.things[Kind.GROUP].values())

    def subscriptions(
        self, instance: str = DEFAULT_INSTANCE, *, group: str | None = None, topic: str | None = None
    ) -> list[Subscription]:
        """An instance's subscriptions: those of a group, those to a topic, those that are both, or all."""
        if group is not None:
            of_group = self._memory.subscriptions_by_group.get((instance, group), {}).values()
            return [each for each in of_group if topic in (None, each.topic)]
        if topic is not None:
            return list(self._memory.subscriptions_by_topic.get((instance, topic), {}).values())
        return [each for each in self._memory.things[Kind.SUBSCRIPTION].values() if each.instance == instance]

    def instance(self, name: str) -> Instance | None:
        return cast("Instance | None", self._memory.things[Kind.INSTANCE].get((name,)))

    def instances(self) -> list[Instance]:
        return list(self._memory.things[Kind.INSTANCE].values())

    def setting(self, name: str) -> Setting | None:
        return cast("Setting | None", self._memory.things[Kind.SETTING].get((name,)))

    def settings(self) -> list[Setting]:
        return list(self._memory.things[Kind.SETTING].values())

    def quotas(self) -> list[Quota]:
        return list(self._memory.things[Kind.QUOTA].values())

    def scram_credential(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None:
        return cast("ScramCredential | None", self._memory.things[Kind.SCRAM_CREDENTIAL].get((user, mechanism.value)))

    def scram_credentials(self) -> list[ScramCredential]:
        return list(self._memory.things[Kind.SCRAM_CREDENTIAL].values())

    # Changes

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int,
        instance: str = DEFAULT_INSTANCE,
        kind: TopicKind = TopicKind.MIXED,
        retention_ms: int = DEFAULT_RETENTION_MS,
        retention_bytes: int = -1,
        settings: Mapping[str, str] | None = None,
        id: UUID | None = None,
    ) -> Topic:
        """Raises InvalidName, InvalidPartitions, InvalidSetting, UnknownInstance, AlreadyExists."""
        topic = Topic(
            id=id or uuid4(),
            name=name,
            instance=instance,
            kind=kind,
            partition_numbers=(),
            retention_ms=retention_ms,
            retention_bytes=retention_bytes,
            settings=dict(settings or {}),
        )
        _checks.check_topic(topic)
        _checks.check_partitions(partitions)
        return await self._change(partial(_changes.create_topic, topic=topic, partitions=partitions))

    async def expand_topic(self, topic_id: UUID, partitions: int) -> Topic:
        """Grow to this number of partitions. Raises UnknownTopic, InvalidPartitions."""
        _checks.check_partitions(partitions)
        return await self._change(partial(_changes.expand_topic, topic_id=topic_id, partitions=partitions))

    async def revise_topic(self, topic_id: UUID, revise: Callable[[Topic], Topic]) -> Topic:
        """Make of the topic what `revise` makes of it, with no other change in between.

        `revise` may change kind, retention and settings; it runs in the store's thread and must only compute. What it
        raises is raised here. Raises UnknownTopic, InvalidSetting.
        """
        return await self._change(partial(_changes.revise_topic, topic_id=topic_id, revise=revise), frees=True)

    async def begin_topic_deletion(self, topic_id: UUID) -> Topic:
        """Hide the topic; its name is free at once. Raises UnknownTopic."""
        return await self._change(partial(_changes.begin_topic_deletion, topic_id=topic_id), frees=True)

    async def finish_topic_deletion(self, topic_id: UUID) -> None:
        """Forget a topic whose files are gone. Doing it again changes nothing. Raises UnknownTopic for a live one."""
        await self._change(partial(_changes.finish_topic_deletion, topic_id=topic_id), frees=True)

    async def create_instance(self, instance: Instance) -> Instance:
        """Raises InvalidName, AlreadyExists."""
        _checks.check_instance(instance)
        return await self._change(partial(_changes.create_instance, instance=instance))

    async def delete_instance(self, name: str) -> None:
        """Delete it with its groups and subscriptions. Raises UnknownInstance, InstanceInUse while it has topics."""
        if name == DEFAULT_INSTANCE:
            raise InstanceInUse(f"the instance {name!r} always exists")
        await self._change(partial(_changes.delete_instance, name=name))

    async def save_group(self, group: Group) -> Group:
        """Create or replace it. Raises InvalidName, InvalidSetting, UnknownInstance."""
        _checks.check_group(group)
        return await self._change(partial(_changes.save_group, group=group))

    async def delete_group(self, instance: str, name: str) -> None:
        """Delete it with its subscriptions. Raises UnknownGroup."""
        await self._change(partial(_changes.delete_group, instance=instance, name=name))

    async def save_subscription(self, subscription: Subscription) -> Subscription:
        """Create or replace it; its topic need not exist yet. Raises InvalidName, UnknownGroup."""
        _checks.check_subscription(subscription)
        return await self._change(partial(_changes.save_subscription, subscription=subscription))

    async def delete_subscription(self, instance: str, group: str, topic: str, event_code: str = "*") -> bool:
        """Whether it was there."""
        key = (instance, group, topic, event_code)
        return await self._change(partial(_changes.delete_if_present, kind=Kind.SUBSCRIPTION, key=key))

    async def set_setting(
        self, name: str, value: str, *, changed_by: str, expected_revision: int | None = None
    ) -> Setting:
        """With an expected revision, only while the setting has that; 0 is that of one which is not set. Raises
        InvalidSetting, ChangedMeanwhile."""
        setting = Setting(name=name, value=value, revision=-1, changed_by=changed_by, changed_ms=self._now_ms())
        _checks.check_setting(setting)
        return await self._change(partial(_changes.save_setting, setting=setting, expected_revision=expected_revision))

    async def set_settings(self, values: Mapping[str, str], *, changed_by: str) -> None:
        """All of them, or none. Raises InvalidSetting."""
        now_ms = self._now_ms()
        settings = [
            Setting(name=name, value=value, revision=-1, changed_by=changed_by, changed_ms=now_ms)
            for name, value in values.items()
        ]
        for setting in settings:
            _checks.check_setting(setting)
        await self._change(partial(_changes.save_settings, settings=settings))

    async def unset_setting(self, name: str, *, expected_revision: int | None = None) -> bool:
        """Whether it was set. Raises ChangedMeanwhile, as above."""
        return await self._change(partial(_changes.delete_setting, name=name, expected_revision=expected_revision))

    async def revise_quota(self, holder: Holder, limits: Mapping[str, float | None]) -> Quota | None:
        """Set these limits of a holder, and take away those that are None; what the holder has then. Raises
        InvalidQuota for one that cannot be kept."""
        _checks.check_holder(holder)
        return await self._change(partial(_changes.revise_quota, holder=holder, limits=dict(limits)))

    async def revise_credentials(
        self, user: str, *, put: Sequence[ScramCredential] = (), delete: Sequence[ScramMechanism] = ()
    ) -> None:
        """Keep and forget credentials of one user, all or none. Raises InvalidCredential, UnknownCredential for
        one to delete that is not there."""
        _checks.check_credential_user(user)
        for credential in put:
            _checks.check_credential(credential)
        await self._change(partial(_changes.revise_credentials, user=user, put=put, delete=delete))

    # Hearing of changes

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Call back after every change, this node's or another's, until the returned function is called.

        Lookups show the change, and perhaps later ones, when the callback runs. It runs on the loop, and
        should be quick.
        """
        handle = object()

        def unsubscribe() -> None:
            self._callbacks.pop(handle, None)

        self._callbacks[handle] = callback
        return unsubscribe

    async def _change(self, work: Work[Changed[T]], *, frees: bool = False) -> T:
        changed = await self._store.write(work, self._committed, frees=frees)
        if changed.entries:
            await self._reach(changed.entries[-1].revision)
        return changed.value

    def _committed(self, changed: Changed[Any]) -> None:
        if not changed.entries:
            return
        if changed.entries[0].revision == self._memory.revision + 1:
            self._tell(self._memory.apply(changed.entries))
        else:
            self._watch.wake()

    async def _reach(self, revision: int) -> None:
        try:
            async with asyncio.timeout(CATCH_UP_TIMEOUT_S):
                while self._memory.revision < revision:
                    await self._grown.wait()
        except TimeoutError as error:
            raise StoreFailed(
                "the change is kept, but the database does not answer to show it with the changes before it"
            ) from error

    async def _catch_up(self) -> None:
        since = self._memory.revision
        missed = await self._store.read(partial(read_since, revision=since))
        self._tell(self._memory.take(missed))

    def _tell(self, changes: Iterable[Change]) -> None:
        self._grown.set()
        self._grown = asyncio.Event()
        for change in changes:
            for callback in list(self._callbacks.values()):
                try:
                    callback(change)
                except Exception:  # reported; the change is made, and the others still have to hear of it
                    log.exception("catalog_callback_failed", change=type(change).__name__)
