"""BraidMQ: one durable log, every messaging protocol."""

__version__ = "0.1.0"
