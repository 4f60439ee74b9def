"""Partition locks, for groups whose members read in order: of a group's members, one works on a partition at a time.

A lock is a lease. Its holder makes it longer by asking again; it ends by itself, by its holder's word, or with its
holder's membership. Until then nobody else is given the partition, and `holder` tells those who read or commit whether
they may. A member that is gone without a word may still work on what it holds, but not for longer than members trust a
lock that they could not make longer: then its lease is over, however long it was meant to be. When it comes back it may
speak for a partition that nobody has taken since, but not for one that another had meanwhile, not even when that one is
gone, too: it does not know how far the other has come.

Locks are in memory, and a restart forgets them. The node does not wait for a lease's length then before it gives out
locks, although a member may still think that it holds one: who asks after a restart is nearly always who held it,
because members divide partitions among themselves by the same rule and the same list as before, and waiting would stop
every ordered group for a minute at every restart. Only where the list of members changes across the restart may two of
them work on a partition, until the earlier holder asks again and is refused: members ask every 20 seconds.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

LEASE_MS = 60_000
TRUSTED_MS = 30_000
"""How long after it last asked a member takes a lock for its own."""
FORMER_MS = 10 * LEASE_MS
"""How long it is remembered whose a partition was."""
FORMER_MAX = 8
"""How many members are remembered of a partition."""


class _Lease(NamedTuple):
    member: str
    asked_ms: float
    until_ms: float


class PartitionLocks:
    """The locks of all groups. `passed_ms` is a clock that never goes back."""

    def __init__(self, passed_ms: Callable[[], float], lease_ms: int = LEASE_MS) -> None:
        self._passed_ms = passed_ms
        self.lease_ms = lease_ms
        self._groups: dict[str, dict[int, _Lease]] = {}
        """By group and partition number."""
        self._had: dict[tuple[str, int], dict[str, float]] = {}
        """By group and number: whose it was, the latest last, and until when that is remembered."""
        self._swept_ms = passed_ms()

    def lock(self, group: str, member: str, numbers: Iterable[int]) -> list[int]:
        """Those of the partitions that are the member's now, for a lease from now on."""
        now_ms = self._passed_ms()
        self._sweep(now_ms)
        held = self._groups.get(group, {})
        mine = [number for number in numbers if _holder(held, number, now_ms) in (None, member)]
        if mine:
            held.update(dict.fromkeys(mine, _Lease(member, now_ms, now_ms + self.lease_ms)))
            self._groups[group] = held
            for number in mine:
                self._note_had(group, number, member, now_ms + FORMER_MS)
        return mine

    def unlock(self, group: str, member: str, numbers: Iterable[int]) -> None:
        """Give up those of the partitions that are the member's."""
        held = self._groups.get(group, {})
        self._drop(group, [number for number in numbers if number in held and held[number].member == member])

    def forget(self, group: str, member: str) -> None:
        """The member has left: all that it held is free."""
        held = self._groups.get(group, {})
        self._drop(group, [number for number, lease in held.items() if lease.member == member])

    def lost(self, group: str, member: str) -> None:
        """The member is gone without a word, for now at least: its leases end when it cannot trust them any more."""
        held = self._groups.get(group, {})
        for number, lease in held.items():
            if lease.member == member:
                held[number] = lease._replace(until_ms=min(lease.until_ms, lease.asked_ms + TRUSTED_MS))

    def holder(self, group: str, number: int) -> str | None:
        """Whose the partition is now; None if it is nobody's."""
        return _holder(self._groups.get(group, {}), number, self._passed_ms())

    def speaks(self, group: str, number: int, member: str) -> bool:
        """Whether what the member says of the partition counts: it is the member's or nobody's, and no other member
        came between."""
        if (holder := self.holder(group, number)) is not None:
            return holder == member
        had = self._had.get((group, number), {})
        return member not in had or member == next(reversed(had))

    def has_locks(self, group: str) -> bool:
        """Whether members of the group hold locks now, as those of groups that read in order do."""
        now_ms = self._passed_ms()
        return any(lease.until_ms > now_ms for lease in self._groups.get(group, {}).values())

    def __len__(self) -> int:
        """How many locks are remembered, those that are over and not yet forgotten among them."""
        return sum(map(len, self._groups.values()))

    def _sweep(self, now_ms: float) -> None:
        """Once in a lease, forget what is over: what nobody asks for must not pile up."""
        if now_ms - self._swept_ms < self.lease_ms:
            return
        self._swept_ms = now_ms
        for group, held in list(self._groups.items()):
            self._drop(group, [number for number, lease in held.items() if lease.until_ms <= now_ms])
        for place, had in list(self._had.items()):
            if all(until_ms <= now_ms for until_ms in had.values()):
                del self._had[place]

    def _note_had(self, group: str, number: int, member: str, until_ms: float) -> None:
        had = self._had.setdefault((group, number), {})
        had.pop(member, None)
        had[member] = until_ms
        if len(had) > FORMER_MAX:
            del had[next(iter(had))]

    def _drop(self, group: str, numbers: Iterable[int]) -> None:
        held = self._groups.get(group, {})
        for number in numbers:
            held.pop(number, None)
        if not held:
            self._groups.pop(group, None)


def _holder(held: dict[int, _Lease], number: int, now_ms: float) -> str | None:
    lease = held.get(number)
    return lease.member if lease is not None and lease.until_ms > now_ms else None
