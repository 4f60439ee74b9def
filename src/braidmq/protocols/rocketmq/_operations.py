"""The table of RocketMQ's requests: for each code its handler, and what a caller needs.

A handler is a function of a `Call` with its header read. It returns an answer, something to await for it, or LATER when
it will call `reply` by itself. A BraidError that it raises becomes the answer with the number that clients know.
"""

import enum
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

from braidmq.core.access import Action, Operations, ResourceKind
from braidmq.protocols.rocketmq._call import Answer, Call
from braidmq.protocols.rocketmq.codec import REQUEST_HEADERS, RequestCode
from braidmq.protocols.rocketmq.codec.headers import CustomHeader


class Later(enum.Enum):
    """The answer comes by `Call.reply`."""

    LATER = "later"


LATER: Final = Later.LATER

Result = Answer | Awaitable[Answer | Later] | Later
Handle = Callable[[Call[Any]], Result]


class Handler(NamedTuple):
    """`header` is what the request's fields are read as."""

    header: type[CustomHeader]
    handle: Handle


operations: Operations[int, Handler] = Operations("rocketmq")


def answers(*codes: RequestCode, action: Action, resource: ResourceKind) -> Callable[[Handle], Handle]:
    """Register the function below as the handler of these requests."""

    def register(handle: Handle) -> Handle:
        for code in codes:
            header = REQUEST_HEADERS.get(code, CustomHeader)
            operations.handles(int(code), action, resource)(Handler(header, handle))
        return handle

    return register
