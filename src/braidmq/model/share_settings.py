"""What a group may set under the names that Kafka gives it: how share consumers take its messages, and how often those
to whom we assign say that they live.

How often a message is delivered is no setting of its own: it is the group's `attempts_max`, as for every protocol.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from braidmq.model._resources import Group
from braidmq.model.errors import InvalidSetting
from braidmq.model.numbers import whole_number
from braidmq.model.topic_settings import SettingKind

LOCK_MS: Final = "share.record.lock.duration.ms"
RESET: Final = "share.auto.offset.reset"
ISOLATION: Final = "share.isolation.level"
DELIVERIES: Final = "share.delivery.count.limit"
"""The group's `attempts_max` and the first delivery."""

CONSUMER_SESSION: Final = "consumer.session.timeout.ms"
CONSUMER_HEARTBEAT: Final = "consumer.heartbeat.interval.ms"
SHARE_SESSION: Final = "share.session.timeout.ms"
SHARE_HEARTBEAT: Final = "share.heartbeat.interval.ms"

SESSION_MIN_MS: Final = 1_000
SESSION_MAX_MS: Final = 1_800_000
HEARTBEAT_MIN_MS: Final = 100
LOCK_MIN_MS: Final = 1_000
LOCK_MAX_MS: Final = 3_600_000
DELIVERIES_MIN: Final = 2
DELIVERIES_MAX: Final = 2**31 - 1

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
READ_COMMITTED: Final = "read_committed"
READ_UNCOMMITTED: Final = "read_uncommitted"

_DURATION: Final = re.compile(
    r"by_duration:P(?:([0-9]{1,5})D)?(?:T(?:([0-9]{1,6})H)?(?:([0-9]{1,8})M)?(?:([0-9]{1,10})(?:\.([0-9]{1,9}))?S)?)?",
    re.IGNORECASE,
)


class Reset(NamedTuple):
    """Where a group begins in a partition in which it has never been: at the start, at the end, or so long ago."""

    at_start: bool = False
    ago_ms: int | None = None


class SharePolicy(NamedTuple):
    """How share consumers of one group are served."""

    lock_ms: int
    reset: Reset
    is_committed: bool


class Pace(NamedTuple):
    """How long a member may be silent, and how often it is to say that it lives."""

    session_ms: int = 45_000
    heartbeat_ms: int = 5_000


class ShareSetting(NamedTuple):
    """One setting. `check` raises ValueError with what the value has to be."""

    name: str
    default: str
    kind: SettingKind
    documentation: str
    check: Callable[[str], object]


def share_policy(settings: Mapping[str, str]) -> SharePolicy:
    """Of a group with these settings, which were checked when they were made."""
    return SharePolicy(
        lock_ms=_lock_ms(settings.get(LOCK_MS, SHARE_SETTINGS[LOCK_MS].default)),
        reset=_reset(settings.get(RESET, SHARE_SETTINGS[RESET].default)),
        is_committed=settings.get(ISOLATION, READ_UNCOMMITTED) == READ_COMMITTED,
    )


def consumer_pace(settings: Mapping[str, str], usual: Pace) -> Pace:
    """Of Kafka's consumers to whom we assign, in a group with these settings."""
    return _pace(settings, CONSUMER_SESSION, CONSUMER_HEARTBEAT, usual)


def share_pace(settings: Mapping[str, str], usual: Pace) -> Pace:
    """The same of share consumers."""
    return _pace(settings, SHARE_SESSION, SHARE_HEARTBEAT, usual)


def _pace(settings: Mapping[str, str], session: str, heartbeat: str, usual: Pace) -> Pace:
    return Pace(
        int(settings.get(session, usual.session_ms)),
        int(settings.get(heartbeat, usual.heartbeat_ms)),
    )


def share_texts(group: Group) -> dict[str, str]:
    """What is set of a group, by Kafka's names."""
    texts = {name: text for name, text in group.settings.items() if name in SHARE_SETTINGS}
    if group.attempts_max != Group(name=group.name).attempts_max:
        texts[DELIVERIES] = str(group.attempts_max + 1)
    return texts


