"""Notes of changes: bounded, kept by and by, and never in anybody's way."""

import asyncio
from collections.abc import Sequence
from typing import cast

from braidmq.core.access import Action, Need, ResourceKind
from braidmq.core.audit import DETAIL_LENGTH_MAX, NAME_LENGTH_MAX, WAITING_MAX, Audit, is_change
from braidmq.core.timing import LoopClock
from braidmq.model.errors import StoreFailed
from braidmq.store import AuditRow, AuditRows

NEED = Need(Action.CREATE, ResourceKind.TOPIC)


class Rows:
    def __init__(self) -> None:
        self.rows: list[AuditRow] = []
        self.fails = False

    async def add(self, entries: Sequence[AuditRow], *, before_ms: int) -> int:  # noqa: ARG002
        if self.fails:
            raise StoreFailed
        self.rows += entries
        return 0


def audit_on(rows: Rows) -> Audit:
    return Audit("n", cast("AuditRows", rows), LoopClock(), keep_ms=1_000)


def note(audit: Audit, name: str = "t", detail: str = "") -> None:
    audit.note(
        protocol="http", address="::1", operation="create_topic", need=NEED, name=name, outcome="done", detail=detail
    )


def dropped(audit: Audit) -> float:
    return next(metric.value for metric in audit.metrics() if metric.name == "braid_audit_dropped")


async def test_notes_are_kept_soon_and_at_the_latest_when_it_closes() -> None:
    rows = Rows()
    audit = audit_on(rows)
    audit.start()
    note(audit, "first")
    async with asyncio.timeout(10):
        while not rows.rows:  # noqa: ASYNC110 - another task's doing
            await asyncio.sleep(0.005)
    note(audit, "second")
    await audit.close()
    assert [row.name for row in rows.rows] == ["first", "second"]


async def test_while_the_store_fails_notes_wait_and_too_many_are_counted() -> None:
    rows = Rows()
    rows.fails = True
    audit = audit_on(rows)
    for nth in range(WAITING_MAX + 5):
        note(audit, str(nth))
    assert dropped(audit) == 5
    assert not await audit.flush()
    rows.fails = False
    assert await audit.flush()
    assert [row.name for row in rows.rows] == [str(nth) for nth in range(WAITING_MAX)]


async def test_what_clients_say_is_bounded() -> None:
    rows = Rows()
    audit = audit_on(rows)
    note(audit, "n" * 10_000, "d" * 10_000)
    await audit.flush()
    assert (len(rows.rows[0].name), len(rows.rows[0].detail)) == (NAME_LENGTH_MAX, DETAIL_LENGTH_MAX)


def test_only_creating_changing_and_deleting_are_changes() -> None:
    changes = {action for action in Action if is_change(Need(action, ResourceKind.TOPIC))}
    assert changes == {Action.CREATE, Action.CHANGE, Action.DELETE}
