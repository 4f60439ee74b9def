"""What can go wrong between a program and a node.

A refusal of the node is raised as the error that the node itself had: `UnknownTopic`, `InvalidMessage` and the others
of `braidmq.model.errors`, found by the problem's stable code. What only a client can meet is here.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from braidmq.model import BraidError
from braidmq.model import errors as model


class Unreachable(BraidError):
    """No node answers at the address."""

    code = "unreachable"
    fix = "Start a node with `braid up`, or check the address; calls go on by themselves when the node is back."
    retriable = True


class Refused(BraidError):
    """The node refused the request for a reason that this version has no class for; `problem` is its code."""

    code = "refused"

    def __init__(self, message: str | None = None, *, problem: str = "", fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.problem = problem


class BufferFull(BraidError):
    """As many messages wait to be sent as the producer may keep."""

    code = "buffer_full"
    fix = "Send more slowly, let the producer wait (when_full='wait'), or raise buffer_max."
    retriable = True


class Closed(BraidError):
    """It is closed, and does nothing any more."""

    code = "closed"
    fix = "Use it inside its `with` block, or make a new one."


class Unsettled(BraidError):
    """The messages of a transaction are with the node, but it could not be told what becomes of them."""

    code = "unsettled"
    fix = "Give the producer a `check` function: the node asks it what became of the transaction."
    retriable = True


class _Problem(msgspec.Struct, frozen=True, kw_only=True):
    code: str
    detail: str
    fix: str = ""
    retriable: bool = False


def _kinds(kind: type[BraidError]) -> Iterator[type[BraidError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == model.__name__:
            yield from _kinds(child)


_KINDS: Final = {kind.code: kind for kind in _kinds(BraidError) if kind is not BraidError}
_decode = msgspec.json.Decoder(_Problem).decode
RETRIABLE_STATUSES: Final = frozenset({429, 502, 503, 504})


def refusal(status: int, body: bytes) -> BraidError:
    """The error that an answer stands for."""
    try:
        problem = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        if status in RETRIABLE_STATUSES:
            return Unreachable(f"the node does not take requests now: {status}")
        return Refused(f"what answers there is no node: {status}", fix="Name the HTTP address of a node.")
    return error_of(problem.code, problem.detail, fix=problem.fix)


def error_of(code: str, detail: str, *, fix: str = "") -> BraidError:
    """The error with this code."""
    kind = _KINDS.get(code)
    if kind is None:
        return Refused(detail, problem=code, fix=fix)
    error = kind(detail)
    if fix:
        error.fix = fix
    return error
