"""What is wrong: for each kind of rule, the things that are beyond its threshold, from what is known at a moment."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from braidmq.core.alarms._rules import Rule, RuleKind, matches
from braidmq.core.members import Difference
from braidmq.core.samples import Sight
from braidmq.model.names import OWN_TOPIC_PREFIX
from braidmq.model.saying import Saying, say

FOUND_MAX: Final = 1_000
"""How many things one rule may find; the rest waits until there are fewer."""


class Facts(NamedTuple):
    """What is known. `storage` is empty, or says what is wrong with the disk."""

    sight: Sight
    reasons: Mapping[str, str]
    differences: Sequence[Difference]
    storage: str


class Wrong(NamedTuple):
    """One thing that is wrong: the measured value, and a sentence for people."""

    subject: str
    value: float
    said: Saying


def wrongs(rule: Rule, facts: Facts) -> dict[str, Wrong]:
    """What is wrong by this rule, by subject."""
    found: dict[str, Wrong] = {}
    for wrong in _JUDGES[rule.kind](rule, facts):
        if len(found) >= FOUND_MAX:
            break
        found[wrong.subject] = wrong
    return found


def _lag(rule: Rule, facts: Facts) -> Iterator[Wrong]:
    for group in facts.sight.groups.values():
        if group.lag > rule.threshold and _is_meant(rule, group.name):
            said = say("the group {group} is {lag} messages behind", group=group.called, lag=group.lag)
            yield Wrong(f"group {group.called}", group.lag, said)


def _oldest(rule: Rule, facts: Facts) -> Iterator[Wrong]:
    for group in facts.sight.groups.values():
        age_s = (group.oldest_ms or 0) / 1000
        if age_s > rule.threshold and _is_meant(rule, group.name):
            pattern = "the oldest message that the group {group} has not come to is {age} s old"
            yield Wrong(f"group {group.called}", age_s, say(pattern, group=group.called, age=f"{age_s:.0f}"))


def _dead(rule: Rule, facts: Facts) -> Iterator[Wrong]:
    for group in facts.sight.groups.values():
        if group.dead > rule.threshold and _is_meant(rule, group.name):
            pattern = "the group {group} gives up {count} messages in a minute"
            yield Wrong(
                f"group {group.called}", group.dead, say(pattern, group=group.called, count=f"{group.dead:.0f}")
            )


def _retries(rule: Rule, facts: Facts) -> Iterator[Wrong]:
    for group in facts.sight.groups.values():
        if group.retries > rule.threshold and _is_meant(rule, group.name):
            pattern = "the group {group} sends back {count} messages in a minute"
            said = say(pattern, group=group.called, count=f"{group.retries:.0f}")
            yield Wrong(f"group {group.called}", group.retries, said)


def _disk(rule: Rule, facts: Facts) -> Iterator[Wrong]:
    total, free = (facts.sight.node.get(f"disk_{which}_bytes", 0.0) for which in ("total", "free"))
    taken = 100 * (1 - free / total) if total > 0 else 0.0
    if taken > rule.threshold:
        pattern = "{taken} % of the disk are taken, {free} GiB are free"
        yield Wrong("node", round(taken, 1), say(pattern, taken=f"{taken:.1f}", free=f"{free / (1 << 30):.1f}"))


def _storage(_: Rule, facts: Facts) -> Iterator[Wrong]:
    if facts.storage:
        yield Wrong("node", 1.0, say("{storage}", storage=facts.storage))


def _no_producer(rule: Rule, facts: Facts) -> Iterator[Wrong]:
    for topic in facts.sight.topics.values():
        silent_s = topic.silent_ms / 1000
        if silent_s > rule.threshold and matches(rule.scope, topic.name):
            pattern = "nothing has come to the topic {topic} for {silent} s"
            said = say(pattern, topic=topic.name, silent=f"{silent_s:.0f}")
            yield Wrong(f"topic {topic.instance}/{topic.name}", silent_s, said)


def _inconsistent(rule: Rule, facts: Facts) -> Iterator[Wrong]:
    for each in facts.differences:
        if matches(rule.scope, each.group) or matches(rule.scope, each.topic):
            pattern = "members of the group {group} want different things of the topic {topic}"
            said = say(pattern, group=each.group, topic=each.topic)
            yield Wrong(f"group {each.group}, topic {each.topic}", float(len(each.wishes)), said)


def _not_ready(_: Rule, facts: Facts) -> Iterator[Wrong]:
    for part, reason in facts.reasons.items():
        yield Wrong(f"node, {part}", 1.0, say("the node is not ready: {part}: {reason}", part=part, reason=reason))


def _is_meant(rule: Rule, group: str) -> bool:
    """What the house itself reads is meant only by its name."""
    return matches(rule.scope, group) and (not group.startswith(OWN_TOPIC_PREFIX) or rule.scope != "*")


_JUDGES: Final[Mapping[RuleKind, Callable[[Rule, Facts], Iterator[Wrong]]]] = {
    RuleKind.LAG: _lag,
    RuleKind.OLDEST_MESSAGE: _oldest,
    RuleKind.DEAD_LETTERS: _dead,
    RuleKind.RETRIES: _retries,
    RuleKind.DISK: _disk,
    RuleKind.STORAGE: _storage,
    RuleKind.NO_PRODUCER: _no_producer,
    RuleKind.INCONSISTENT_SUBSCRIPTION: _inconsistent,
    RuleKind.NOT_READY: _not_ready,
}
