"""Figures as pictures and as words."""

from typing import Any

import pytest

from braidmq.console._charts import chart
from braidmq.console._looks import meaning
from braidmq.console._pictures import HEIGHT, SPARK_HEIGHT, SPARK_WIDTH, WIDTH, course, share, spark
from braidmq.core.samples import SamplesView, Series

NOW_MS = 1_760_000_000_000
MINUTE_MS = 60_000


def places(line: str) -> list[tuple[float, float]]:
    numbers = [float(word.strip("ML")) for word in line.split()]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def view(**series: list[tuple[int, float]]) -> SamplesView:
    found = [Series(name=name, description="", points=points) for name, points in series.items()]
    return SamplesView(scope="node", from_ms=0, until_ms=9_000, step_s=0, series=found, names={})


def drawn(answer: Any) -> Any:
    return answer.content


def test_a_sparkline_ends_at_the_right_and_stays_inside() -> None:
    made = spark([(NOW_MS - nth * MINUTE_MS, float(nth)) for nth in range(59, -1, -1)], NOW_MS)
    assert made is not None
    found = places(made.line)
    assert found[-1][0] == SPARK_WIDTH
    assert all(0 <= x <= SPARK_WIDTH and 0 <= y <= SPARK_HEIGHT for x, y in found)
    assert found[0][1] < found[-1][1]


def test_silence_between_samples_is_drawn_as_nothing() -> None:
    made = spark([(NOW_MS - 30 * MINUTE_MS, 5.0), (NOW_MS, 5.0)], NOW_MS)
    assert made is not None
    assert [y for _, y in places(made.line)] == [2.0, SPARK_HEIGHT - 2, SPARK_HEIGHT - 2, 2.0]


@pytest.mark.parametrize("points", [[], [(NOW_MS, 1.0)]])
def test_too_little_is_not_drawn(points: list[tuple[int, float]]) -> None:
    assert spark(points, NOW_MS) is None


def test_a_course_of_a_report_fills_its_picture_and_leaves_gaps_where_nothing_was_told() -> None:
    points = [("10:00", 0.0), ("10:01", 8.0), ("10:02", None), ("10:03", 4.0)]
    made = course({"name": "in", "unit": "messages/s", "points": points})
    assert (made.highest, made.latest, made.begin, made.end) == (8.0, 4.0, "10:00", "10:03")
    assert made.line == f"M0.0 {HEIGHT}.0 L200.0 4.0 M{WIDTH}.0 52.0 L602.0 52.0"
    assert made.area.count("Z") == 2
    assert course({"name": "in", "unit": "messages/s", "points": []}).line == ""


def test_a_bar_shows_whatever_is_not_nothing() -> None:
    assert [share(value, 1_000) for value in (0, 1, 250, 1_000)] == [0.0, 1.0, 25.0, 100.0]
    assert share(5, 0) == 0.0


def test_a_chart_brings_figures_to_the_same_moments_and_ends_now() -> None:
    found = view(one=[(1_000, 1.0), (3_000, 3.0)], two=[(2_000, 2.0)])
    answer = drawn(chart(found, {"two": "Two", "one": "One"}, now={"one": 4.0}))
    assert answer["times"] == [1.0, 2.0, 3.0, 9.0]
    assert [each["label"] for each in answer["series"]] == ["Two", "One"]
    assert [each["values"] for each in answer["series"]] == [[None, 2.0, None, None], [1.0, None, 3.0, 4.0]]
    assert drawn(chart(found, {"two": "Two"}, missing=0.0))["series"][0]["values"] == [2.0]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("retention.ms", "259200000", "3d"),
        ("retention.ms", "-1", "\N{INFINITY}"),
        ("max.compaction.lag.ms", str((1 << 63) - 1), "\N{INFINITY}"),
        ("segment.bytes", "1073741824", "1.0\u202fGiB"),
        ("min.compaction.lag.ms", "0", ""),
        ("cleanup.policy", "delete", ""),
        ("min.cleanable.dirty.ratio", "0.5", ""),
    ],
)
def test_settings_with_a_unit_say_what_they_mean(name: str, value: str, said: str) -> None:
    assert meaning(value, name) == said
