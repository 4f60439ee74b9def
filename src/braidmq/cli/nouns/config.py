"""`braid config`: settings of a node to be."""

from pathlib import Path
from typing import Annotated

import typer

from braidmq.cli._call import noun
from braidmq.cli._given import load_settings
from braidmq.cli._options import ConfigFile, Output, Sets
from braidmq.cli._render import checked_format

command = noun("Look at settings of a node to be, and check them.")


@command.command("show")
def config_show(config: ConfigFile = None, sets: Sets = None, output: Output = "table") -> None:
    """Every setting with its value and where that came from. Passwords are not shown."""
    from braidmq.cli._config import show

    checked_format(output)
    show(load_settings(config, sets), output=output)


@command.command("check")
def config_check(file: Annotated[Path, typer.Argument(metavar="FILE", help="Settings in TOML.")]) -> None:
    """Check a file of settings; nothing is started. Exit status 2 when it is wrong."""
    from braidmq.settings import load

    load(file=file)
    print(f"{file}: ok")


@command.command("reference")
def config_reference() -> None:
    """All settings as a Markdown page."""
    from braidmq.settings import reference_page

    print(reference_page(), end="")
