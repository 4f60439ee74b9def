"""What a node tells of itself, in topics of its own: what came and went, how far groups are, what became of messages.

The samples are `model.telemetry`. Alarms and live figures are made of the counters, on the node; the topics are for
those who keep history. Nothing waits for telemetry: what cannot be written is tried again, and dropped and counted
where there is too much of it.
"""

from braidmq.core.telemetry._lag import LagSampler
from braidmq.core.telemetry._ledger import Flow, Ledger, Trouble
from braidmq.core.telemetry._outbox import Outbox
from braidmq.core.telemetry._telemetry import Telemetry
from braidmq.core.telemetry._usage import Inlet, Outlet, Overheard, Usage

__all__ = ["Flow", "Inlet", "LagSampler", "Ledger", "Outbox", "Outlet", "Overheard", "Telemetry", "Trouble", "Usage"]
