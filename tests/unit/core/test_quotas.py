"""Who may use how much, and how long those wait who used more."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.quotas import BURST_S, Account, Accounts, Quotas
from braidmq.model.errors import InvalidQuota
from braidmq.model.limits import OTHERS, Holder, Limit, named
from braidmq.store import Catalog, Store
from groups_support import FakeClock

BYTES = Limit.PUBLISHED_BYTES


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[Catalog]:
    store = await Store.open(f"sqlite:///{tmp_path}/store.db")
    yield await Catalog.open(store)
    await store.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def quotas(catalog: Catalog, clock: FakeClock) -> Quotas:
    quotas = Quotas(catalog, clock, Accounts(accounts_max=3))
    quotas.open()
    return quotas


# Accounts


def test_nobody_waits_who_uses_ten_seconds_of_a_quota_at_once_and_who_uses_more_waits_until_it_is_made_up_for() -> None:
    account = Account()
    assert account.use(1000, 100, 0) == 0
    assert account.use(50, 100, 0) == pytest.approx(500)
    assert account.use(0, 100, 500) == pytest.approx(0)
    assert account.use(3000, 100, 500) == pytest.approx(30_000)
    assert account.use(0, 100, 40_500) == 0
    assert account.is_empty(40_500) is True


@given(
    rate=st.floats(0.5, 1e6),
    asked=st.lists(st.tuples(st.floats(0, 40), st.floats(0, 30_000)), min_size=1, max_size=60),
)
def test_whoever_waits_as_told_never_uses_more_than_the_quota_and_what_may_be_used_at_once(
    rate: float, asked: list[tuple[float, float]]
) -> None:
    """Each asks for so many seconds of the quota, and pauses by itself for so many milliseconds."""
    account, now_ms, used = Account(), 0.0, 0.0
    for seconds, pause_ms in asked:
        amount = seconds * rate
        wait_ms = account.use(amount, rate, now_ms)
        used += amount
        now_ms += wait_ms
        assert used <= rate * (now_ms / 1000 + BURST_S) * (1 + 1e-6)
        assert wait_ms <= seconds * 1000 + 1e-3
        now_ms += pause_ms


@given(amounts=st.lists(st.floats(0, 5), min_size=1, max_size=40))
def test_whoever_uses_less_than_the_quota_never_waits(amounts: list[float]) -> None:
    account, now_ms = Account(), 0.0
    for amount in amounts:
        assert account.use(amount, 10, now_ms) == 0
        now_ms += amount * 100


def test_a_changed_rate_is_what_is_waited_by() -> None:
    account = Account()
    account.use(2000, 100, 0)
    assert account.wait_ms(200, 0) == 0
    assert account.wait_ms(100, 0) == pytest.approx(10_000)


def test_accounts_are_bounded_and_those_who_come_too_late_share_one() -> None:
    accounts = Accounts(accounts_max=2)
    for who in ("a", "b"):
        accounts.of("x", who, 0).use(100, 10, 0)
    shared = accounts.of("x", "c", 0)
    shared.use(100, 10, 0)
    assert accounts.of("x", "d", 1) is shared
    assert accounts.of("y", "d", 1) is not shared
    assert accounts.of("x", "c", 10_000) is not shared, "a and b have used nothing for so long that they are forgotten"
    assert len(accounts) == 3


# Whose quota applies


PRECEDENCE = [
    Holder(user=named("u"), client=named("c")),
    Holder(user=named("u"), client=OTHERS),
    Holder(user=named("u")),
    Holder(user=OTHERS, client=named("c")),
    Holder(user=OTHERS, client=OTHERS),
    Holder(user=OTHERS),
    Holder(client=named("c")),
    Holder(client=OTHERS),
]


async def test_the_quota_of_who_is_named_most_closely_applies(quotas: Quotas) -> None:
    for rate, holder in enumerate(reversed(PRECEDENCE), 1):
        await quotas.revise(holder, {BYTES: rate})
        assert quotas.at_once(BYTES, "u", "c") == rate * BURST_S, holder
    for rate, holder in zip(range(len(PRECEDENCE), 0, -1), PRECEDENCE, strict=True):
        assert quotas.at_once(BYTES, "u", "c") == rate * BURST_S, holder
        await quotas.revise(holder, {BYTES: None})
    assert quotas.at_once(BYTES, "u", "c") is None
    assert quotas.on is False


async def test_a_limit_of_another_kind_does_not_hide_a_quota(quotas: Quotas) -> None:
    await quotas.revise(Holder(user=named("u"), client=named("c")), {Limit.CONSUMED_BYTES: 5})
    await quotas.revise(Holder(client=OTHERS), {BYTES: 7})
    assert quotas.at_once(BYTES, "u", "c") == 7 * BURST_S
    assert quotas.at_once(Limit.CONSUMED_BYTES, "u", "c") == 5 * BURST_S
    assert quotas.at_once(Limit.CONSUMED_BYTES, "u", "other") is None


@pytest.mark.parametrize(
    ("holder", "is_shared"),
    [
        (Holder(user=named("u")), True),
        (Holder(user=OTHERS), True),
        (Holder(user=named("u"), client=OTHERS), False),
        (Holder(client=OTHERS), False),
    ],
)
async def test_clients_share_a_quota_that_names_none(quotas: Quotas, holder: Holder, is_shared: bool) -> None:
    await quotas.revise(holder, {BYTES: 10})
    assert quotas.use(BYTES, "u", "a", 100) == 0
    assert (quotas.use(BYTES, "u", "b", 100) > 0) is is_shared


# What is used


async def test_without_quotas_nothing_is_asked_or_kept(quotas: Quotas) -> None:
    assert (quotas.on, quotas.use(BYTES, "u", "c", 1e12), quotas.connect("127.0.0.1")) == (False, 0, 0)
    await quotas.revise(Holder(host=OTHERS), {Limit.CONNECTIONS: 1})
    assert quotas.on is False
    await quotas.revise(Holder(client=OTHERS), {BYTES: 1})
    assert quotas.on is True


async def test_whom_no_quota_covers_is_told_as_soon_as_that_changes(quotas: Quotas) -> None:
    await quotas.revise(Holder(client=named("c")), {Limit.CONSUMED_BYTES: 1})
    assert [quotas.covers("u", client) for client in ("c", "d")] == [True, False]
    before = quotas.revision
    await quotas.revise(Holder(client=OTHERS), {Limit.BUSY_PERCENT: 1})
    assert quotas.revision > before
    assert quotas.covers("u", "d")


async def test_a_share_of_time_is_waited_for_a_second_at_most(quotas: Quotas) -> None:
    await quotas.revise(Holder(client=OTHERS), {Limit.BUSY_PERCENT: 0.5})
    assert quotas.use(Limit.BUSY_PERCENT, "u", "c", 100) == 1000


async def test_what_is_refused_is_not_used(quotas: Quotas, clock: FakeClock) -> None:
    limit = Limit.CHANGED_PARTITIONS
    await quotas.revise(Holder(user=OTHERS), {limit: 2})
    assert quotas.use_if_free(limit, "u", "c", 30) == 0
    for _ in range(3):
        assert quotas.use_if_free(limit, "u", "c", 30) == pytest.approx(5000)
    await clock.advance(5001)
    assert quotas.use_if_free(limit, "u", "c", 1) == 0


async def test_connections_are_counted_by_address_however_it_is_spelled(quotas: Quotas, clock: FakeClock) -> None:
    await quotas.revise(Holder(host=named("::ffff:10.0.0.1")), {Limit.CONNECTIONS: 1})
    await quotas.revise(Holder(host=OTHERS), {Limit.CONNECTIONS: 2})
    for host, most in (("10.0.0.1", 10), ("10.0.0.2", 20)):
        assert [quotas.connect(host) for _ in range(most)] == [0] * most
        assert 0 < quotas.connect(host) <= 1000
    await clock.advance(1001)
    assert quotas.connect("10.0.0.1") == 0
    assert quotas.connect("10.0.0.1") > 0
    await quotas.revise(Holder(host=named("::ffff:10.0.0.1")), {Limit.CONNECTIONS: None})
    assert quotas.connect("10.0.0.1") == 0


async def test_quotas_are_those_of_the_store_after_a_restart_and_on_every_node(
    quotas: Quotas, catalog: Catalog, clock: FakeClock
) -> None:
    await quotas.revise(Holder(client=OTHERS), {BYTES: 3, Limit.CONSUMED_BYTES: 4})
    await quotas.revise(Holder(client=OTHERS), {BYTES: None})
    other = Quotas(catalog, clock)
    other.open()
    assert other.on
    assert (other.at_once(BYTES, "u", "c"), other.at_once(Limit.CONSUMED_BYTES, "u", "c")) == (None, 40)
    await quotas.revise(Holder(client=OTHERS), {Limit.CONSUMED_BYTES: 5})
    assert other.at_once(Limit.CONSUMED_BYTES, "u", "c") == 50
    other.close()
    quotas.close()
    await quotas.revise(Holder(client=OTHERS), {Limit.CONSUMED_BYTES: 6})
    assert other.at_once(Limit.CONSUMED_BYTES, "u", "c") == 50


async def test_waits_and_accounts_are_counted(quotas: Quotas) -> None:
    await quotas.revise(Holder(client=OTHERS), {BYTES: 1})
    for _ in range(3):
        quotas.use(BYTES, "u", "c", 10)
    figures = {(each.name, *each.labels.values()): each.value for each in quotas.metrics()}
    assert figures["braid_quota_accounts",] == 1
    assert figures["braid_quota_waits", "published_bytes_per_s"] == 2
    assert figures["braid_quota_waits", "connections_per_s"] == 0


# What can be set


@pytest.mark.parametrize(
    ("holder", "limit", "value", "words"),
    [
        (Holder(), BYTES, 1, "for nobody"),
        (Holder(user=OTHERS, host=OTHERS), Limit.CONNECTIONS, 1, "for nobody else"),
        (Holder(host=named("localhost")), Limit.CONNECTIONS, 1, "not a valid IP address"),
        (Holder(host=OTHERS), BYTES, 1, "cannot be limited for a host"),
        (Holder(user=OTHERS), Limit.CONNECTIONS, 1, "cannot be limited"),
        (Holder(user=OTHERS), BYTES, 0, "greater than 0"),
        (Holder(user=OTHERS), BYTES, float("nan"), "greater than 0"),
        (Holder(user=OTHERS), BYTES, 1.5, "fractional"),
        (Holder(user=OTHERS), BYTES, 2.0**64, "too large"),
        (Holder(user=OTHERS), Limit.BUSY_PERCENT, float("inf"), "must be a number"),
        (Holder(host=OTHERS), Limit.CONNECTIONS, 2.0**31, "too large"),
    ],
)
async def test_what_cannot_be_is_refused(
    quotas: Quotas, holder: Holder, limit: Limit, value: float, words: str
) -> None:
    with pytest.raises(InvalidQuota, match=words):
        await quotas.revise(holder, {limit: value})
    assert quotas.list() == []
