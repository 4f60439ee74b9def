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
    from braidmq.model import BraidError

    try:
        _run_command()
    except BraidError as error:
        _errors.say_error(error)
        sys.exit(_errors.exit_status(error))
    except KeyboardInterrupt:
        sys.exit(_errors.INTERRUPTED)


def _run_command() -> None:
    if sys.argv[1:2] == ["up"] and COMPLETE_VARIABLE not in os.environ:
        from braidmq.cli._start_line import plain_line

        if (line := plain_line(sys.argv[2:], os.environ)) is not None:
            sys.exit(line.run())
    from braidmq.cli._app import build_app

    build_app(_used_word())(prog_name="braid")


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
