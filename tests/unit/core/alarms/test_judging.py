"""What each kind of rule finds wrong."""

from typing import Any

import pytest

from braidmq.core.alarms import Facts, Rule, RuleKind
from braidmq.core.alarms._judge import wrongs
from braidmq.core.members import Difference
from braidmq.core.samples import GroupSight, Sight, TopicSight

GROUPS = {
    ("default", "billing"): GroupSight(name="billing", lag=100, oldest_ms=60_000, retries=5.0, dead=20.0),
    ("default", "quiet"): GroupSight(name="quiet"),
    ("default", "__braid.archive"): GroupSight(name="__braid.archive", lag=1_000),
}
TOPICS = {
    ("default", "orders"): TopicSight(instance="default", name="orders", silent_ms=120_000),
    ("default", "live"): TopicSight(instance="default", name="live"),
}
NODE = {"disk_total_bytes": 100.0, "disk_free_bytes": 10.0}
FACTS = Facts(
    Sight(1, NODE, TOPICS, GROUPS, is_close=True),
    {"log": "it failed"},
    [Difference("billing", "orders", {"*": ("a",), "tag b": ("b",)})],
    "the disk is full",
)
NOTHING = Facts(Sight(1, {}, {}, {}, is_close=True), {}, [], "")


def rule(kind: RuleKind, **more: Any) -> Rule:
    return Rule(name="r", kind=kind, **more)


@pytest.mark.parametrize(
    ("kind", "threshold", "subject"),
    [
        (RuleKind.LAG, 99, "group billing"),
        (RuleKind.OLDEST_MESSAGE, 59, "group billing"),
        (RuleKind.DEAD_LETTERS, 19, "group billing"),
        (RuleKind.RETRIES, 4, "group billing"),
        (RuleKind.DISK, 89, "node"),
        (RuleKind.STORAGE, 0, "node"),
        (RuleKind.NO_PRODUCER, 119, "topic default/orders"),
        (RuleKind.INCONSISTENT_SUBSCRIPTION, 0, "group billing, topic orders"),
        (RuleKind.NOT_READY, 0, "node, log"),
    ],
)
def test_every_kind_finds_what_is_beyond_its_threshold_and_nothing_where_all_is_well(
    kind: RuleKind, threshold: float, subject: str
) -> None:
    assert list(wrongs(rule(kind, threshold=threshold), FACTS)) == [subject]
    assert wrongs(rule(kind, threshold=threshold), NOTHING) == {}


@pytest.mark.parametrize(
    ("kind", "threshold"),
    [
        (RuleKind.LAG, 100),
        (RuleKind.OLDEST_MESSAGE, 60),
        (RuleKind.DEAD_LETTERS, 20),
        (RuleKind.RETRIES, 5),
        (RuleKind.DISK, 90.5),
        (RuleKind.NO_PRODUCER, 120),
    ],
)
def test_the_threshold_itself_is_not_wrong(kind: RuleKind, threshold: float) -> None:
    assert wrongs(rule(kind, threshold=threshold), FACTS) == {}


def test_a_scope_chooses_and_the_house_is_meant_only_by_its_name() -> None:
    assert wrongs(rule(RuleKind.LAG, scope="other-*"), FACTS) == {}
    assert list(wrongs(rule(RuleKind.LAG, scope="__braid.*"), FACTS)) == ["group __braid.archive"]


def test_a_group_of_another_instance_is_told_of_with_its_instance() -> None:
    groups = {
        ("default", "billing"): GroupSight(name="billing", lag=100),
        ("retail", "billing"): GroupSight(name="billing", instance="retail", lag=200),
    }
    found = wrongs(rule(RuleKind.LAG, threshold=50), NOTHING._replace(sight=Sight(1, {}, {}, groups, is_close=True)))
    assert {subject: wrong.value for subject, wrong in found.items()} == {
        "group billing": 100,
        "group retail/billing": 200,
    }
    assert str(found["group retail/billing"].said) == "the group retail/billing is 200 messages behind"
