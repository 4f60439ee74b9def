"""The application: all words behind `braid`, of which only the one that is used is imported."""

import importlib
from collections.abc import Callable
from typing import Annotated, Any

import typer

from braidmq.cli.nouns import WORDS, Word
from braidmq.cli.nouns.version import command as say_version


def _say_version(is_asked: bool) -> None:
    if is_asked:
        say_version()
        raise typer.Exit


def build_app(used: str | None = None) -> typer.Typer:
    """With all commands, or only those of one word; the others are then known by name and help alone."""
    app = typer.Typer(
        help="BraidMQ: Kafka, RocketMQ, MQTT and HTTP on one durable log.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_before)
    for word in WORDS:
        if used is None or word.word == used:
            _add(app, word)
        else:
            app.command(word.word, help=word.help)(_nothing)
    return app


def _before(
    version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=_say_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """What may stand before every word."""


def _nothing() -> None:
    """What stands for a command that is not used."""


def _add(app: typer.Typer, word: Word) -> None:
    command: Any = importlib.import_module(f"braidmq.cli.nouns.{word.module}").command
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=word.word, help=word.help)
        return
    settings: dict[str, Any] = getattr(command, "context_settings", {})
    function: Callable[..., None] = command
    app.command(word.word, context_settings=settings, short_help=word.help)(function)
