"""`braid pipeline`: the jobs on Spark, run, shown, submitted, and examined."""

import contextlib
import datetime
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from braidmq.cli import _errors
from braidmq.cli._render import show_rows
from braidmq.model.errors import InvalidSetting
from braidmq.settings import Settings

if TYPE_CHECKING:
    from rich.progress import TaskID

    from braidmq.pipeline.archive import Retention
    from braidmq.pipeline.status import JobStatus

FOLDER: Final = "pipeline"
QUIET: Final = "spark.log.level"
"""What Spark warns of is not for people who want to see how the jobs are; what ends a job is shown by the job."""

_AGE: Final = re.compile(r"([0-9]{1,6})(min|h|d)")
_UNITS: Final = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_BAD: Final = "bold red"
_COLOURS: Final = {
    "running": "green", "done": "green", "idle": "dim", "unsound": _BAD, "failed": _BAD, "stopped": "dim"
}  # fmt: skip


class Place(msgspec.Struct, frozen=True):
    """Where the pipeline reads, and where its tables lie."""

    bootstrap: str
    root: str


def place_of(settings: Settings, bootstrap: str | None, path: str | None) -> Place:
    """As told, or else the node of these settings and its data folder. Raises InvalidSetting, and InvalidOption for
    tables that would lie elsewhere than in a folder."""
    from braidmq.pipeline._folders import local_folder

    if bootstrap is None:
        if not settings.kafka.listen:
            raise InvalidSetting("kafka.listen is off, and the pipeline reads by Kafka's protocol; name --bootstrap")
        endpoint = settings.kafka.listen[0]
        bootstrap = str(endpoint.advertised or endpoint.listen)
    return Place(bootstrap, str(local_folder(path or settings.node.data / FOLDER)))


def age(text: str, name: str) -> timedelta:
    """Such as 30d. Raises InvalidSetting."""
    if (found := _AGE.fullmatch(text)) is None:
        raise InvalidSetting(f"{name}: {text!r} is no time; it is a number with min, h or d behind it, such as 30d")
    return int(found[1]) * _UNITS[found[2]]


def pairs(given: Iterable[str], name: str) -> dict[str, str]:
    """Of KEY=VALUE. Raises InvalidSetting."""
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InvalidSetting(f"{name}: {text!r} is not KEY=VALUE")
        found[key] = value
    return found


def retention_of(keep: str | None, keep_topics: Iterable[str], keep_pressure: str | None) -> "Retention":
    """How long the archive keeps what; pressure-test traffic a day, unless told. Raises InvalidSetting."""
    from braidmq.pipeline.archive import Retention

    found = Retention(
        default=None if keep is None else age(keep, "--keep"),
        topics={topic: age(text, "--keep-topic") for topic, text in pairs(keep_topics, "--keep-topic").items()},
    )
    if keep_pressure is None:
        return found
    return msgspec.structs.replace(found, pressure=age(keep_pressure, "--keep-pressure"))


def run(
    place: Place,
    jobs: str,
    *,
    once: bool,
    topics: str,
    master: str | None,
    remote: str | None,
    conf: Iterable[str],
    kafka: Iterable[str],
    keep: str | None,
    keep_topics: Iterable[str],
    keep_pressure: str | None,
    keep_history: str | None,
    allow_data_loss: bool,
) -> int:
    """Runs jobs in one session; the exit status. Raises what cannot work."""
    from braidmq.pipeline import session
    from braidmq.pipeline.run import JOBS, Driver, Plan

    plan = Plan(
        bootstrap=place.bootstrap,
        root=place.root,
        jobs=tuple(name.strip() for name in jobs.split(",") if name.strip()) or JOBS,
        topics=tuple(name.strip() for name in topics.split(",") if name.strip()),
        kafka=pairs(kafka, "--kafka"),
        retention=retention_of(keep, keep_topics, keep_pressure),
        keep_history=None if keep_history is None else age(keep_history, "--keep-history"),
        allow_data_loss=allow_data_loss,
    ).checked()
    console = Console(stderr=True)
    with console.status("starting Spark"):
        # What a Spark Connect server logs is its own affair.
        chosen = ({QUIET: "ERROR"} if remote is None else {}) | pairs(conf, "--conf")
        spark = session("braid-pipeline", master=master, remote=remote, conf=chosen)
    show: _Bars | _LiveTable = _Bars(console) if once else _LiveTable(console)
    try:
        with show:
            driver = Driver(spark, plan, show.tell)
            found = driver.run_once() if once else driver.run(_stop_on_signals())
    finally:
        spark.stop()
    return exit_status(found.values())


def exit_status(jobs: Iterable["JobStatus"]) -> int:
    """Of a run that is over. An archive that is not sound is worse than a job that can be run again."""
    states = {str(job.state) for job in jobs}
    if "unsound" in states:
        return _errors.UNSOUND
    return _errors.FAILED if "failed" in states else _errors.DONE


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop


