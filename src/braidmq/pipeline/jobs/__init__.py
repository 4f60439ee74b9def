"""Jobs that keep history: what came and went, how far groups were, what became of messages, and what nobody could use.

Each job is a module: pure functions from DataFrame to DataFrame, `run_once(spark, sources)` for all that is there now,
and `start(spark, sources)` for a query that goes on. A job first keeps the samples as they came (a table `..._samples`
or the like, exactly once, with the offsets inside the commit), and then makes its tables of whole days of them anew: so
a table of results is a function of the samples, and doing it twice changes nothing. For the samples see
`braidmq.model.telemetry`.
"""

from braidmq.pipeline.jobs import dlq, lag, trace, usage
from braidmq.pipeline.jobs._ingest import Outcome, Sources
from braidmq.pipeline.jobs._upkeep import compact_tables, expire, tidy

__all__ = ["Outcome", "Sources", "compact_tables", "dlq", "expire", "lag", "tidy", "trace", "usage"]
