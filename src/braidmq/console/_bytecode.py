"""Compiled templates, kept beside their sources as Python keeps modules: compiling takes longer than all the rest of a
first page.

What is kept is used only for the very source, the Jinja and the options that it was made from. Where nothing can be
written, templates are compiled by every node anew.
"""

import contextlib
import os
import sys
import tempfile
import zlib
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path
from pickle import UnpicklingError
from typing import Final

from jinja2 import BytecodeCache, Environment
from jinja2.bccache import Bucket

_OPTIONS: Final = ("autoescape", "trim_blocks", "lstrip_blocks", "keep_trailing_newline", "optimized")
"""What an environment says that changes what templates are compiled to."""


class KeptTemplates(BytecodeCache):
    """Of one folder, compiled for one environment."""

    def __init__(self, folder: Path, environment: Environment) -> None:
        self._folder = folder
        made_by = (version("jinja2"), *(str(getattr(environment, name)) for name in _OPTIONS))
        self._made_by = f"jinja{zlib.crc32(repr(made_by).encode()):08x}"

    def load_bytecode(self, bucket: Bucket) -> None:
        """What cannot be read, or is not of this source, leaves the bucket empty: Jinja compiles it."""
        with contextlib.suppress(OSError, ValueError, EOFError, UnpicklingError), self._path(bucket).open("rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """In one step: another node may read it at the same time."""
        if sys.dont_write_bytecode:
            return
        path = self._path(bucket)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, suffix=".pyc")
            try:
                with os.fdopen(handle, "wb") as file:
                    bucket.write_bytecode(file)
                Path(name).replace(path)
            except OSError:
                Path(name).unlink(missing_ok=True)

    def get_cache_key(self, name: str, filename: str | None = None) -> str:  # noqa: ARG002 - as Jinja calls it
        """The template's own name: a folder has each once."""
        return name

    def _path(self, bucket: Bucket) -> Path:
        return Path(cache_from_source(str(self._folder / bucket.key), optimization=self._made_by))
