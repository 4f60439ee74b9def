"""The table of Kafka's requests: for each API key its handler, the versions it answers, and what a caller needs.

A handler is a function of a `Call`. It returns the response, or something to await for it, or on the hot path `Later`;
None where the client wants no answer. Errors belong into the response, at the place where the API has them; what a
handler raises closes the connection.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from braidmq.core.access import Action, Operations, ResourceKind
from braidmq.protocols.kafka._call import Call
from braidmq.protocols.kafka._later import Later
from braidmq.protocols.kafka.codec import ApiKey, ApiMessage

Response = ApiMessage | None
Answer = Callable[[Call[Any]], Response | Later | Awaitable[Response]]


class Handler(NamedTuple):
    """`versions` are the first and the last that are advertised."""

    versions: tuple[int, int]
    answer: Answer


operations: Operations[int, Handler] = Operations("kafka")


def answers(
    key: ApiKey, *, versions: tuple[int, int], action: Action, resource: ResourceKind
) -> Callable[[Answer], Answer]:
    """Register the function below as the handler of this API."""

    def register(answer: Answer) -> Answer:
        operations.handles(int(key), action, resource)(Handler(versions, answer))
        return answer

    return register
