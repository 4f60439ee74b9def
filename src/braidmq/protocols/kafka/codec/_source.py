"""Python source, put together line by line and compiled once: how dataclasses make their methods.

Only names and numbers from our own tables become source. Values (structs, defaults, functions) are passed in by name,
and nothing that came over a wire ever gets here.
"""

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Source:
    """Lines of a function under way, and the values that they refer to."""

    def __init__(self, title: str, values: dict[str, object]) -> None:
        self._title = title
        self._values = dict(values)
        self._lines: list[str] = []
        self._depth = 0
        self._fresh = 0

    def add(self, line: str) -> None:
        self._lines.append("    " * self._depth + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """What is added inside is indented under the head; an empty block passes."""
        self.add(head)
        before = len(self._lines)
        self._depth += 1
        yield
        if len(self._lines) == before:
            self.add("pass")
        self._depth -= 1

    def fresh(self, stem: str) -> str:
        """A name that nothing else has."""
        self._fresh += 1
        return f"{stem}_{self._fresh}"

    def value(self, stem: str, value: object) -> str:
        """A name for a value, the same for the same object."""
        for name, known in self._values.items():
            if known is value:
                return name
        name = self.fresh(stem)
        self._values[name] = value
        return name

    def compiled(self, name: str) -> Callable[..., Any]:
        """The function of this name. Its lines are kept where tracebacks and debuggers look for them."""
        text = "\n".join(self._lines) + "\n"
        file = f"<braidmq kafka codec: {self._title}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), self._values)  # noqa: S102  # made of our own tables alone
        function: Callable[..., Any] = self._values[name]  # type: ignore[assignment]
        return function
