"""Who reads which lite topics."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.lite import Reader
from braidmq.core.lite._subscriptions import Subscriptions
from braidmq.model.errors import InvalidRequest, TooManyLiteSubscriptions

PARENT = "devices"


def reader(client: str = "c1", group: str = "readers", parent: str = PARENT) -> Reader:
    return Reader(client=client, group=group, parent=parent)


class Told:
    """What clients were told to give up."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, name: str) -> None:
        self.names.append(name)


def add(
    subscriptions: Subscriptions,
    names: Iterable[str],
    who: Reader | None = None,
    told: Told | None = None,
    *,
    quota: int = 10,
    is_exclusive: bool = False,
) -> list[str]:
    return subscriptions.add(who or reader(), names, told or Told(), quota=quota, is_exclusive=is_exclusive)


def test_what_a_reader_reads_begins_elsewhere_each_time() -> None:
    subscriptions = Subscriptions(lambda _: None)
    add(subscriptions, ["a", "b", "c"])
    turns = {subscriptions.names(reader()) for _ in range(6)}
    assert turns == {("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")}
    assert subscriptions.names(reader("nobody")) == ()


def test_a_quota_counts_what_is_read_already_and_refuses_all_or_nothing() -> None:
    subscriptions = Subscriptions(lambda _: None)
    add(subscriptions, ["a", "b"], quota=3)
    with pytest.raises(TooManyLiteSubscriptions):
        add(subscriptions, ["c", "d"], quota=3)
    assert add(subscriptions, ["a", "b", "c"], quota=3) == ["c"]
    with pytest.raises(TooManyLiteSubscriptions):
        subscriptions.replace(reader(), ["a", "b", "c", "d"], Told(), quota=3, is_exclusive=False)
    assert sorted(subscriptions.names(reader())) == ["a", "b", "c"]


def test_a_client_is_bound_to_one_topic_and_group_until_it_goes() -> None:
    subscriptions = Subscriptions(lambda _: None)
    add(subscriptions, ["a"])
    for other in (reader(parent="others"), reader(group="others")):
        with pytest.raises(InvalidRequest, match="bound"):
            add(subscriptions, ["a"], other)
        with pytest.raises(InvalidRequest, match="bound"):
            subscriptions.names(other)
    subscriptions.forget("c1")
    assert add(subscriptions, ["a"], reader(parent="others")) == ["a"]


def test_who_subscribes_in_an_exclusive_group_takes_over_from_its_own_group_only() -> None:
    subscriptions = Subscriptions(lambda _: None)
    first, elsewhere = Told(), Told()
    add(subscriptions, ["a", "b"], told=first, is_exclusive=True)
    add(subscriptions, ["a"], reader("c2", "others"), elsewhere, is_exclusive=True)
    add(subscriptions, ["a"], reader("c3"), is_exclusive=True)
    assert (first.names, elsewhere.names) == (["a"], [])
    assert (subscriptions.names(reader()), subscriptions.names(reader("c3"))) == (("b",), ("a",))


def test_who_repeats_what_another_has_taken_over_is_told_again() -> None:
    subscriptions = Subscriptions(lambda _: None)
    told = Told()
    add(subscriptions, ["a"], told=told, is_exclusive=True)
    add(subscriptions, ["a"], reader("c2"), is_exclusive=True)
    subscriptions.replace(reader(), ["a", "b"], told, quota=10, is_exclusive=True)
    assert told.names == ["a", "a"]
    assert (subscriptions.names(reader()), subscriptions.names(reader("c2"))) == (("b",), ("a",))
    subscriptions.forget("c2")
    subscriptions.replace(reader(), ["a", "b"], told, quota=10, is_exclusive=True)
    assert sorted(subscriptions.names(reader())) == ["a", "b"]


def test_a_reader_hears_when_something_changes_for_it_and_only_then() -> None:
    changed: list[str] = []
    subscriptions = Subscriptions(changed.append)
    add(subscriptions, ["a"])
    add(subscriptions, ["a"])
    subscriptions.tell(PARENT, "b")
    subscriptions.tell("others", "a")
    assert changed == ["c1"]
    subscriptions.tell(PARENT, "a")
    subscriptions.remove(reader(), ["b"], Told())
    subscriptions.remove(reader(), ["a"], Told())
    assert changed == ["c1"] * 3
    add(subscriptions, ["a"], is_exclusive=True)
    add(subscriptions, ["a"], reader("c2"), is_exclusive=True)
    assert changed == [*["c1"] * 5, "c2"]


NAMES = st.lists(st.sampled_from("abcd"), max_size=4)
STEPS = st.lists(st.tuples(st.sampled_from(["add", "remove", "replace", "forget"]), st.sampled_from("123"), NAMES))


@given(STEPS)
def test_in_an_exclusive_group_nothing_is_read_by_two(steps: list[tuple[str, str, list[str]]]) -> None:
    subscriptions = Subscriptions(lambda _: None)
    for step, client, names in steps:
        who = reader(client)
        if step == "add":
            add(subscriptions, names, who, is_exclusive=True)
        elif step == "remove":
            subscriptions.remove(who, names, Told())
        elif step == "replace":
            subscriptions.replace(who, names, Told(), quota=10, is_exclusive=True)
        else:
            subscriptions.forget(client)
        read = [name for each in "123" for name in subscriptions.names(reader(each))]
        assert len(read) == len(set(read)) == len(subscriptions)
        if step == "add":
            assert set(names) <= set(subscriptions.names(who))
