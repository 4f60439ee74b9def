"""Who is connected: all see the same list and hear when it changes; the silent go; disagreement is noticed."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from braidmq.core.members import SILENT_MAX_MS, Interest, Member, Members
from braidmq.logger import FACTS
from braidmq.model import FilterKind
from groups_support import FakeClock

GROUP = "payers"
ALL = Interest(FilterKind.ALL, "*")


class Wire:
    """A connection."""


class Desk:
    """Members, a clock, and what was heard of changes."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.members = Members(self.clock)
        self.heard: list[tuple[str, list[str]]] = []
        self.members.when_changed(lambda group, members: self.heard.append((group, [each.id for each in members])))

    def join(self, id: str, wire: Wire | None = None, *, group: str = GROUP, **interests: Interest) -> Wire:
        wire = wire or Wire()
        self.members.add_consumer(
            Member(id=id, group=group, address="here", channel=wire, interests=interests or {"orders": ALL})
        )
        return wire

    def produce(self, id: str, wire: Wire | None = None, group: str = GROUP) -> Wire:
        wire = wire or Wire()
        self.members.add_producer(Member(id=id, group=group, address="here", channel=wire))
        return wire

    def ids(self, group: str = GROUP) -> list[str]:
        return [each.id for each in self.members.consumers(group)]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def tag(expression: str, version: int = 0) -> Interest:
    return Interest(FilterKind.TAG, expression, version)


Lines = Callable[[], list[tuple[str, str, dict[str, Any]]]]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[Lines]:
    """What operators were told since they were last asked: how grave, what, and of what."""

    def taken() -> list[tuple[str, str, dict[str, Any]]]:
        found = [(each.levelname, each.getMessage(), getattr(each, FACTS)) for each in caplog.records]
        caplog.clear()
        return found

    with caplog.at_level(logging.INFO, logger="braidmq.core.members"):
        yield taken


# Notices.


def test_all_members_hear_of_one_that_comes(desk: Desk) -> None:
    desk.join("a")
    desk.join("b")
    assert desk.heard == [(GROUP, ["a"]), (GROUP, ["a", "b"])]


def test_a_member_that_only_says_that_it_lives_is_no_news(desk: Desk) -> None:
    wire = desk.join("a")
    desk.heard.clear()
    desk.join("a", wire)
    assert desk.heard == []
    assert desk.ids() == ["a"]


def test_another_wish_is_news_and_a_newer_version_of_the_same_wish_is_none(desk: Desk) -> None:
    wire = desk.join("a", orders=tag("x", 1))
    desk.heard.clear()
    desk.join("a", wire, orders=tag("x", 2))
    assert desk.heard == []
    desk.join("a", wire, orders=tag("y", 3))
    desk.join("a", wire, orders=tag("y", 3), bills=ALL)
    assert len(desk.heard) == 2


def test_a_member_that_comes_back_on_another_connection_is_news_and_its_old_one_takes_nothing_away(desk: Desk) -> None:
    old = desk.join("a")
    desk.heard.clear()
    desk.join("a")
    assert len(desk.heard) == 1
    assert desk.members.lost(old) == []
    assert desk.ids() == ["a"]
    assert len(desk.heard) == 1


def test_the_others_hear_when_one_leaves_or_its_connection_ends(desk: Desk) -> None:
    desk.join("a")
    wire = desk.join("b")
    desk.join("c")
    desk.heard.clear()
    desk.members.remove("a", consumer_group=GROUP)
    assert [each.id for each in desk.members.lost(wire)] == ["b"]
    assert desk.heard == [(GROUP, ["b", "c"]), (GROUP, ["c"])]


def test_leaving_twice_or_without_having_been_there_is_no_news(desk: Desk) -> None:
    desk.join("a")
    desk.heard.clear()
    desk.members.remove("b", consumer_group=GROUP)
    desk.members.remove("a", consumer_group="others")
    desk.members.remove("a", producer_group=GROUP)
    assert desk.heard == []
    assert desk.ids() == ["a"]


def test_a_connection_with_many_groups_tells_each_of_them_once(desk: Desk) -> None:
    wire = Wire()
    for group in ("g1", "g2"):
        desk.join("a", wire, group=group)
        desk.join("b", group=group)
    desk.heard.clear()
    desk.members.lost(wire)
    assert sorted(desk.heard) == [("g1", ["b"]), ("g2", ["b"])]


def test_a_group_is_forgotten_with_its_last_member(desk: Desk) -> None:
    wire = desk.join("a")
    desk.produce("p", wire)
    desk.members.lost(wire)
    assert desk.members.consumer_groups() == []
    assert desk.members.producer_groups() == []
    assert desk.members.producer_named("p") is None


# Silence.


async def test_who_is_silent_for_too_long_is_out_and_the_others_hear_it(desk: Desk) -> None:
    desk.join("a")
    desk.produce("p")
    await desk.clock.advance(SILENT_MAX_MS / 2)
    desk.join("b")
    await desk.clock.advance(SILENT_MAX_MS / 2)
    assert desk.members.expire() == []
    desk.heard.clear()
    await desk.clock.advance(1)
    assert [each.id for each in desk.members.expire()] == ["a"]
    assert desk.heard == [(GROUP, ["b"])]
    assert desk.members.producers(GROUP) == []


async def test_who_says_that_it_lives_stays_and_keeps_the_time_of_its_coming(desk: Desk) -> None:
    wire = desk.join("a")
    began_ms = desk.clock.now_ms()
    for _ in range(5):
        await desk.clock.advance(SILENT_MAX_MS - 1)
        desk.join("a", wire)
        assert desk.members.expire() == []
    member = desk.members.consumer(GROUP, "a")
    assert member is not None
    assert (member.joined_ms, member.seen_ms) == (began_ms, desk.clock.now_ms())