def with_share_texts(group: Group, texts: Mapping[str, str]) -> Group:
    """The group with exactly this set, by Kafka's names. Raises InvalidSetting."""
    check_share_settings(texts)
    others = {name: text for name, text in group.settings.items() if name not in SHARE_SETTINGS}
    kept = {name: text for name, text in texts.items() if name != DELIVERIES}
    attempts_max = deliveries(texts.get(DELIVERIES, SHARE_SETTINGS[DELIVERIES].default)) - 1
    return replace(group, attempts_max=attempts_max, settings={**others, **kept})


def check_share_settings(texts: Mapping[str, str]) -> None:
    """Raises InvalidSetting."""
    for name, text in texts.items():
        if (setting := SHARE_SETTINGS.get(name)) is None:
            raise InvalidSetting(f"a group has no setting {name!r}; it has {', '.join(SHARE_SETTINGS)}")
        try:
            setting.check(text)
        except ValueError as error:
            raise InvalidSetting(f"{name} {error}, not {text[:64]!r}") from error
    for session, heartbeat in ((CONSUMER_SESSION, CONSUMER_HEARTBEAT), (SHARE_SESSION, SHARE_HEARTBEAT)):
        pace = _pace(texts, session, heartbeat, Pace())
        if pace.heartbeat_ms >= pace.session_ms:
            raise InvalidSetting(f"{heartbeat} ({pace.heartbeat_ms}) is less than {session} ({pace.session_ms})")


def _session_ms(text: str) -> int:
    return _number(text, SESSION_MIN_MS, SESSION_MAX_MS)


def _heartbeat_ms(text: str) -> int:
    return _number(text, HEARTBEAT_MIN_MS, SESSION_MAX_MS)


def _lock_ms(text: str) -> int:
    return _number(text, LOCK_MIN_MS, LOCK_MAX_MS)


def deliveries(text: str) -> int:
    """Raises ValueError."""
    return _number(text, DELIVERIES_MIN, DELIVERIES_MAX)


def _number(text: str, lowest: int, highest: int) -> int:
    number = whole_number(text, 10)
    if number is None or not lowest <= number <= highest:
        raise ValueError(f"is a number from {lowest} to {highest}")
    return number


def _reset(text: str) -> Reset:
    if text in (EARLIEST, LATEST):
        return Reset(at_start=text == EARLIEST)
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise ValueError("is earliest, latest or by_duration: with a duration such as PT1H30M behind it")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    thousandths = int((found[5] or "").ljust(3, "0")[:3])
    return Reset(ago_ms=(((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + thousandths)


def _isolation(text: str) -> None:
    if text not in (READ_COMMITTED, READ_UNCOMMITTED):
        raise ValueError(f"is {READ_COMMITTED} or {READ_UNCOMMITTED}")


_ALL: Final = (
    ShareSetting(
        RESET,
        LATEST,
        SettingKind.STRING,
        "Where the group begins in a partition that is new to it: earliest, latest, or by_duration:PT1H and the like.",
        _reset,
    ),
    ShareSetting(
        DELIVERIES,
        str(Group(name="").attempts_max + 1),
        SettingKind.INT,
        "How often a message is delivered before it goes to the group's dead letters.",
        deliveries,
    ),
    ShareSetting(
        ISOLATION,
        READ_UNCOMMITTED,
        SettingKind.STRING,
        "Whether messages of transactions that are open, or were aborted, are delivered.",
        _isolation,
    ),
    ShareSetting(
        LOCK_MS,
        "30000",
        SettingKind.INT,
        "How long a message is one consumer's, unless it says that it is done or needs longer.",
        _lock_ms,
    ),
    *(
        ShareSetting(name, str(usual), SettingKind.INT, documentation, check)
        for name, usual, documentation, check in (
            (CONSUMER_SESSION, Pace().session_ms, "How long a consumer may be silent.", _session_ms),
            (CONSUMER_HEARTBEAT, Pace().heartbeat_ms, "How often a consumer says that it lives.", _heartbeat_ms),
            (SHARE_SESSION, Pace().session_ms, "How long a share consumer may be silent.", _session_ms),
            (SHARE_HEARTBEAT, Pace().heartbeat_ms, "How often a share consumer says that it lives.", _heartbeat_ms),
        )
    ),
)
SHARE_SETTINGS: Final[Mapping[str, ShareSetting]] = {each.name: each for each in _ALL}
