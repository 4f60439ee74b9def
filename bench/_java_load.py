"""What benches share that drive two brokers with one Java program, round by round: the options, our node, the program,
and the verdict."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from _alone import alone
from report import Figure, Progress

HERE = Path(__file__).parent
STEP_LIMIT_S = 300
START_LIMIT_S = 30


class Side(NamedTuple):
    """One of the brokers that are compared, and where the program finds it."""

    name: str
    address: str
    pids: tuple[int, ...]


class Bench:
    """The program, and how much is sent."""

    def __init__(self, program: str, jars: str, folder: Path, messages: int, rounds: int) -> None:
        classes = folder / "classes"
        source = HERE / "java" / f"{program}.java"
        subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", str(classes), str(source)], check=True)
        self._command = ["java", "-Xmx1g", "-cp", f"{classes}:{jars}", program]
        self._made = 0
        self.pids: set[int] = set()
        """All servers; only those that are measured are awake."""
        self.messages = messages
        self.rounds = rounds

    def topic(self) -> str:
        self._made += 1
        return f"bench-{os.getpid()}-{self._made}"

    def run(self, mode: str, side: Side, topic: str, *numbers: int) -> dict[str, Any]:
        with self.begin(mode, side, topic, *numbers) as process:
            try:
                out, _ = process.communicate(timeout=STEP_LIMIT_S)
            except subprocess.TimeoutExpired:
                raise SystemExit(f"{mode} on {side.name} did not end within {STEP_LIMIT_S} s") from None
        if process.returncode or not out.strip():
            raise SystemExit(f"{mode} on {side.name} failed")
        found: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
        if found.get("failed"):
            raise SystemExit(f"{mode} on {side.name}: {found['failed']} messages failed")
        return found

    @contextmanager
    def begin(self, mode: str, side: Side, topic: str, *numbers: int) -> Iterator["subprocess.Popen[str]"]:
        command = [*self._command, mode, side.address, topic, *map(str, numbers)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def alternate(self, what: str, sides: Sequence[Side], measure: Callable[[Side], float]) -> list[list[float]]:
        """For each side its figures, round by round, measured while the others sleep; who begins changes."""
        figures: list[list[float]] = [[] for _ in sides]
        with Progress(what, self.rounds * len(sides)) as progress:
            for nth in range(self.rounds):
                order = list(enumerate(sides))
                for place, side in order if nth % 2 else reversed(order):
                    with alone(side.pids, self.pids):
                        figures[place].append(measure(side))
                    progress.step()
        return figures


def at_least(what: str, bar: float, mine: Sequence[float], others: Sequence[float]) -> Figure:
    """The median of the rounds' ratios of two rates."""
    ratio = statistics.median(a / b for a, b in zip(mine, others, strict=True))
    rounds = ", ".join(f"{a / b:.2f}" for a, b in zip(mine, others, strict=True))
    detail = f"{statistics.median(mine):,.0f} / {statistics.median(others):,.0f} messages/s (rounds {rounds})"
    return Figure(what, f"{ratio:.2f}", f">= {bar}", ratio >= bar, detail)


def peer_side(name: str, address: str, *others: int) -> Side:
    """The peer at this address, with the processes that listen there and on the other ports."""
    port = int(address.rpartition(":")[2])
    listening = {
        connection.laddr.port: connection.pid
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.pid
    }
    if port not in listening:
        raise SystemExit(f"nothing on this machine listens on {address}; start the peer first")
    pids = {listening[each] for each in (port, *others) if each in listening}
    return Side(name, address, tuple(pids))


def bench_parser(description: str | None, figures: Collection[str], messages: int) -> argparse.ArgumentParser:
    """The options that all of these benches have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"some of: {', '.join(figures)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=messages)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where our nodes keep data")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    return parser


def chosen_figures(
    parser: argparse.ArgumentParser, options: argparse.Namespace, figures: Collection[str]
) -> Collection[str]:
    """Those that were named, or all; ends the program for one that there is not."""
    if unknown := set(options.figures) - set(figures):
        parser.error(f"no such figure: {', '.join(sorted(unknown))}")
    return options.figures or figures


@contextmanager
def our_node(folder: Path, flush: str, *arguments: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Our node with the listeners of the arguments: its process, and where each listens, by protocol."""
    ready = folder / f"{flush}.ready"
    command = [
        *(sys.executable, "-m", "braidmq", "up", "--data", str(folder / flush), "--flush", flush),
        *("--http", "off", "--kafka", "off", "--ready-file", str(ready), *arguments),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_LIMIT_S
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        listeners = json.loads(ready.read_text())["listeners"]
        yield process.pid, {name: "{}:{}".format(*places[0]) for name, places in listeners.items() if places}
    finally:
        process.terminate()
        process.wait(30)
