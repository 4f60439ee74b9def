"""The log on this machine: the engine, driven by the event loop, with threads that wait for the disk.

- the event loop appends, writes turns, reads what is in the page cache, and answers;
- the *sync* thread waits for the journal, one wait for all turns that were written meanwhile;
- the *checkpoint* thread syncs segments and writes the manifest, one checkpoint after the other;
- a few *reader* threads fetch what is not in the page cache.
"""

from braidmq.log.embedded._disk import Disk, RealDisk, make_folder
from braidmq.log.embedded._log import EmbeddedLog
from braidmq.log.embedded._options import LogOptions, LogStatistics
from braidmq.log.embedded._recovery import Recovery

__all__ = ["Disk", "EmbeddedLog", "LogOptions", "LogStatistics", "RealDisk", "Recovery", "make_folder"]
