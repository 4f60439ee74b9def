"""The resource report: of a span of time, from the tables that jobs made, for people and for programs. Without Spark.

report = usage_report("/data/tables", begin, end)
write(report, "/tmp/march")          # report.html, report.json, and a CSV for each part
"""

from braidmq.pipeline.reports._formats import as_json, csv_of, write
from braidmq.pipeline.reports._html import as_html
from braidmq.pipeline.reports._report import Report, usage_report

__all__ = ["Report", "as_html", "as_json", "csv_of", "usage_report", "write"]
