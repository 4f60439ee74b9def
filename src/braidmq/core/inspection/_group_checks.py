"""Checks of groups, and of messages that wait for somebody."""

from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Final

from braidmq.core.inspection._checks import SHOWN_MAX
from braidmq.core.inspection._scene import Scene
from braidmq.core.samples import GroupSight
from braidmq.model import DEFAULT_INSTANCE
from braidmq.model.finding import Finding, ok, warn
from braidmq.model.names import OWN_TOPIC_PREFIX
from braidmq.model.saying import say

HOUR_MS: Final = 3_600_000
GROWTH_GROUPS_MAX: Final = 50
"""Of how many groups the course of the last hour is read, those that are furthest behind."""
GROWTH_SAMPLES_MIN: Final = 5


async def check_abandoned_groups(scene: Scene) -> AsyncIterator[Finding]:
    """Groups that are behind and have nobody, where members are known."""
    groups = [each for each in scene.sight.groups.values() if each.instance == DEFAULT_INSTANCE]
    behind = [each for each in groups if each.lag and not each.members]
    for group in sorted(behind, key=lambda each: -each.lag)[:SHOWN_MAX]:
        if not group.name.startswith(OWN_TOPIC_PREFIX):
            yield warn(
                "groups without members",
                say("{lag} messages wait, and the group has no member", lag=group.lag),
                "start its consumers, or delete the group where nobody needs it",
                subject=f"group {group.name}",
                command=f"braid group show {group.name}",
            )


async def check_growing_lag(scene: Scene) -> AsyncIterator[Finding]:
    """Groups whose lag has only grown for an hour."""
    behind = sorted((each for each in scene.sight.groups.values() if each.lag), key=lambda each: -each.lag)
    until_ms = scene.sight.at_ms + 1
    for group in behind[:GROWTH_GROUPS_MAX]:
        rows = await scene.samples.read(group.scope, until_ms - HOUR_MS, until_ms, 100)
        lags = [row.figures.get("lag", 0.0) for row in rows]
        if only_grows(lags):
            yield warn(
                "growing lag",
                say(
                    "the lag has only grown, from {first} to {last} messages within the last hour",
                    first=f"{lags[0]:.0f}",
                    last=f"{lags[-1]:.0f}",
                ),
                "give the group more members or partitions, or look at what makes it slow",
                subject=f"group {group.called}",
                command=_show(group),
            )


def _show(group: GroupSight) -> str:
    command = f"braid group show {group.name}"
    return command if group.instance == DEFAULT_INSTANCE else f"{command} --instance {group.instance}"


def only_grows(lags: Sequence[float]) -> bool:
    """Whether there is enough to judge by, nothing ever shrank, and something was added."""
    if len(lags) < GROWTH_SAMPLES_MIN:
        return False
    return all(later >= earlier for earlier, later in pairwise(lags)) and lags[-1] > lags[0]


async def check_subscriptions(scene: Scene) -> AsyncIterator[Finding]:
    if not scene.differences:
        yield ok("subscriptions", say("members of every group want the same"))
    for each in scene.differences[:SHOWN_MAX]:
        wishes = "; ".join(f"{', '.join(members[:3])}: {wish}" for wish, members in list(each.wishes.items())[:5])
        yield warn(
            "inconsistent subscriptions",
            say("members want different things of the topic {topic}: {wishes}", topic=each.topic, wishes=wishes[:400]),
            "run the same version with the same subscription everywhere: some messages never reach the group",
            subject=f"group {each.group}",
            command=f"braid group show {each.group}",
        )


async def check_parked(scene: Scene) -> AsyncIterator[Finding]:
    """Delayed and half messages that wait for an operator's word."""
    for what, plural, parked in (
        ("timer", "delayed messages", await scene.parked_timers()),
        ("tx", "half messages", await scene.parked_halves()),
    ):
        topics = sorted({each.topic for each in parked})
        for topic in topics[:SHOWN_MAX]:
            first = next(each for each in parked if each.topic == topic)
            yield warn(
                f"parked {plural}",
                say(
                    "{count} or more wait for an operator: {why}",
                    count=sum(each.topic == topic for each in parked),
                    why=first.parked[:400],
                ),
                "decide about each: release it to a topic, or drop it",
                subject=f"topic {topic}",
                command=f"braid {what} list --parked",
            )
