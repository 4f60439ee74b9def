"""What watches over a node, wired: samples, the audit log, alarms, inspection, settings from the centre, live events.

Opened when the core is wired and before anybody is listened to, so that no change goes unnoted; closed in turn.
"""

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from braidmq.core.alarms import Alarms, Facts, MailServer, Notices
from braidmq.core.answers import KIND as ANSWER_KIND
from braidmq.core.answers import Answers
from braidmq.core.audit import Audit
from braidmq.core.central import CentralSettings
from braidmq.core.history import History
from braidmq.core.inspection import Disk, Inspection, Scene
from braidmq.core.live import LiveEvents
from braidmq.core.metrics import Metric
from braidmq.core.samples import Looker, Parts, Sampler, Samples, Sight
from braidmq.core.timing import LoopClock
from braidmq.node._history import FOLDER_NAME, PipelineHistory
from braidmq.node._holds import Holds
from braidmq.node._obedience import Obedience
from braidmq.settings import shown_settings
from braidmq.store import AuditRows, DocumentRows, SampleRows, Store

if TYPE_CHECKING:
    from braidmq.node._node import Node
    from braidmq.protocols.http import OperationsServices

_MS: Final = 1_000
PARKED_MAX: Final = 1_000


class OperationsDesk:
    """Made by the node, `open`ed before its listeners."""

    def __init__(self, node: "Node", store: Store) -> None:
        clock = LoopClock()
        self._node = node
        self._open = contextlib.AsyncExitStack()
        self.audit = Audit(node.settings.node.name, AuditRows(store), clock, keep_ms=node.settings.audit.keep_s * _MS)
        self.answers = Answers(DocumentRows(store, ANSWER_KIND), clock)
        rows = SampleRows(store)
        self.samples = Samples(rows, clock)
        self.sampler = Sampler(Looker(self._parts(), clock), rows, clock)
        self.alarms = Alarms(
            node.settings.node.name,
            DocumentRows(store, "rule"),
            DocumentRows(store, "silence"),
            DocumentRows(store, "alarm"),
            Notices(self._mail_server, clock.now_ms),
            clock,
        )
        self.alarms.is_on = lambda: node.settings.alarms.evaluate == "on"
        self.sampler.follow(self._look_for_alarms)
        self._rows = rows
        self._pipeline = PipelineHistory(self._pipeline_folder)
        self.history = History(self._pipeline, clock)
        self.live = LiveEvents(node.usage, node.counters, self.sampler, self.alarms, clock)
        self.settings = CentralSettings(node.catalog, Obedience(node))
        self.inspection = Inspection(
            node.settings.node.name,
            self._scene,
            DocumentRows(store, "inspection"),
            clock,
            every_s=lambda: node.settings.inspection.every_s,
        )

    async def open(self) -> None:
        """Begin to watch."""
        await self.alarms.open()
        self._open.push_async_callback(self._pipeline.close)
        self._open.callback(self.live.end)
        self.settings.open()
        self._open.callback(self.settings.close)
        self._open.push_async_callback(self.alarms.close)
        for part in (self.audit, self.answers, self.sampler, self.inspection):
            part.start()
            self._open.push_async_callback(part.close)

    async def close(self) -> None:
        await self._open.aclose()

    def services(self) -> "OperationsServices":
        """What the HTTP interface is given."""
        from braidmq.protocols.http import OperationsServices  # costs a third of the start: not before it is asked for

        return OperationsServices(
            samples=self.samples,
            audit=self.audit,
            answers=self.answers,
            alarms=self.alarms,
            inspection=self.inspection,
            settings=self.settings,
            live=self.live,
            history=self.history,
        )

    def metrics(self) -> Iterator[Metric]:
        yield from self.sampler.metrics()
        yield from self.audit.metrics()
        yield from self.alarms.metrics()

    def _parts(self) -> Parts:
        node = self._node
        return Parts(
            catalog=node.catalog,
            log=node.log,
            counters=node.counters,
            usage=node.usage,
            lags=node.lags,
            looks_at_lag=node.telemetry is None,
            connections=self._connections,
        )

    async def _look_for_alarms(self, sight: Sight) -> None:
        node = self._node
        statistics = node.log.statistics()
        storage = "the disk has failed: only a restart helps" if statistics.failed else ""
        if statistics.storage_full:
            storage = "the disk is full: messages are refused"
        await self.alarms.look(Facts(sight, self._reasons(), node.members.differences(), storage))

    def _reasons(self) -> Mapping[str, str]:
        """That the node starts or stops is nothing wrong."""
        return {part: reason for part, reason in self._node.health.reasons.items() if part != "node"}

    def _mail_server(self) -> MailServer:
        alarms = self._node.settings.alarms
        return MailServer(
            alarms.smtp_host,
            alarms.smtp_port,
            alarms.smtp_tls,
            alarms.smtp_user,
            alarms.smtp_password,
            alarms.smtp_from,
        )

    def _scene(self, clock_steps_ms: int) -> Scene:
        node = self._node
        statistics = node.log.statistics()
        return Scene(
            sight=self.sampler.latest,
            catalog=node.catalog,
            log=node.log,
            lags=node.lags,
            differences=node.members.differences(),
            disk=Disk(
                group_commits=statistics.group_commits,
                sync_us_total=statistics.sync_us_total,
                journal_bytes=statistics.journal_bytes,
                journal_file_bytes=node.settings.log.journal_file_bytes,
                damaged_ranges=statistics.damaged_ranges,
                is_full=statistics.storage_full,
                has_failed=statistics.failed,
            ),
            held_bytes=Holds(node.catalog).by_topic(node.log.held_bytes()),
            settings=shown_settings(node.settings),
            clock_steps_ms=clock_steps_ms,
            samples=self._rows,
            parked_timers=partial(node.timers.page, parked=True, limit=PARKED_MAX),
            parked_halves=partial(node.halves.page, parked=True, limit=PARKED_MAX),
        )

    def _pipeline_folder(self) -> Path:
        settings = self._node.settings
        return Path(settings.archive.folder) if settings.archive.folder else settings.node.data / FOLDER_NAME

    def _connections(self) -> Mapping[str, int]:
        return {listener.name: listener.connected for listener in self._node.listeners}
