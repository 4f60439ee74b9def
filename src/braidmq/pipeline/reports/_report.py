"""What a report says: totals, topics, groups, courses over time, what leads where, and what is missing."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec

from braidmq.model.histogram import added, quantile
from braidmq.model.telemetry import ACKNOWLEDGED, IN, KEPT, NORMAL, OUT
from braidmq.pipeline.errors import InvalidOption
from braidmq.pipeline.tables import Table

ROWS_MAX: Final = 500
"""How many topics and groups are listed; the rest is summed up in the totals."""
_STEPS: Final = (
    (timedelta(hours=6), "usage_1m", timedelta(minutes=1)),
    (timedelta(days=14), "usage_1h", timedelta(hours=1)),
    (timedelta.max, "usage_1d", timedelta(days=1)),
)
"""Up to which span courses are drawn from which table."""
_Row = dict[str, Any]


class TopicLine(msgspec.Struct, frozen=True, kw_only=True):
    """One topic in one protocol."""

    instance: str
    topic: str
    protocol: str
    traffic: str
    messages_in: int
    bytes_in: int
    failures: int
    messages_out: int
    bytes_out: int
    messages_per_s: float
    """That came, over the whole span."""
    p50_ms: float | None
    p99_ms: float | None
    """From a message's own time to its leaving."""


class GroupLine(msgspec.Struct, frozen=True, kw_only=True):
    """One group in one topic."""

    instance: str
    group: str
    topic: str
    delivered: int
    acknowledged: int
    retries: int
    dead: int
    p50_ms: float | None
    p99_ms: float | None


class StorageLine(msgspec.Struct, frozen=True, kw_only=True):
    """What a topic takes up, as last told."""

    instance: str
    topic: str
    storage_bytes: int


class Point(msgspec.Struct, frozen=True, array_like=True):
    """A moment of a course; null where nothing was told."""

    at: datetime
    value: float | None


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """A figure over time."""

    name: str
    unit: str
    points: tuple[Point, ...]


class ForecastLine(msgspec.Struct, frozen=True, kw_only=True):
    """Where something leads."""

    kind: str
    name: str
    topic: str
    now: float
    per_s: float | None
    verdict: str
    reached_at: datetime | None


class GapLine(msgspec.Struct, frozen=True, kw_only=True):
    """When a node told nothing."""

    node: str
    begin: datetime
    end: datetime
    cause: str


class DeadLine(msgspec.Struct, frozen=True, kw_only=True):
    """What a group gave up on: letters of the span, and since when there are any of this cause."""

    group: str
    origin_topic: str
    cause: str
    letters: int
    first_seen: datetime
    last_seen: datetime
    oldest_s: float
    """How old the first was when the report was made."""
    youngest_s: float
    sample_ids: tuple[str, ...]


