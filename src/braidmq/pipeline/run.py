"""The driver: all jobs of the pipeline as named queries of one session, once or for good.

A job that ends without having been told to is started again, later and later: what it had done is in its tables, and
what it had not comes again. A configuration that cannot work stops everything before anything has begun.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
from confluent_kafka import KafkaException
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from braidmq.logger import get_logger
from braidmq.model import BraidError
from braidmq.pipeline import archive, jobs
from braidmq.pipeline._brokers import LATEST, admin_client, offsets_at, topics_at
from braidmq.pipeline._folders import local_folder
from braidmq.pipeline.archive import Retention
from braidmq.pipeline.audit import audit
from braidmq.pipeline.errors import InvalidOption, TopicMissing, TopicRemade
from braidmq.pipeline.jobs import Sources
from braidmq.pipeline.source import read_options
from braidmq.pipeline.status import JobState, JobStatus, write_status
from braidmq.pipeline.tables import Compacted, FileDamaged, NewerTable, Table, UnlikeTable

JOBS: Final = ("archive", "trace", "usage", "audit", "dlq", "lag")
TICK_S: Final = 1.0
LOOK_S: Final = 60.0
"""How often the driver looks which topics are to be archived, and asks a cluster that tells nothing by itself."""
FIND_S: Final = 180.0
"""How often the driver looks what is stuck while nothing comes; what comes is looked at as it does."""
KEEP_HOUSE_S: Final = 3600.0
UNKNOWN: Final = "unknown"
"""The cause of a gap that nobody knows: what was there was gone."""
RESTART_S: Final = (5.0, 10.0, 20.0, 40.0, 60.0)

_NEVER_WORKS: Final = (InvalidOption, NewerTable, UnlikeTable)
"""What is no better at the next try."""

_log = get_logger(__name__)

OnChange = Callable[[Mapping[str, JobStatus]], None]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to run, and where it reads and writes."""

    bootstrap: str
    root: str
    """The folder of all tables."""
    jobs: tuple[str, ...] = JOBS
    topics: tuple[str, ...] = ()
    """The topics to archive; none means those whose setting says so."""
    kafka: dict[str, str] = {}
    retention: Retention = Retention()
    keep_history: timedelta | None = None
    """How long samples and tables by the minute are kept; None is for ever."""
    allow_data_loss: bool = False
    """Whether the archive goes on without messages that were gone before it read them."""

    @property
    def archive_path(self) -> str:
        return str(Path(self.root) / "archive")

    @property
    def sources(self) -> Sources:
        return Sources(bootstrap=self.bootstrap, root=self.root, kafka=self.kafka, keep=self.keep_history)

    def checked(self) -> "Plan":
        """With the folder as a path of this machine. Raises InvalidOption for a job that there is not, for settings
        that the source does not have, and for a place of tables that they cannot be in."""
        unknown = sorted(set(self.jobs) - set(JOBS))
        if unknown or not self.jobs:
            raise InvalidOption(f"there is no job {', '.join(unknown) or 'named'}; there are {', '.join(JOBS)}")
        read_options(self.sources.options() | {"topics": "any"})
        root = local_folder(self.root)
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidOption(f"the tables cannot be in {root}: {error.strerror}") from error
        return msgspec.structs.replace(self, root=str(root))


