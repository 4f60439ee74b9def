"""The node looks at itself: a list of checks, run now and then and when somebody asks, whose findings are kept.

A check (`_checks`, `_group_checks`) looks at a `Scene`, changes nothing, and says for each thing that is not well what
it is, why it matters, and what mends it.
"""

from braidmq.core.inspection._inspection import Inspection, Report, ReportLine
from braidmq.core.inspection._scene import Disk, Scene

__all__ = ["Disk", "Inspection", "Report", "ReportLine", "Scene"]
