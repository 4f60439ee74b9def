"""Who changed what, as rows that are only added, and removed when their time is over."""

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from braidmq.store import _tables as tables
from braidmq.store._store import Store

_AUDIT = tables.audit
_SEARCHED = (_AUDIT.c.actor, _AUDIT.c.operation, _AUDIT.c.resource, _AUDIT.c.name, _AUDIT.c.detail)


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """One change that somebody asked for, and what became of it."""

    at_ms: int
    node: str
    actor: str
    protocol: str
    operation: str
    resource: str
    name: str
    outcome: str
    detail: str = ""
    id: int = 0
    """Given by the store."""


class AuditAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries: those with the text in one of their fields, of the actor, from one time to another."""

    search: str = ""
    actor: str = ""
    from_ms: int = 0
    until_ms: int = 1 << 62
    page: int = 1
    page_size: int = 50


class AuditRows:
    """Every call outlives a loss of power when it returns, or raises StoreFailed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, entries: Sequence[AuditRow], *, before_ms: int) -> int:
        """Keep these, and remove what is older than the time. How many were removed."""

        def work(connection: sa.Connection) -> int:
            if entries:
                connection.execute(sa.insert(_AUDIT), [_row(each) for each in entries])
            return connection.execute(sa.delete(_AUDIT).where(_AUDIT.c.at_ms < before_ms)).rowcount

        return await self._store.write(work)

    async def find(self, ask: AuditAsk) -> tuple[list[AuditRow], int]:
        """A page of the entries, the latest first, and how many there are in all."""
        conditions = _conditions(ask)
        chosen = sa.select(_AUDIT).where(*conditions).order_by(_AUDIT.c.id.desc())
        page = chosen.offset((ask.page - 1) * ask.page_size).limit(ask.page_size)
        count = sa.select(sa.func.count()).select_from(_AUDIT).where(*conditions)

        def work(connection: sa.Connection) -> tuple[list[AuditRow], int]:
            found = [AuditRow(**row._mapping) for row in connection.execute(page)]
            return found, connection.execute(count).scalar_one()

        return await self._store.read(work)


def _conditions(ask: AuditAsk) -> list[sa.ColumnElement[bool]]:
    found: list[sa.ColumnElement[bool]] = [_AUDIT.c.at_ms >= ask.from_ms, _AUDIT.c.at_ms < ask.until_ms]
    if ask.actor:
        found.append(_AUDIT.c.actor.icontains(_writable(ask.actor), autoescape=True))
    if ask.search:
        wanted = _writable(ask.search)
        found.append(sa.or_(*(column.icontains(wanted, autoescape=True) for column in _SEARCHED)))
    return found


def _row(entry: AuditRow) -> dict[str, str | int]:
    values = msgspec.structs.asdict(entry)
    del values["id"]
    return {name: _writable(value) if isinstance(value, str) else value for name, value in values.items()}


def _writable(text: str) -> str:
    """Names are what clients sent: no database takes all of that as text."""
    return text.replace("\0", "�").encode(errors="replace").decode()
