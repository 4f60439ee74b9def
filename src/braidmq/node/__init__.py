"""The composition root: opens log and store, makes them agree, starts the listeners, and stops it all in order."""

from braidmq.node._collector import tune_collector
from braidmq.node._node import Node

__all__ = ["Node", "tune_collector"]
