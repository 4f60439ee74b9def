"""What each client has used of its quota lately.

One idea: an account's level rises by what is used and sinks at the quota's rate, all the time. As long as it holds no
more than `BURST_S` seconds of the quota nobody waits; then one waits until it does not any more. So nobody who waits
comes over the quota for long, however much was asked at once, and an account is two numbers.

Clients choose their names, so there may be any number of them: accounts that have sunk to nothing say nothing and are
dropped, and those for whom there is no room share one.
"""

from collections.abc import Hashable
from typing import Final

BURST_S: Final = 10
"""How much of a quota may be used at once, after a rest, in seconds: as much as Kafka lets through before it slows
anybody down."""
ACCOUNTS_MAX: Final = 10_000
_SWEEP_EVERY_MS: Final = 1000


class Account:
    """Used by one holder of one limit."""

    __slots__ = ("_at_ms", "_level", "_rate")

    def __init__(self) -> None:
        self._level = 0.0
        self._at_ms = 0.0
        self._rate = 0.0
        """For each second."""

    def use(self, amount: float, rate: float, now_ms: float) -> float:
        """Use so much, whatever was used before; for how many milliseconds nothing more is to be used then."""
        self._sink(rate, now_ms)
        self._level += amount
        return self.wait_ms(rate, now_ms)

    def wait_ms(self, rate: float, now_ms: float, more: float = 0.0) -> float:
        """For how long nothing is to be used; or before so much more can be used without waiting afterwards."""
        self._sink(rate, now_ms)
        return max(0.0, (self._level + more - BURST_S * rate) / rate * 1000)

    def is_empty(self, now_ms: float) -> bool:
        """Whether nothing is known by it any more."""
        self._sink(self._rate, now_ms)
        return self._level <= 0

    def _sink(self, rate: float, now_ms: float) -> None:
        self._level = max(0.0, self._level - rate * (now_ms - self._at_ms) / 1000)
        self._at_ms = now_ms
        self._rate = rate


class Accounts:
    """At most so many, by who uses what."""

    def __init__(self, accounts_max: int = ACCOUNTS_MAX) -> None:
        self._max = accounts_max
        self._accounts: dict[Hashable, Account] = {}
        self._shared: dict[Hashable, Account] = {}
        self._swept_ms = float("-inf")

    def __len__(self) -> int:
        return len(self._accounts) + len(self._shared)

    def of(self, what: Hashable, who: Hashable, now_ms: float) -> Account:
        """The account of one who uses something; without room, one for all who come too late."""
        key = (what, who)
        account = self._accounts.get(key)
        if account is None:
            if len(self._accounts) >= self._max:
                self._sweep(now_ms)
            if len(self._accounts) >= self._max:
                return self._shared.setdefault(what, Account())
            account = self._accounts[key] = Account()
        return account

    def _sweep(self, now_ms: float) -> None:
        if now_ms - self._swept_ms < _SWEEP_EVERY_MS:
            return
        self._swept_ms = now_ms
        self._accounts = {key: each for key, each in self._accounts.items() if not each.is_empty(now_ms)}
