"""What the node hands to the controllers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from braidmq.core.desk.catalogue import Catalogue
from braidmq.core.desk.messaging import MessagingDesk
from braidmq.core.health import Health
from braidmq.core.metrics import MetricSource
from braidmq.core.presence import NodeReport
from braidmq.protocols.http._operations_services import OperationsServices


class HttpServices(NamedTuple):
    """Everything that a request may be answered from."""

    node_name: str
    version: str
    health: Health
    metric_sources: Sequence[MetricSource]
    nodes: Callable[[], Sequence[NodeReport]]
    """Those that are there."""
    catalogue: Catalogue | None = None
    """None where only health and figures are served."""
    messaging: MessagingDesk | None = None
    operations: OperationsServices | None = None
