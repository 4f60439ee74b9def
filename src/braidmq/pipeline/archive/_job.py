"""The archive job: every message of the topics that are to be kept goes into the table, exactly once."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from braidmq.logger import get_logger
from braidmq.pipeline._brokers import topic_ids
from braidmq.pipeline.archive._layout import APP, Folders, messages_table, quarantine_table
from braidmq.pipeline.archive._marks import chosen_topics, set_marks
from braidmq.pipeline.archive._sink import FORMAT, KAFKA_PREFIX
from braidmq.pipeline.archive._source import FORMAT as SOURCE
from braidmq.pipeline.archive._topics import move_marks, remade
from braidmq.pipeline.errors import BrokerUnreachable, InvalidOption, TopicRemade
from braidmq.pipeline.tables import State, settle_quarantine

QUERY: Final = "archive"
TRIGGER: Final = "30 seconds"
ONCE: Final = "once"
ROWS_PER_BATCH: Final = 2_000_000
_INTERVAL: Final = re.compile(r"\d+ (milliseconds?|seconds?|minutes?|hours?)")

_log = get_logger(__name__)


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

    A driver that did the same until now is fenced off. Topics that were deleted and made anew since they were archived
    are left out; TopicRemade when there are no others. Raises InvalidOption when nothing is to be archived,
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
    chosen = _without_remade(table.state(APP), bootstrap, chosen, settings)
    ids = dict.fromkeys(chosen, "") | topic_ids(bootstrap, chosen, settings)
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
        .option("topicIds", msgspec.json.encode(ids).decode())
        .option("checkpointLocation", run.checkpoint)
    )
    timed = writer.trigger(availableNow=True) if trigger == ONCE else writer.trigger(processingTime=trigger)
    return timed.start()


def _without_remade(state: State, bootstrap: str, topics: list[str], settings: Mapping[str, str]) -> list[str]:
    """Marks that the old ones may have left free nothing of the new ones."""
    found = remade(state, bootstrap, topics, settings)
    for topic, why in found.items():
        _log.warning("topic left out of the archive", topic=topic, reason=why)
    set_marks(bootstrap, {place: 0 for place in state.covered.intervals if place[0] in found}, settings)
    if len(found) == len(topics):
        raise TopicRemade("; ".join(found.values()))
    return [topic for topic in topics if topic not in found]


def refresh_marks(path: str, bootstrap: str, *, kafka: Mapping[str, str] | None = None) -> int:
    """Sets the marks to what the table has, and says how many: for brokers that did not hear of the last batch. Of
    topics that were made anew they are set to 0. Raises BrokerUnreachable."""
    state = messages_table(path).state(APP)
    places = state.covered.ends()
    refused = move_marks(state, bootstrap, {topic for topic, _ in places}, kafka or {})
    if refused and len(refused) == len(places):
        raise BrokerUnreachable(f"{bootstrap}: no mark was set: {next(iter(refused.values()))}")
    return len(places) - len(refused)
