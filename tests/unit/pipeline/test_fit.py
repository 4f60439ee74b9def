import random

import pytest

from braidmq.pipeline.jobs._fit import POINTS_MAX, POINTS_MIN, fitted_line
from braidmq.pipeline.jobs.lag import judged_disk, judged_lag

MINUTE_S = 60.0


def times(count: int) -> list[float]:
    return [nth * MINUTE_S for nth in range(count)]


def test_a_line_is_found_through_points_of_which_some_are_wild() -> None:
    chance = random.Random(1)
    seconds = times(60)
    values = [100 + 2 * at + chance.uniform(-5, 5) for at in seconds]
    for nth in (3, 20, 41, 59):
        values[nth] = 1e6
    fit = fitted_line(seconds, values, 600)
    assert fit is not None
    assert fit.slope == pytest.approx(2, rel=0.02)
    assert fit.low <= fit.slope <= fit.high
    assert fit.last == pytest.approx(100 + 2 * seconds[-1], rel=0.05)


def test_its_bounds_hold_the_true_slope_about_as_often_as_they_say() -> None:
    chance = random.Random(2)
    held = 0
    for _ in range(200):
        seconds = times(30)
        fit = fitted_line(seconds, [0.5 * at + chance.gauss(0, 200) for at in seconds], 600)
        assert fit is not None
        held += fit.low <= 0.5 <= fit.high
    assert 0.82 <= held / 200 <= 0.98


def test_too_few_points_and_too_short_a_time_say_nothing() -> None:
    assert fitted_line(times(POINTS_MIN - 1), [1.0] * (POINTS_MIN - 1), 60) is None
    assert fitted_line([nth * 1.0 for nth in range(100)], [1.0] * 100, 600) is None
    assert fitted_line([], [], 600) is None


def test_many_points_are_thinned_and_the_last_stays() -> None:
    seconds = times(POINTS_MAX * 10)
    fit = fitted_line(seconds, [3 * at for at in seconds], 600)
    assert fit is not None
    assert fit.slope == pytest.approx(3)
    assert fit.last == pytest.approx(3 * seconds[-1])


def test_what_is_said_of_groups_and_disks_follows_from_the_bounds_and_not_from_the_slope_alone() -> None:
    growing = fitted_line(times(20), [10.0 * nth for nth in range(20)], 600)
    falling = fitted_line(times(20), [1_000.0 - 10 * nth for nth in range(20)], 600)
    flat = fitted_line(times(20), [5.0] * 20, 600)
    assert judged_lag(growing, 190) == ("will not catch up", None)
    verdict, left_s = judged_lag(falling, 810)
    assert (verdict, left_s and round(left_s)) == ("catches up", 810 * 6)
    assert judged_lag(flat, 5) == ("stands still", None)
    assert judged_lag(flat, 0) == ("caught up", None)
    assert judged_lag(None, 5) == ("too little is known", None)
    verdict, left_s = judged_disk(growing, 190, 1_000)
    assert (verdict, left_s and round(left_s)) == ("fills up", 810 * 6)
    assert judged_disk(falling, 810, 1_000) == ("empties", None)
    assert judged_disk(growing, 1_000, 1_000) == ("full", None)
    assert judged_disk(flat, 5, 1_000) == ("no direction", None)
