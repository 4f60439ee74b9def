"""Idempotent producers and their transactions."""

from braidmq.core.transactions._coordinator import Transactions
from braidmq.core.transactions._ids import ProducerIds

__all__ = ["ProducerIds", "Transactions"]
