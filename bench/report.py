"""How benches show what they measured: a progress line, a table, and a section of docs/benchmarks.md."""

import datetime
import os
import platform
import sys
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Made by commands, not by hand: each section names the command that wrote it. Ratios are measured in one run,
alternating, median of the rounds; absolute figures depend on the machine and its other work, and are given for
orientation only.
"""


class Figure(NamedTuple):
    """One line of a table."""

    what: str
    measured: str
    wanted: str
    reached: bool
    detail: str


class Progress:
    """A line that says how far a bench has come; silent where nobody looks."""

    def __init__(self, what: str, steps: int) -> None:
        self._what = what
        self._steps = steps
        self._done = 0
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> "Progress":
        self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def step(self) -> None:
        self._done += 1
        self._show()

    def _show(self) -> None:
        if self._shown:
            print(f"\r\033[K{self._what}: {self._done} of {self._steps}", end="", file=sys.stderr, flush=True)


def table(figures: list[Figure]) -> str:
    """The figures as a Markdown table."""
    rows = ["| what | measured | wanted | | |", "|---|---|---|---|---|"]
    rows += [
        f"| {figure.what} | **{figure.measured}** | {figure.wanted} | {_verdict(figure)} | {figure.detail} |"
        for figure in figures
    ]
    return "\n".join(rows)


def _verdict(figure: Figure) -> str:
    return "ok" if figure.reached else "missed"


def print_figures(figures: list[Figure]) -> None:
    width = max(len(figure.what) for figure in figures)
    for figure in figures:
        print(f"{_verdict(figure):<6} {figure.what:<{width}}  {figure.measured:>8}  ({figure.wanted})  {figure.detail}")


def write_figures(key: str, title: str, command: str, figures: list[Figure]) -> None:
    """Replace the section of this key, or add it."""
    begin, end = f"<!-- {key}: begin -->", f"<!-- {key}: end -->"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    section = f"{begin}\n## {title}\n\n`{command}`, {today}, {machine}\n\n{table(figures)}\n{end}\n"
    page = PAGE.read_text() if PAGE.exists() else HEAD
    if begin in page:
        before, rest = page.split(begin, 1)
        after = rest.split(end, 1)[1].lstrip("\n")
        page = before + section + (f"\n{after}" if after else "")
    else:
        page = f"{page}\n{section}"
    PAGE.write_text(page)
