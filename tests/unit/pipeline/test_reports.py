"""A report for people and for programs, whatever the names in it are."""

import csv
import io
import json
import math
import random
import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest

from braidmq.console._words import LANGUAGES, speaker
from braidmq.model.histogram import bucket_of
from braidmq.pipeline import jobs
from braidmq.pipeline.archive import Folders
from braidmq.pipeline.archive._prepare import EARLY, LATE
from braidmq.pipeline.columns import UNREADABLE_REASON
from braidmq.pipeline.errors import InvalidOption
from braidmq.pipeline.reports import Report, as_html, as_json, csv_of, usage_report, write
from braidmq.pipeline.reports._charts import nice_ticks
from braidmq.pipeline.reports._report import (
    QUARANTINES,
    Course,
    DeadLine,
    ForecastLine,
    GapLine,
    GroupLine,
    Point,
    QuarantineLine,
    StorageLine,
    TopicLine,
    Totals,
)
from braidmq.pipeline.run import JOBS
from braidmq.pipeline.tables import FileWriter, Table
from usage_support import USAGE

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
EVIL = "<script>alert(1)</script>\"'&"


def a_report(name: str = "payments.settled") -> Report:
    """A day as a bank has it."""
    chance = random.Random(5)
    moments = [BEGAN + timedelta(minutes=10 * nth) for nth in range(144)]

    def course(kind: str, unit: str, height: float) -> Course:
        points = []
        for nth, at in enumerate(moments):
            tide = 0.35 + 0.65 * math.exp(-(((nth - 70) / 30) ** 2)) + 0.05 * chance.random()
            points.append(Point(at, None if 100 <= nth < 106 else height * tide))
        return Course(name=kind, unit=unit, points=tuple(points))

    return Report(
        begin=BEGAN,
        end=BEGAN + timedelta(days=1),
        made_at=BEGAN + timedelta(days=1, minutes=2),
        with_pressure=False,
        totals=Totals(
            messages_in=48_213_907,
            bytes_in=61 << 30,
            messages_out=96_400_112,
            bytes_out=122 << 30,
            failures=12,
            retries=4_210,
            dead=37,
            storage_bytes=188 << 30,
            p50_ms=4,
            p99_ms=38,
            topics=42,
            groups=61,
        ),
        topics=tuple(
            TopicLine(
                instance="default",
                topic=topic,
                protocol=protocol,
                traffic="normal",
                messages_in=count,
                bytes_in=count * 1_300,
                failures=failures,
                messages_out=2 * count,
                bytes_out=count * 2_600,
                messages_per_s=count / 86_400,
                p50_ms=3.0,
                p99_ms=p99_ms,
            )
            for topic, protocol, count, failures, p99_ms in (
                (name, "kafka", 21_409_112, 0, 31.0),
                ("orders.created", "rocketmq", 14_882_400, 12, 44.0),
                ("risk.scored", "kafka", 8_700_041, 0, 1_210.0),
                ("cards.authorised", "rocketmq", 3_222_354, 0, None),
            )
        ),
        groups=(
            GroupLine(
                instance="default",
                group="ledger-writer",
                topic=name,
                delivered=21_409_112,
                acknowledged=21_409_100,
                retries=4_210,
                dead=37,
                p50_ms=3,
                p99_ms=31,
            ),
            GroupLine(
                instance="default",
                group="fraud-watch",
                topic="cards.authorised",
                delivered=3_222_354,
                acknowledged=3_100_000,
                retries=0,
                dead=0,
                p50_ms=9,
                p99_ms=880,
            ),
        ),
        storage=(StorageLine(instance="default", topic=name, storage_bytes=104 << 30),),
        courses=(
            course("in", "messages/s", 1_400),
            course("out", "messages/s", 2_700),
            course("in", "bytes/s", 1.8e6),
            course("out", "bytes/s", 3.5e6),
            course("p50", "ms", 6),
            course("p99", "ms", 60),
            course("fraud-watch", "messages behind", 122_354),
            course("ledger-writer", "messages behind", 9_000),
        ),
        forecasts=(
            ForecastLine(
                kind="group",
                name="fraud-watch",
                topic="cards.authorised",
                now=122_354,
                per_s=3.2,
                verdict="will not catch up",
                reached_at=None,
            ),
            ForecastLine(
                kind="disk",
                name="node-1",
                topic="",
                now=412 << 30,
                per_s=1.9e6,
                verdict="fills up",
                reached_at=BEGAN + timedelta(days=1, hours=6),
            ),
            ForecastLine(
                kind="group",
                name="ledger-writer",
                topic=name,
                now=12,
                per_s=None,
                verdict="too little is known",
                reached_at=None,
            ),
        ),
        gaps=(
            GapLine(
                node="node-1",
                begin=BEGAN + timedelta(hours=16, minutes=40),
                end=BEGAN + timedelta(hours=17, minutes=40),
                cause="the node was started anew",
            ),
        ),
        dead_letters=(
            DeadLine(
                group="ledger-writer",
                origin_topic=name,
                cause="delivered in vain too often",
                letters=37,
                first_seen=BEGAN + timedelta(hours=9),
                last_seen=BEGAN + timedelta(hours=15),
                oldest_s=15 * 3_600,
                youngest_s=9 * 3_600,
                sample_ids=("7F00000100002A9F0000000000A1", "7F00000100002A9F0000000000B7"),
            ),
        ),
        quarantine=(
            QuarantineLine(
                job="archive",
                table="archive/quarantine",
                reason="store time before 2000",
                rows=3,
                first_seen=datetime(1970, 1, 1, tzinfo=UTC),
                last_seen=datetime(1970, 1, 2, tzinfo=UTC),
                topic=name,
                partition=2,
                offset=4711,
            ),
        ),
    )


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_page_needs_nothing_from_elsewhere_runs_nothing_and_is_well_formed() -> None:
    page = Page()
    text = as_html(a_report())
    page.feed(text)
    assert page.open == []
    assert "script" not in page.seen
    assert page.seen.count("svg") == 4
    assert not {name for name, _ in page.attributes} & {"src", "href", "onload", "onclick"}
    assert "http" not in text.replace("http-equiv", "")
    assert "url(" not in text
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text


