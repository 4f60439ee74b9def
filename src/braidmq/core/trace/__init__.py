"""What happened to a message, from all that the node saw of it: one timeline, whatever its clients spoke."""

from braidmq.core.trace._lives import Lives, Witness
from braidmq.core.trace._timeline import Stored, Timelines
from braidmq.core.trace._trace import Trace
from braidmq.core.trace._tracer import UNTRACED, Tracer

__all__ = ["UNTRACED", "Lives", "Stored", "Timelines", "Trace", "Tracer", "Witness"]
