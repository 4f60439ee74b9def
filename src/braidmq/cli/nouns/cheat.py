"""`braid cheat`: examples to copy."""

from typing import Annotated

import typer

from braidmq.cli._cheats import CHEATS
from braidmq.cli._render import is_plain
from braidmq.model.errors import InvalidSetting


def _nouns(incomplete: str) -> list[str]:
    return [noun for noun in CHEATS if noun.startswith(incomplete)]


def command(
    noun: Annotated[
        str, typer.Argument(metavar="[NOUN]", help="Such as topic. Default: all.", autocompletion=_nouns)
    ] = "",
) -> None:
    """Examples to copy, by noun. Words in capitals are to be replaced."""
    if noun and noun not in CHEATS:
        raise InvalidSetting(f"there are no examples for {noun!r}; there are for {', '.join(CHEATS)}")
    for each in [noun] if noun else CHEATS:
        print(each if is_plain() else f"\x1b[1m{each}\x1b[0m")
        for purpose, example in CHEATS[each]:
            print(f"  # {purpose}\n  {example}")
        print()
