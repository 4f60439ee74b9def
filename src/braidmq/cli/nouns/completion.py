"""`braid completion`: what a shell needs."""

from typing import Annotated

import typer

from braidmq.model.errors import InvalidSetting

_SHELLS = ("bash", "zsh", "fish")


def command(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """What a shell needs to complete commands, options, and the names of topics, groups and contexts.

    For bash: braid completion bash > ~/.local/share/bash-completion/completions/braid
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # public in all but name

    from braidmq.cli._main import COMPLETE_VARIABLE

    if shell not in _SHELLS:
        raise InvalidSetting(f"{shell!r} is no shell that can be served; there are {', '.join(_SHELLS)}")
    print(get_completion_script(prog_name="braid", complete_var=COMPLETE_VARIABLE, shell=shell))
