from hypothesis import given
from hypothesis import strategies as st

from braidmq.model.histogram import EXACT_MAX, added, bucket, bucket_of, quantile

VALUES = st.integers(0, 1 << 50)


@given(VALUES)
def test_a_value_lies_in_its_bucket_which_is_no_wider_than_a_sixty_fourth_of_it(value: int) -> None:
    found = bucket(bucket_of(value))
    assert found.first <= value <= found.last
    assert found.last - found.first <= value / 64
    assert abs(found.middle - value) <= value * 0.008


@given(VALUES)
def test_buckets_follow_each_other_without_a_gap(value: int) -> None:
    index = bucket_of(value)
    assert bucket_of(bucket(index).last + 1) == index + 1


def test_small_values_are_exact_and_what_is_before_its_time_counts_as_nothing() -> None:
    assert [bucket_of(value) for value in (0, 1, EXACT_MAX)] == [0, 1, EXACT_MAX]
    assert bucket_of(-5) == 0


@given(st.lists(st.integers(0, 1 << 40), min_size=1), st.lists(st.integers(0, 1 << 40)), st.floats(0.01, 1))
def test_quantiles_of_added_histograms_are_those_of_all_values(first: list[int], second: list[int], p: float) -> None:
    def counted(values: list[int]) -> dict[int, int]:
        histogram: dict[int, int] = {}
        for value in values:
            histogram = added(histogram, {bucket_of(value): 1})
        return histogram

    everything = sorted(first + second)
    exact = next(value for place, value in enumerate(everything, 1) if place >= p * len(everything))
    found = quantile(added(counted(first), counted(second)), p)
    assert found is not None
    assert abs(found - exact) <= exact * 0.008


def test_nothing_has_no_quantile() -> None:
    assert quantile({}, 0.5) is None
