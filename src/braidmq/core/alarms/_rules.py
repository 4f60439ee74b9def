"""The rules: what they may say, and those that every node has from the beginning."""

import enum
import re
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from braidmq.model.errors import InvalidRequest

NOTIFY_MAX: Final = 20
_ADDRESS: Final = re.compile(r"[^@\s<>,;]{1,64}@[A-Za-z0-9.-]{1,190}\Z")
_WEBHOOK_LENGTH_MAX: Final = 2_048


class RuleKind(enum.StrEnum):
    """What is looked at, and in what its threshold is."""

    LAG = "lag"
    OLDEST_MESSAGE = "oldest_message"
    DEAD_LETTERS = "dead_letters"
    RETRIES = "retries"
    DISK = "disk"
    STORAGE = "storage"
    NO_PRODUCER = "no_producer"
    INCONSISTENT_SUBSCRIPTION = "inconsistent_subscription"
    NOT_READY = "not_ready"


class Severity(enum.StrEnum):
    """How much it matters."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


THRESHOLDS: Final[dict[RuleKind, str]] = {
    RuleKind.LAG: "messages that a group has not come to",
    RuleKind.OLDEST_MESSAGE: "seconds that the oldest message waits for its group",
    RuleKind.DEAD_LETTERS: "messages in a minute that a group gives up",
    RuleKind.RETRIES: "messages in a minute that a group sends back",
    RuleKind.DISK: "percent of the disk that are taken",
    RuleKind.STORAGE: "nothing: whether the disk is full or has failed",
    RuleKind.NO_PRODUCER: "seconds in which nothing comes to a topic",
    RuleKind.INCONSISTENT_SUBSCRIPTION: "nothing: whether members of a group want different things",
    RuleKind.NOT_READY: "nothing: whether the node does not take work",
}


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is wrong when, and who is told."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,64}$", examples=["billing-lag"])]
    kind: Annotated[RuleKind, Meta(examples=["lag"])]
    threshold: Annotated[float, Meta(ge=0, le=1e15, description="More than this is wrong.", examples=[10_000])] = 0.0
    for_s: Annotated[int, Meta(ge=0, le=86_400, description="For how long it must be wrong.", examples=[60])] = 0
    scope: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=255,
            description="Which groups or topics; `*` stands for any characters.",
            examples=["billing-*"],
        ),
    ] = "*"
    severity: Severity = Severity.WARNING
    notify: Annotated[
        list[str],
        Meta(
            max_length=NOTIFY_MAX,
            description="Web addresses that get a POST, and mail addresses.",
            examples=[["https://hooks.example/braid", "ops@example.com"]],
        ),
    ] = []
    enabled: bool = True
    description: Annotated[str, Meta(max_length=1_000)] = ""


class RuleView(msgspec.Struct, frozen=True, kw_only=True):
    """A rule as it is shown."""

    rule: Rule
    is_default: Annotated[bool, Meta(description="Whether nodes have it by themselves, and nobody has changed it.")]
    measures: Annotated[str, Meta(description="In what the threshold is.")]
    firing: Annotated[int, Meta(description="How many things it has found wrong.")]


DEFAULT_RULES: Final = {
    rule.name: rule
    for rule in (
        Rule(
            name="disk-nearly-full",
            kind=RuleKind.DISK,
            threshold=85,
            for_s=60,
            description="The disk of the log fills up; when it is full, writes are refused.",
        ),
        Rule(
            name="storage-failed",
            kind=RuleKind.STORAGE,
            severity=Severity.CRITICAL,
            description="The disk is full or has failed: messages are refused.",
        ),
        Rule(
            name="inconsistent-subscription",
            kind=RuleKind.INCONSISTENT_SUBSCRIPTION,
            for_s=30,
            description="Members of one group want different things of a topic: some messages never reach the group.",
        ),
        Rule(
            name="growing-dead-letters",
            kind=RuleKind.DEAD_LETTERS,
            threshold=10,
            for_s=60,
            description="A group gives up messages again and again.",
        ),
        Rule(
            name="node-not-ready",
            kind=RuleKind.NOT_READY,
            for_s=30,
            severity=Severity.CRITICAL,
            description="A part of the node cannot serve.",
        ),
    )
}
"""Rules that exist out of the box; whoever saves one under the same name changes it."""


def check_rule(rule: Rule) -> Rule:
    """The rule, or InvalidRequest."""
    for target in rule.notify:
        if not (is_webhook(target) or _ADDRESS.match(target)):
            raise InvalidRequest(
                f"notify: cannot be {target[:100]!r}; it is an http or https address, or a mail address"
            )
    return rule


def is_webhook(target: str) -> bool:
    if not target.startswith(("http://", "https://")) or len(target) > _WEBHOOK_LENGTH_MAX:
        return False
    try:
        return bool(urlsplit(target).hostname)
    except ValueError:
        return False


def matches(pattern: str, name: str) -> bool:
    """Whether the name is one that the pattern means. Only `*` is special."""
    parts = pattern.split("*")
    if len(parts) == 1:
        return name == pattern
    if not name.startswith(parts[0]):
        return False
    position = len(parts[0])
    for part in parts[1:-1]:
        found = name.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return len(name) - len(parts[-1]) >= position and name.endswith(parts[-1])
