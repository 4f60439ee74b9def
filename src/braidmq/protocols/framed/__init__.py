"""What protocols have in common whose requests are frames behind a length of 32 bits: connections and listeners."""

from braidmq.protocols.framed._connection import FramedConnection, Home
from braidmq.protocols.framed._listener import FramedListener
from braidmq.protocols.framed._memory import RequestMemory

__all__ = ["FramedConnection", "FramedListener", "Home", "RequestMemory"]
