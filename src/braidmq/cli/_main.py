"""The entry: runs the command, and lets no traceback out for an error that has a message."""

import sys

from braidmq.cli import _errors
from braidmq.cli._app import app
from braidmq.model import BraidError


def main() -> None:
    """The `braid` command."""
    try:
        app(prog_name="braid")
    except BraidError as error:
        _errors.say_error(error)
        sys.exit(_errors.exit_status(error))
