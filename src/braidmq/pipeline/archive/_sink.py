"""The sink `braid-archive`: what the tasks of `braid-archive-files` wrote becomes part of the table, and marks move
only after all is safe."""

from collections.abc import Iterator
from typing import Final

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, WriterCommitMessage
from pyspark.sql.types import StructType

from braidmq.logger import get_logger
from braidmq.pipeline._brokers import other_ids, topic_ids
from braidmq.pipeline.archive._layout import messages_table, quarantine_table
from braidmq.pipeline.archive._source import read_written
from braidmq.pipeline.archive._topics import move_marks
from braidmq.pipeline.errors import BrokerUnreachable, TopicRemade
from braidmq.pipeline.tables import (
    FileDamaged,
    SinkOptions,
    TableStreamWriter,
    Writing,
    Written,
    file_checksum,
    named_checksum,
)

FORMAT: Final = "braid-archive"
KAFKA_PREFIX: Final = "kafka."

_log = get_logger(__name__)


class ArchiveStreamWriter(TableStreamWriter):
    """Commits as any table is committed to. Before that files are read back, and then the marks follow the table."""

    def __init__(self, options: SinkOptions) -> None:
        path = options.text("archive")
        super().__init__(Writing(options, messages_table(path), quarantine_table(path)))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return read_written(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        for file in Written.of_all(messages).files:
            path = self.writing.table.path / file.path
            if file_checksum(path) != named_checksum(file.path):
                raise FileDamaged(f"{path} was read back, and is not what was written; the batch is not committed")
        super().commit(messages, batchId)
        self._set_marks()

    def topic_ids(self, written: Written) -> dict[str, str]:
        """As they are after all was read: what was read before is of the same topics, if they have the ids that they
        had when the job began. One that is gone by now has said its last. Raises TopicRemade."""
        options = self.writing.options
        bootstrap = options.optional("bootstrap")
        if bootstrap is None:
            return {}
        topics = {piece.topic for piece in written.ranges}
        found = topic_ids(bootstrap, topics, options.prefixed(KAFKA_PREFIX))
        known = self._began_with() | self.writing.table.state(options.text("app")).topic_ids
        if changed := other_ids(known, found):
            raise TopicRemade("; ".join(changed.values()))
        return {topic: each for topic, each in found.items() if each}

    def _began_with(self) -> dict[str, str]:
        """The topics of the job, and their ids when it began."""
        return msgspec.json.decode(self.writing.options.optional("topicIds") or "{}", type=dict[str, str])

    def _set_marks(self) -> None:
        """Of all topics of the job, each time: a mark that the brokers did not hear of is set with the next batch."""
        options, table = self.writing.options, self.writing.table
        bootstrap, settings = options.optional("bootstrap"), options.prefixed(KAFKA_PREFIX)
        if bootstrap is None:
            return
        try:
            refused = move_marks(table.state(options.text("app")), bootstrap, self._began_with(), settings)
        except BrokerUnreachable as error:
            _log.warning("archive marks wait for the next batch", error=error.message)
            return
        for (topic, partition), why in refused.items():
            _log.warning("archive mark refused", topic=topic, partition=partition, error=why)


class ArchiveSink(DataSource):
    """`archive` is the archive's folder, `bootstrap` and `kafka.*` are where the marks go, `topicIds` are the topics of
    the job with their ids as JSON; `app`, `epoch`, `lineage` and `holes` are those of `braid-table`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamWriter(self, schema: StructType, overwrite: bool) -> ArchiveStreamWriter:  # noqa: ARG002, N802
        return ArchiveStreamWriter(SinkOptions(self.options))
