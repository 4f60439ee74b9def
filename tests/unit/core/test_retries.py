"""Messages that were delivered in vain: given again step by step, then dead; nothing of them lost."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from braidmq.core.retry import Retries, SentBack
from braidmq.log import Appended
from braidmq.model import (
    ATTEMPT_HEADER,
    BORN_HEADER,
    DEAD_ID_HEADER,
    DEAD_TOPIC_HEADER,
    DEFAULT_INSTANCE,
    ORIGIN_ID_HEADER,
    PRESSURE_HEADER,
    RETRY_TOPIC_HEADER,
    Group,
    Message,
    Topic,
    TraceKind,
    dead_letter_topic_name,
    retry_topic_name,
)
from braidmq.model.errors import (
    InvalidName,
    InvalidSetting,
    OffsetOutOfRange,
    StorageFull,
    StoreFailed,
    UnknownMessage,
    UnknownPartition,
)
from braidmq.model.group_settings import RETRY_STEPS, retry_steps_ms
from braidmq.records import Codec, Marker, Record, batch_messages, build_batch, build_marker
from deferral_support import CountedLog, Place, log_of
from groups_support import settle

GROUP = "payers"
MINUTE_MS = 60_000
STEPS_MS = [step * 1000 for step in (10, 30, *(60 * minute for minute in range(1, 11)), 1200, 1800, 3600, 7200)]


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    place = Place(CountedLog)
    await place.start()
    yield place
    await place.close()


@pytest.fixture
async def topic(place: Place) -> Topic:
    return await place.topics.make("orders", 2)


@pytest.fixture
def retries(place: Place) -> Retries:
    return Retries(place.topics, place.topics, place.log, place.timers, place.clock)


async def publish(place: Place, topic: Topic, *messages: Message, partition: int = 0) -> tuple[int, int]:
    """Where the first of them is."""
    number = topic.partition_numbers[partition]
    (result,) = await place.log.append([(number, batch_messages(messages, Codec.GZIP))])
    assert isinstance(result, Appended)
    return number, result.base_offset


def own_topic(place: Place, name: str) -> Topic:
    found = place.topics.topic(DEFAULT_INSTANCE, name)
    assert found is not None
    return found


def retried(place: Place) -> list[Message]:
    return place.messages(own_topic(place, retry_topic_name(GROUP)))


def dead(place: Place) -> list[Message]:
    return place.messages(own_topic(place, dead_letter_topic_name(GROUP)))


async def send_back_the_last(place: Place, retries: Retries, **how: Any) -> SentBack:
    number = own_topic(place, retry_topic_name(GROUP)).partition_numbers[0]
    sent = await retries.send_back(GROUP, number, len(retried(place)) - 1, **how)
    await settle()
    return sent


def count(retries: Retries, name: str) -> float:
    return next(metric.value for metric in retries.metrics() if metric.name == f"braid_retries_{name}")


async def test_a_message_comes_again_after_each_of_sixteen_steps_and_is_then_dead(
    place: Place, topic: Topic, retries: Retries
) -> None:
    number, offset = await publish(place, topic, Message.create(b"body", id="m1", born_ms=place.clock.now_ms()))
    first = await retries.send_back(GROUP, number, offset)
    assert first == SentBack(1, dead=False, topic="%RETRY%payers", message_id="m1")
    await settle()
    for attempt, step_ms in enumerate(STEPS_MS, 1):
        await place.clock.advance(step_ms - 1)
        assert len(retried(place)) == attempt - 1
        await place.clock.advance(1)
        assert len(retried(place)) == attempt
        assert retried(place)[-1].properties[ATTEMPT_HEADER] == str(attempt)
        sent = await send_back_the_last(place, retries)
        assert sent.attempt == attempt + 1
        assert sent.dead is (attempt == 16)
    (letter,) = dead(place)
    assert (letter.id, letter.body, letter.properties[ATTEMPT_HEADER]) == ("m1", b"body", "17")
    await place.clock.advance(3 * 60 * MINUTE_MS)
    assert (len(retried(place)), len(dead(place))) == (16, 1)
    assert (count(retries, "sent_back"), count(retries, "dead")) == (17, 1)


async def test_a_copy_has_all_that_the_message_had_and_says_where_it_came_from(
    place: Place, topic: Topic, retries: Retries
) -> None:
    headers = (
        ("TAGS", b"A"),
        ("twice", b"1"),
        ("twice", b"2"),
        ("empty", None),
        ("raw", b"\xff\0"),
        ("UNIQ_KEY", b"u"),
    )
    message = Message(body=b"\0body", key=b"\xffkey", headers=headers, born_ms=place.clock.now_ms() - 5)
    number, offset = await publish(place, topic, Message(body=b"other"), message, partition=1)
    await retries.send_back(GROUP, number, offset + 1, delay_ms=0, origin_id="origin")
    await place.clock.advance(1000)
    for _ in range(2):
        (*_, copy) = retried(place)
        assert (copy.body, copy.key, copy.headers[: len(headers)]) == (message.body, message.key, headers)
        assert copy.header(BORN_HEADER) == b"%d" % message.born_ms
        assert copy.properties[RETRY_TOPIC_HEADER] == "orders"
        assert copy.properties[ORIGIN_ID_HEADER] == "origin"
        await send_back_the_last(place, retries, delay_ms=0, origin_id="other")
    assert [each.properties[ATTEMPT_HEADER] for each in retried(place)] == ["1", "2", "3"]


async def test_a_dead_letter_names_its_origin(place: Place, topic: Topic, retries: Retries) -> None:
    number, offset = await publish(place, topic, Message.create(b"x", id="m"))
    await retries.send_back(GROUP, number, offset, delay_ms=0, origin_id="origin")
    sent = await send_back_the_last(place, retries, delay_ms=-1)
    assert sent == SentBack(2, dead=True, topic="%DLQ%payers", message_id="m")
    (letter,) = dead(place)
    assert letter.properties[DEAD_TOPIC_HEADER] == letter.properties[RETRY_TOPIC_HEADER] == "orders"
    assert letter.properties[DEAD_ID_HEADER] == letter.properties[ORIGIN_ID_HEADER] == "origin"


async def test_a_message_without_an_id_has_the_same_one_whenever_it_is_sent_back(
    place: Place, topic: Topic, retries: Retries
) -> None:
    number, offset = await publish(place, topic, Message(body=b"from a Kafka producer"))
    for _ in range(2):
        await retries.send_back(GROUP, number, offset, delay_ms=0, origin_id="C0A8")
        await retries.send_back(GROUP, number, offset, delay_ms=0)
    ids = [message.id for message in retried(place)]
    assert ids == ["C0A8", f"{number}-{offset}"] * 2


async def test_the_same_word_said_twice_at_once_is_one_copy(place: Place, topic: Topic, retries: Retries) -> None:
    number, offset = await publish(place, topic, Message.create(b"x", id="m"))
    sent = await asyncio.gather(*(retries.send_back(GROUP, number, offset, delay_ms=-1) for _ in range(5)))
    assert len(set(sent)) == 1
    assert len(dead(place)) == 1


async def test_a_caller_that_goes_away_leaves_nothing_half_done(place: Place, topic: Topic, retries: Retries) -> None:
    number, offset = await publish(place, topic, Message.create(b"x", id="m"))
    caller = asyncio.create_task(retries.send_back(GROUP, number, offset))
    await asyncio.sleep(0)
    caller.cancel()
    await retries.close()
    await place.clock.advance(10_000)
    assert [message.id for message in retried(place)] == ["m"]


@pytest.mark.parametrize("wanted", [0, 1, 3])
async def test_the_consumer_may_say_how_often(place: Place, topic: Topic, retries: Retries, wanted: int) -> None:
    place.topics.groups[DEFAULT_INSTANCE, GROUP] = Group(name=GROUP, attempts_max=7)
    number, offset = await publish(place, topic, Message.create(b"x", id="m"))
    sent = await retries.send_back(GROUP, number, offset, delay_ms=0, attempts_max=wanted)
    for _ in range(wanted):
        assert not sent.dead
        sent = await send_back_the_last(place, retries, delay_ms=0, attempts_max=wanted)
    assert sent.dead


async def test_a_group_has_its_own_steps_and_its_own_number_of_attempts(
    place: Place, topic: Topic, retries: Retries
) -> None:
    group = Group(name=GROUP, attempts_max=3, settings={RETRY_STEPS: "500ms 2s"})
    place.topics.groups[DEFAULT_INSTANCE, GROUP] = group
    number, offset = await publish(place, topic, Message.create(b"x", id="m"))
    await retries.send_back(GROUP, number, offset)
    for step_ms in (500, 2_000, 2_000):
        before = len(retried(place))
        await place.clock.advance(step_ms - 1)
        assert len(retried(place)) == before
        await place.clock.advance(1)
        sent = await send_back_the_last(place, retries, attempts_max=-1)
    assert sent.dead


@pytest.mark.parametrize("text", ["", "10", "1s,2s", "-1s", "1.5s", "41d", "1w", "9999999999999s", "1s " * 101])
def test_steps_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(InvalidSetting, match=r"retry\.steps"):
        retry_steps_ms({RETRY_STEPS: text})


async def test_attempts_count_only_where_they_were_written_here(place: Place, topic: Topic, retries: Retries) -> None:
    """Neither a producer's header nor another group's dead letter makes a message die early."""
    forged = Message.create(b"x", id="m", properties={ATTEMPT_HEADER: "16", RETRY_TOPIC_HEADER: "elsewhere"})
    number, offset = await publish(place, topic, forged)
    sent = await retries.send_back(GROUP, number, offset, delay_ms=-1)
    assert sent.attempt == 1
    letters = own_topic(place, dead_letter_topic_name(GROUP))
    sent = await retries.send_back("auditors", letters.partition_numbers[0], 0, delay_ms=0)
    assert (sent.attempt, sent.dead) == (1, False)
    (copy,) = place.messages(own_topic(place, retry_topic_name("auditors")))
    assert copy.properties[RETRY_TOPIC_HEADER] == "%DLQ%payers"


@pytest.mark.parametrize("text", ["", "x", "-1", "1.0", "9" * 10, "٣"])
async def test_a_count_that_cannot_be_read_is_none(place: Place, retries: Retries, text: str) -> None:
    own = await place.topics.make(retry_topic_name(GROUP))
    number, offset = await publish(place, own, Message.create(b"x", properties={ATTEMPT_HEADER: text}))
    assert (await retries.send_back(GROUP, number, offset)).attempt == 1


async def test_what_is_not_there_cannot_be_sent_back(place: Place, topic: Topic, retries: Retries) -> None:
    number, _ = await publish(place, topic, Message(body=b"x"))
    marker = build_marker(Marker.COMMIT, producer_id=1, producer_epoch=0, timestamp_ms=0)
    gappy = build_batch([Record(0, 0, b"k", b"v")], last_offset=2)
    await place.log.append([(number, marker), (number, gappy)])
    with pytest.raises(UnknownPartition):
        await retries.send_back(GROUP, 99, 0)
    for offset in (1, 3, 4, 5):
        with pytest.raises(UnknownMessage, match=f"no message at offset {offset}"):
            await retries.send_back(GROUP, number, offset)
    for offset in (-1, 6):
        with pytest.raises(OffsetOutOfRange):
            await retries.send_back(GROUP, number, offset)
    await place.topics.delete(topic)
    with pytest.raises(UnknownPartition):
        await retries.send_back(GROUP, number, 0)
    assert not place.timer_rows.by_id


async def test_a_group_whose_name_no_topic_can_have_is_told_so(place: Place, topic: Topic, retries: Retries) -> None:
    number, offset = await publish(place, topic, Message(body=b"x"))
    for group in ("a b", "x" * 250, ""):
        with pytest.raises(InvalidName):
            await retries.send_back(group, number, offset)


async def test_what_cannot_be_kept_is_not_promised_and_can_be_sent_back_later(
    place: Place, topic: Topic, retries: Retries
) -> None:
    number, offset = await publish(place, topic, Message.create(b"x", id="m"))
    place.timer_rows.is_failing = True
    with pytest.raises(StoreFailed):
        await retries.send_back(GROUP, number, offset)
    place.timer_rows.is_failing = False
    log_of(place).refusal = StorageFull()
    with pytest.raises(StorageFull):
        await retries.send_back(GROUP, number, offset, delay_ms=-1)
    log_of(place).refusal = None
    assert (await retries.send_back(GROUP, number, offset, delay_ms=-1)).dead
    assert len(dead(place)) == 1


async def test_a_message_as_large_as_its_topic_allows_can_be_sent_back(place: Place, retries: Retries) -> None:
    large = await place.topics.make("large", max_message_bytes="20000000")
    number, offset = await publish(place, large, Message(body=b"x" * 15_000_000))
    await retries.send_back(GROUP, number, offset)
    await place.clock.advance(10_000)
    await send_back_the_last(place, retries, delay_ms=-1)
    assert [len(letter.body or b"") for letter in dead(place)] == [15_000_000]


async def test_no_step_is_longer_than_messages_may_wait(place: Place, topic: Topic, retries: Retries) -> None:
    place.timers.delay_max_ms = 5_000
    number, offset = await publish(place, topic, Message.create(b"x"))
    await retries.send_back(GROUP, number, offset)
    await place.clock.advance(5_000)
    assert len(retried(place)) == 1


# Messages that consumers bring themselves.


async def test_a_message_that_is_brought_waits_for_the_step_of_its_attempt(place: Place, retries: Retries) -> None:
    brought = Message.create(b"x", id="m", properties={RETRY_TOPIC_HEADER: "orders", ORIGIN_ID_HEADER: "o"})
    assert await retries.accept(GROUP, brought, attempts=2) == SentBack(2, False, "%RETRY%payers", "m")
    await place.clock.advance(29_999)
    assert retried(place) == []
    await place.clock.advance(1)
    (copy,) = retried(place)
    assert copy.properties[ATTEMPT_HEADER] == "2"
    assert copy.properties[RETRY_TOPIC_HEADER] == "orders"
    assert count(retries, "brought") == 1


async def test_a_message_that_is_brought_once_too_often_is_dead(place: Place, retries: Retries) -> None:
    brought = Message.create(b"x", id="m", properties={RETRY_TOPIC_HEADER: "orders", ORIGIN_ID_HEADER: "o"})
    assert not (await retries.accept(GROUP, brought, attempts=3, attempts_max=3, delay_ms=0)).dead
    assert (await retries.accept(GROUP, brought, attempts=4, attempts_max=3, delay_ms=0)).dead
    assert (await retries.accept(GROUP, brought, attempts=1, delay_ms=-1)).dead
    assert [letter.properties[DEAD_TOPIC_HEADER] for letter in dead(place)] == ["orders", "orders"]
    assert [letter.properties[DEAD_ID_HEADER] for letter in dead(place)] == ["o", "o"]
    bare = await retries.accept(GROUP, Message(body=b"bare"), attempts=-5, delay_ms=-1)
    assert bare.message_id
    assert dead(place)[-1].id == bare.message_id


class Overhearing:
    """A tracer that keeps which steps belong to a pressure test."""

    def __init__(self) -> None:
        self.heard: list[tuple[TraceKind, bool]] = []

    def note(self, kind: TraceKind, message_id: str, *, is_pressure: bool = False, **_: object) -> None:
        assert message_id == "i"
        self.heard.append((kind, is_pressure))

    def note_range(self, *_: object) -> None: ...

    def note_lot(self, *_: object) -> None: ...


@pytest.mark.parametrize(("mark", "is_pressure"), [("true", True), ("no", False)])
async def test_what_is_sent_back_and_given_up_of_a_pressure_test_is_told_as_that(
    place: Place, topic: Topic, mark: str, is_pressure: bool
) -> None:
    tracer = Overhearing()
    retries = Retries(place.topics, place.topics, place.log, place.timers, place.clock, tracer=tracer)
    message = Message.create(b"m", id="i", properties={PRESSURE_HEADER: mark})
    number, offset = await publish(place, topic, message)
    await retries.send_back(GROUP, number, offset)
    await place.clock.advance(STEPS_MS[0])
    await settle()
    await send_back_the_last(place, retries, delay_ms=-1)
    await retries.accept(GROUP, message, attempts=1)
    assert tracer.heard == [
        (TraceKind.RETRIED, is_pressure), (TraceKind.DEAD_LETTERED, is_pressure), (TraceKind.RETRIED, is_pressure)
    ]  # fmt: skip
