"""Figures over the last minute, hour and day, with a clock that the tests turn."""

import pytest

from braidmq.core import counters as counting
from braidmq.core.counters import DAY_MS, HOUR_MS, MINUTE_MS, SAMPLE_MS, Counters
from groups_support import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def counters(clock: FakeClock) -> Counters:
    counters = Counters(clock)
    counters.start()
    return counters


async def pass_time(clock: FakeClock, passed_ms: int) -> None:
    await clock.advance(passed_ms)


async def test_what_came_is_summed_over_its_partitions(clock: FakeClock, counters: Counters) -> None:
    counters.stored(1, 2, 200)
    counters.stored(2, 3, 300)
    counters.stored(3, 100, 1)
    await pass_time(clock, 10_000)
    found = counters.stored_over(MINUTE_MS, (1, 2))
    assert found is not None
    assert (found.messages, found.size_bytes, found.times, found.passed_ms) == (5, 500, 2, 10_000)
    assert found.messages_per_s == pytest.approx(0.5)
    assert counters.stored_over(MINUTE_MS, (4,)) is None


async def test_what_a_group_was_given_is_its_own(counters: Counters) -> None:
    counters.delivered("buyers", 1, 2, 20)
    counters.delivered("sellers", 1, 7, 70)
    found = counters.delivered_over(MINUTE_MS, "buyers", (1,))
    assert found is not None
    assert found.messages == 2
    assert counters.delivered_over(MINUTE_MS, "nobody", (1,)) is None


@pytest.mark.parametrize("window_ms", [MINUTE_MS, HOUR_MS, DAY_MS])
async def test_what_is_older_than_the_time_does_not_count(clock: FakeClock, counters: Counters, window_ms: int) -> None:
    counters.stored(1, 10, 100)
    await pass_time(clock, window_ms + HOUR_MS)
    counters.stored(1, 1, 10)
    found = counters.stored_over(window_ms, (1,))
    assert found is not None
    assert (found.messages, found.size_bytes) == (1, 10)
    assert found.passed_ms <= 1.2 * window_ms


async def test_a_steady_stream_has_one_rate_over_all_times(clock: FakeClock, counters: Counters) -> None:
    for _ in range(DAY_MS // SAMPLE_MS):
        counters.stored(1, 50, 500)
        await clock.advance(SAMPLE_MS)
    for window_ms in (MINUTE_MS, HOUR_MS, DAY_MS):
        found = counters.stored_over(window_ms, (1,))
        assert found is not None
        assert found.messages_per_s == pytest.approx(5, rel=0.01)
        assert counters.all_over(window_ms)[0].messages_per_s == pytest.approx(5, rel=0.01)


async def test_what_nobody_touched_for_a_day_is_forgotten(clock: FakeClock, counters: Counters) -> None:
    counters.stored(1, 1, 1)
    await pass_time(clock, DAY_MS)
    counters.stored(2, 1, 1)
    await pass_time(clock, 2 * HOUR_MS)
    assert counters.stored_over(MINUTE_MS, (1,)) is None
    assert counters.stored_over(MINUTE_MS, (2,)) is not None
    assert counters.stored_all.messages == 2


async def test_there_is_a_bound_on_figures_and_the_total_counts_on(
    counters: Counters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "FIGURES_MAX", 2)
    for number in range(5):
        counters.stored(number, 1, 1)
    assert counters.stored_over(MINUTE_MS, (4,)) is None
    assert counters.stored_all.messages == 5


async def test_mornings_are_noted(clock: FakeClock, counters: Counters) -> None:
    counters.stored(1, 3, 3)
    await pass_time(clock, DAY_MS)
    counters.stored(1, 4, 4)
    await pass_time(clock, DAY_MS)
    assert (counters.last_morning.stored, counters.this_morning.stored) == (3, 7)
