"""Writes to an archive's table and cuts its log, again and again, to be killed: `table_writer.py PATH`."""

import sys
from datetime import timedelta
from pathlib import Path

from archive_support import Archived, row
from braidmq.pipeline.tables import _table, _trimming


def main(path: str) -> None:
    _table.FULL_STATE_EVERY = 3  # type: ignore[misc]  # so that every few commits something can be cut
    archived = Archived(Path(path))
    state = archived.table.state("archive")
    offset = state.covered.ends().get(("orders", 0), 0)
    while True:
        archived.add([row("orders", 0, at) for at in range(offset, offset + 5)])
        offset += 5
        removed = _trimming.trim(archived.table, timedelta(0), at_least=1)
        print(offset, removed, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
