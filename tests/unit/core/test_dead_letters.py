"""Dead letters: found by what they are, replayed once each, to the group alone or to all, and deleted."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from braidmq.core.delivery import Delivered
from braidmq.core.retry import Cursor, DeadFilter, DeadLetters, ReplayTo, Retries
from braidmq.core.retry import Place as DeadPlace
from braidmq.core.retry import _dead_letters as module
from braidmq.log import Appended
from braidmq.model import (
    ATTEMPT_HEADER,
    DEAD_ID_HEADER,
    DEAD_TOPIC_HEADER,
    DEFAULT_INSTANCE,
    ORIGIN_ID_HEADER,
    REPLAY_HEADER,
    RETRY_TOPIC_HEADER,
    Message,
    Topic,
)
from braidmq.model.errors import (
    InvalidName,
    OffsetOutOfRange,
    StorageFull,
    UnknownMessage,
    UnknownPartition,
    UnknownTopic,
)
from braidmq.records import batch_messages
from deferral_support import CountedLog, Place, log_of

GROUP = "payers"


class DeadPlaces(Place):
    """A place where messages die."""

    def make_services(self) -> None:
        super().make_services()
        self.retries = Retries(self.topics, self.topics, self.log, self.timers, self.clock)
        self.letters = DeadLetters(self.topics, self.topics, self.log, self.delivery)

    async def die(self, topic: Topic, *ids: str, **more: Any) -> None:
        """Messages of these ids come to the topic, and die a second later, one after the other."""
        for each in ids:
            batch = batch_messages([Message.create(each.encode(), id=each, **more)])
            (result,) = await self.log.append([(topic.partition_numbers[0], batch)])
            assert isinstance(result, Appended)
            await self.clock.advance(1000)
            number = topic.partition_numbers[0]
            await self.retries.send_back(GROUP, number, result.base_offset, delay_ms=-1, origin_id=f"o-{each}")

    async def ids(self, **wanted: Any) -> list[str | None]:
        page = await self.letters.page(GROUP, chosen=DeadFilter(**wanted))
        assert page.next is None
        return [letter.message.id for letter in page.letters]

    def own(self, name: str) -> Topic:
        found = self.topics.topic(DEFAULT_INSTANCE, name)
        assert found is not None
        return found

    def count(self, name: str) -> float:
        return next(metric.value for metric in self.letters.metrics() if metric.name == f"braid_dead_letters_{name}")


@pytest.fixture
async def place() -> AsyncIterator[DeadPlaces]:
    place = DeadPlaces(CountedLog)
    await place.start()
    yield place
    await place.close()


@pytest.fixture
async def orders(place: DeadPlaces) -> Topic:
    return await place.topics.make("orders")


async def test_a_group_without_dead_letters_has_none(place: DeadPlaces) -> None:
    assert await place.ids() == []
    assert await place.letters.replay(GROUP) == ([], None)
    with pytest.raises(UnknownTopic, match="has no dead letters"):
        await place.letters.delete(GROUP, DeadPlace(0, 0))
    with pytest.raises(UnknownTopic, match="has no dead letters"):
        await place.letters.replay_some(GROUP, [DeadPlace(0, 0)])
    with pytest.raises(InvalidName):
        await place.letters.page("a group that no topic can be named after")


async def test_a_letter_says_what_it_was_and_what_became_of_it(place: DeadPlaces, orders: Topic) -> None:
    await place.die(orders, "a")
    page = await place.letters.page(GROUP)
    (letter,) = page.letters
    assert (letter.place, letter.topic, letter.origin_id, letter.attempts) == ((0, 0), "orders", "o-a", 1)
    assert (letter.died_ms, letter.message.body) == (place.clock.now_ms(), b"a")


async def test_letters_are_found_by_topic_key_id_and_time(place: DeadPlaces, orders: Topic) -> None:
    bills = await place.topics.make("bills")
    began_ms = place.clock.now_ms()
    await place.die(orders, "a", keys=["k1", "k2"])
    await place.die(bills, "b", keys=["k2"])
    await place.die(orders, "c")
    assert await place.ids() == ["a", "b", "c"]
    assert await place.ids(topic="orders") == ["a", "c"]
    assert await place.ids(key="k2") == ["a", "b"]
    assert await place.ids(topic="orders", key="k2") == ["a"]
    assert await place.ids(id="b") == await place.ids(id="o-b") == ["b"]
    assert await place.ids(from_ms=began_ms + 2000) == ["b", "c"]
    assert await place.ids(until_ms=began_ms + 2000) == ["a"]
    assert await place.ids(from_ms=began_ms + 9000) == []


async def test_a_listing_goes_on_where_the_last_page_ended_and_ends_where_it_began(
    place: DeadPlaces, orders: Topic
) -> None:
    await place.die(orders, *"abcde")
    seen: list[str | None] = []
    cursor: Cursor | None = None
    for _ in range(3):
        page = await place.letters.page(GROUP, after=cursor, limit=2)
        seen += [letter.message.id for letter in page.letters]
        cursor = page.next
        await place.die(orders, "later")
    assert (seen, cursor) == (list("abcde"), None)


async def test_a_page_that_has_looked_at_enough_says_where_to_go_on(
    place: DeadPlaces, orders: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "READ_BYTES", 1)
    monkeypatch.setattr(module, "SCAN_BYTES", 1)
    await place.die(orders, *"abc")
    pages = []
    cursor: Cursor | None = None
    for _ in range(3):
        page = await place.letters.page(GROUP, chosen=DeadFilter(id="c"), after=cursor)
        pages.append([letter.message.id for letter in page.letters])
        cursor = page.next
    assert (pages, cursor) == ([[], [], ["c"]], None)


async def test_many_letters_in_several_partitions_are_each_listed_once(place: DeadPlaces) -> None:
    topic = await place.topics.make("%DLQ%payers", 3)
    batches = [
        (number, batch_messages([Message.create(b"x", id=f"{number}-{nth}") for nth in range(number)]))
        for number in topic.partition_numbers
        for _ in range(2)
    ]
    await place.log.append(batches)
    for limit in (1, 2, 5, 100):
        seen, cursor = 0, None
        while True:
            page = await place.letters.page(GROUP, after=cursor, limit=limit)
            assert len(page.letters) <= limit
            seen += len(page.letters)
            if (cursor := page.next) is None:
                break
        assert seen == sum(2 * number for number in topic.partition_numbers)


@pytest.mark.parametrize(
    "cursor",
    [
        Cursor(DeadPlace(5, 0), (1,)),
        Cursor(DeadPlace(-1, 0), (1,)),
        Cursor(DeadPlace(0, 99), (200,)),
        Cursor(DeadPlace(0, 0), ()),
        Cursor(DeadPlace(1, 0), (1, 1)),
    ],
)
async def test_a_cursor_that_makes_no_sense_leads_to_the_end(place: DeadPlaces, orders: Topic, cursor: Cursor) -> None:
    await place.die(orders, "a")
    assert await place.letters.page(GROUP, after=cursor) == ([], None)


async def test_letters_that_retention_took_are_passed_over(place: DeadPlaces, orders: Topic) -> None:
    await place.die(orders, *"abc")
    first = await place.letters.page(GROUP, limit=1)
    await place.letters.delete(GROUP, DeadPlace(0, 1))
    rest = await place.letters.page(GROUP, after=first.next)
    assert [letter.message.id for letter in rest.letters] == ["c"]


# Replaying.


async def test_a_letter_is_replayed_to_its_group_alone_as_if_for_the_first_time(
    place: DeadPlaces, orders: Topic
) -> None:
    await place.die(orders, "a", tag="T", properties={"mine": "1"})
    (done,) = (await place.letters.replay(GROUP)).replayed
    retry = place.own("%RETRY%payers")
    assert (done.place, done.message_id, done.topic) == ((0, 0), "a", "%RETRY%payers")
    assert done.fate == Delivered(0, 0, retry.partition_numbers[0])
    assert place.bodies(orders) == [b"a"], "other groups see nothing of it"
    (again,) = place.messages(retry)
    assert (again.id, again.body, again.tag, again.properties["mine"]) == ("a", b"a", "T", "1")
    assert again.properties[RETRY_TOPIC_HEADER] == "orders"
    assert again.properties[ORIGIN_ID_HEADER] == "o-a"
    assert again.properties[REPLAY_HEADER] == "%DLQ%payers 0 0"
    assert not {ATTEMPT_HEADER, DEAD_ID_HEADER, DEAD_TOPIC_HEADER} & again.properties.keys()
    sent = await place.retries.send_back(GROUP, retry.partition_numbers[0], 0)
    assert (sent.attempt, sent.dead) == (1, False)


async def test_a_letter_is_replayed_to_its_topic_for_everybody(place: DeadPlaces, orders: Topic) -> None:
    await place.die(orders, "a")
    (done,) = (await place.letters.replay(GROUP, to=ReplayTo.TOPIC)).replayed
    assert (done.topic, done.fate) == ("orders", Delivered(0, 1, orders.partition_numbers[0]))
    (_, again) = place.messages(orders)
    assert (again.id, again.properties[REPLAY_HEADER]) == ("a", "%DLQ%payers 0 0")
    assert not {ATTEMPT_HEADER, RETRY_TOPIC_HEADER, DEAD_ID_HEADER, DEAD_TOPIC_HEADER} & again.properties.keys()


async def test_what_dies_again_while_it_is_replayed_is_not_replayed_in_a_circle(
    place: DeadPlaces, orders: Topic
) -> None:
    await place.die(orders, *"abc")
    cursor: Cursor | None = None
    replayed: list[str] = []
    while True:
        page = await place.letters.replay(GROUP, after=cursor, limit=1)
        for each in page.replayed:
            replayed.append(each.message_id)
            assert isinstance(each.fate, Delivered)
            number = place.own("%RETRY%payers").partition_numbers[0]
            await place.retries.send_back(GROUP, number, each.fate.offset, delay_ms=-1)
        if (cursor := page.next) is None:
            break
    assert replayed == ["a", "b", "c"]
    assert await place.ids() == ["a", "b", "c", "a", "b", "c"]


async def test_a_page_is_one_append_and_a_node_that_dies_between_two_goes_on_with_the_next(
    place: DeadPlaces, orders: Topic
) -> None:
    await place.die(orders, *"abcdef")
    page = await place.letters.replay(GROUP, limit=2)
    appends = log_of(place).appends
    await place.restart()
    cursor = page.next
    while cursor is not None:
        cursor = (await place.letters.replay(GROUP, after=cursor, limit=2)).next
    assert log_of(place).appends == appends + 2
    assert place.bodies(place.own("%RETRY%payers")) == [b"a", b"b", b"c", b"d", b"e", b"f"]
    assert place.count("replayed") == 4


async def test_letters_are_replayed_by_their_places_and_those_that_are_not_there_are_named(
    place: DeadPlaces, orders: Topic
) -> None:
    await place.die(orders, *"abc")
    places = [DeadPlace(0, 2), DeadPlace(0, 0), DeadPlace(0, 3), DeadPlace(1, 0), DeadPlace(0, 99), DeadPlace(0, 2)]
    done = await place.letters.replay_some(GROUP, places)
    assert [each.place for each in done] == places[:-1]
    assert [each.message_id for each in done] == ["c", "a", "", "", ""]
    assert [type(each.fate) for each in done] == [Delivered, Delivered, *[UnknownMessage] * 3]
    assert place.bodies(place.own("%RETRY%payers")) == [b"c", b"a"]


async def test_a_letter_whose_topic_is_gone_holds_up_no_other(place: DeadPlaces, orders: Topic) -> None:
    bills = await place.topics.make("bills")
    await place.die(bills, "gone")
    await place.die(orders, "a")
    await place.topics.delete(bills)
    done = (await place.letters.replay(GROUP, to=ReplayTo.TOPIC)).replayed
    assert [type(each.fate) for each in done] == [UnknownTopic, Delivered]
    assert (place.count("replayed"), place.count("refused")) == (1, 1)


async def test_a_full_disk_refuses_a_replay_and_says_so_of_each_letter(place: DeadPlaces, orders: Topic) -> None:
    await place.die(orders, *"ab")
    log_of(place).refusal = StorageFull()
    done = (await place.letters.replay(GROUP)).replayed
    assert [type(each.fate) for each in done] == [StorageFull, StorageFull]


# Deleting.


async def test_letters_are_deleted_up_to_one(place: DeadPlaces, orders: Topic) -> None:
    await place.die(orders, *"abcd")
    assert await place.letters.delete(GROUP, DeadPlace(0, 1)) == 2
    assert await place.letters.delete(GROUP, DeadPlace(0, 1)) == 0
    assert await place.ids() == ["c", "d"]
    with pytest.raises(OffsetOutOfRange):
        await place.letters.delete(GROUP, DeadPlace(0, 4))
    with pytest.raises(UnknownPartition):
        await place.letters.delete(GROUP, DeadPlace(1, 0))
    assert place.count("deleted") == 2
