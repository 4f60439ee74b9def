"""A report for programs: JSON as a whole, CSV for each part."""

import csv
import io
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from braidmq.pipeline.errors import InvalidOption
from braidmq.pipeline.reports._html import as_html
from braidmq.pipeline.reports._report import Report

PARTS: Final = ("topics", "groups", "storage", "forecasts", "gaps", "dead_letters", "quarantine")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def as_json(report: Report) -> bytes:
    """The whole report."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2)


def csv_of(report: Report, part: str) -> str:
    """One part as a table with a line of names. A text that a spreadsheet would take for a formula has an apostrophe in
    front. Raises InvalidOption for a part that there is not."""
    if part not in PARTS:
        raise InvalidOption(f"a report has no part {part!r}; there are: {', '.join(PARTS)}")
    lines: Sequence[msgspec.Struct] = getattr(report, part)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    names = _names(report, part)
    writer.writerow(names)
    writer.writerows([_cell(getattr(line, name)) for name in names] for line in lines)
    return out.getvalue()


def write(report: Report, folder: str | Path) -> list[Path]:
    """All forms of the report as files of a folder, which is made; their paths."""
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    texts = {"report.html": as_html(report), "report.json": as_json(report).decode()}
    texts |= {f"{part}.csv": csv_of(report, part) for part in PARTS}
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8", newline="")
    return [root / name for name in texts]


def _names(report: Report, part: str) -> tuple[str, ...]:
    kind = next(field.type for field in msgspec.structs.fields(report) if field.name == part)
    line: type[msgspec.Struct] = kind.__args__[0]
    return line.__struct_fields__


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        value = " ".join(map(str, value))
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value
