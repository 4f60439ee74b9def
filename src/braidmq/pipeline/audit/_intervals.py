"""Arithmetic with sets of offsets, as sorted lists of intervals: first, and the one after the last."""

from collections.abc import Iterable

Interval = tuple[int, int]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """All offsets that are in one of them; the result is sorted, and its intervals do not touch."""
    result: list[Interval] = []
    for first, end in sorted(intervals):
        if first >= end:
            continue
        if result and first <= result[-1][1]:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((first, end))
    return result


def repeated(intervals: Iterable[Interval]) -> list[Interval]:
    """All offsets that are in more than one of them."""
    result: list[Interval] = []
    reached = None
    for first, end in sorted(intervals):
        if reached is not None and first < reached:
            result.append((first, min(end, reached)))
        reached = end if reached is None else max(end, reached)
    return union(result)


def without(whole: Iterable[Interval], taken: Iterable[Interval]) -> list[Interval]:
    """All offsets of the first that are not in the second."""
    result: list[Interval] = []
    gone = union(taken)
    at = 0
    for first, end in union(whole):
        while at < len(gone) and gone[at][1] <= first:
            at += 1
        number = at
        while number < len(gone) and gone[number][0] < end:
            if gone[number][0] > first:
                result.append((first, gone[number][0]))
            first = max(first, gone[number][1])
            number += 1
        if first < end:
            result.append((first, end))
    return result


def count(intervals: Iterable[Interval]) -> int:
    return sum(end - first for first, end in intervals)
