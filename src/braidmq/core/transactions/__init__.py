"""Idempotent producers and their transactions."""

from braidmq.core.transactions._coordinator import Transactions
from braidmq.core.transactions._ids import ProducerIds
from braidmq.core.transactions._offsets import PendingOffsets
from braidmq.core.transactions._steps import ProducerIdentity

__all__ = ["PendingOffsets", "ProducerIdentity", "ProducerIds", "Transactions"]