class QuarantineLine(msgspec.Struct, frozen=True, kw_only=True):
    """What a job could not use for one reason: all that lies in its quarantine, whenever it came. Times are those of
    storing, which may be the very thing that is wrong."""

    job: str
    table: str
    """Below the folder of the tables."""
    reason: str
    rows: int
    first_seen: datetime
    last_seen: datetime
    topic: str
    partition: int
    offset: int
    """Where the latest of them is, or was."""


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """All together."""

    messages_in: int = 0
    bytes_in: int = 0
    messages_out: int = 0
    bytes_out: int = 0
    failures: int = 0
    retries: int = 0
    dead: int = 0
    storage_bytes: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None
    topics: int = 0
    groups: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One span of time."""

    version: int = 1
    begin: datetime
    end: datetime
    made_at: datetime
    with_pressure: bool
    totals: Totals
    topics: tuple[TopicLine, ...]
    groups: tuple[GroupLine, ...]
    storage: tuple[StorageLine, ...]
    courses: tuple[Course, ...]
    forecasts: tuple[ForecastLine, ...]
    gaps: tuple[GapLine, ...]
    dead_letters: tuple[DeadLine, ...]
    quarantine: tuple[QuarantineLine, ...] = ()


def usage_report(
    root: str, begin: datetime, end: datetime, *, pressure: bool = False, made_at: datetime | None = None
) -> Report:
    """What was used from one moment to another, which is not included. Pressure-test traffic is left out unless asked
    for. Raises InvalidOption for a span that ends before it begins."""
    if begin >= end:
        raise InvalidOption(f"a report ends after it begins: {begin.isoformat()} to {end.isoformat()}")
    made_at = made_at or datetime.now(UTC)
    tables = _Tables(root, begin, end, pressure=pressure)
    step, rows = tables.usage()
    topics = _topic_lines(rows, (end - begin).total_seconds())
    groups = _group_lines(rows)
    storage = _storage_lines(rows)
    return Report(
        begin=begin,
        end=end,
        made_at=made_at,
        with_pressure=pressure,
        totals=_totals(rows, storage),
        topics=topics[:ROWS_MAX],
        groups=groups[:ROWS_MAX],
        storage=storage[:ROWS_MAX],
        courses=(*_courses(rows, begin, end, step), *tables.lag_courses(step)),
        forecasts=tables.forecasts(),
        gaps=tables.gaps(),
        dead_letters=tables.dead_letters(made_at),
        quarantine=tables.quarantine(),
    )


class _Tables:
    """Reads the tables of jobs; one that does not exist is empty."""

    def __init__(self, root: str, begin: datetime, end: datetime, *, pressure: bool) -> None:
        self._root = Path(root)
        self._begin, self._end = begin, end
        self._pressure = pressure

    def _ask(self, name: str, query: str, **given: Any) -> list[_Row]:
        """The query reads from `rows`. Values are bound, never written into it."""
        path = self._root / name
        if not Table.exists(path):
            return []
        table = Table.open(path)
        files = [str(table.path / file.path) for file in table.files()]
        if not files:
            return []
        with duckdb.connect(config={"threads": 1, "memory_limit": "512MB"}) as database:
            database.execute("set timezone = 'UTC'")
            database.read_parquet(files, hive_partitioning=False).create_view("rows")
            found = database.execute(query, given)
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def usage(self) -> tuple[timedelta, list[_Row]]:
        span = self._end - self._begin
        name, step = next((name, step) for most, name, step in _STEPS if span <= most)
        rows = self._ask(
            name,
            'select * from rows where "at" >= $begin and "at" < $end and ($pressure or traffic = $normal)'
            ' order by "at"',
            begin=self._begin,
            end=self._end,
            pressure=self._pressure,
            normal=NORMAL,
        )
        return step, rows

    def lag_courses(self, step: timedelta) -> tuple[Course, ...]:
        """The groups that are furthest behind, over time: in each partition, as last told by then."""
        rows = self._ask(
            "lag_1m",
            'select "at", "group" as name, topic, "partition", lag from rows'
            ' where "at" >= $begin and "at" < $end order by "at"',
            begin=self._begin,
            end=self._end,
        )
        groups: dict[str, list[_Row]] = {}
        for row in rows:
            groups.setdefault(row["name"], []).append(row)
        courses = [_lag_course(name, told, self._begin, self._end, step) for name, told in groups.items()]
        worst = sorted(courses, key=lambda course: -max((point.value or 0) for point in course.points))
        return tuple(worst[:LAG_COURSES])

    def forecasts(self) -> tuple[ForecastLine, ...]:
        rows = self._ask(
            "lag_forecast",
            'select kind, name, topic, "now", per_s, verdict, reached_at from rows where "at" < $end'
            ' qualify row_number() over (partition by kind, name, topic order by "at" desc) = 1',
            end=self._end,
        )
        lines = [msgspec.convert(row, ForecastLine) for row in rows]
        return tuple(sorted(lines, key=lambda line: (_URGENCY.get(line.verdict, 9), -line.now)))[:ROWS_MAX]

    def gaps(self) -> tuple[GapLine, ...]:
        rows = self._ask(
            "usage_gaps",
            'select node, "from" as "begin", until as "end", cause from rows'
            ' where until > $begin and "from" < $end order by "from"',
            begin=self._begin,
            end=self._end,
        )
        return tuple(msgspec.convert(row, GapLine) for row in rows[:ROWS_MAX])

    def dead_letters(self, now: datetime) -> tuple[DeadLine, ...]:
        rows = self._ask(
            "dlq_top",
            'select "group", origin_topic, cause,'
            " coalesce(sum(letters) filter (where last_seen >= $begin), 0)::bigint as letters,"
            " min(first_seen) as first_seen, max(last_seen) as last_seen,"
            " epoch($now::timestamptz - min(first_seen)) as oldest_s,"
            " epoch($now::timestamptz - max(last_seen)) as youngest_s,"
            " max_by(sample_ids, last_seen) as sample_ids from rows"
            " where first_seen < $end and ($pressure or traffic = $normal)"
            " group by all having letters > 0 order by letters desc",
            begin=self._begin,
            end=self._end,
            now=now,
            pressure=self._pressure,
            normal=NORMAL,
        )
        return tuple(msgspec.convert(row, DeadLine) for row in rows[:ROWS_MAX])

    def quarantine(self) -> tuple[QuarantineLine, ...]:
        """Not by span: a record whose time is wrong is of none."""
        lines = []
        for job, (table, topic, partition) in QUARANTINES.items():
            place = f'{{topic: "{topic}", partition: "{partition}", "offset": "offset"}}'  # names of ours
            rows = self._ask(table, _QUARANTINED.replace("PLACE", place))
            found = ({name: value for name, value in row.items() if name != "latest"} | row["latest"] for row in rows)
            lines += [msgspec.convert({**each, "job": job, "table": table}, QuarantineLine) for each in found]
        return tuple(lines[:ROWS_MAX])


QUARANTINES: Final = {
    "archive": ("archive/quarantine", "topic", "partition"),
    "trace": ("trace_events_quarantine", "source_topic", "source_partition"),
    "usage": ("usage_samples_quarantine", "source_topic", "partition"),
    "dlq": ("dlq_letters_quarantine", "topic", "partition"),
    "lag": ("lag_samples_quarantine", "source_topic", "source_partition"),
}
"""By job: the table, and which of its columns say where a record came from. The jobs are not asked, since whoever makes
a report needs no Spark."""
_QUARANTINED: Final = """
select reason, count(*)::bigint as rows, min(store_time) as first_seen, max(store_time) as last_seen,
    max_by(PLACE, store_time) as latest
