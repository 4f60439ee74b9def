"""Proves that the archive has every offset of every partition exactly once, or says what it has not.

Three witnesses are heard. The commits say what was read, range by range, and which offsets hold no message and why. The
files say which rows there are; each is read, and checked against the checksum in its name. The log, as far as it still
goes back, says what the messages were. Every offset must be a row, a gap with a cause, a row in the quarantine, or one
that retention took out and wrote down.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from braidmq.pipeline._brokers import topics_at
from braidmq.pipeline.archive import Folders, chosen_topics, remade_topics
from braidmq.pipeline.archive._expire import Runs, runs_of
from braidmq.pipeline.archive._layout import APP
from braidmq.pipeline.audit._intervals import Interval, count, repeated, union, without
from braidmq.pipeline.audit._log_check import LogReader
from braidmq.pipeline.audit._report import Finding, PartitionAudit, Report
from braidmq.pipeline.columns import UNREADABLE
from braidmq.pipeline.tables import Commit, LiveFile, Table, TopicPartition, file_checksum, named_checksum

UNKNOWN: Final = "unknown"
LOG_ROWS_MAX: Final = 1_000_000
FINDINGS_MAX: Final = 1_000
"""For each kind and partition; a report of a lost disk stays readable."""


class _Task(msgspec.Struct, frozen=True):
    root: str
    file: LiveFile


class _FileAudit(msgspec.Struct):
    """What one file holds, and what is wrong with it."""

    runs: Runs
    findings: list[Finding]


class _Account(msgspec.Struct):
    """What the commits say of one partition."""

    ranges: list[Interval] = []
    gaps: list[tuple[int, int, str]] = []
    unexplained: list[Interval] = []
    expired: list[Interval] = []


def audit(
    path: str | Path,
    *,
    spark: SparkSession | None = None,
    bootstrap: str | None = None,
    kafka: Mapping[str, str] | None = None,
    topics: Sequence[str] = (),
    log_rows_max: int = LOG_ROWS_MAX,
    now: datetime | None = None,
) -> Report:
    """Audits the archive at `path`; files are read in Spark's tasks where a session is given. With `bootstrap`, the
    newest rows of each partition, up to `log_rows_max`, are compared with the log, and the log says what is not
    archived yet, also of the `topics` that are to be archived (those whose setting says so, unless they are named).
    Raises TableError where there is no archive, and BrokerUnreachable."""
    folders = Folders(path)
    table = Table.open(folders.messages)
    version = table.version
    files = table.files()
    accounts = _accounts(commit for commit in table.commits() if commit.version <= version)
    audits = _read_files(spark, [_Task(str(folders.messages), file) for file in files])
    findings = [finding for each in audits for finding in each.findings]
    if (unknown := table.unknown_commits()) is not None:
        detail = f"versions {unknown[0]} to {unknown[1] - 1} of the table are neither in its log nor in its ledger"
        findings.append(Finding("commits_missing", detail))
    rows = _gathered(each.runs for each in audits)
    quarantined: dict[TopicPartition, list[Interval]] = {}
    if Table.exists(folders.quarantine):
        quarantine = Table.open(folders.quarantine)
        bad = _read_files(None, [_Task(str(folders.quarantine), file) for file in quarantine.files()])
        findings += [finding for each in bad for finding in each.findings]
        quarantined = _gathered(each.runs for each in bad)
    places = accounts.keys() | rows.keys() | quarantined.keys()
    log, gone = None, {}
    if bootstrap is not None:
        settings = dict(kafka or {})
        chosen = set(topics) or set(chosen_topics(bootstrap, settings))
        known = topics_at(bootstrap, settings)
        places = places | {(topic, number) for topic in chosen for number in known.get(topic, ())}
        gone = remade_topics(str(path), bootstrap, {topic for topic, _ in places}, settings)
        findings += [Finding("topic_remade", why, topic) for topic, why in gone.items()]
        log = LogReader(bootstrap, settings)
    try:
        partitions = []
        for place in sorted(places):
            account = accounts.get(place, _Account())
            judged = _Partition(place, account, rows.get(place, []), quarantined.get(place, []))
            findings += judged.findings()
            compared, behind = 0, 0
            bounds = None if log is None or place[0] in gone else log.bounds(*place)
            if log is not None and bounds is not None:
                compared, differing = _against_log(log, table, files, judged, bounds, log_rows_max)
                findings += [*differing, *judged.lost_before(bounds[0])]
                behind = judged.behind(bounds)
            partitions.append(judged.summary(compared, behind))
    finally:
        if log is not None:
            log.close()
    return Report(
        path=str(folders.root),
        table_id=str(DeltaTable(str(table.path)).metadata().id),
        version=version,
        time=(now or datetime.now(UTC)).replace(microsecond=0),
        files=len(files),
        size_bytes=sum(file.size for file in files),
        partitions=partitions,
        findings=findings,
    ).signed()


def _accounts(commits: Iterable[Commit]) -> dict[TopicPartition, _Account]:
    result: dict[TopicPartition, _Account] = {}
    for commit in commits:
        if commit.app == APP:
            for piece in commit.ranges:
                account = result.setdefault(piece.of, _Account())
                account.ranges.append((piece.start, piece.end))
                account.gaps += piece.gaps
                if piece.unexplained:
                    account.unexplained.append((piece.start, piece.end))
        for topic, partitions in commit.notes.get("expired", {}).items():
            for partition, runs in partitions.items():
                result.setdefault((topic, int(partition)), _Account()).expired += [(run[0], run[1]) for run in runs]
    return result


def _gathered(parts: Iterable[Runs]) -> dict[TopicPartition, list[Interval]]:
    result: dict[TopicPartition, list[Interval]] = {}
    for part in parts:
        for topic, partitions in part.items():
            for partition, runs in partitions.items():
                result.setdefault((topic, int(partition)), []).extend((run[0], run[1]) for run in runs)
    return result


class _Partition:
    """One partition before the judge."""

    def __init__(
        self, place: TopicPartition, account: _Account, rows: list[Interval], quarantined: list[Interval]
    ) -> None:
        self.place = place
        self._account = account
        self.gaps = account.gaps
        self._rows = rows
        self._quarantined = quarantined
        self.covered = union(account.ranges)
        gaps = [(first, end) for first, end, _ in account.gaps]
        self.expected = without(self.covered, [*gaps, *account.expired, *quarantined])

    def gap_offsets(self, low: int, high: int) -> set[int]:
        """The offsets between that are said to hold no message."""
        return {offset for first, end, _ in self._account.gaps for offset in range(max(first, low), min(end, high))}

    def findings(self) -> Iterator[Finding]:
        account = self._account
        yield from self._found("covered_twice", repeated(account.ranges), "two commits say that they brought these")
        for (_, end), (start, _) in zip(self.covered, self.covered[1:], strict=False):
            yield from self._found("hole", [(end, start)], "no commit says anything of these offsets")
        yield from self._found("gap_unexplained", account.unexplained, "fewer rows and gaps than offsets in this range")
        unknown = [(first, end) for first, end, cause in account.gaps if cause == UNKNOWN]
        yield from self._found("gap_unexplained", unknown, "no message, and nobody knows why")
        yield from self._found("row_twice", repeated([*self._rows, *self._quarantined]), "more than one row")
        missing = without(self.expected, self._rows)
        yield from self._found("row_missing", missing, "the commits promise rows that no file has")
        unexpected = without(self._rows, self.expected)
        yield from self._found("row_unexpected", unexpected, "rows that no commit has brought, or that had expired")

    def _found(self, kind: str, intervals: Sequence[Interval], detail: str) -> Iterator[Finding]:
        topic, partition = self.place
        for first, end in intervals[:FINDINGS_MAX]:
            yield Finding(kind, detail, topic, partition, first, end)

    def lost_before(self, first: int) -> Iterator[Finding]:
        """What the log gave up, from where the archive ends."""
        if self.covered:
            detail = "the log gave these up before they were archived"
            yield from self._found("gone_unarchived", without([(self.covered[-1][1], first)], []), detail)

    def behind(self, bounds: Interval) -> int:
        """How many offsets the log has behind the archive's end."""
        return max(0, bounds[1] - max(bounds[0], self.covered[-1][1] if self.covered else 0))

    def summary(self, compared: int, behind: int) -> PartitionAudit:
        topic, partition = self.place
        gaps: Counter[str] = Counter()
        for first, end, cause in self._account.gaps:
            gaps[cause] += end - first
        bounds = self.covered or union(self._rows) or [(0, 0)]
        return PartitionAudit(
            topic=topic,
            partition=partition,
            first=bounds[0][0],
            end=bounds[-1][1],
            covered=count(self.covered),
            rows=count(self._rows),
            gaps=dict(gaps),
            quarantined=count(self._quarantined),
            expired=count(union(self._account.expired)),
            compared_with_log=compared,
            not_archived=behind,
        )


