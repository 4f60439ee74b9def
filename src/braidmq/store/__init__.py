"""Metadata and small mutable state: the catalog of what exists, and a durable place for what changes often.

`Store` runs statements on SQLite or PostgreSQL; `Catalog` keeps the whole catalog in memory and changes it
through a store.
"""

from braidmq.store._audit import AuditAsk, AuditRow, AuditRows
from braidmq.store._catalog import Catalog
from braidmq.store._cursors import CursorChange, CursorRows
from braidmq.store._deferred import HalfRows, Page, TimerRows
from braidmq.store._documents import Document, DocumentRows
from braidmq.store._group_states import GroupStates, PendingOffset
from braidmq.store._memory import (
    Change,
    GroupChanged,
    InstanceChanged,
    QuotaChanged,
    ScramCredentialChanged,
    SettingChanged,
    SubscriptionChanged,
    TopicChanged,
)
from braidmq.store._samples import SampleRow, SampleRows
from braidmq.store._secrets import cluster_secret
from braidmq.store._store import Store
from braidmq.store._things import Setting
from braidmq.store._trace import TraceRows
from braidmq.store._transactions import TransactionRows

__all__ = [
    "AuditAsk",
    "AuditRow",
    "AuditRows",
    "Catalog",
    "Change",
    "CursorChange",
    "CursorRows",
    "Document",
    "DocumentRows",
    "GroupChanged",
    "GroupStates",
    "HalfRows",
    "InstanceChanged",
    "Page",
    "PendingOffset",
    "QuotaChanged",
    "SampleRow",
    "SampleRows",
    "ScramCredentialChanged",
    "Setting",
    "SettingChanged",
    "Store",
    "SubscriptionChanged",
    "TimerRows",
    "TopicChanged",
    "TraceRows",
    "TransactionRows",
    "cluster_secret",
]