# Lookups.


def test_a_member_gets_its_own_wish_and_a_stranger_another_members(desk: Desk) -> None:
    a, b = desk.join("a", orders=tag("x")), desk.join("b", orders=tag("y"))
    assert desk.members.interest(GROUP, "orders", b) == tag("y")
    assert desk.members.interest(GROUP, "orders", a) == tag("x")
    assert desk.members.interest(GROUP, "orders", Wire()) == tag("x")
    assert desk.members.interest(GROUP, "bills", a) is None
    assert desk.members.interest("others", "orders", a) is None


def test_producers_and_consumers_of_one_name_are_different_people(desk: Desk) -> None:
    wire = desk.produce("a")
    desk.join("a", wire)
    desk.members.remove("a", consumer_group=GROUP)
    assert [each.id for each in desk.members.producers(GROUP)] == ["a"]
    assert desk.ids() == []


def test_groups_are_found_by_topic_and_producers_by_name(desk: Desk) -> None:
    desk.join("a", group="g2", orders=ALL)
    desk.join("b", group="g1", orders=ALL, bills=ALL)
    desk.produce("p", group="any")
    assert desk.members.groups_of_topic("orders") == ["g1", "g2"]
    assert desk.members.groups_of_topic("bills") == ["g1"]
    found = desk.members.producer_named("p")
    assert found is not None
    assert found.group == "any"


# Differences.


def test_members_that_do_not_want_the_same_are_noticed(desk: Desk) -> None:
    desk.join("a", orders=tag("x"))
    assert desk.members.differences() == []
    desk.join("b", orders=tag("y"))
    (difference,) = desk.members.differences(GROUP)
    assert difference.topic == "orders"
    assert sorted(difference.wishes.values()) == [("a",), ("b",)]
    assert desk.members.differences("others") == []


def test_a_topic_that_only_some_want_is_a_difference(desk: Desk) -> None:
    desk.join("a", orders=ALL, bills=ALL)
    desk.join("b", orders=ALL)
    (difference,) = desk.members.differences()
    assert (difference.topic, difference.wishes["nothing"]) == ("bills", ("b",))


def test_versions_of_one_wish_are_no_difference(desk: Desk) -> None:
    desk.join("a", orders=tag("x", 1))
    desk.join("b", orders=tag("x", 2))
    assert desk.members.differences() == []


def test_a_difference_ends_when_members_agree_or_go(desk: Desk) -> None:
    a = desk.join("a", orders=tag("x"))
    b = desk.join("b", orders=tag("y"))
    desk.join("b", b, orders=tag("x"))
    assert desk.members.differences() == []
    desk.join("b", b, orders=tag("y"))
    assert len(desk.members.differences()) == 1
    desk.members.lost(a)
    assert desk.members.differences() == []


async def test_a_difference_ends_with_the_silent(desk: Desk) -> None:
    desk.join("a", orders=tag("x"))
    await desk.clock.advance(SILENT_MAX_MS)
    desk.join("b", orders=tag("y"))
    await desk.clock.advance(1)
    desk.members.expire()
    assert desk.members.differences() == []


def test_operators_are_warned_once_of_a_difference_and_hear_when_it_is_over(desk: Desk, lines: Lines) -> None:
    desk.join("a", orders=tag("x", 1), bills=ALL)
    b = desk.join("b", orders=tag("y", 1), bills=ALL)
    ((level, event, facts),) = lines()
    assert (level, event) == (
        "WARNING",
        "members of a group do not want the same; messages of this topic are lost for them",
    )
    assert facts == {"group": GROUP, "topic": "orders", "wishes": {"tag x": ["a"], "tag y": ["b"]}}
    desk.join("b", b, orders=tag("y", 2), bills=ALL)
    desk.join("b", b, orders=tag("y", 2), bills=tag("z"))
    assert [facts["topic"] for *_, facts in lines()] == ["bills"], "nothing new of the other"
    desk.join("b", b, orders=tag("y", 2), bills=ALL)
    assert [(level, facts["topic"]) for level, _, facts in lines()] == [("INFO", "bills")]
    desk.members.lost(b)
    ((level, event, facts),) = lines()
    assert (level, event) == ("INFO", "members of a group agree again")
    assert facts == {"group": GROUP, "topic": "orders"}


def test_operators_are_warned_again_when_others_are_at_odds_or_when_it_begins_anew(desk: Desk, lines: Lines) -> None:
    desk.join("a", orders=tag("x"))
    desk.join("b", orders=tag("y"))
    lines()
    c = desk.join("c", orders=tag("y"))
    ((level, _, facts),) = lines()
    assert (level, facts["wishes"]) == ("WARNING", {"tag x": ["a"], "tag y": ["b", "c"]})
    desk.members.remove("a", consumer_group=GROUP)
    assert [level for level, *_ in lines()] == ["INFO"]
    desk.join("c", c, orders=tag("x"))
    assert [level for level, *_ in lines()] == ["WARNING"]


def test_figures_tell_members_and_differences(desk: Desk) -> None:
    desk.join("a", orders=tag("x"))
    desk.join("b", orders=tag("y"))
    desk.produce("p")
    figures = {(each.name, *each.labels.values()): each.value for each in desk.members.metrics()}
    assert figures == {
        ("braid_members", "producer"): 1,
        ("braid_members", "consumer"): 2,
        ("braid_members_differences",): 1,
    }
