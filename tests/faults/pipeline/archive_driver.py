"""A driver of the archive job, to be killed: `archive_driver.py BOOTSTRAP PATH TOPIC`."""

import sys

from braidmq.pipeline import archive, session


def main(bootstrap: str, path: str, topic: str) -> None:
    spark = session("archive", master="local[2]", conf={"spark.log.level": "ERROR"})
    query = archive.start(spark, bootstrap=bootstrap, path=path, topics=[topic], trigger="500 milliseconds")
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