def test_names_that_somebody_chose_are_shown_as_they_are_and_are_no_part_of_the_page() -> None:
    page = Page()
    page.feed(as_html(a_report(EVIL)))
    assert "script" not in page.seen
    assert EVIL in page.texts


def test_a_gap_in_what_is_known_is_a_gap_in_the_line() -> None:
    text = as_html(a_report())
    first_chart = text[text.index("<svg") : text.index("</svg>")]
    assert len(re.findall(r'class="line c0"', first_chart)) == 2


def test_every_part_is_a_table_that_programs_read_and_spreadsheets_do_not_run() -> None:
    report = a_report("=HYPERLINK(1)")
    rows = list(csv.DictReader(io.StringIO(csv_of(report, "topics"))))
    assert rows[0]["topic"] == "'=HYPERLINK(1)"
    assert (rows[0]["messages_in"], rows[3]["p99_ms"]) == ("21409112", "")
    assert json.loads(as_json(report))["topics"][0]["topic"] == "=HYPERLINK(1)"
    with pytest.raises(InvalidOption, match="topics, groups"):
        csv_of(report, "courses")


def test_all_forms_are_written_into_a_folder(tmp_path: Path) -> None:
    paths = write(a_report(), tmp_path / "march")
    assert {path.name for path in paths} == {
        "report.html",
        "report.json",
        "topics.csv",
        "groups.csv",
        "storage.csv",
        "forecasts.csv",
        "gaps.csv",
        "dead_letters.csv",
        "quarantine.csv",
    }
    assert all(path.stat().st_size for path in paths)


@pytest.mark.parametrize(
    ("highest", "expected"),
    [(0, [0, 1]), (4, [0, 1, 2, 3, 4]), (97, [0, 25, 50, 75, 100]), (1_234, [0, 500, 1_000, 1_500])],
)
def test_an_axis_has_round_numbers(highest: float, expected: list[float]) -> None:
    assert nice_ticks(highest) == pytest.approx(expected)


LETTERS = pa.schema(
    [
        *((name, pa.string()) for name in ("group", "origin_topic", "cause", "traffic")),
        ("letters", pa.int64()),
        ("first_seen", pa.timestamp("us", tz="UTC")),
        ("last_seen", pa.timestamp("us", tz="UTC")),
        ("sample_ids", pa.list_(pa.string())),
        ("day", pa.date32()),
    ]
)


