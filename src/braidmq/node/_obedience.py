"""A node obeys its settings while it runs: what each of those that may change means for its parts."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from braidmq.core.central import SettingFacts
from braidmq.core.halves import HalfLimits
from braidmq.core.publish import PublishLimits
from braidmq.logger import get_logger
from braidmq.settings import PUSHED, HalvesSettings, checked_text, effective, is_own, keys, shown_settings

if TYPE_CHECKING:
    from braidmq.node._node import Node

_logger = get_logger(__name__)


class Obedience:
    """See `core.central.SettingsPort`. Settings that parts ask for each time need nothing more than to be changed."""

    def __init__(self, node: "Node") -> None:
        self._node = node

    def facts(self) -> list[SettingFacts]:
        settings, origins = self._node.settings, self._node.origins
        shown = shown_settings(settings)
        facts = []
        for path, key in keys().items():
            value = getattr(getattr(settings, key.section), key.name)
            origin = origins.get(path, "default")
            facts.append(
                SettingFacts(
                    key=path,
                    value=shown[path],
                    origin=origin,
                    default=key.show(key.default),
                    allowed=key.kind.allowed,
                    description=key.description,
                    is_pushed=path in PUSHED,
                    is_secret=key.secret,
                    is_own=is_own(origin),
                    number=value if isinstance(value, int) else None,
                )
            )
        return facts

    def checked(self, key: str, value: str) -> str:
        return checked_text(key, value)

    def obey(self, central: Mapping[str, str]) -> None:
        node = self._node
        before = node.settings
        node.settings, node.origins = effective(node.started_with, node.own_origins, central)
        for section in before.__struct_fields__:
            if getattr(before, section) != getattr(node.settings, section) and section in _MEANINGS:
                _MEANINGS[section](node)
        _logger.info("settings obeyed", central=sorted(central))


def _publish(node: "Node") -> None:
    section = node.settings.publish
    node.publisher.limits = PublishLimits(
        body_bytes_max=section.body_bytes_max, deferred_bytes_max=section.deferred_bytes_max
    )


def _timers(node: "Node") -> None:
    node.timers.delay_max_ms = node.settings.timers.delay_max_s * 1000


def _trace(node: "Node") -> None:
    node.trace.on = node.settings.trace.events == "on"
    node.trace.keep_ms = node.settings.trace.keep_s * 1000


def _query(node: "Node") -> None:
    node.query.take_share(node.settings.query.share_percent / 100)


def _cursors(node: "Node") -> None:
    section = node.settings.cursors
    node.cursors.limits = msgspec.structs.replace(
        node.cursors.limits, open_max=section.open_max, waiting_max=section.waiting_max
    )


def _topics(node: "Node") -> None:
    section = node.settings.topics
    node.topics.partitions, node.topics.auto_create = section.partitions, section.auto_create == "on"


def _halves(node: "Node") -> None:
    """Halves that wait already keep the time that they were given for the next question."""
    node.halves.limits = half_limits(node.settings.halves)


def _groups(node: "Node") -> None:
    """Locks that are held already end when they were to end, or are asked for again."""
    node.locks.lease_ms = node.settings.groups.lock_lease_s * 1000


def _rocketmq(node: "Node") -> None:
    section = node.settings.rocketmq
    if node.broker_facts is not None:
        node.broker_facts.default_queues = section.default_queues
        node.broker_facts.pull_messages_max = section.pull_messages_max


def _inspection(node: "Node") -> None:
    node.desk.inspection.reschedule()


def _audit(node: "Node") -> None:
    node.desk.audit.keep_ms = node.settings.audit.keep_s * 1000


def half_limits(section: HalvesSettings) -> HalfLimits:
    return HalfLimits(
        immunity_ms=section.immunity_s * 1000,
        check_interval_ms=section.check_interval_s * 1000,
        checks_max=section.checks_max,
        unheard_max_ms=section.unheard_max_s * 1000,
        remember_ms=section.remember_s * 1000,
    )


_MEANINGS: Final[Mapping[str, Callable[["Node"], None]]] = {
    "publish": _publish,
    "timers": _timers,
    "trace": _trace,
    "query": _query,
    "cursors": _cursors,
    "topics": _topics,
    "halves": _halves,
    "groups": _groups,
    "rocketmq": _rocketmq,
    "inspection": _inspection,
    "audit": _audit,
}
