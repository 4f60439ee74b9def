"""Jobs whose topics are no longer what they were: they go on, with what is there, and say what was gone."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from confluent_kafka import TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from braidmq.model.names import DEAD_LETTER_TOPIC_PREFIX
from braidmq.pipeline.jobs import Sources, dlq
from braidmq.pipeline.reports import usage_report
from braidmq.pipeline.run import Driver, Plan
from braidmq.pipeline.status import JobState
from braidmq.pipeline.tables import Table
from braidmq.records import Codec, Record, build_batch
from pipeline_support import LIMIT_S, Broker, packed_badly, send_as_it_is

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def letters(broker: Broker) -> str:
    """A topic of dead letters that nobody else reads."""
    return broker.topic(prefix=f"{DEAD_LETTER_TOPIC_PREFIX}group", retention_ms="-1")


@pytest.fixture
def sources(broker: Broker, tmp_path: Path, letters: str, monkeypatch: pytest.MonkeyPatch) -> Sources:
    only = msgspec.structs.replace(dlq.INGEST, pattern=letters)
    monkeypatch.setattr(dlq, "INGEST", only)
    return Sources(bootstrap=broker.bootstrap, root=str(tmp_path))


def rows(sources: Sources, name: str, columns: str) -> list[tuple[Any, ...]]:
    table = Table.open(sources.table(name))
    files = [str(table.path / file.path) for file in table.files()]
    with duckdb.connect() as database:
        query = f"select {columns} from read_parquet($files, union_by_name = true) order by all"  # noqa: S608
        return database.execute(query, {"files": files}).fetchall() if files else []


def offsets(sources: Sources) -> list[int]:
    return [row[0] for row in rows(sources, dlq.LETTERS, '"offset"')]


def counted(sources: Sources) -> int:
    return sum(row[0] for row in rows(sources, dlq.TOP, "letters"))


def once(spark: SparkSession, sources: Sources) -> Any:
    plan = Plan(bootstrap=sources.bootstrap, root=sources.root, jobs=("dlq",))
    return Driver(spark, plan).run_once()["dlq"]


def test_a_job_goes_on_behind_what_was_gone_and_past_what_cannot_be_read(
    spark: SparkSession, broker: Broker, letters: str, sources: Sources
) -> None:
    broker.send(letters, ["0", "1"])
    assert once(spark, sources).state is JobState.DONE
    broker.send(letters, ["2", "3", "4"])
    place = TopicPartition(letters, 0, 4)
    broker.admin.delete_records([place])[place].result(LIMIT_S)
    send_as_it_is(
        broker.bootstrap, letters, packed_badly(build_batch([Record(0, 1, None, b"x", ())], codec=Codec.GZIP))
    )
    told = once(spark, sources)
    assert (told.state, told.lost, told.quarantined) == (JobState.DONE, 2, 1)
    assert offsets(sources) == [0, 1, 4]
    assert rows(sources, f"{dlq.LETTERS}_quarantine", '"offset", reason') == [(5, "a batch that cannot be read")]
    now = datetime.now(UTC)
    (aside,) = usage_report(sources.root, now - timedelta(hours=1), now).quarantine
    assert (aside.job, aside.table, aside.reason) == ("dlq", "dlq_letters_quarantine", "a batch that cannot be read")
    assert (aside.rows, aside.topic, aside.partition, aside.offset) == (1, letters, 0, 5)
    assert counted(sources) == 3


def test_a_topic_that_is_made_anew_is_read_from_its_beginning(
    spark: SparkSession, broker: Broker, letters: str, sources: Sources
) -> None:
    broker.send(letters, ["old 0", "old 1"])
    assert once(spark, sources).state is JobState.DONE
    broker.admin.delete_topics([letters])[letters].result(LIMIT_S)
    assert once(spark, sources).state is JobState.DONE
    broker.make(letters, retention_ms="-1")
    broker.send(letters, ["new 0", "new 1", "new 2"])
    assert once(spark, sources).state is JobState.DONE
    assert offsets(sources) == [0, 0, 1, 1, 2]
    assert once(spark, sources).state is JobState.DONE
    assert counted(sources) == 5


def test_what_was_read_and_not_counted_yet_is_counted_when_the_checkpoint_is_lost(
    spark: SparkSession, broker: Broker, letters: str, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = dlq.INGEST

    def cut_off(*_: object) -> None:
        raise RuntimeError("cut off")

    broker.send(letters, ["0", "1"])
    monkeypatch.setattr(dlq, "INGEST", msgspec.structs.replace(whole, derive=cut_off))
    assert once(spark, sources).state is JobState.FAILED
    assert offsets(sources) == [0, 1]
    (Path(sources.root) / "_checkpoints").rename(Path(sources.root) / "lost")
    monkeypatch.setattr(dlq, "INGEST", whole)
    assert once(spark, sources).state is JobState.DONE
    assert counted(sources) == 2


def test_a_driver_that_was_taken_over_writes_no_results(
    spark: SparkSession, broker: Broker, letters: str, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = dlq.INGEST

    def too_late(*given: Any) -> None:
        Table.open(sources.table(dlq.LETTERS)).claim(dlq.LETTERS)
        whole.derive(*given)

    broker.send(letters, ["0"])
    monkeypatch.setattr(dlq, "INGEST", msgspec.structs.replace(whole, derive=too_late))
    told = once(spark, sources)
    assert told.state is JobState.FAILED
    assert not Table.exists(sources.table(dlq.TOP)) or counted(sources) == 0


def test_a_column_that_a_later_version_adds_is_null_in_earlier_rows(
    spark: SparkSession, broker: Broker, letters: str, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = dlq.INGEST
    broker.send(letters, ["0"])
    once(spark, sources)
    later = msgspec.structs.replace(
        earlier, shape=lambda source: earlier.shape(source).withColumn("colour", f.lit("red"))
    )
    monkeypatch.setattr(dlq, "INGEST", later)
    broker.send(letters, ["1"])
    assert once(spark, sources).state is JobState.DONE
    assert rows(sources, dlq.LETTERS, '"offset", colour') == [(0, None), (1, "red")]
    assert counted(sources) == 2
    monkeypatch.setattr(dlq, "INGEST", earlier)
    broker.send(letters, ["2"])
    told = once(spark, sources)
    assert told.state is JobState.FAILED
    assert offsets(sources) == [0, 1]
