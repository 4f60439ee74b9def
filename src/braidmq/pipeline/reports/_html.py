"""A report for people: one page that needs nothing else, light or dark as its reader likes it, and prints well.

Every text that somebody chose (names of topics and groups, causes, ids) is escaped; the page runs no script, and says
so to the browser.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from html import escape
from typing import Final

from braidmq.pipeline.reports._charts import chart, legend
from braidmq.pipeline.reports._report import Course, ForecastLine, Report

_STYLE: Final = """
:root { color-scheme: light dark; --ground: #f6f7f9; --card: #fff; --ink: #17202c; --soft: #5b6776; --line: #dfe4ea;
  --good: #1c7c4a; --bad: #b3261e; --warn: #9a6200;
  --c0: #2459c4; --c1: #0f8a7e; --c2: #b4560c; --c3: #7a3fb0; --c4: #a8325e; }
@media (prefers-color-scheme: dark) { :root { --ground: #12161c; --card: #1a2029; --ink: #e6eaf0; --soft: #98a4b3;
  --line: #2c3542; --good: #5cc98d; --bad: #ff8a80; --warn: #e9b44c;
  --c0: #7ba7ff; --c1: #4fd1c3; --c2: #f0a15c; --c3: #c39bf0; --c4: #f08bb1; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 32px 24px 48px; }
header { display: flex; flex-wrap: wrap; gap: 4px 24px; align-items: baseline; justify-content: space-between; }
h1 { font-size: 24px; font-weight: 650; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 15px; font-weight: 650; margin: 0 0 12px; }
p.span, p.foot { color: var(--soft); margin: 0; }
p.foot { margin-top: 32px; font-size: 12px; }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 12px; margin: 24px 0; }
@media (max-width: 720px) { .tiles { grid-template-columns: repeat(2, 1fr); } }
.tile, section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.tile { padding: 14px 16px; }
.tile b { display: block; font-size: 22px; font-weight: 650; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 12px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); gap: 16px; }
section { padding: 18px 20px; margin-top: 16px; break-inside: avoid; }
.charts section { margin-top: 0; }
.charts h2 { display: flex; justify-content: space-between; gap: 16px; flex-wrap: wrap; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; font-size: 12px; color: var(--soft); white-space: nowrap; }
th, td { padding: 7px 12px; border-bottom: 1px solid var(--line); vertical-align: top; }
th:first-child, td:first-child { padding-left: 0; } th:last-child, td:last-child { padding-right: 0; }
tr:last-child td { border-bottom: 0; }
th.n, td.n { text-align: right; white-space: nowrap; }
td.t { overflow-wrap: anywhere; min-width: 12em; max-width: 32em; }
td.w { white-space: nowrap; }
td.i { font: 12px/1.6 ui-monospace, SFMono-Regular, Menlo, monospace; overflow-wrap: anywhere; min-width: 20em; }
.bad { color: var(--bad); font-weight: 600; } .warn { color: var(--warn); font-weight: 600; }
.good { color: var(--good); }
.quiet { color: var(--soft); }
.chart { display: block; width: 100%; height: auto; }
.chart text { font-size: 11px; fill: var(--soft); } .chart .end { text-anchor: end; }
.chart .middle, .chart .none { text-anchor: middle; }
.chart .grid { stroke: var(--line); } .chart .axis { stroke: var(--soft); }
.chart .line { fill: none; stroke-width: 1.75; stroke-linejoin: round; stroke: currentColor; }
.chart .area { fill: currentColor; opacity: .1; } .chart .dot { fill: currentColor; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; list-style: none; margin: 0; padding: 0; font-size: 12px;
  font-weight: 400; color: var(--soft); }
.key { display: inline-block; width: 14px; height: 3px; border-radius: 2px; background: currentColor; margin-right: 6px;
  vertical-align: middle; }
@media print { body { background: #fff; } main { padding: 0; max-width: none; } }
"""

_NONE: Final = '<span class="quiet">–</span>'
_Cell = tuple[str, str]
"""A class, and what is in it, escaped."""


def as_html(report: Report) -> str:
    """The whole page."""
    traffic = "pressure-test traffic included" if report.with_pressure else "without pressure-test traffic"
    body = [
        f"<header><h1>Resource report</h1><p class='span'>{_span(report)} UTC, {traffic}</p></header>",
        _tiles(report),
        _charts(report),
        _topics(report),
        _groups(report),
        _forecasts(report),
        _dead_letters(report),
        _quarantine(report),
        _storage(report),
        _gaps(report),
        _foot(report),
    ]
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>Resource report, {_span(report)}</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def _foot(report: Report) -> str:
    return (
        f"<p class='foot'>Made by BraidMQ at {_time(report.made_at)} UTC. Latency is the time from a message's own"
        " timestamp to its leaving the node, from merged histograms, to about one percent.</p>"
    )


def _tiles(report: Report) -> str:
    totals = report.totals
    tiles = (
        (_count(totals.messages_in), "messages in"),
        (_count(totals.messages_out), "messages out"),
        (_size(totals.bytes_in), "bytes in"),
        (_size(totals.storage_bytes), "stored"),
        (_latency(totals.p99_ms), "latency, p99"),
        (_count(totals.failures), "refused"),
        (_count(totals.retries), "retries"),
        (_count(totals.dead), "dead letters"),
    )
    return (
        '<div class="tiles">'
        + "".join(f'<div class="tile"><b>{value}</b><span>{name}</span></div>' for value, name in tiles)
        + "</div>"
    )


def _charts(report: Report) -> str:
    kinds: tuple[tuple[str, str, Callable[[float], str]], ...] = (
        ("Messages per second", "messages/s", _count),
        ("Throughput", "bytes/s", _byte_rate),
        ("Latency", "ms", _latency),
        ("Groups behind, in messages", "messages behind", _count),
    )
    cards = []
    for title, unit, written in kinds:
        courses = [course for course in report.courses if course.unit == unit]
        cards.append(_chart_card(title, courses, written))
    return f'<div class="charts">{"".join(cards)}</div>'


def _chart_card(title: str, courses: Sequence[Course], written: Callable[[float], str]) -> str:
    return f"<section><h2>{escape(title)}{legend(courses)}</h2>{chart(courses, title, written)}</section>"


def _topics(report: Report) -> str:
    rows = (
        (
            _text(line.topic),
            _word(line.protocol),
            *([_word(line.traffic)] if report.with_pressure else []),
            _number(_count(line.messages_in)),
            _number(f"{_count(line.messages_per_s)}/s"),
            _number(_size(line.bytes_in)),
            _number(_count(line.messages_out)),
            _number(_latency(line.p50_ms)),
            _number(_latency(line.p99_ms)),
            _alarming(line.failures),
        )
        for line in report.topics
    )
    traffic = ("Traffic",) if report.with_pressure else ()
    heads = (
        "Topic",
        "Protocol",
        *traffic,
        "#In",
        "#Rate in",
        "#Bytes in",
        "#Out",
        "#Latency p50",
        "#p99",
        "#Refused",
    )
    return _table("Topics", heads, rows, "No message came or went.")


def _groups(report: Report) -> str:
    rows = (
        (
            _text(line.group),
            _text(line.topic),
            _number(_count(line.delivered)),
            _number(_count(line.acknowledged)),
            _number(_latency(line.p50_ms)),
            _number(_latency(line.p99_ms)),
            _number(_count(line.retries)),
            _alarming(line.dead),
        )
        for line in report.groups
    )
    heads = ("Group", "Topic", "#Delivered", "#Acknowledged", "#Latency p50", "#p99", "#Retries", "#Dead")
    return _table("Groups", heads, rows, "No group was active.")


_TONE: Final = {
    "will not catch up": "bad",
    "full": "bad",
    "fills up": "warn",
    "catches up": "good",
    "caught up": "good",
    "empties": "good",
}


def _forecasts(report: Report) -> str:
    rows = (
        (
            _text(f"disk of {line.name}" if line.kind == "disk" else line.name),
            _text(line.topic),
            _number(_size(line.now) if line.kind == "disk" else _count(line.now)),
            _number(_trend(line)),
            (f"w {_TONE.get(line.verdict, '')}".strip(), escape(line.verdict)),
            ("w", _NONE if line.reached_at is None else _time(line.reached_at)),
        )
        for line in report.forecasts
    )
    heads = ("What", "Topic", "#Now", "#Trend", "Verdict", "Reached at")
    return _table("Where it leads", heads, rows, "There is no forecast yet.")


def _dead_letters(report: Report) -> str:
    rows = (
        (
            _text(line.group),
            _text(line.origin_topic),
            _text(line.cause),
            _number(_count(line.letters)),
            ("w", _time(line.first_seen)),
            ("w", _time(line.last_seen)),
            _number(f"{_age(line.youngest_s)} to {_age(line.oldest_s)}"),
            ("i", "<br>".join(escape(each) for each in line.sample_ids) or _NONE),
        )
        for line in report.dead_letters
    )
    heads = ("Group", "From topic", "Cause", "#Letters", "First seen", "Last seen", "#Age", "Latest ids")
    return _table("Dead letters", heads, rows, "There are no dead letters.")


def _quarantine(report: Report) -> str:
    rows = (
        (
            _word(line.job),
            _word(line.table),
            _text(line.reason),
            _alarming(line.rows),
            ("w", _time(line.first_seen)),
            ("w", _time(line.last_seen)),
            _text(f"{line.topic}, partition {line.partition}, offset {line.offset}"),
        )
        for line in report.quarantine
    )
    heads = ("Job", "Table", "Cause", "#Records", "First stored", "Last stored", "Latest at")
    return _table("Quarantine", heads, rows, "Every record could be used.")


def _storage(report: Report) -> str:
    rows = ((_text(line.topic), _number(_size(line.storage_bytes))) for line in report.storage)
    return _table("Storage", ("Topic", "#Takes up"), rows, "Nothing has changed in what topics take up.")


def _gaps(report: Report) -> str:
    rows = (
        (_text(line.node), ("w", _time(line.begin)), ("w", _time(line.end)), _text(line.cause)) for line in report.gaps
    )
    return _table("What is missing", ("Node", "From", "To", "Cause"), rows, "Every minute of every node was told.")


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[_Cell]], nothing: str) -> str:
    """A name that begins with # stands over numbers."""
    lines = [_line(row) for row in rows]
    if not lines:
        return f'<section><h2>{escape(title)}</h2><p class="quiet" style="margin:0">{escape(nothing)}</p></section>'
    names = "".join(_head(head) for head in heads)
    body = f"<table><thead><tr>{names}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return f'<section><h2>{escape(title)}</h2><div class="scroll">{body}</div></section>'


def _line(cells: Sequence[_Cell]) -> str:
    return "<tr>" + "".join(f'<td class="{kind}">{inside}</td>' for kind, inside in cells) + "</tr>"


def _head(name: str) -> str:
    kind = "n" if name.startswith("#") else ""
    return f'<th class="{kind}">{escape(name.lstrip("#"))}</th>'


def _text(value: str) -> _Cell:
    return "t", escape(value) if value else _NONE


def _word(value: str) -> _Cell:
    return "w", escape(value) if value else _NONE


def _number(written: str) -> _Cell:
    return "n", written


def _alarming(value: int) -> _Cell:
    return "n bad" if value else "n", _count(value)


def _trend(line: ForecastLine) -> str:
    if line.per_s is None:
        return _NONE
    sign = "+" if line.per_s > 0 else "−" if line.per_s < 0 else "±"
    size = abs(line.per_s)
    return f"{sign}{_size(size) if line.kind == 'disk' else _count(size)}/s"


def _count(value: float) -> str:
    """A number as short as it can be read: 950, 12.4 k, 3.2 M."""
    for limit, size, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= limit:
            return f"{_short(value / size)} {unit}"
    return f"{value:.2g}" if 0 < value < 1 else f"{value:,.1f}".removesuffix(".0")


def _size(value: float) -> str:
    for limit, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= limit:
            return f"{_short(value / limit)} {unit}"
    return f"{value:.0f} B"


def _byte_rate(value: float) -> str:
    """In powers of ten, as networks and disks are sold."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= limit:
            return f"{_short(value / limit)} {unit}/s"
    return f"{value:.0f} B/s"


def _latency(value_ms: float | None) -> str:
    if value_ms is None:
        return _NONE
    for limit, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if value_ms >= limit:
            return f"{_short(value_ms / limit)} {unit}"
    return f"{_short(value_ms)} ms"


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _age(seconds: float) -> str:
    for least_s, unit_s, unit in ((172_800, 86_400, "d"), (7_200, 3_600, "h"), (0, 60, "min")):
        if seconds >= least_s:
            return f"{seconds // unit_s:.0f} {unit}"
    return "0 min"


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def _span(report: Report) -> str:
    return f"{_time(report.begin)} to {_time(report.end)}"
