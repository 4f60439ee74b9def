"""Buckets of whole numbers, as fine as a sixty-fourth of the number: what latencies are counted in, everywhere.

One rule, for the node that counts and for whoever adds up what nodes have counted. A value below 128 has a bucket of
its own. Above, each doubling is divided into 64 buckets of equal width, so that no value is further than 1.6 % from
either end of its bucket, and less than 0.8 % from its middle. Buckets of any times and nodes are added by adding their
counts; nothing is lost by doing so. In JSON a histogram is an object from bucket to count, without the empty ones.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

_EXACT_BITS: Final = 7
_PARTS_BITS: Final = 6
EXACT_MAX: Final = (1 << _EXACT_BITS) - 1
"""The largest value with a bucket of its own."""

Histogram = Mapping[int, int]
"""From bucket to how often it was met."""


class Bucket(NamedTuple):
    """The values of a bucket, both included."""

    first: int
    last: int

    @property
    def middle(self) -> float:
        return (self.first + self.last) / 2


def bucket_of(value: int) -> int:
    """The bucket that the value falls in. What is below 0 counts as 0: a clock was wrong. Hot path."""
    if value <= EXACT_MAX:
        return max(0, value)
    shift = value.bit_length() - _EXACT_BITS
    return (shift << _PARTS_BITS) + (value >> shift)


def bucket(index: int) -> Bucket:
    """The values that fall in the bucket."""
    if index <= EXACT_MAX:
        return Bucket(index, index)
    shift = (index >> _PARTS_BITS) - 1
    first = (index - (shift << _PARTS_BITS)) << shift
    return Bucket(first, first + (1 << shift) - 1)


def quantile(histogram: Histogram, share: float) -> float | None:
    """The value below which about this share (0 to 1) lies; None where nothing was counted."""
    total = sum(histogram.values())
    if total == 0:
        return None
    wanted = share * total
    seen = 0
    last = 0
    for index in sorted(histogram):
        last = index
        seen += histogram[index]
        if seen >= wanted and histogram[index]:
            break
    return bucket(last).middle


def added(first: Histogram, second: Histogram) -> dict[int, int]:
    """Both together."""
    both = dict(first)
    for index, count in second.items():
        both[index] = both.get(index, 0) + count
    return both
