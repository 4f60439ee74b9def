"""Partition locks, for groups whose members read in order: of a group's members, one works on a partition at a time.

A lock is a lease. Its holder makes it longer by asking again; it ends by itself, by its holder's word, or with its
holder's membership. Until then nobody else is given the partition, and `holder` tells those who read or commit whether
they may.

Locks are in memory, and a restart forgets them. The node does not wait for a lease's length then before it gives out
locks, although a member may still think that it holds one: who asks after a restart is nearly always who held it,
because members divide partitions among themselves by the same rule and the same list as before, and waiting would stop
every ordered group for a minute at every restart. Only where the list of members changes across the restart may two of
them work on a partition, until the earlier holder asks again and is refused: members ask every 20 seconds.
"""

from collections.abc import Callable, Iterable

LEASE_MS = 60_000


class PartitionLocks:
    """The locks of all groups. `passed_ms` is a clock that never goes back."""

    def __init__(self, passed_ms: Callable[[], float], lease_ms: int = LEASE_MS) -> None:
        self._passed_ms = passed_ms
        self._lease_ms = lease_ms
        self._groups: dict[str, dict[int, tuple[str, float]]] = {}
        """By group and partition number: the holder, and when its lease is over."""
        self._swept_ms = passed_ms()

    def lock(self, group: str, member: str, numbers: Iterable[int]) -> list[int]:
        """Those of the partitions that are the member's now, for a lease from now on."""
        now_ms = self._passed_ms()
        self._sweep(now_ms)
        held = self._groups.get(group, {})
        mine = [number for number in numbers if _holder(held, number, now_ms) in (None, member)]
        if mine:
            held.update(dict.fromkeys(mine, (member, now_ms + self._lease_ms)))
            self._groups[group] = held
        return mine

    def unlock(self, group: str, member: str, numbers: Iterable[int]) -> None:
        """Give up those of the partitions that are the member's."""
        held = self._groups.get(group, {})
        self._drop(group, [number for number in numbers if number in held and held[number][0] == member])

    def forget(self, group: str, member: str) -> None:
        """The member has left: all that it held is free."""
        held = self._groups.get(group, {})
        self._drop(group, [number for number, (holder, _) in held.items() if holder == member])

    def holder(self, group: str, number: int) -> str | None:
        """Whose the partition is now; None if it is nobody's."""
        return _holder(self._groups.get(group, {}), number, self._passed_ms())

    def has_locks(self, group: str) -> bool:
        """Whether members of the group hold locks now, as those of groups that read in order do."""
        now_ms = self._passed_ms()
        return any(until_ms > now_ms for _, until_ms in self._groups.get(group, {}).values())

    def __len__(self) -> int:
        """How many locks are remembered, those that are over and not yet forgotten among them."""
        return sum(map(len, self._groups.values()))

    def _sweep(self, now_ms: float) -> None:
        """Once in a lease, forget what is over: what nobody asks for must not pile up."""
        if now_ms - self._swept_ms < self._lease_ms:
            return
        self._swept_ms = now_ms
        for group, held in list(self._groups.items()):
            self._drop(group, [number for number, (_, until_ms) in held.items() if until_ms <= now_ms])

    def _drop(self, group: str, numbers: Iterable[int]) -> None:
        held = self._groups.get(group, {})
        for number in numbers:
            held.pop(number, None)
        if not held:
            self._groups.pop(group, None)


def _holder(held: dict[int, tuple[str, float]], number: int, now_ms: float) -> str | None:
    member, until_ms = held.get(number, ("", now_ms))
    return member if until_ms > now_ms else None