def _read_files(spark: SparkSession | None, tasks: Sequence[_Task]) -> list[_FileAudit]:
    if spark is None or not tasks:
        return [_read_file(task) for task in tasks]
    encoded = [(msgspec.msgpack.encode(task),) for task in tasks]
    frame = spark.createDataFrame(encoded, "task binary")
    rows = frame.mapInArrow(_read_in_task, "result binary").toLocalIterator()
    return [msgspec.msgpack.decode(bytes(row[0]), type=_FileAudit) for row in rows]


def _read_in_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        tasks = [msgspec.msgpack.decode(task, type=_Task) for task in batch.column("task").to_pylist()]
        results = [msgspec.msgpack.encode(_read_file(task)) for task in tasks]
        yield pa.RecordBatch.from_pydict({"result": pa.array(results, pa.binary())})


def _read_file(task: _Task) -> _FileAudit:
    """A file that cannot be read has no rows: what it should have held is then missing, and said to be."""
    path = Path(task.root) / task.file.path
    findings: list[Finding] = []
    try:
        checksum = file_checksum(path)
    except FileNotFoundError:
        return _FileAudit({}, [Finding("file_missing", str(path), file=task.file.path)])
    if checksum != named_checksum(task.file.path) or path.stat().st_size != task.file.size:
        findings.append(Finding("file_damaged", f"{path}: not the bytes that were written", file=task.file.path))
    try:
        rows = pq.read_table(
            path,
            columns=["topic", "partition", "offset"],
            partitioning=None,
            page_checksum_verification=True,
        )
    except (OSError, ValueError, pa.ArrowException) as error:
        findings.append(Finding("file_damaged", f"{path} cannot be read: {error}", file=task.file.path))
        return _FileAudit({}, findings)
    if rows.num_rows != task.file.rows:
        detail = f"{path} has {rows.num_rows} rows, and the table says {task.file.rows}"
        findings.append(Finding("file_damaged", detail, file=task.file.path))
    return _FileAudit(runs_of(rows), findings)


