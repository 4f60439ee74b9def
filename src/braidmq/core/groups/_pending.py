"""Offsets that groups committed in transactions which have not ended: kept in the store until they are decided."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from braidmq.log import GroupOffset
from braidmq.store import PendingOffset


class PendingKeeper(Protocol):
    """Where pending offsets outlive the process; see `store.GroupStates`."""

    async def load_pending(self) -> list[PendingOffset]: ...

    async def add_pending(self, offsets: Iterable[PendingOffset]) -> None: ...

    async def delete_pending(self, producer_id: int) -> None: ...

    async def delete_pending_offsets(self, numbers: Iterable[int], group: str | None = None) -> None: ...


class PendingOffsets:
    """All that is pending, by producer, group and partition number."""

    def __init__(self, keeper: PendingKeeper, kept: Iterable[PendingOffset]) -> None:
        self._keeper = keeper
        self._by_producer: dict[int, dict[str, dict[int, GroupOffset]]] = {}
        for each in kept:
            offset = GroupOffset(each.offset, each.metadata, each.leader_epoch, each.committed_ms)
            self._of(each.producer_id, each.group)[each.number] = offset

    async def add(self, producer_id: int, group: str, offsets: Mapping[int, GroupOffset]) -> None:
        """Kept when this returns; pending from the beginning of the call on, so that nobody reads in between."""
        self._of(producer_id, group).update(offsets)
        await self._keeper.add_pending(
            [PendingOffset(producer_id, group, number, *offset) for number, offset in offsets.items()]
        )

    def of(self, producer_id: int) -> dict[str, dict[int, GroupOffset]]:
        """What the producer has pending, by group."""
        return {group: dict(offsets) for group, offsets in self._by_producer.get(producer_id, {}).items()}

    def has(self, group: str, number: int) -> bool:
        """Whether a transaction may still change this offset."""
        return self.committed_ms(group, number) is not None

    def committed_ms(self, group: str, number: int) -> int | None:
        """When the latest of the pending offsets was committed; None if there is none."""
        if not self._by_producer:
            return None
        found = [
            groups[group][number].committed_ms
            for groups in self._by_producer.values()
            if group in groups and number in groups[group]
        ]
        return max(found, default=None)

    def has_any(self, group: str) -> bool:
        return any(groups.get(group) for groups in self._by_producer.values())

    async def end(self, producer_id: int) -> None:
        """The producer's transaction is decided and carried out."""
        await self._keeper.delete_pending(producer_id)
        self._by_producer.pop(producer_id, None)

    async def forget(self, numbers: Iterable[int], group: str | None = None) -> None:
        """These partitions' offsets are gone, those of one group or of all."""
        gone = set(numbers)
        touched = False
        for groups in self._by_producer.values():
            for name in [group] if group is not None else list(groups):
                offsets = groups.get(name, {})
                for number in gone & offsets.keys():
                    del offsets[number]
                    touched = True
        if touched:
            await self._keeper.delete_pending_offsets(gone, group)

    def drop_group(self, group: str) -> None:
        """The group is gone; the keeper forgets it with the group."""
        for groups in self._by_producer.values():
            groups.pop(group, None)

    def _of(self, producer_id: int, group: str) -> dict[int, GroupOffset]:
        return self._by_producer.setdefault(producer_id, {}).setdefault(group, {})
