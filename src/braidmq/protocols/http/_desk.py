"""What controllers of messages are given."""

from typing import Any

from litestar.di import NamedDependency, Provide

from braidmq.core.desk import named_filter
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.core.filters import Everything, Filter
from braidmq.model import FilterKind
from braidmq.protocols.http._services import HttpServices


def _messaging(services: NamedDependency[HttpServices]) -> MessagingDesk:
    if services.messaging is None:
        raise LookupError("this node was made without a desk of messages")
    return services.messaging


DESK: dict[str, Any] = {"desk": Provide(_messaging, sync_to_thread=False)}
"""For the `dependencies` of a controller."""


def chosen(kind: FilterKind, expression: str) -> Filter:
    """Raises InvalidFilter."""
    return named_filter(kind, expression) if expression else Everything()