def _against_log(
    log: LogReader, table: Table, files: Sequence[LiveFile], judged: "_Partition", bounds: Interval, rows_max: int
) -> tuple[int, list[Finding]]:
    """The newest offsets that both have: each visible record of the log must be a row with the same body."""
    topic, partition = judged.place
    if not judged.covered:
        return 0, []
    end = min(judged.covered[-1][1], bounds[1])
    first = max(judged.covered[0][0], bounds[0], end - rows_max)
    if first >= end:
        return 0, []
    unreadable = [(since, until) for since, until, cause in judged.gaps if cause == UNREADABLE]
    logged: dict[int, int | None] = {}
    for since, until in without([(first, end)], unreadable):
        logged |= log.checksums(topic, partition, since, until, is_cut=until < end)
    archived = _archived_checksums(table, files, topic, partition, first, end)
    # Offsets that the commits call gaps: where the log has a message, it was no gap.
    unexpected = judged.gap_offsets(first, end) - archived.keys()
    findings = []
    for offset, checksum in logged.items():
        if offset in archived and archived[offset] != checksum:
            detail = "the archive's body is not the log's"
            findings.append(Finding("differs_from_log", detail, topic, partition, offset, offset + 1))
        elif offset in unexpected:
            detail = "the log has a message where the archive says that there is none"
            findings.append(Finding("missing_from_archive", detail, topic, partition, offset, offset + 1))
    return len(logged.keys() & archived.keys()), findings[:FINDINGS_MAX]


def _archived_checksums(
    table: Table, files: Sequence[LiveFile], topic: str, partition: int, first: int, end: int
) -> dict[int, int | None]:
    """Computed from the bodies themselves, so that a wrong checksum column hides nothing."""
    result: dict[int, int | None] = {}
    for file in files:
        if not (file.low["topic"] <= topic <= file.high["topic"]):
            continue
        if file.high["offset"] < first or file.low["offset"] >= end:
            continue
        try:
            rows = pq.read_table(
                table.path / file.path,
                columns=["offset", "value"],
                partitioning=None,
                filters=(pc.field("topic") == topic)
                & (pc.field("partition") == partition)
                & (pc.field("offset") >= first)
                & (pc.field("offset") < end),
            )
        except (OSError, ValueError, pa.ArrowException):
            # The file's own finding says so; its rows are then compared with nothing.
            continue
        result.update(zip(rows.column("offset").to_pylist(), _checksums(rows.column("value")), strict=True))
    return result


def _checksums(values: pa.ChunkedArray) -> Iterator[int | None]:
    for value in values:
        yield None if not value.is_valid else zlib.crc32(value.as_buffer())