def fill(root: Path, name: str, rows: list[dict[str, object]], schema: pa.Schema = USAGE) -> None:
    table = Table(root / name, schema, ["day"])
    writer = FileWriter(table.path, table.schema, table.layout)
    writer.write(pa.RecordBatch.from_pylist(rows, schema))
    epoch = table.claim("test")
    table.append(writer.close(), [], "test", epoch, 0)


def used(at: datetime, direction: str, messages: int, **fields: object) -> dict[str, object]:
    zeros = dict.fromkeys(("bytes", "failures", "retries", "dead"), 0)
    names = {"instance": "default", "topic": "orders", "group": "", "protocol": "kafka", "traffic": "normal"}
    row = {"at": at, "direction": direction, "messages": messages, "latency_ms": [], "storage_bytes": -1}
    return {**zeros, **names, **row, "day": at.date(), **fields}


def test_a_report_is_made_of_the_tables_of_its_span_without_pressure_traffic_unless_asked_for(tmp_path: Path) -> None:
    later = BEGAN + timedelta(minutes=5)
    slow = bucket_of(9_000)
    fill(
        tmp_path,
        "usage_1m",
        [
            used(BEGAN, "in", 60, bytes=600, failures=2),
            used(later, "in", 40, bytes=400),
            used(later, "in", 1_000, traffic="pressure"),
            used(BEGAN, "out", 99, group="g", latency_ms=[(5, 99)]),
            used(later, "out", 1, group="g", latency_ms=[(slow, 1)]),
            used(later, "acknowledged", 90, group="g", protocol="", retries=3),
            used(BEGAN, "kept", 0, storage_bytes=10, protocol=""),
            used(later, "kept", 0, storage_bytes=30, protocol=""),
            used(BEGAN + timedelta(hours=2), "in", 7),
        ],
    )
    report = usage_report(str(tmp_path), BEGAN, BEGAN + timedelta(hours=1))
    totals = report.totals
    assert (totals.messages_in, totals.failures, totals.storage_bytes, totals.retries) == (100, 2, 30, 3)
    assert (totals.p50_ms, totals.topics, totals.groups) == (5, 1, 1)
    (group,) = report.groups
    assert (group.delivered, group.acknowledged, group.p99_ms) == (100, 90, 5)
    rate = next(course for course in report.courses if (course.name, course.unit) == ("in", "messages/s"))
    assert len(rate.points) == 60
    assert [point.value for point in rate.points[:6]] == [1.0, None, None, None, None, 40 / 60]
    with_tests = usage_report(str(tmp_path), BEGAN, BEGAN + timedelta(hours=1), pressure=True)
    assert with_tests.totals.messages_in == 1_100
    assert "pressure" in as_html(with_tests)


def letters(seen: datetime, count: int, cause: str, traffic: str = "normal") -> dict[str, object]:
    """What a day has of a cause; the first and the last are a minute apart."""
    last = seen + timedelta(minutes=1)
    names = {"group": "g", "origin_topic": "orders", "cause": cause, "traffic": traffic}
    times = {"first_seen": seen, "last_seen": last, "sample_ids": [f"{last:%d}"]}
    return {**names, **times, "letters": count, "day": seen.date()}


def test_a_report_has_the_dead_letters_of_its_span_with_the_age_of_each_cause(tmp_path: Path) -> None:
    day = timedelta(days=1)
    rows = [
        letters(BEGAN - 9 * day, 4, "timeout"),
        letters(BEGAN, 2, "timeout"),
        letters(BEGAN + 3 * day, 8, "timeout"),
        letters(BEGAN, 1, "bug"),
        letters(BEGAN, 7, "bug", "pressure"),
        letters(BEGAN - 9 * day, 5, "is mended"),
    ]
    fill(tmp_path, "dlq_top", rows, LETTERS)
    made_at = BEGAN + timedelta(hours=1)
    report = usage_report(str(tmp_path), BEGAN - timedelta(hours=1), made_at, made_at=made_at)
    found = {
        line.cause: (line.letters, line.oldest_s, line.youngest_s, line.sample_ids) for line in report.dead_letters
    }
    hour_s, day_s = 3_600, 86_400
    ids = (f"{BEGAN:%d}",)
    assert found == {"timeout": (2, 9 * day_s + hour_s, hour_s - 60, ids), "bug": (1, hour_s, hour_s - 60, ids)}
    assert "59 min to 9 d" in as_html(report)
    with_tests = usage_report(str(tmp_path), BEGAN, made_at, pressure=True)
    assert {line.cause: line.letters for line in with_tests.dead_letters} == {"timeout": 2, "bug": 8}


