"""Progress for a person who waits: on the error output, and only on a terminal."""

import contextlib
import sys
from collections.abc import Callable, Iterator

Advance = Callable[[int, int | None], None]


@contextlib.contextmanager
def bar(what: str) -> Iterator[Advance]:
    """Told how much is done, and of how much where that is known."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
