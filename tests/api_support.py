"""What tests of the HTTP API share: names for the fixtures' types."""

from collections.abc import Awaitable, Callable

Publish = Callable[..., Awaitable[None]]
"""Messages into one partition of a topic: `publish(topic, count, partition=, born_ms=)`."""

Eventually = Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]
"""Waits until what is asked is true."""
