"""Partition locks: one holder at a time, for a lease, and nothing is remembered that nobody needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.locks import FORMER_MS, LEASE_MS, TRUSTED_MS, PartitionLocks


class Hand:
    """Time that is moved by hand."""

    def __init__(self) -> None:
        self.at_ms = 5.0

    def passed_ms(self) -> float:
        return self.at_ms


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def locks(hand: Hand) -> PartitionLocks:
    return PartitionLocks(hand.passed_ms)


def test_a_partition_has_one_holder(locks: PartitionLocks) -> None:
    assert locks.lock("g", "one", [1, 2]) == [1, 2]
    assert locks.lock("g", "two", [2, 3]) == [3]
    assert [locks.holder("g", number) for number in (1, 2, 3, 4)] == ["one", "one", "two", None]


def test_groups_do_not_know_of_each_other(locks: PartitionLocks) -> None:
    locks.lock("g", "one", [1])
    assert locks.lock("h", "two", [1]) == [1]


def test_another_gets_it_when_the_lease_is_over(locks: PartitionLocks, hand: Hand) -> None:
    locks.lock("g", "one", [1])
    hand.at_ms += LEASE_MS - 1
    assert locks.lock("g", "two", [1]) == []
    hand.at_ms += 1
    assert locks.holder("g", 1) is None
    assert not locks.has_locks("g")
    assert locks.lock("g", "two", [1]) == [1]
    assert locks.lock("g", "one", [1]) == []


def test_asking_again_makes_the_lease_longer(locks: PartitionLocks, hand: Hand) -> None:
    for _ in range(5):
        assert locks.lock("g", "one", [1]) == [1]
        hand.at_ms += LEASE_MS / 3
    hand.at_ms += LEASE_MS / 2
    assert locks.lock("g", "two", [1]) == []


def test_what_a_lost_member_held_is_free_when_it_cannot_trust_its_locks_any_more(
    locks: PartitionLocks, hand: Hand
) -> None:
    locks.lock("g", "one", [1, 2])
    locks.lock("g", "two", [3])
    hand.at_ms += 10_000
    locks.lock("g", "one", [2])
    for _ in range(3):  # however often that is noticed
        locks.lost("g", "one")
    assert locks.holder("g", 1) == "one"
    hand.at_ms += TRUSTED_MS - 10_000
    assert [locks.holder("g", number) for number in (1, 2, 3)] == [None, "one", "two"]
    hand.at_ms += 10_000
    assert locks.holder("g", 2) is None
    assert locks.holder("g", 3) == "two"


def test_who_was_lost_and_asks_again_has_a_whole_lease(locks: PartitionLocks, hand: Hand) -> None:
    locks.lock("g", "one", [1])
    locks.lost("g", "one")
    locks.lock("g", "one", [1])
    hand.at_ms += LEASE_MS - 1
    assert locks.holder("g", 1) == "one"


def test_a_short_lease_is_not_made_longer_by_losing_its_holder(hand: Hand) -> None:
    locks = PartitionLocks(hand.passed_ms, lease_ms=1000)
    locks.lock("g", "one", [1])
    locks.lost("g", "one")
    hand.at_ms += 1000
    assert locks.holder("g", 1) is None


def test_a_holder_and_nobody_else_gives_up_its_lock(locks: PartitionLocks) -> None:
    locks.lock("g", "one", [1, 2])
    locks.unlock("g", "two", [1, 2, 9])
    assert locks.holder("g", 1) == "one"
    locks.unlock("g", "one", [1])
    assert locks.lock("g", "two", [1, 2]) == [1]


def test_what_a_member_held_is_free_when_it_leaves(locks: PartitionLocks) -> None:
    locks.lock("g", "one", [1, 2])
    locks.lock("g", "two", [3])
    locks.forget("g", "one")
    locks.forget("unknown", "one")
    assert locks.lock("g", "two", [1, 2, 3]) == [1, 2, 3]
    assert locks.has_locks("g")


def test_who_lost_a_partition_to_another_may_not_speak_for_it_when_that_one_is_gone(
    locks: PartitionLocks, hand: Hand
) -> None:
    locks.lock("g", "one", [1, 2])
    hand.at_ms += LEASE_MS
    assert locks.speaks("g", 1, "one"), "nobody came between"
    locks.lock("g", "two", [1])
    assert [locks.speaks("g", 1, each) for each in ("one", "two", "three")] == [False, True, False]
    locks.forget("g", "two")
    assert [locks.speaks("g", 1, each) for each in ("one", "two", "three")] == [False, True, True]
    assert locks.speaks("g", 2, "one")
    assert locks.speaks("h", 1, "one")
    locks.lock("g", "one", [1])
    assert locks.speaks("g", 1, "one"), "it has it again"
    locks.unlock("g", "one", [1])
    assert locks.speaks("g", 1, "one")


def test_who_lost_a_partition_is_remembered_for_a_while_only(locks: PartitionLocks, hand: Hand) -> None:
    for number in range(100):
        locks.lock("g", "one", [number])
    hand.at_ms += LEASE_MS
    locks.lock("g", "two", range(100))
    locks.forget("g", "two")
    hand.at_ms += FORMER_MS - 1
    locks.lock("g", "three", [])
    assert not any(locks.speaks("g", number, "one") for number in range(100))
    hand.at_ms += LEASE_MS
    locks.lock("g", "three", [])
    assert all(locks.speaks("g", number, "one") for number in range(100))


def test_groups_whose_locks_are_over_or_given_up_are_forgotten(locks: PartitionLocks, hand: Hand) -> None:
    for nth in range(100):
        locks.lock(f"left-{nth}", "m", [nth])
    for nth in range(100):
        locks.lock(f"ended-{nth}", "m", [nth])
        locks.unlock(f"ended-{nth}", "m", [nth])
    assert len(locks) == 100
    hand.at_ms += LEASE_MS
    locks.lock("g", "m", [])
    assert len(locks) == 0
    assert locks.holder("g", 1) is None


@given(st.lists(st.tuples(st.sampled_from("lufw"), st.sampled_from("ab"), st.integers(0, 2), st.integers(1, 70_000))))
def test_whatever_members_do_nobody_takes_a_lock_that_is_held(steps: list[tuple[str, str, int, int]]) -> None:
    hand = Hand()
    locks = PartitionLocks(hand.passed_ms)
    held: dict[int, tuple[str, float]] = {}
    for act, member, number, wait_ms in steps:
        holder, until_ms = held.get(number, ("", 0.0))
        is_free = hand.at_ms >= until_ms or holder == member
        if act == "l":
            assert locks.lock("g", member, [number]) == ([number] if is_free else [])
            if is_free:
                held[number] = member, hand.at_ms + LEASE_MS
        elif act == "u":
            locks.unlock("g", member, [number])
            if holder == member:
                del held[number]
        elif act == "f":
            locks.forget("g", member)
            held = {each: kept for each, kept in held.items() if kept[0] != member}
        else:
            hand.at_ms += wait_ms
        for each in range(3):
            kept = held.get(each)
            assert locks.holder("g", each) == (kept[0] if kept and kept[1] > hand.at_ms else None)