BAD = pa.schema(
    [
        *((name, pa.string()) for name in ("topic", "source_topic", "reason")),
        ("partition", pa.int32()),
        ("source_partition", pa.int32()),
        ("offset", pa.int64()),
        ("store_time", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
    ]
)


def bad(offset: int, at: datetime, reason: str, **fields: object) -> dict[str, object]:
    """A row of any quarantine: where it came from is said in other columns by each job."""
    names = {"topic": "said", "source_topic": "__braid.x", "partition": 1, "source_partition": 2}
    return {**names, "offset": offset, "store_time": at, "reason": reason, "day": None, **fields}


def test_a_report_has_all_that_lies_in_quarantine_with_the_place_of_the_latest(tmp_path: Path) -> None:
    far = datetime(9999, 12, 31, tzinfo=UTC)
    early, late = "store time before 2000", "store time in the future"
    ancient = datetime(1970, 1, 1, tzinfo=UTC)
    archived = [bad(nth, ancient + timedelta(days=nth), early) for nth in range(3)] + [bad(9, far, late)]
    fill(tmp_path, "archive/quarantine", archived, BAD)
    fill(tmp_path, "usage_samples_quarantine", [bad(5, BEGAN, "not a sample of usage")], BAD)
    fill(tmp_path, "lag_samples_quarantine", [bad(6, BEGAN, "not a sample of lag", partition=None)], BAD)
    report = usage_report(str(tmp_path), BEGAN, BEGAN + timedelta(hours=1))
    assert [(line.job, line.reason, line.rows, line.first_seen, line.last_seen) for line in report.quarantine] == [
        ("archive", early, 3, ancient, ancient + timedelta(days=2)),
        ("archive", late, 1, far, far),
        ("usage", "not a sample of usage", 1, BEGAN, BEGAN),
        ("lag", "not a sample of lag", 1, BEGAN, BEGAN),
    ]
    places = [(line.topic, line.partition, line.offset) for line in report.quarantine]
    assert places == [("said", 1, 2), ("said", 1, 9), ("__braid.x", 1, 5), ("__braid.x", 2, 6)]
    assert "said, partition 1, offset 2" in as_html(report)
    rows = list(csv.DictReader(io.StringIO(csv_of(report, "quarantine"))))
    assert (rows[0]["table"], rows[0]["rows"], rows[0]["offset"]) == ("archive/quarantine", "3", "2")
    assert json.loads(as_json(report))["quarantine"][1]["last_seen"] == "9999-12-31T00:00:00Z"


def test_a_report_knows_the_quarantine_of_every_job_that_has_one() -> None:
    kept = {name: f"{getattr(jobs, name).INGEST.name}_quarantine" for name in JOBS if name not in ("archive", "audit")}
    assert {job: table for job, (table, _, _) in QUARANTINES.items()} == {"archive": "archive/quarantine", **kept}
    assert Folders("x").quarantine == Path("x").absolute() / "quarantine"


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_the_console_says_why_records_lie_in_quarantine_in_every_language(language: str) -> None:
    samples = {"not a sample of usage", "not a sample of lag", "not a step of a message"}
    reasons = {EARLY, LATE, UNREADABLE_REASON, *samples}
    assert {reason for reason in reasons if speaker(language)(reason) == reason} == set()


def test_a_report_of_nothing_says_so(tmp_path: Path) -> None:
    report = usage_report(str(tmp_path), BEGAN, BEGAN + timedelta(hours=1))
    assert report.totals == Totals()
    assert "No message came or went." in as_html(report)
    assert report.quarantine == ()
    assert "Every record could be used." in as_html(report)
    assert "nothing was told" in as_html(report)
    with pytest.raises(InvalidOption):
        usage_report(str(tmp_path), BEGAN, BEGAN)
