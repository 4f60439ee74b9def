"""One report in a process of its own, as JSON on the output: a node that is asked for one stays as small as it is."""

import sys
from datetime import UTC, datetime

from braidmq.model import BraidError
from braidmq.pipeline.reports._formats import as_json
from braidmq.pipeline.reports._report import usage_report


def main(root: str, begin_ms: str, end_ms: str, pressure: str) -> int:
    begin, end = (datetime.fromtimestamp(int(text) / 1000, UTC) for text in (begin_ms, end_ms))
    try:
        report = usage_report(root, begin, end, pressure=pressure == "pressure")
    except BraidError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.buffer.write(as_json(report))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