from rows group by reason order by rows desc, reason
"""
LAG_COURSES: Final = 5
_URGENCY: Final = {
    verdict: nth
    for nth, verdict in enumerate(
        ("full", "will not catch up", "fills up", "no direction", "stands still", "catches up", "too little is known")
    )
}


class _Sum:
    """Rows that are added up."""

    def __init__(self) -> None:
        self.messages = self.size_bytes = self.failures = self.retries = self.dead = 0
        self.latency: dict[int, int] = {}

    def add(self, row: _Row) -> None:
        self.messages += row["messages"]
        self.size_bytes += row["bytes"]
        self.failures += row["failures"]
        self.retries += row["retries"]
        self.dead += row["dead"]
        self.latency = added(self.latency, row["latency_ms"] or {})


def _sums(rows: Iterable[_Row], *keys: str) -> dict[tuple[Any, ...], _Sum]:
    found: dict[tuple[Any, ...], _Sum] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), _Sum()).add(row)
    return found


def _topic_lines(rows: Sequence[_Row], seconds: float) -> tuple[TopicLine, ...]:
    sums = _sums(rows, "instance", "topic", "protocol", "traffic", "direction")
    nothing = _Sum()
    lines = []
    for key in sorted({key[:4] for key in sums if key[4] in (IN, OUT)}):
        came, went = (sums.get((*key, direction), nothing) for direction in (IN, OUT))
        lines.append(
            TopicLine(
                instance=key[0],
                topic=key[1],
                protocol=key[2],
                traffic=key[3],
                messages_in=came.messages,
                bytes_in=came.size_bytes,
                failures=came.failures,
                messages_out=went.messages,
                bytes_out=went.size_bytes,
                messages_per_s=came.messages / seconds,
                p50_ms=quantile(went.latency, 0.5),
                p99_ms=quantile(went.latency, 0.99),
            )
        )
    return tuple(sorted(lines, key=lambda line: -(line.messages_in + line.messages_out)))


def _group_lines(rows: Sequence[_Row]) -> tuple[GroupLine, ...]:
    sums = _sums((row for row in rows if row["group"]), "instance", "group", "topic", "direction")
    nothing = _Sum()
    lines = []
    for key in sorted({key[:3] for key in sums}):
        went, done = (sums.get((*key, direction), nothing) for direction in (OUT, ACKNOWLEDGED))
        lines.append(
            GroupLine(
                instance=key[0],
                group=key[1],
                topic=key[2],
                delivered=went.messages,
                acknowledged=done.messages,
                retries=done.retries,
                dead=done.dead,
                p50_ms=quantile(went.latency, 0.5),
                p99_ms=quantile(went.latency, 0.99),
            )
        )
    return tuple(sorted(lines, key=lambda line: -(line.delivered + line.acknowledged)))


def _storage_lines(rows: Sequence[_Row]) -> tuple[StorageLine, ...]:
    last: dict[tuple[str, str], int] = {}
    for row in rows:  # in the order of time
        if row["direction"] == KEPT:
            last[row["instance"], row["topic"]] = row["storage_bytes"]
    lines = [StorageLine(instance=key[0], topic=key[1], storage_bytes=value) for key, value in last.items()]
    return tuple(sorted(lines, key=lambda line: -line.storage_bytes))


def _totals(rows: Sequence[_Row], storage: Sequence[StorageLine]) -> Totals:
    sums = _sums(rows, "direction")
    nothing = _Sum()
    came, went, done = (sums.get((direction,), nothing) for direction in (IN, OUT, ACKNOWLEDGED))
    return Totals(
        messages_in=came.messages,
        bytes_in=came.size_bytes,
        messages_out=went.messages,
        bytes_out=went.size_bytes,
        failures=came.failures,
        retries=done.retries,
        dead=done.dead,
        storage_bytes=sum(line.storage_bytes for line in storage),
        p50_ms=quantile(went.latency, 0.5),
        p99_ms=quantile(went.latency, 0.99),
        topics=len({(row["instance"], row["topic"]) for row in rows if row["topic"]}),
        groups=len({(row["instance"], row["group"]) for row in rows if row["group"]}),
    )


def _courses(rows: Sequence[_Row], begin: datetime, end: datetime, step: timedelta) -> list[Course]:
    sums = _sums(rows, "at", "direction")
    moments = _moments(begin, end, step)
    seconds = step.total_seconds()

    def course(name: str, unit: str, direction: str, value: Any) -> Course:
        points = ((at, sums.get((at, direction))) for at in moments)
        return Course(
            name=name,
            unit=unit,
            points=tuple(Point(at, None if found is None else value(found)) for at, found in points),
        )

    return [
        course("in", "messages/s", IN, lambda found: found.messages / seconds),
        course("out", "messages/s", OUT, lambda found: found.messages / seconds),
        course("in", "bytes/s", IN, lambda found: found.size_bytes / seconds),
        course("out", "bytes/s", OUT, lambda found: found.size_bytes / seconds),
        course("p50", "ms", OUT, lambda found: quantile(found.latency, 0.5)),
        course("p99", "ms", OUT, lambda found: quantile(found.latency, 0.99)),
    ]


def _lag_course(name: str, told: Sequence[_Row], begin: datetime, end: datetime, step: timedelta) -> Course:
    latest: dict[tuple[str, int], int] = {}
    points = []
    place = 0
    for at in _moments(begin, end, step):
        while place < len(told) and told[place]["at"] < at + step:
            latest[told[place]["topic"], told[place]["partition"]] = told[place]["lag"]
            place += 1
        points.append(Point(at, float(sum(latest.values())) if latest else None))
    return Course(name=name, unit="messages behind", points=tuple(points))


def _moments(begin: datetime, end: datetime, step: timedelta) -> list[datetime]:
    """The beginnings of all windows in the span."""
    since = datetime(1970, 1, 1, tzinfo=UTC)
    first = since + ((begin - since) // step) * step
    moments = []
    while first < end:
        if first >= begin:
            moments.append(first)
        first += step
    return moments
