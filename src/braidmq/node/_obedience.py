"""A node obeys its settings while it runs: what each of those that may change means for its parts."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from braidmq.core.central import SettingFacts
from braidmq.core.publish import PublishLimits
from braidmq.logger import get_logger
from braidmq.settings import PUSHED, checked_text, effective, keys, shown_settings

if TYPE_CHECKING:
    from braidmq.node._node import Node

_logger = get_logger(__name__)


class Obedience:
    """See `core.central.SettingsPort`. Settings that parts ask for each time need nothing more than to be changed."""

    def __init__(self, node: "Node") -> None:
        self._node = node

    def facts(self) -> list[SettingFacts]:
        shown = shown_settings(self._node.settings)
        return [
            SettingFacts(
                key=path,
                value=shown[path],
                origin=self._node.origins.get(path, "default"),
                default=key.show(key.default),
                allowed=key.kind.allowed,
                description=key.description,
                is_pushed=path in PUSHED,
                is_secret=key.secret,
            )
            for path, key in keys().items()
        ]

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
    node.topics.partitions = node.settings.topics.partitions


def _inspection(node: "Node") -> None:
    node.desk.inspection.reschedule()


def _audit(node: "Node") -> None:
    node.desk.audit.keep_ms = node.settings.audit.keep_s * 1000


_MEANINGS: Final[Mapping[str, Callable[["Node"], None]]] = {
    "publish": _publish,
    "timers": _timers,
    "trace": _trace,
    "query": _query,
    "cursors": _cursors,
    "topics": _topics,
    "inspection": _inspection,
    "audit": _audit,
}
