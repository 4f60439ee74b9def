"""The archive job: every message of the topics that are to be kept goes into the table, exactly once."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from braidmq.pipeline.archive._layout import APP, Folders, messages_table, quarantine_table
from braidmq.pipeline.archive._marks import chosen_topics, set_marks
from braidmq.pipeline.archive._sink import FORMAT, KAFKA_PREFIX
from braidmq.pipeline.archive._source import FORMAT as SOURCE
from braidmq.pipeline.errors import BrokerUnreachable, InvalidOption
from braidmq.pipeline.tables import settle_quarantine

QUERY: Final = "archive"
TRIGGER: Final = "30 seconds"
ONCE: Final = "once"
ROWS_PER_BATCH: Final = 2_000_000
_INTERVAL: Final = re.compile(r"\d+ (milliseconds?|seconds?|minutes?|hours?)")


def start(
    spark: SparkSession,
    *,
    bootstrap: str,
    path: str,
    topics: Sequence[str] = (),
    trigger: str = TRIGGER,
    rows_per_batch: int = ROWS_PER_BATCH,
    fail_on_data_loss: bool = True,
    kafka: Mapping[str, str] | None = None,
) -> StreamingQuery:
    """Starts the archive of these topics, or of all whose setting says so, into the folder `path`. `trigger` is the
    time between batches, or `once`: then it ends when all that is there now is archived.

    A driver that did the same until now is fenced off. Raises InvalidOption when nothing is to be archived,
    BrokerUnreachable, and what the tables raise.
    """
    if trigger != ONCE and not _INTERVAL.fullmatch(trigger):
        raise InvalidOption(f"trigger is {trigger!r}; it can be {ONCE}, or a time such as {TRIGGER}")
    settings = dict(kafka or {})
    chosen = sorted(set(topics)) or chosen_topics(bootstrap, settings)
    if not chosen:
        raise InvalidOption(
            "no topic is to be archived: set braid.archive of a topic to on or required, or name the topics"
        )
    table, quarantine = messages_table(path), quarantine_table(path)
    settle_quarantine(table, quarantine, APP)
    run = table.begin(APP, Folders(path).checkpoints, source=",".join(chosen))
    known = {name: run.resumes[name] for name in chosen if name in run.resumes}
    passed = {f"{KAFKA_PREFIX}{name}": value for name, value in settings.items()}
    frame = (
        spark.readStream.format(SOURCE)
        .options(bootstrap=bootstrap, topics=",".join(chosen), ranges="true", maxRowsPerBatch=str(rows_per_batch))
        .options(startingOffsets=msgspec.json.encode(known).decode() if known else "earliest")
        .options(failOnDataLoss=str(fail_on_data_loss).lower(), archive=path, **passed)
        .load()
    )
    writer = (
        frame.writeStream.queryName(QUERY)
        .format(FORMAT)
        .options(**run.options(), **passed)
        .options(archive=path, bootstrap=bootstrap, holes=str(not fail_on_data_loss).lower())
        .option("checkpointLocation", run.checkpoint)
    )
    timed = writer.trigger(availableNow=True) if trigger == ONCE else writer.trigger(processingTime=trigger)
    return timed.start()


def refresh_marks(path: str, bootstrap: str, *, kafka: Mapping[str, str] | None = None) -> int:
    """Sets the marks to what the table has, and says how many: for brokers that did not hear of the last batch.
    Raises BrokerUnreachable."""
    ends = messages_table(path).state(APP).covered.ends()
    refused = set_marks(bootstrap, ends, kafka)
    if refused and len(refused) == len(ends):
        raise BrokerUnreachable(f"{bootstrap}: no mark was set: {next(iter(refused.values()))}")
    return len(ends) - len(refused)
