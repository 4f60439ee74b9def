"""What a group may set of how share consumers take its messages."""

import pytest

from braidmq.model import Group
from braidmq.model.errors import InvalidSetting
from braidmq.model.share_settings import (
    CONSUMER_HEARTBEAT,
    CONSUMER_SESSION,
    DELIVERIES,
    ISOLATION,
    LOCK_MS,
    READ_COMMITTED,
    RESET,
    SHARE_HEARTBEAT,
    SHARE_SESSION,
    Pace,
    Reset,
    SharePolicy,
    consumer_pace,
    share_pace,
    share_policy,
    share_texts,
    with_share_texts,
)

HOUR_MS = 3_600_000


def test_a_group_that_says_nothing_is_served_as_kafka_serves_it() -> None:
    assert share_policy({}) == SharePolicy(lock_ms=30_000, reset=Reset(), is_committed=False)
    assert share_texts(Group(name="g")) == {}


@pytest.mark.parametrize(
    ("text", "reset"),
    [
        ("earliest", Reset(at_start=True)),
        ("latest", Reset()),
        ("by_duration:PT1H", Reset(ago_ms=HOUR_MS)),
        ("by_duration:P1DT2H30M", Reset(ago_ms=26 * HOUR_MS + HOUR_MS // 2)),
        ("by_duration:PT1.25S", Reset(ago_ms=1250)),
        ("by_duration:p2d", Reset(ago_ms=48 * HOUR_MS)),
    ],
)
def test_a_group_begins_at_an_end_or_so_long_ago(text: str, reset: Reset) -> None:
    assert share_policy({RESET: text}).reset == reset


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (RESET, "by_duration:P"),
        (RESET, "by_duration:PT"),
        (RESET, "by_duration:1H"),
        (RESET, ""),
        (LOCK_MS, "999"),
        (LOCK_MS, "3600001"),
        (LOCK_MS, "-5"),
        (LOCK_MS, "١٢٣٤"),
        (ISOLATION, "READ_COMMITTED"),
        (DELIVERIES, "1"),
        (CONSUMER_SESSION, "999"),
        (SHARE_SESSION, "1800001"),
        (CONSUMER_HEARTBEAT, "99"),
        (SHARE_HEARTBEAT, "45000"),
        ("share.nothing", "1"),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(name: str, text: str) -> None:
    with pytest.raises(InvalidSetting, match=name):
        with_share_texts(Group(name="g"), {name: text})


def test_other_settings_of_the_group_stay_and_deliveries_are_its_attempts() -> None:
    group = Group(name="g", attempts_max=2, settings={"consume": "off", LOCK_MS: "5000"})
    assert share_texts(group) == {DELIVERIES: "3", LOCK_MS: "5000"}
    changed = with_share_texts(group, {DELIVERIES: "8", ISOLATION: READ_COMMITTED})
    assert changed == Group(name="g", attempts_max=7, settings={"consume": "off", ISOLATION: READ_COMMITTED})
    assert with_share_texts(changed, {}) == Group(name="g", settings={"consume": "off"})


def test_members_keep_the_pace_of_their_group() -> None:
    usual = Pace()
    texts = {CONSUMER_SESSION: "6000", CONSUMER_HEARTBEAT: "500"}
    settings = with_share_texts(Group(name="g"), texts).settings
    assert consumer_pace(settings, usual) == Pace(6000, 500)
    assert share_pace(settings, usual) == usual
    assert share_pace({SHARE_HEARTBEAT: "100"}, usual) == usual._replace(heartbeat_ms=100)
