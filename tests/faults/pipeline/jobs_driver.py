"""The driver of the jobs usage and dlq, to be killed: `jobs_driver.py BOOTSTRAP ROOT`."""

import sys
import threading
from functools import partial

from braidmq.pipeline import run, session
from braidmq.pipeline.jobs import dlq, usage
from faults.pipeline.short_lived import SHORT_LIVED


def main(bootstrap: str, root: str) -> None:
    # What a minute brings is much for somebody who lives for seconds.
    usage.start = partial(usage.start, trigger_s=1)
    dlq.start = partial(dlq.start, trigger_s=1)
    run.RESTART_S = (0.5,)  # type: ignore[misc, assignment]
    spark = session("jobs", master="local[2]", conf=SHORT_LIVED)
    run.Driver(spark, run.Plan(bootstrap=bootstrap, root=root, jobs=("usage", "dlq"))).run(threading.Event())


if __name__ == "__main__":
    main(*sys.argv[1:])
