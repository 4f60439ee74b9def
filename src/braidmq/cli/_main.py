"""The entry: runs the command, and lets no traceback out for an error that has a message."""

import os
import sys
from typing import Final

from braidmq.cli.nouns.version import command as say_version

COMPLETE_VARIABLE: Final = "_BRAID_COMPLETE"
"""What a shell sets when it asks for completions."""


def main() -> None:
    """The `braid` command."""
    _write_any_text()
    if sys.argv[1:] in (["--version"], ["-V"]):  # scripts ask often, and need nothing else
        say_version()
        sys.exit()
    from braidmq.cli import _errors
    from braidmq.cli._app import build_app
    from braidmq.model import BraidError

    try:
        build_app(_used_word())(prog_name="braid")
    except BraidError as error:
        _errors.say_error(error)
        sys.exit(_errors.exit_status(error))


def _used_word() -> str:
    """The first word that is no option, of the command line or of what a shell would have completed."""
    words = sys.argv[1:]
    if COMPLETE_VARIABLE in os.environ:
        line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
        words = line.split()[1:]
    return next((word for word in words if not word.startswith("-")), "")


def _write_any_text() -> None:
    """A terminal of another encoding gets the code of a character rather than the end of the command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