class _Bars:
    """For `--once`: a bar for each job. Where nobody looks, a line when a job is done."""

    def __init__(self, console: Console) -> None:
        self._is_watched = console.is_terminal
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:<8}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[detail]}"),
            console=console,
            disable=not self._is_watched,
        )
        self._tasks: dict[str, TaskID] = {}
        self._said: set[str] = set()

    def __enter__(self) -> "_Bars":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def tell(self, jobs: Mapping[str, "JobStatus"]) -> None:
        for name, job in jobs.items():
            if job.state == "waiting":
                continue
            ended = job.state in ("done", "idle", "unsound", "failed")
            if self._is_watched:
                if name not in self._tasks:
                    self._tasks[name] = self._bars.add_task(name, total=None, detail="")
                total = max(job.total, job.rows) if job.total or ended else None
                self._bars.update(self._tasks[name], completed=job.rows, total=total, detail=job.said)
            elif ended and name not in self._said:
                self._said.add(name)
                print(f"{name}: {job.state}, {job.rows} rows{f', {job.said}' if job.said else ''}", flush=True)


class _LiveTable:
    """For good: a table that changes. Where nobody looks, a line for every change of state."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._states: dict[str, tuple[str, str]] = {}

    def __enter__(self) -> "_LiveTable":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def tell(self, jobs: Mapping[str, "JobStatus"]) -> None:
        if self._live is not None:
            self._live.update(jobs_table(jobs.values()), refresh=True)
            return
        for name, job in jobs.items():
            state = (str(job.state), job.said)
            if self._states.get(name) != state:
                self._states[name] = state
                print(f"{name}: {job.state}{f', {job.said}' if job.said else ''}", flush=True)


def jobs_table(jobs: Iterable["JobStatus"]) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    for name, justify in (("job", "left"), ("state", "left"), ("batch", "right"), ("rows/s", "right"), ("", "left")):
        table.add_column(name, justify="right" if justify == "right" else "left")
    for job in jobs:
        batch = str(job.batch) if job.batch >= 0 else ""
        rate = f"{job.rows_per_s:,.0f}" if job.rows_per_s else ""
        table.add_row(job.name, Text(str(job.state), _COLOURS.get(str(job.state), "")), batch, rate, job.said)
    return table


def submit(place: Place, jobs: str, master: str, conf: Iterable[str], arguments: list[str], *, dry_run: bool) -> int:
    """Packs the environment, says what it runs, and becomes it."""
    from braidmq.pipeline.submit import PACK, check_reachable, driver_folder, launch, pack, shown, submission

    root = Path(place.root)
    target = root / PACK
    told = [jobs, "--bootstrap", place.bootstrap, "--path", str(root), *arguments]
    program = Path(__file__).with_name("_submitted.py")
    command, more = submission(master, target, program, told, conf=pairs(conf, "--conf"))
    if not dry_run:
        check_reachable(master)
        root.mkdir(parents=True, exist_ok=True)
        with Console(stderr=True).status(f"packing this environment into {target}"):
            pack(target)
    print(shown(command, more), flush=True)
    if not dry_run:
        launch(command, more, driver_folder(root))
    return _errors.DONE


def status(place: Place, *, output: str) -> int:
    """What the driver last said; 1 where none runs."""
    from braidmq.pipeline.status import read_status

    found = read_status(place.root)
    if output == "json":
        print(msgspec.json.encode(found).decode())
    elif output != "table":
        jobs = [] if found is None else found.jobs
        show_rows(msgspec.to_builtins(jobs), (), output)
    elif found is None:
        print(f"no pipeline has run with its tables in {place.root}; start one: braid pipeline run")
    else:
        console = Console()
        console.print(jobs_table(found.jobs))
        if not found.is_alive:
            ago = int(time.time() - found.told_ms / 1000)
            console.print(f"\nno driver runs; the last one (process {found.pid}) was heard of {ago} s ago")
    return _errors.DONE if found is not None and found.is_alive else _errors.FAILED


def doctor(place: Place, *, output: str) -> int:
    """What the pipeline needs, and how it stands; 1 when something fails."""
    from braidmq.cli._doctor import print_finding
    from braidmq.pipeline import Standing, examine

    findings = []
    for finding in examine(bootstrap=place.bootstrap, tables=place.root):
        findings.append(finding)
        if output == "table":
            print_finding(finding)
    if output != "table":
        show_rows(msgspec.to_builtins(findings), (), output)
    return _errors.FAILED if any(finding.standing is Standing.FAIL for finding in findings) else _errors.DONE


def report(place: Place, *, begin: str | None, end: str | None, folder: Path, pressure: bool) -> int:
    """The resource report of a span of time, as HTML, JSON and CSV in a folder."""
    from braidmq.pipeline.reports import usage_report, write

    until = moment(end, "--to") or datetime.datetime.now(UTC)
    since = moment(begin, "--from") or until - timedelta(days=1)
    for path in write(usage_report(place.root, since, until, pressure=pressure), folder):
        print(path)
    return _errors.DONE


def moment(text: str | None, name: str) -> datetime.datetime | None:
    """A time of day, in UTC unless it says otherwise. Raises InvalidSetting."""
    if text is None:
        return None
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidSetting(f"{name}: {text!r} is no time; it is written 2026-11-16 or 2026-11-16T08:00:00") from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


@contextlib.contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the error output, for a person who waits."""
    console = Console(stderr=True)
    bars = Progress(
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console,
        disable=not console.is_terminal,
    )  # fmt: skip
    task = bars.add_task(what, total=None)
    with bars:
        yield lambda done, total: bars.update(task, completed=done, total=total)
