"""What a group may set beyond its fields, by name. Texts, as the catalog keeps them."""

import re
from collections.abc import Mapping
from typing import Final

from braidmq.model.errors import InvalidSetting, NotPermitted
from braidmq.model.numbers import whole_number

RETRY_STEPS: Final = "retry.steps"
"""How long a message waits before it is delivered again: the first time, the second, and so on; the last step counts
for all that come after it. Such as `10s 30s 1m`."""

CONSUME: Final = "consume"
"""`off` where members of the group are given nothing."""

BROADCAST: Final = "consume.broadcast"
"""`off` where members that want all messages for themselves are given none."""

FORBIDDEN: Final = "consume.forbidden"
"""The topics of which the group is given nothing, with spaces between them."""

ROCKETMQ: Final = "braid.rocketmq"
"""What RocketMQ's tools said of the group that means nothing here; kept for them to find again."""

ROCKETMQ_MODES: Final = "braid.rocketmq.modes"
"""How RocketMQ's members of the group are to get messages where the server divides the work: by topic, as JSON."""

LITE_MODEL: Final = "lite.sub.model"
"""`Exclusive` where a lite topic is one member's at a time: whoever subscribes last has it. Else members share it. The
name and the words are RocketMQ's."""

LITE_QUOTA: Final = "lite.sub.client.quota"
"""How many lite topics a member of the group may subscribe to; the node's setting where it says nothing."""

LITE_BIND_TOPIC: Final = "lite.bind.topic"
"""The one topic whose lite topics members of the group read; any where it says nothing."""

LITE_SETTINGS: Final = (LITE_MODEL, LITE_QUOTA, LITE_BIND_TOPIC)
EXCLUSIVE: Final = "Exclusive"
SHARED: Final = "Shared"

OFF: Final = "off"

DEFAULT_RETRY_STEPS: Final = "10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
STEPS_MAX: Final = 100
STEP_MAX_MS: Final = 40 * 86_400_000

_UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_STEP: Final = re.compile(r"([0-9]{1,12})(ms|s|m|h|d)")


def retry_steps_ms(settings: Mapping[str, str]) -> tuple[int, ...]:
    """The steps of a group with these settings. Raises InvalidSetting."""
    text = settings.get(RETRY_STEPS)
    return _DEFAULT_STEPS_MS if text is None else _steps_ms(text)


def forbidden_topics(settings: Mapping[str, str]) -> frozenset[str]:
    return frozenset(settings.get(FORBIDDEN, "").split())


def is_lite_exclusive(settings: Mapping[str, str]) -> bool:
    """Whether a lite topic is one member's at a time."""
    return settings.get(LITE_MODEL) == EXCLUSIVE


def lite_quota(settings: Mapping[str, str], quota_max: int) -> int:
    """How many lite topics a member may subscribe to, where at most `quota_max` may be said."""
    said = whole_number(settings.get(LITE_QUOTA, ""))
    return quota_max if said is None else min(said, quota_max)


def check_lite_settings(settings: Mapping[str, str]) -> None:
    """Raises InvalidSetting."""
    model, quota = settings.get(LITE_MODEL, SHARED), settings.get(LITE_QUOTA, "0")
    if model not in (SHARED, EXCLUSIVE):
        raise InvalidSetting(f"{LITE_MODEL} is {SHARED} or {EXCLUSIVE}, and not {model[:40]!r}")
    if quota != "-1" and whole_number(quota) is None:
        raise InvalidSetting(f"{LITE_QUOTA} is a number from 0 up, or -1 for no other than the node's: {quota[:40]!r}")


def check_consumption(settings: Mapping[str, str], group: str, topic: str, *, broadcast: bool = False) -> None:
    """Whether members of the group may be given messages of the topic. Raises NotPermitted."""
    if settings.get(CONSUME) == OFF:
        raise NotPermitted(f"subscription group no permission, {group}")
    if broadcast and settings.get(BROADCAST) == OFF:
        raise NotPermitted(f"the consumer group[{group}] can not consume by broadcast way")
    if topic in forbidden_topics(settings):
        raise NotPermitted(f"the consumer group[{group}] is forbidden for topic[{topic}]")


def _steps_ms(text: str) -> tuple[int, ...]:
    words = text.split()
    if not 1 <= len(words) <= STEPS_MAX:
        raise InvalidSetting(f"{RETRY_STEPS} names 1 to {STEPS_MAX} steps, not {len(words)}")
    return tuple(_step_ms(word) for word in words)


def _step_ms(word: str) -> int:
    if (found := _STEP.fullmatch(word)) is None:
        raise InvalidSetting(f"{RETRY_STEPS} holds {word[:32]!r}; a step is a number with ms, s, m, h or d behind it")
    step_ms = int(found[1]) * _UNITS_MS[found[2]]
    if step_ms > STEP_MAX_MS:
        raise InvalidSetting(f"{RETRY_STEPS} holds {word!r}; a step is at most 40d")
    return step_ms


_DEFAULT_STEPS_MS: Final = _steps_ms(DEFAULT_RETRY_STEPS)
