"""Which node a command asks: a flag beats the environment, which beats the file of contexts, which beats the default.

The file is `braid/contexts.toml` in the folder of the user's settings. It may hold passwords (in addresses), so that
only its owner can read it.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Final

import msgspec

from braidmq.model.errors import InvalidSetting

DEFAULT_URL: Final = "http://127.0.0.1:8400"
URL_VARIABLE: Final = "BRAID_URL"
CONTEXT_VARIABLE: Final = "BRAID_CONTEXT"
INSTANCE_VARIABLE: Final = "BRAID_INSTANCE"
VARIABLES: Final = frozenset({URL_VARIABLE, CONTEXT_VARIABLE, INSTANCE_VARIABLE})
"""They say which node is asked, and are no settings of a node to be."""

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PLAIN: Final = re.compile(r'[^\x00-\x1f\x7f"\\]{1,1000}')


class Context(msgspec.Struct, frozen=True):
    """A node, and the instance of it that is meant."""

    url: str
    instance: str = "default"


class Contexts(msgspec.Struct, frozen=True):
    """All that the file says."""

    contexts: dict[str, Context] = {}
    selected: str = ""

    def named(self, name: str) -> Context:
        """Raises InvalidSetting."""
        if name not in self.contexts:
            there = ", ".join(self.contexts) or "none yet"
            raise InvalidSetting(f"there is no context {name!r}; there are: {there}. Make one: braid context add")
        return self.contexts[name]


def contexts_file() -> Path:
    """Where the contexts are kept."""
    folder = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(folder) / "braid" / "contexts.toml"


def read_contexts() -> Contexts:
    """Empty where there is no file. Raises InvalidSetting where it cannot be read."""
    path = contexts_file()
    try:
        return msgspec.convert(tomllib.loads(path.read_text()), Contexts)
    except FileNotFoundError:
        return Contexts()
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"{path}: {error}; correct the file or remove it") from error


def write_contexts(contexts: Contexts) -> None:
    """In one step, for the owner alone. Raises InvalidSetting."""
    path = contexts_file()
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.touch(mode=0o600)
        part.write_text(_toml(contexts))
        part.replace(path)
    except OSError as error:
        raise InvalidSetting(f"{path}: cannot be written: {error.strerror}") from error


def checked(name: str, context: Context) -> Context:
    """Raises InvalidSetting for what a file of contexts cannot hold."""
    if _NAME.fullmatch(name) is None:
        raise InvalidSetting(f"{name!r} is no name of a context; take letters, digits and . _ -")
    if not context.url.startswith(("http://", "https://")) or _PLAIN.fullmatch(context.url) is None:
        raise InvalidSetting(f"{context.url!r} is no address of a node; it is written {DEFAULT_URL}")
    if _PLAIN.fullmatch(context.instance) is None:
        raise InvalidSetting(f"{context.instance!r} is no name of an instance")
    return context


def resolve(url: str, context: str, instance: str) -> Context:
    """What counts, from flags, environment and file. Raises InvalidSetting."""
    chosen = _chosen(url, context)
    named = instance or os.environ.get(INSTANCE_VARIABLE) or chosen.instance
    return Context(chosen.url, named)


def _chosen(url: str, context: str) -> Context:
    if url:
        return Context(url)
    if context:
        return read_contexts().named(context)
    if from_environment := os.environ.get(URL_VARIABLE):
        return Context(from_environment)
    kept = read_contexts()
    name = os.environ.get(CONTEXT_VARIABLE) or kept.selected
    return kept.named(name) if name else Context(DEFAULT_URL)


def _toml(contexts: Contexts) -> str:
    """Names and values were checked to hold nothing that would have to be escaped."""
    lines = [f'selected = "{contexts.selected}"']
    for name, context in contexts.contexts.items():
        lines += ["", f'[contexts."{name}"]', f'url = "{context.url}"', f'instance = "{context.instance}"']
    return "\n".join(lines) + "\n"
