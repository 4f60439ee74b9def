"""Quotas as the catalog has them, on whichever node they were set, and what is used of them here.

Hot path, where there are quotas: `on` is asked for every request, and the rest only while it says so. The quota that
applies is the first of: that of user and client together, of the user; the same for users without their own; then that
of the client. Where a quota names no client, all clients of the user share it, and the other way round. Each node
counts for itself.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from braidmq.core.metrics import Metric, MetricKind
from braidmq.core.quotas._accounts import BURST_S, Accounts
from braidmq.core.quotas._rules import check_holder, check_value, host_address, may_have
from braidmq.core.timing import Clock
from braidmq.model.errors import InvalidQuota
from braidmq.model.limits import OTHERS, UNNAMED, Holder, Limit, Quota, named
from braidmq.store import Catalog, Change, QuotaChanged

_TURNED_AWAY_MAX_MS: Final = 1000.0
_BUSY_WAIT_MAX_MS: Final = 1000.0
"""Time is short: who waits this long for each request is slow enough, and still is told that the node lives."""
WAIT_MAX_MS: Final = 2.0**31 - 1


class _Applying(NamedTuple):
    """The quota that applies to somebody: how much in a second, and who shares it."""

    rate: float
    sharers: tuple[str, str]


class Quotas:
    """Make it, then `open`: from then on it follows the catalog."""

    def __init__(self, catalog: Catalog, clock: Clock, accounts: Accounts | None = None) -> None:
        self.on = False
        """Whether there is any quota that a request may come under."""
        self.revision = 0
        """Grows with every change."""
        self._catalog = catalog
        self._clock = clock
        self._accounts = Accounts() if accounts is None else accounts
        self._rates: dict[Limit, dict[tuple[str, str], float]] = {}
        self._hosts: dict[str, float] = {}
        self._waits: Counter[Limit] = Counter()
        self._unsubscribe: Callable[[], None] | None = None

    def open(self) -> None:
        self._unsubscribe = self._catalog.subscribe(self._hear)
        for quota in self._catalog.quotas():
            self._put(quota)

    def close(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()

    # What is used.

    def covers(self, user: str, client: str) -> bool:
        """Whether there is a quota for requests of this client; what is told holds as long as `revision` does."""
        return any(self._find(limit, user, client) is not None for limit in self._rates)

    def use(self, limit: Limit, user: str, client: str, amount: float) -> float:
        """Something was used; for how many milliseconds this client is to wait with its next request."""
        applying = self._find(limit, user, client)
        if applying is None:
            return 0.0
        now_ms = self._clock.passed_ms()
        wait_ms = self._accounts.of(limit, applying.sharers, now_ms).use(amount, applying.rate, now_ms)
        if limit is Limit.BUSY_PERCENT:
            wait_ms = min(wait_ms, _BUSY_WAIT_MAX_MS)
        return self._told(limit, wait_ms)

    def use_if_free(self, limit: Limit, user: str, client: str, amount: float) -> float:
        """As `use`; but while there is something to wait for nothing is used, and that time is what is given."""
        applying = self._find(limit, user, client)
        if applying is None:
            return 0.0
        now_ms = self._clock.passed_ms()
        account = self._accounts.of(limit, applying.sharers, now_ms)
        wait_ms = account.wait_ms(applying.rate, now_ms)
        if not wait_ms:
            account.use(amount, applying.rate, now_ms)
        return self._told(limit, wait_ms)

    def at_once(self, limit: Limit, user: str, client: str) -> float | None:
        """The most that may be used at once without waiting; None where there is no quota."""
        applying = self._find(limit, user, client)
        return None if applying is None else applying.rate * BURST_S

    def connect(self, host: str) -> float:
        """Somebody connects from there; 0, or after how many milliseconds the connection is to be closed again,
        because too many were made: that one is not counted."""
        if not self._hosts:
            return 0.0
        address = host_address(host) or host
        rate = self._hosts.get(address, self._hosts.get(OTHERS))
        if rate is None:
            return 0.0
        now_ms = self._clock.passed_ms()
        account = self._accounts.of(Limit.CONNECTIONS, address, now_ms)
        wait_ms = account.wait_ms(rate, now_ms, more=1)
        if not wait_ms:
            account.use(1, rate, now_ms)
        return self._told(Limit.CONNECTIONS, min(wait_ms, _TURNED_AWAY_MAX_MS))

    def _told(self, limit: Limit, wait_ms: float) -> float:
        if wait_ms:
            self._waits[limit] += 1
        return min(wait_ms, WAIT_MAX_MS)

    def _find(self, limit: Limit, user: str, client: str) -> _Applying | None:
        rates = self._rates.get(limit)
        if not rates:
            return None
        for of_user in (named(user), OTHERS, UNNAMED):
            for of_client in (named(client), OTHERS, UNNAMED):
                if (rate := rates.get((of_user, of_client))) is not None:
                    sharers = (named(user) if of_user else UNNAMED, named(client) if of_client else UNNAMED)
                    return _Applying(rate, sharers)
        return None

    # What is set.

    def list(self) -> list[Quota]:
        """All of them."""
        return self._catalog.quotas()

    def check(self, holder: Holder, limits: Mapping[Limit, float | None]) -> None:
        """Raises InvalidQuota for what cannot be set."""
        check_holder(holder)
        for limit, value in limits.items():
            if value is None:
                continue
            if not may_have(holder, limit):
                raise InvalidQuota(f"{limit.value} cannot be limited for {'a host' if holder.host else 'this'}")
            check_value(limit, value)

    async def revise(self, holder: Holder, limits: Mapping[Limit, float | None]) -> Quota | None:
        """Set these, and take away those that are None; what there is then. Raises InvalidQuota."""
        self.check(holder, limits)
        return await self._catalog.revise_quota(holder, {limit.value: value for limit, value in limits.items()})

    def _hear(self, change: Change) -> None:
        if not isinstance(change, QuotaChanged):
            return
        if change.old is not None:
            self._take_away(change.old)
        if change.new is not None:
            self._put(change.new)
        self.on = any(self._rates.values())
        self.revision += 1

    def _put(self, quota: Quota) -> None:
        for limit, value in _known(quota):
            if quota.host:
                self._hosts[_host_key(quota.host)] = value
            else:
                self._rates.setdefault(limit, {})[quota.user, quota.client] = value
        self.on = any(self._rates.values())

    def _take_away(self, quota: Quota) -> None:
        for limit, _ in _known(quota):
            if quota.host:
                self._hosts.pop(_host_key(quota.host), None)
            else:
                self._rates[limit].pop((quota.user, quota.client), None)

    def metrics(self) -> Iterator[Metric]:
        yield Metric(
            "braid_quota_accounts", MetricKind.GAUGE, "Clients whose use of quotas is counted.", len(self._accounts)
        )
        for limit in Limit:
            labels = {"limit": limit.value}
            text = "How often clients were made to wait by a quota."
            yield Metric("braid_quota_waits", MetricKind.COUNTER, text, self._waits[limit], labels)


def _known(quota: Quota) -> Iterator[tuple[Limit, float]]:
    """A newer node may have set what this one does not know."""
    for limit in Limit:
        if (value := quota.limits.get(limit.value)) is not None:
            yield limit, value


def _host_key(host: str) -> str:
    return host if host == OTHERS else host_address(host[1:]) or host[1:]
