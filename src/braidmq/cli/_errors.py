"""The one place that turns an error into a line for people and an exit status for scripts.

| status | meaning |
|---|---|
| 0 | done |
| 1 | failed: the line on the error output says why |
| 2 | the command line or a setting is wrong |
| 3 | the storage is full, damaged or has failed: look at the disk before starting again |
| 130 | interrupted |
"""

import sys

from braidmq.model import BraidError
from braidmq.model import errors as model

DONE = 0
FAILED = 1
USAGE = 2
STORAGE = 3
INTERRUPTED = 130

_STATUS: dict[type[BraidError], int] = {
    model.InvalidSetting: USAGE,
    model.StorageFailed: STORAGE,
    model.StorageFull: STORAGE,
    model.DamagedLog: STORAGE,
}


def exit_status(error: BraidError) -> int:
    """The status for this kind of error."""
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), FAILED)


def say_error(error: BraidError) -> None:
    """One line, also where the message has several."""
    print(f"braid: {' '.join(error.message.split())}", file=sys.stderr)
