"""A driver of the archive job, to be killed: `archive_driver.py BOOTSTRAP PATH TOPIC`."""

import sys
from datetime import timedelta

from braidmq.pipeline import archive, session
from braidmq.pipeline.tables import Table, _trimming
from faults.pipeline.short_lived import SHORT_LIVED


def main(bootstrap: str, path: str, topic: str) -> None:
    messages = archive.Folders(path).messages
    if Table.exists(messages):
        # Whoever goes on finds a log that was cut as short as it can be.
        _trimming.trim(Table.open(messages), timedelta(0), at_least=1)
    spark = session("archive", master="local[2]", conf=SHORT_LIVED)
    query = archive.start(spark, bootstrap=bootstrap, path=path, topics=[topic], trigger="500 milliseconds")
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
