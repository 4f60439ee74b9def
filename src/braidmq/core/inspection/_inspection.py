"""Runs the checks, keeps the reports, and does so again and again."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Final, Literal
from uuid import uuid4

import msgspec
from msgspec import Meta

from braidmq.core.desk import Page, PageAsk, page_of
from braidmq.core.inspection import _checks, _group_checks
from braidmq.core.inspection._scene import Scene
from braidmq.core.timing import Clock
from braidmq.logger import get_logger
from braidmq.model.errors import InvalidRequest, UnknownInspection
from braidmq.model.finding import Finding, Standing, fail
from braidmq.store import Document, DocumentRows

REPORTS_MAX: Final = 100
FINDINGS_MAX: Final = 500
Check = Callable[[Scene], AsyncIterator[Finding]]
Cause = Literal["scheduled", "asked"]

CHECKS: Final[tuple[Check, ...]] = (
    _checks.check_disk,
    _checks.check_sync,
    _checks.check_journal,
    _checks.check_damage,
    _checks.check_clock,
    _checks.check_risky_settings,
    _checks.check_held,
    _group_checks.check_subscriptions,
    _group_checks.check_growing_lag,
    _group_checks.check_abandoned_groups,
    _checks.check_dead_letters,
    _group_checks.check_parked,
    _checks.check_topics,
    _checks.check_balance,
)

_logger = get_logger(__name__)


class ReportLine(msgspec.Struct, frozen=True, kw_only=True):
    """An inspection in the list of them."""

    id: str
    at_ms: int
    node: Annotated[str, Meta(examples=["node-1"])]
    cause: Annotated[Cause, Meta(examples=["scheduled"])]
    took_ms: int
    standing: Annotated[Standing, Meta(description="That of its worst finding.")]
    counts: Annotated[dict[str, int], Meta(examples=[{"ok": 5, "warn": 2, "fail": 0}])]


class Report(ReportLine, frozen=True, kw_only=True):
    """An inspection with all that it found, the worst first."""

    findings: list[Finding]


_encode = msgspec.msgpack.Encoder().encode
_report = msgspec.msgpack.Decoder(Report).decode


class Inspection:
    """Make it, then `start`. `every_s` is asked before each pause, because settings may change."""

    def __init__(
        self,
        node: str,
        scene: Callable[[int], Scene],
        rows: DocumentRows,
        clock: Clock,
        *,
        every_s: Callable[[], int],
    ) -> None:
        self._node = node
        self._scene = scene
        self._rows = rows
        self._clock = clock
        self._every_s = every_s
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._running = False
        self._drift_ms = self._drift()

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="inspection")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    def reschedule(self) -> None:
        """How often may have changed: the pause begins anew."""
        self._changed.set()

    async def inspect(self, cause: Cause = "asked") -> Report:
        """Look at everything now. Raises InvalidRequest while that is being done already, StoreFailed."""
        if self._running:
            raise InvalidRequest("an inspection is under way; ask for its report in a moment")
        self._running = True
        try:
            report = await self._look(cause)
        finally:
            self._running = False
        await self._rows.put(Document(report.id, report.at_ms, _encode(report)))
        await self._rows.trim(keep_max=REPORTS_MAX)
        return report

    async def reports(self, ask: PageAsk) -> Page[ReportLine]:
        """The last hundred, the latest first."""
        kept = [_report(document.content) for document in await self._rows.latest(REPORTS_MAX)]
        return page_of(
            kept,
            ask,
            text=lambda report: f"{report.node} {report.cause} {report.standing}",
            sorts={"latest": lambda report: -report.at_ms},
            view=lambda reports: [_line(each) for each in reports],
        )

    async def report(self, report_id: str) -> Report:
        """Raises UnknownInspection."""
        found = await self._rows.get(report_id)
        if found is None:
            raise UnknownInspection(f"there is no inspection {report_id[:64]!r}")
        return _report(found.content)

    async def _look(self, cause: Cause) -> Report:
        started = time.perf_counter()
        drift_ms = self._drift()
        scene = self._scene(drift_ms - self._drift_ms)
        self._drift_ms = drift_ms
        findings: list[Finding] = []
        for check in CHECKS:
            findings += await _found(check, scene)
        findings.sort(key=lambda each: -_ORDER.index(each.standing))
        counts = {standing.value: sum(each.standing is standing for each in findings) for standing in Standing}
        return Report(
            id=uuid4().hex,
            at_ms=self._clock.now_ms(),
            node=self._node,
            cause=cause,
            took_ms=round((time.perf_counter() - started) * 1000),
            standing=findings[0].standing if findings else Standing.OK,
            counts=counts,
            findings=findings[:FINDINGS_MAX],
        )

    def _drift(self) -> int:
        """By how much the time of day is ahead of the time that has passed."""
        return round(self._clock.now_ms() - self._clock.passed_ms())

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            timer = self._clock.call_later(self._every_s() * 1000, self._changed.set)
            due_ms = self._clock.passed_ms() + self._every_s() * 1000
            try:
                await self._changed.wait()
            finally:
                timer.cancel()
            if self._clock.passed_ms() >= due_ms - 1:
                await self._inspect_scheduled()

    async def _inspect_scheduled(self) -> None:
        try:
            report = await self.inspect("scheduled")
        except Exception:  # reported; the next one comes in its time
            _logger.exception("the inspection failed")
        else:
            _logger.info("inspected", **report.counts)


_ORDER: Final = list(Standing)


async def _found(check: Check, scene: Scene) -> list[Finding]:
    name = check.__name__.removeprefix("check_").replace("_", " ")
    try:
        return [finding async for finding in check(scene)]
    except Exception as error:  # reported as a finding; the other checks still have to be made
        _logger.exception("a check failed", check=name)
        return [fail(name, f"the check could not be made: {error}"[:500], "see the node's log")]


def _line(report: Report) -> ReportLine:
    return ReportLine(**{name: getattr(report, name) for name in ReportLine.__struct_fields__})
