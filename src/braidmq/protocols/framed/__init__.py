"""What protocols have in common whose requests are frames behind a length of 32 bits: connections and listeners."""

from braidmq.protocols.framed._connection import WRITE_BUFFER_BYTES, FramedConnection, Home
from braidmq.protocols.framed._listener import FramedLimits, FramedListener
from braidmq.protocols.framed._memory import RequestMemory

__all__ = ["WRITE_BUFFER_BYTES", "FramedConnection", "FramedLimits", "FramedListener", "Home", "RequestMemory"]
