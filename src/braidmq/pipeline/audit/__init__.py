"""The audit: proof that nothing was lost on the way into the archive, and nothing since."""

from braidmq.pipeline.audit._audit import audit
from braidmq.pipeline.audit._report import Finding, PartitionAudit, Report, read_report

__all__ = ["Finding", "PartitionAudit", "Report", "audit", "read_report"]
