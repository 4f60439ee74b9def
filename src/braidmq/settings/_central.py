"""Values from the centre among those that a node was started with.

A flag beats the environment, which beats the centre, which beats the file, which beats the default: what somebody has
typed for this one node is meant for it, and what is in a file is what the centre is there to change.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from braidmq.model.errors import InvalidSetting
from braidmq.settings._keys import Key, keys
from braidmq.settings._load import DEFAULT_ORIGIN
from braidmq.settings._structs import Settings

CENTRAL_ORIGIN: Final = "central"
PUSHED: Final = frozenset(
    {
        "alarms.evaluate",
        "alarms.smtp_from",
        "alarms.smtp_host",
        "alarms.smtp_port",
        "alarms.smtp_tls",
        "alarms.smtp_user",
        "audit.keep_s",
        "cursors.open_max",
        "cursors.waiting_max",
        "groups.lock_lease_s",
        "halves.check_interval_s",
        "halves.checks_max",
        "halves.immunity_s",
        "halves.remember_s",
        "halves.unheard_max_s",
        "inspection.every_s",
        "publish.body_bytes_max",
        "publish.deferred_bytes_max",
        "query.share_percent",
        "rocketmq.default_queues",
        "rocketmq.pull_messages_max",
        "timers.delay_max_s",
        "topics.auto_create",
        "topics.partitions",
        "trace.events",
        "trace.keep_s",
    }
)
"""What a node obeys while it runs. Passwords are not among them: they would lie in the database."""

_OWN_ORIGINS: Final = ("-", "environment ")
"""How the origins begin that the centre does not beat."""


class Effective(NamedTuple):
    """What a node goes by, and where each value came from, by key path."""

    settings: Settings
    origins: Mapping[str, str]


def is_own(origin: str) -> bool:
    """Whether a value from there was meant for this one node, so that the centre does not beat it."""
    return origin.startswith(_OWN_ORIGINS)


def effective(started: Settings, origins: Mapping[str, str], central: Mapping[str, str]) -> Effective:
    """The settings of a node's start with the central values where those count. A central value that this version does
    not know, or does not take, is passed over: another version may have set it."""
    sections: dict[str, dict[str, object]] = {}
    now = dict(origins)
    for path, text in central.items():
        key = keys().get(path)
        if key is None or path not in PUSHED or is_own(origins.get(path, DEFAULT_ORIGIN)):
            continue
        try:
            sections.setdefault(key.section, {})[key.name] = key.kind.parse(text)
        except ValueError:
            continue
        now[path] = CENTRAL_ORIGIN
    changed = {
        name: msgspec.structs.replace(getattr(started, name), **values) for name, values in sections.items() if values
    }
    return Effective(msgspec.structs.replace(started, **changed), now)


def checked_text(path: str, text: str) -> str:
    """A value as it is to be kept. Raises InvalidSetting."""
    key: Key = keys()[path]
    try:
        return key.kind.show(key.kind.parse(text))
    except ValueError:
        raise InvalidSetting(f"{path} cannot be {text[:100]!r}; it is {key.kind.allowed}") from None


def known_origins(settings: Settings) -> dict[str, str]:
    """Where values come from when nobody says: what is not the default was set in the program."""
    return {
        path: DEFAULT_ORIGIN if getattr(getattr(settings, key.section), key.name) == key.default else "program"
        for path, key in keys().items()
    }
