"""The table of this protocol's calls: for each its handler, and what a caller needs.

A handler of a plain call takes a `Call` and returns the answer; one of a stream writes its answers to the call's
context. A BraidError that it raises becomes an answer with the number that clients know.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

from braidmq.core.access import Action, Operations, ResourceKind
from braidmq.protocols.rocketmq_grpc._call import Call

Handle = Callable[[Call], Awaitable[Any]]


class Handler(NamedTuple):
    """`streams` says that answers are written by the handler."""

    handle: Handle
    streams: bool


operations: Operations[str, Handler] = Operations("rocketmq_grpc")

TELEMETRY: Final = "Telemetry"


def answers(name: str, *, action: Action, resource: ResourceKind, streams: bool = False) -> Callable[[Handle], Handle]:
    """Register the function below as the handler of this call."""

    def register(handle: Handle) -> Handle:
        operations.handles(name, action, resource)(Handler(handle, streams))
        return handle

    return register
