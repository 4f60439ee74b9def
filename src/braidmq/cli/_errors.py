"""The one place that turns an error into a line for people and an exit status for scripts.

| status | meaning |
|---|---|
| 0 | done |
| 1 | failed: the line on the error output says why |
| 2 | the command line or a setting is wrong |
| 3 | the storage is full, damaged or has failed: look at the disk before starting again |
| 4 | what was named does not exist |
| 5 | the node refused: the line on the error output says why, and what to do |
| 6 | the node cannot be reached |
| 7 | the audit found the archive unsound: `audits` beside the tables says what |
| 130 | interrupted |
"""

import sys

from braidmq.model import BraidError
from braidmq.model import errors as model

DONE = 0
FAILED = 1
USAGE = 2
STORAGE = 3
NOT_FOUND = 4
REFUSED = 5
UNREACHABLE = 6
UNSOUND = 7
INTERRUPTED = 130


class NodeRefused(BraidError):
    """The node refused."""

    code = "node_refused"

    def __init__(self, message: str, *, problem: str = "", fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.problem = problem
        """The stable code that the node gave."""


class NotThere(NodeRefused):
    """What was named does not exist."""

    code = "not_there"


class NodeStorage(NodeRefused):
    """The storage of the node is full, damaged or has failed."""

    code = "node_storage"


class Unreachable(BraidError):
    """The node cannot be reached."""

    code = "unreachable"


_STATUS: dict[type[BraidError], int] = {
    model.InvalidSetting: USAGE,
    model.StorageFailed: STORAGE,
    model.StorageFull: STORAGE,
    model.TooManyFiles: STORAGE,
    model.DamagedLog: STORAGE,
    NodeStorage: STORAGE,
    NotThere: NOT_FOUND,
    NodeRefused: REFUSED,
    Unreachable: UNREACHABLE,
}


def exit_status(error: BraidError) -> int:
    """The status for this kind of error."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), FAILED)


def say_error(error: BraidError) -> None:
    """One line, also where the message has several; what a node advises is a second one."""
    print(f"braid: {' '.join(error.message.split())}", file=sys.stderr)
    if isinstance(error, (NodeRefused, Unreachable)) and error.fix:
        print(f"braid: to do: {' '.join(error.fix.split())}", file=sys.stderr)
