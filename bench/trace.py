"""What taking note of messages costs: `./braid bench trace [--rounds N] [--write]`

Two nodes in turn, one without the trace and one with it, do the same work: plain messages, delayed ones that fall due
meanwhile, transactional ones.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path

from deferred import ROUNDS, WORKS, compared, figure, prepared, settings_for
from msgspec.structs import replace
from report import Figure, print_figures, write_figures

from braidmq.settings import TraceSettings

WANTED = 0.9


async def measure(rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        places = [replace(settings_for(Path(folder) / "off"), trace=TraceSettings(events="off"))]
        places.append(settings_for(Path(folder) / "on"))
        found = await compared(places, [await prepared(each) for each in places], rounds, "trace")
    return [figure(what, *found[what], WANTED, "with the trace") for what in WORKS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    asked = parser.parse_args()
    figures = asyncio.run(measure(asked.rounds))
    print_figures(figures)
    if asked.write:
        write_figures("trace", "With and without the trace", "./braid bench trace --write", figures)


if __name__ == "__main__":
    main()
