"""The `braid` command. Each command imports what it needs when it runs, so that help and errors come at once."""

from braidmq.cli._main import main

__all__ = ["main"]
