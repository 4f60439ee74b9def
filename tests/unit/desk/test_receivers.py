"""A client that keeps asking is there; one that neither asks nor answers for its messages has gone."""

import pytest

from braidmq.core.desk import receivers
from braidmq.core.desk.receivers import AWAY_MAX_MS, PEERS_MAX, Caller, Receivers
from braidmq.core.members import Interest, Members
from braidmq.model import FilterKind
from groups_support import FakeClock

ALL = Interest(FilterKind.TAG, "")
TILL = Caller("10.0.0.7", 4711, "till-7", "tills/2.1")


class Desk:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.members = Members(self.clock)
        self.receivers = Receivers(self.members, self.clock)

    def ids(self, group: str = "g") -> list[str]:
        return [each.id for each in self.members.consumers(group)]


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_a_client_is_there_while_it_waits_and_a_while_after(desk: Desk) -> None:
    desk.receivers.asks(TILL, "g", "t", ALL, wait_s=30)
    await desk.clock.advance(30_000 + AWAY_MAX_MS - 1)
    assert desk.ids() == ["till-7"]
    await desk.clock.advance(1)
    assert (desk.ids(), len(desk.receivers), desk.receivers.at("10.0.0.7", 4711)) == ([], 0, None)


async def test_a_client_whose_last_connection_ended_has_gone(desk: Desk) -> None:
    for port in (1, 2):
        desk.receivers.asks(TILL._replace(port=port), "g", "t", ALL)
    desk.receivers.left(TILL.host, 1)
    desk.receivers.left(TILL.host, 3)
    assert desk.ids() == ["till-7"]
    desk.receivers.left(TILL.host, 2)
    assert (desk.ids(), len(desk.receivers)) == ([], 0)
    await desk.clock.advance(AWAY_MAX_MS)


async def test_saying_what_became_of_messages_is_a_sign_of_life(desk: Desk) -> None:
    desk.receivers.asks(TILL, "g", "t", ALL)
    for _ in range(5):
        await desk.clock.advance(AWAY_MAX_MS - 1)
        desk.receivers.speaks(TILL, "g")
    assert desk.ids() == ["till-7"]
    assert desk.members.consumers("g")[0].seen_ms == desk.clock.now_ms()


async def test_a_client_that_asks_for_hours_is_never_struck_as_silent(desk: Desk) -> None:
    for _ in range(100):
        desk.receivers.asks(TILL, "g", "t", ALL, wait_s=30)
        await desk.clock.advance(30_000)
        desk.members.expire()
    assert desk.ids() == ["till-7"]


async def test_a_client_that_only_ever_acknowledges_is_no_member(desk: Desk) -> None:
    desk.receivers.speaks(TILL, "g")
    assert desk.ids() == []


async def test_a_client_is_one_member_of_each_group_whatever_it_asks_from(desk: Desk) -> None:
    for port in range(PEERS_MAX + 5):
        desk.receivers.asks(TILL._replace(port=port), "g", "t", ALL)
    desk.receivers.asks(TILL, "other", "u", ALL)
    assert (desk.ids(), desk.ids("other")) == (["till-7"], ["till-7"])
    assert desk.receivers.at("10.0.0.7", 0) is None
    assert desk.receivers.at("10.0.0.7", PEERS_MAX + 4) is desk.receivers.at("10.0.0.7", 4711)


async def test_another_wish_is_seen_and_told(desk: Desk) -> None:
    desk.receivers.asks(TILL, "g", "t", ALL)
    desk.receivers.asks(Caller("10.0.0.8", 1, "till-8"), "g", "t", ALL)
    assert desk.members.differences("g") == []
    desk.receivers.asks(TILL, "g", "t", Interest(FilterKind.TAG, "paid"))
    assert [each.topic for each in desk.members.differences("g")] == ["t"]


async def test_more_clients_than_are_known_are_not_shown(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receivers, "CLIENTS_MAX", 1)
    desk.receivers.asks(TILL, "g", "t", ALL)
    desk.receivers.asks(Caller("10.0.0.8", 1), "g", "t", ALL)
    assert desk.ids() == ["till-7"]


def test_an_address_names_a_client_without_a_name() -> None:
    assert Caller("::1", 8400).name == "[::1]:8400"
    assert Caller().name == ""
