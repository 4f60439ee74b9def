"""Finding messages again: by place, by id, by key and by time, whichever protocol they came by.

An index is built behind the log, by reading it: publishers do nothing for it. Ranges of a partition's offsets that are
full lie in files that never change; the newest range is in memory. The index only says where to look: what is found is
read from the log, and compared.
"""

from braidmq.core.query._index import IndexLimits
from braidmq.core.query._query import RESULTS_MAX, IndexedTo, Query

__all__ = ["RESULTS_MAX", "IndexLimits", "IndexedTo", "Query"]