class Driver:
    """Runs a plan in a session. `on_change` hears of every change, in the thread that runs."""

    def __init__(self, spark: SparkSession, plan: Plan, on_change: OnChange = lambda _: None) -> None:
        self._spark = spark
        self._plan = plan.checked()
        self._on_change = on_change
        self._status = {name: JobStatus(name=name) for name in plan.jobs}
        self._queries: dict[str, StreamingQuery] = {}
        self._failures: dict[str, int] = {}
        self._due_s: dict[str, float] = dict.fromkeys(plan.jobs, 0.0)
        self._archived: list[str] = []
        self._remade: dict[str, str] = {}
        """Topics that are left out of the archive, and why."""
        self._archived_before = 0
        self._seen: dict[str, int] = {}
        """Up to which version of its table each job's losses are counted."""
        self._is_status_written = True
        self._chores = ThreadPoolExecutor(1, thread_name_prefix="chores")
        self._chore: Future[str] | None = None
        self._chore_of = ""
        self._house_due_s = time.monotonic() + KEEP_HOUSE_S
        writing = [name for name in plan.jobs if name != "audit"]
        # Whose line tells of the upkeep: the archive's, since that is the largest part of it.
        self._house_job = "archive" if "archive" in writing else next(iter(writing), "")

    # Once.

    def run_once(self) -> dict[str, JobStatus]:
        """Every job for all that is there now, one after the other, also when one of them fails; how each went. Raises
        what cannot work before anything is begun."""
        self._check()
        for name in self._plan.jobs:
            self._tell(name, state=JobState.RUNNING)
            self._seen[name] = self._version(name)
            try:
                for rows, total in self._steps_of(name):
                    self._tell(name, rows=rows, total=total)
            except (TopicMissing, _NothingToDo) as error:
                self._tell(name, state=JobState.IDLE, detail=error.message)
            except _Unsound as error:
                self._tell(name, state=JobState.UNSOUND, detail=error.message)
            except _NEVER_WORKS:
                raise
            except Exception as error:  # whatever Spark throws is shown, and ends this job only
                self._tell(name, state=JobState.FAILED, detail=_first_line(error))
            else:
                self._tell(name, state=JobState.DONE)
            self._tell_losses(name)
        self._write_status()
        return dict(self._status)

    def _check(self) -> None:
        """Raises what cannot work: InvalidOption, BrokerUnreachable, and what tables of other versions raise."""
        known = topics_at(self._plan.bootstrap, self._plan.kafka)
        if "archive" in self._plan.jobs and (missing := sorted(set(self._plan.topics) - known.keys())):
            raise InvalidOption(f"there is no topic {', '.join(missing)} at {self._plan.bootstrap} to be archived")
        for name in self._plan.jobs:
            if (table := self._table_of(name)) is not None and Table.exists(table):
                Table.open(table)
        if "archive" in self._plan.jobs and Table.exists(archive.Folders(self._plan.archive_path).messages):
            archive.messages_table(self._plan.archive_path)

    def _table_of(self, name: str) -> Path | None:
        """Where the job keeps what it has read."""
        if name == "archive":
            return archive.Folders(self._plan.archive_path).messages
        return None if name == "audit" else Path(self._plan.root) / _job(name).INGEST.name

    def _steps_of(self, name: str) -> Iterator[tuple[int, int]]:
        if name == "archive":
            yield from self._archive_once()
        elif name == "audit":
            self._tell(name, detail=self._audit())
        else:
            outcome = _job(name).run_once(self._spark, self._plan.sources)
            if name == "lag" and outcome.is_topic_missing:
                yield jobs.lag.sample(self._spark, self._plan.sources), 0
            else:
                yield outcome.rows, outcome.rows

    def _archive_once(self) -> Iterator[tuple[int, int]]:
        topics = self._topics_to_archive()
        if not topics and not self._remade:
            raise _NothingToDo(
                "no topic is to be archived: set braid.archive of a topic to on or required, or name topics"
            )
        before, total = self._archived_rows(), self._backlog(topics)
        query = archive.start(
            self._spark,
            bootstrap=self._plan.bootstrap,
            path=self._plan.archive_path,
            topics=[*topics, *self._remade],
            trigger="once",
            fail_on_data_loss=not self._plan.allow_data_loss,
            kafka=self._plan.kafka,
        )
        while query.isActive:
            yield self._archived_rows() - before, total
            time.sleep(TICK_S)
        query.awaitTermination()  # raises what ended it
        # All marks once more, for brokers that did not hear of the last batch.
        archive.refresh_marks(self._plan.archive_path, self._plan.bootstrap, kafka=self._plan.kafka)
        yield self._archived_rows() - before, total
        if self._remade:
            raise TopicRemade(f"{self._left_out()}; the other topics are archived")

    def _archived_rows(self) -> int:
        """How many offsets the archive covers. The table is asked, since of Spark's rows each is the work of a task."""
        intervals = archive.messages_table(self._plan.archive_path).state(archive.APP).covered.intervals.values()
        return sum(end - start for found in intervals for start, end in found)

    def _backlog(self, topics: list[str]) -> int:
        """About how many messages are to be archived. Raises BrokerUnreachable."""
        covered = archive.messages_table(self._plan.archive_path).state(archive.APP).covered.ends()
        known = topics_at(self._plan.bootstrap, self._plan.kafka)
        places = [(topic, partition) for topic in topics for partition in known.get(topic, ())]
        ends = offsets_at(admin_client(self._plan.bootstrap, self._plan.kafka), places, LATEST)
        return sum(max(end - covered.get(place, 0), 0) for place, end in ends.items())

    # For good.

    def run(self, stop: threading.Event) -> dict[str, JobStatus]:
        """Until told to stop; then every query ends between two batches. Raises what cannot work before it begins."""
        self._check()
        try:
            with self._telling_status():
                while not stop.is_set():
                    self._tick(stop)
                    stop.wait(TICK_S)
        finally:
            for query in self._queries.values():
                query.stop()
            self._chores.shutdown(wait=True, cancel_futures=True)
            for name in self._plan.jobs:
                self._tell(name, state=JobState.STOPPED)
            self._write_status()
        return dict(self._status)

    @contextlib.contextmanager
    def _telling_status(self) -> Iterator[None]:
        """The file says that the driver lives also while it waits for brokers that do not answer."""
        ended = threading.Event()

        def tell() -> None:
            while not ended.wait(TICK_S):
                self._write_status()

        teller = threading.Thread(target=tell, name="status", daemon=True)
        teller.start()
        try:
            yield
        finally:
            ended.set()
            teller.join()

    def _write_status(self) -> None:
        """A disk without room keeps nobody from working."""
        try:
            write_status(self._plan.root, self._status.values())
        except OSError as error:
            if self._is_status_written:
                _log.warning("status not written", folder=self._plan.root, error=str(error))
            self._is_status_written = False
        else:
            self._is_status_written = True

    def _tick(self, stop: threading.Event) -> None:
        for name in self._plan.jobs:
            if stop.is_set():  # each job may have waited for brokers
                return
            now_s = time.monotonic()
            if name in self._queries:
                self._look_at(name, now_s)
            elif now_s >= self._due_s[name] and name != "audit":
                self._begin(name, now_s)
        self._keep_house(time.monotonic())

    def _begin(self, name: str, now_s: float) -> None:
        try:
            self._seen.setdefault(name, self._version(name))
            if name == "archive":
                self._queries[name] = self._start_archive()
            else:
                self._queries[name] = _job(name).start(self._spark, self._plan.sources)
        except (TopicMissing, _NothingToDo) as error:
            self._due_s[name] = now_s + LOOK_S
            if name == "lag":
                self._ask_cluster(now_s)
            else:
                self._tell(name, state=JobState.IDLE, detail=error.message)
        except Exception as error:  # whatever Spark throws is shown, and ends this attempt only
            self._failed(name, now_s, error)
        else:
            self._tell(name, state=JobState.RUNNING, detail=self._left_out() if name == "archive" else "")

    def _ask_cluster(self, now_s: float) -> None:
        """A cluster of Kafka's own does not tell how far groups are; it is asked."""
        try:
            found = jobs.lag.sample(self._spark, self._plan.sources)
        except (BraidError, PySparkException, KafkaException) as error:
            self._failed("lag", now_s, error)
        else:
            self._tell("lag", state=JobState.RUNNING, rows=self._status["lag"].rows + found, detail="asks the brokers")

    def _start_archive(self) -> StreamingQuery:
        self._archived = self._topics_to_archive()
        if not self._archived and not self._remade:
            raise _NothingToDo("no topic is to be archived: set braid.archive of a topic to on or required")
        self._due_s["archive"] = time.monotonic() + LOOK_S
        self._archived_before = self._archived_rows()
        self._tell("archive", batch=-1, rows=0, rows_per_s=0.0)
        return archive.start(
            self._spark,
            bootstrap=self._plan.bootstrap,
            path=self._plan.archive_path,
            topics=[*self._archived, *self._remade],  # these are left out, and their marks are taken back
            fail_on_data_loss=not self._plan.allow_data_loss,
            kafka=self._plan.kafka,
        )

    def _look_at(self, name: str, now_s: float) -> None:
        query = self._queries[name]
        if not query.isActive:
            del self._queries[name]
            self._failed(name, now_s, query.exception() or BraidError("the query has ended"))
            return
        progress = query.lastProgress
        if progress is not None:
            self._failures.pop(name, None)
            if progress.batchId != self._status[name].batch:
                self._tell_losses(name)
            if name == "archive":
                self._tell_archived(progress.batchId, progress.batchDuration / 1000)
            else:
                rate = progress.processedRowsPerSecond or 0.0
                self._tell(name, batch=progress["batchId"], rows_per_s=rate, rows=_rows_of(query))
        if name == "archive" and now_s >= self._due_s[name]:
            self._due_s[name] = now_s + LOOK_S
            self._follow_topics(query)
        elif name == "trace" and now_s >= self._due_s[name] and _has_read_all(query):
            self._due_s[name] = now_s + FIND_S
            self._find()

    def _find(self) -> None:
        """Where the only group hangs, nothing comes that would say so."""
        try:
            jobs.trace.find(self._spark, self._plan.sources)
        except (BraidError, PySparkException) as error:  # its query goes on, and this comes again
            self._tell("trace", detail=_first_line(error))

    def _tell_losses(self, name: str) -> None:
        """What lies in the job's quarantine, and what was gone before it was read."""
        path = self._table_of(name)
        if path is None or not Table.exists(path):
            return
        lost = self._status[name].lost
        for commit in Table.open(path).commits(self._seen[name] + 1):
            gaps = [gap for piece in commit.ranges for gap in piece.gaps]
            lost += sum(end - start for start, end, cause in gaps if cause == UNKNOWN)
            self._seen[name] = commit.version
        quarantine = path.with_name("quarantine" if name == "archive" else f"{path.name}_quarantine")
        rows = sum(file.rows for file in Table.open(quarantine).files()) if Table.exists(quarantine) else 0
        self._tell(name, quarantined=rows, lost=lost)

    def _version(self, name: str) -> int:
        """Of the job's table; -1 where there is none yet."""
        path = self._table_of(name)
        return Table.open(path).version if path is not None and Table.exists(path) else -1

    def _tell_archived(self, batch: int, seconds: float) -> None:
        told = self._status["archive"]
        if batch == told.batch:
            return
        rows = self._archived_rows() - self._archived_before
        self._tell("archive", batch=batch, rows=rows, rows_per_s=max(rows - told.rows, 0) / max(seconds, 0.001))

    def _follow_topics(self, query: StreamingQuery) -> None:
        """Topics that are to be archived from now on, or no longer, mean another query."""
        try:
            wanted = self._topics_to_archive()
        except BraidError:
            return  # the query itself will tell
        if wanted != self._archived:
            query.stop()
            del self._queries["archive"]
            self._due_s["archive"] = 0.0

    def _topics_to_archive(self) -> list[str]:
        """Without those that were made anew."""
        plan = self._plan
        wanted = sorted(set(plan.topics)) or sorted(archive.chosen_topics(plan.bootstrap, plan.kafka))
        self._remade = archive.remade_topics(plan.archive_path, plan.bootstrap, wanted, plan.kafka)
        return [topic for topic in wanted if topic not in self._remade]

    def _left_out(self) -> str:
        said = [f"{topic} is NOT archived: {why}" for topic, why in self._remade.items()]
        return "; ".join(said)

    def _failed(self, name: str, now_s: float, error: Exception) -> None:
        if isinstance(error, _NEVER_WORKS):
            raise error
        count = self._failures[name] = self._failures.get(name, 0) + 1
        pause_s = RESTART_S[min(count, len(RESTART_S)) - 1]
        self._due_s[name] = now_s + pause_s
        detail = f"{_first_line(error)}; begins again in {pause_s:.0f} s"
        self._tell(name, state=JobState.FAILED, detail=detail)

    # The house.

    def _keep_house(self, now_s: float) -> None:
        """Upkeep of the tables and the audit, now and then and one after the other, beside the queries."""
        if self._chore is not None:
            if self._chore.done():
                self._end_chore(now_s)
            return
        if "audit" in self._plan.jobs and now_s >= self._due_s["audit"]:
            self._begin_chore("audit", self._audit)
        elif self._house_job and now_s >= self._house_due_s:
            self._begin_chore(self._house_job, self._tidy)

    def _begin_chore(self, name: str, work: Callable[[], str]) -> None:
        self._chore_of = name
        if name == "audit":
            self._tell(name, state=JobState.RUNNING)
        self._chore = self._chores.submit(work)

    def _end_chore(self, now_s: float) -> None:
        chore, name = self._chore, self._chore_of
        assert chore is not None
        self._chore = None
        if name == "audit":
            self._due_s[name] = now_s + KEEP_HOUSE_S
        else:
            self._house_due_s = now_s + KEEP_HOUSE_S
        error = chore.exception()
        detail = chore.result() if error is None else _first_line(error)
        self._tell(name, detail=detail, **({"state": _state_after(error)} if name == "audit" else {}))

    def _tidy(self) -> str:
        """All of it, also where a file is damaged; then that is what is told."""
        sources, path = self._plan.sources, self._plan.archive_path
        chores: list[Callable[[], str]] = [
            lambda: _said(jobs.compact_tables(sources)),
            lambda: f"{jobs.expire(sources)} files of history are over",
            lambda: f"{jobs.tidy(sources)} that were replaced are removed",
        ]
        if "archive" in self._plan.jobs and Table.exists(archive.Folders(path).messages):
            chores += [
                lambda: f"archive: {_said(archive.compact(path))}",
                lambda: f"{archive.expire(path, self._retention()).rows} rows are over",
                lambda: f"{len(archive.tidy(path))} files that were replaced are removed",
            ]
        told, damage = [], None
        for chore in chores:
            try:
                told.append(chore())
            except FileDamaged as error:
                damage = error
        if damage is not None:
            raise damage
        return "; ".join(told)

    def _retention(self) -> archive.Retention:
        """What the command named counts first, then what topics say themselves."""
        own = archive.topic_retentions(self._plan.bootstrap, self._plan.kafka)
        return msgspec.structs.replace(self._plan.retention, topics=own | self._plan.retention.topics)

    def _audit(self) -> str:
        """What was found. Raises _NothingToDo without an archive, _Unsound, and what keeps an audit from its end."""
        table = archive.Folders(self._plan.archive_path).messages
        if not Table.exists(table):
            raise _NothingToDo(f"there is no table at {table}")
        report = audit(
            self._plan.archive_path,
            bootstrap=self._plan.bootstrap,
            kafka=self._plan.kafka,
            topics=self._plan.topics,
        )
        saved = report.save(Path(self._plan.root) / "audits")
        verdict = "sound" if report.sound else f"NOT SOUND, {len(report.findings)} findings"
        if report.not_archived:
            verdict += f", {report.not_archived} not archived yet"
        if not report.sound:
            raise _Unsound(f"{verdict}: {saved}")
        return f"{verdict}: {saved}"

    def _tell(self, name: str, **changes: Any) -> None:
        before = self._status[name]
        after = msgspec.structs.replace(before, **changes)
        if after != before:
            self._status[name] = msgspec.structs.replace(after, changed_ms=time.time_ns() // 1_000_000)
            self._on_change(self._status)


class _NothingToDo(BraidError):
    """The job has nothing to work on."""

    code = "nothing_to_do"


class _Unsound(BraidError):
    """The audit found something."""

    code = "unsound"


def _said(compacted: Compacted | archive.Compaction) -> str:
    return f"{compacted.files_before} files became {compacted.files_after}"


def _job(name: str) -> Any:
    return {"trace": jobs.trace, "usage": jobs.usage, "dlq": jobs.dlq, "lag": jobs.lag}[name]


def _state_after(error: BaseException | None) -> JobState:
    """How an audit is until the next one."""
    if error is None or isinstance(error, _NothingToDo):
        return JobState.IDLE
    return JobState.UNSOUND if isinstance(error, _Unsound) else JobState.FAILED


def _has_read_all(query: StreamingQuery) -> bool:
    """Whether it waits, and its last look found nothing."""
    status = query.status
    return status["message"].startswith("Waiting") and not status["isDataAvailable"]


def _rows_of(query: StreamingQuery) -> int:
    # By its property, and not by its key: over Spark Connect only the property is filled.
    return sum(progress.numInputRows for progress in query.recentProgress)


def _first_line(error: BaseException) -> str:
    text = error.message if isinstance(error, BraidError) else str(error)
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)[:300]
