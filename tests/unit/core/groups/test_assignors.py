"""Who gets what."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.groups._assignors import ASSIGNORS, Wish, assign_range, assign_uniform

NOTHING: Mapping[str, frozenset[int]] = {}


def wishes(*names: str, topics: str = "ab") -> list[Wish]:
    return [Wish(name, name, frozenset(topics)) for name in names]


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[Wish], dict[str, list[int]], dict[str, frozenset[int]]]:
    """Members, topics, and shares from before in which nothing is twice."""
    sizes = draw(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 9), max_size=4))
    topics, number = {}, 0
    for topic, size in sizes.items():
        topics[topic] = list(range(number, number + size))
        number += size
    names = draw(st.lists(st.sampled_from("mnopqrs"), unique=True, max_size=6))
    same = draw(st.booleans())
    choice = st.frozensets(st.sampled_from("abcde"), min_size=1)
    common = draw(choice)
    members = [Wish(name, name, common if same else draw(choice)) for name in names]
    before: dict[str, set[int]] = {}
    for each in range(number + 2):
        owner = draw(st.sampled_from([*names, "gone", ""]))
        if owner:
            before.setdefault(owner, set()).add(each)
    return members, topics, {name: frozenset(share) for name, share in before.items()}


@given(situations())
@pytest.mark.parametrize("assignor", sorted(ASSIGNORS))
def test_every_partition_that_somebody_reads_goes_to_one_who_reads_it(
    assignor: str, situation: tuple[list[Wish], dict[str, list[int]], dict[str, frozenset[int]]]
) -> None:
    members, topics, before = situation
    shares = ASSIGNORS[assignor](members, topics, before)
    assert set(shares) == {member.member_id for member in members}
    given_out = [number for share in shares.values() for number in share]
    assert len(given_out) == len(set(given_out))
    readable = {
        number for topic, numbers in topics.items() for number in numbers if any(topic in m.topics for m in members)
    }
    assert set(given_out) == readable
    for member in members:
        allowed = {number for topic in member.topics for number in topics.get(topic, ())}
        assert shares[member.member_id] <= allowed


@given(situations())
def test_uniform_leaves_nobody_with_two_more_than_another_who_could_have_one_of_them(
    situation: tuple[list[Wish], dict[str, list[int]], dict[str, frozenset[int]]],
) -> None:
    members, topics, before = situation
    shares = assign_uniform(members, topics, before)
    for rich in members:
        for poor in members:
            movable = {
                number for topic in poor.topics for number in topics.get(topic, ()) if number in shares[rich.member_id]
            }
            assert not movable or len(shares[rich.member_id]) - len(shares[poor.member_id]) < 2


@given(situations())
def test_uniform_is_content_with_its_own_work(
    situation: tuple[list[Wish], dict[str, list[int]], dict[str, frozenset[int]]],
) -> None:
    members, topics, before = situation
    shares = assign_uniform(members, topics, before)
    assert assign_uniform(members, topics, shares) == shares


def test_uniform_moves_only_what_it_must_when_a_member_comes() -> None:
    topics = {"a": range(9)}
    two = assign_uniform(wishes("m", "n"), topics, NOTHING)
    three = assign_uniform(wishes("m", "n", "o"), topics, two)
    assert sorted(map(len, three.values())) == [3, 3, 3]
    assert three["m"] <= two["m"]
    assert three["n"] <= two["n"]


def test_uniform_gives_the_share_of_one_who_left_to_the_others_and_moves_nothing_else() -> None:
    topics = {"a": range(9)}
    three = assign_uniform(wishes("m", "n", "o"), topics, NOTHING)
    two = assign_uniform(wishes("m", "n"), topics, three)
    assert three["m"] <= two["m"]
    assert three["n"] <= two["n"]
    assert sorted(map(len, two.values())) == [4, 5]


def test_range_gives_runs_of_neighbours_and_the_same_run_in_topics_of_the_same_size() -> None:
    topics = {"a": [0, 1, 2, 3, 4], "b": [10, 11, 12, 13, 14]}
    shares = assign_range(wishes("n", "m"), topics, NOTHING)
    assert shares == {"m": frozenset({0, 1, 2, 10, 11, 12}), "n": frozenset({3, 4, 13, 14})}


def test_range_leaves_out_those_who_come_too_late_for_a_small_topic() -> None:
    assert assign_range(wishes("m", "n", "o", topics="a"), {"a": [7]}, NOTHING) == {
        "m": frozenset({7}),
        "n": frozenset(),
        "o": frozenset(),
    }


@pytest.mark.parametrize("assignor", sorted(ASSIGNORS))
def test_a_thousand_members_and_ten_thousand_partitions_take_no_time(assignor: str) -> None:
    topics = {"a": range(5_000), "b": range(5_000, 10_000)}
    members = wishes(*(f"m{number:04}" for number in range(1_000)))
    shares = ASSIGNORS[assignor](members, topics, NOTHING)
    assert sum(map(len, shares.values())) == 10_000
