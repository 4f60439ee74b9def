"""Small documents of one kind, found by a key: rules, silences, alarms, reports, answers that may be asked for again.

What is in a document is the business of those who keep it. Its time puts the documents of a kind in order.
"""

from typing import NamedTuple

import sqlalchemy as sa

from braidmq.store import _tables as tables
from braidmq.store._store import Store

_DOCUMENTS = tables.documents


class Document(NamedTuple):
    """`at_ms` is whatever time its kind is kept and removed by."""

    key: str
    at_ms: int
    content: bytes


class DocumentRows:
    """The documents of one kind. Every call may raise StoreFailed; what was put outlives a loss of power."""

    def __init__(self, store: Store, kind: str) -> None:
        self._store = store
        self._kind = kind
        self._all = _DOCUMENTS.c.kind == kind

    async def put(self, document: Document) -> None:
        """Keep it, in the place of the one with its key."""

        def work(connection: sa.Connection) -> None:
            connection.execute(self._removal(document.key))
            connection.execute(sa.insert(_DOCUMENTS), self._row(document))

        await self._store.write(work)

    async def put_new(self, document: Document, *, not_before_ms: int = 0) -> Document | None:
        """Keep it where its key has no document, or one from before the time; else that document, unchanged."""

        def work(connection: sa.Connection) -> Document | None:
            known = self._read(connection, document.key)
            if known is not None and known.at_ms >= not_before_ms:
                return known
            connection.execute(self._removal(document.key))
            connection.execute(sa.insert(_DOCUMENTS), self._row(document))
            return None

        return await self._store.write(work)

    async def get(self, key: str) -> Document | None:
        return await self._store.read(lambda connection: self._read(connection, key))

    async def delete(self, key: str) -> bool:
        """Whether it was there."""
        removal = self._removal(key)
        return await self._store.write(lambda connection: connection.execute(removal).rowcount > 0)

    async def latest(self, limit: int) -> list[Document]:
        """The latest of this kind, the latest first."""
        columns = _DOCUMENTS.c
        chosen = sa.select(_DOCUMENTS).where(self._all).order_by(columns.at_ms.desc(), columns.key).limit(limit)
        return await self._store.read(lambda connection: [_document(row) for row in connection.execute(chosen)])

    async def trim(self, *, keep_max: int | None = None, before_ms: int | None = None) -> int:
        """Remove what is older than the time, and what is more than so many, the oldest first. How many those were."""

        def work(connection: sa.Connection) -> int:
            at_ms = _DOCUMENTS.c.at_ms
            bounds = [] if before_ms is None else [before_ms]
            if keep_max is not None:
                first_too_many = sa.select(at_ms).where(self._all).order_by(at_ms.desc()).offset(keep_max).limit(1)
                found = connection.execute(first_too_many).scalar_one_or_none()
                bounds += [] if found is None else [found + 1]
            if not bounds:
                return 0
            return connection.execute(sa.delete(_DOCUMENTS).where(self._all, at_ms < max(bounds))).rowcount

        return await self._store.write(work, synced=False)

    def _removal(self, key: str) -> sa.Delete:
        return sa.delete(_DOCUMENTS).where(self._all, _DOCUMENTS.c.key == _key(key))

    def _read(self, connection: sa.Connection, key: str) -> Document | None:
        chosen = sa.select(_DOCUMENTS).where(self._all, _DOCUMENTS.c.key == _key(key))
        row = connection.execute(chosen).one_or_none()
        return None if row is None else _document(row)

    def _row(self, document: Document) -> dict[str, object]:
        key = _key(document.key)
        return {"kind": self._kind, "key": key, "at_ms": document.at_ms, "content": document.content}


def _key(key: str) -> bytes:
    return key.encode(errors="replace")


def _document(row: sa.Row[tuple[object, ...]]) -> Document:
    return Document(row.key.decode(), row.at_ms, row.content)
