"""Reports and the archive: how to have them where there are none, and what they show where there are."""

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser_support import OpenPage
from running_node import RunningNode, WaitFor

pytest.importorskip("duckdb", reason="the extra [pipeline] is not installed")

import pyarrow as pa

from archive_support import Archived, row
from braidmq.pipeline.archive._layout import quarantine_table
from braidmq.pipeline.tables import FileWriter, Table
from usage_support import USAGE


@pytest.fixture(scope="module")
def node(wait_for: WaitFor) -> Iterator[RunningNode]:
    """A node beside the tables of a pipeline."""
    with tempfile.TemporaryDirectory() as folder:
        tables = Path(folder) / "tables"
        Archived(tables / "archive").add([row("orders", 0, offset) for offset in range(10)])
        fill_usage(tables)
        fill_quarantine(tables)
        arguments = ["--data", f"{folder}/data", "--http=127.0.0.1:0", "--kafka=127.0.0.1:0"]
        started = RunningNode(Path(folder), [*arguments, "--set", f"archive.folder={tables}"], {}, wait_for)
        yield started.wait_ready()
        started.clean_up()


def fill_usage(root: Path) -> None:
    """What the usage job would have written of the last half hour."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    rows = [used(now - timedelta(minutes=nth), "in", 60 + nth) for nth in range(2, 30)]
    rows += [used(each["at"], "out", 50, group="billing") for each in rows]
    table = Table(root / "usage_1m", USAGE, ["day"])
    writer = FileWriter(table.path, table.schema, table.layout)
    writer.write(pa.RecordBatch.from_pylist(rows, USAGE))
    table.append(writer.close(), [], "test", table.claim("test"), 0)


def fill_quarantine(root: Path) -> None:
    """What the archive would have put aside: a message with a time of 1970."""
    bad = row("orders", 0, 41) | {"store_time": datetime(1970, 1, 2, tzinfo=UTC), "reason": "store time before 2000"}
    table = quarantine_table(str(root / "archive"))
    writer = FileWriter(table.path, table.schema, table.layout)
    writer.write(pa.RecordBatch.from_pylist([bad], table.schema))
    table.append(writer.close(), [], "test", table.claim("test"), 0)


def used(at: datetime, direction: str, messages: int, **fields: Any) -> dict[str, Any]:
    zeros = dict.fromkeys(("failures", "retries", "dead"), 0)
    names = {"instance": "default", "topic": "orders", "group": "", "protocol": "kafka", "traffic": "normal"}
    figures = {"messages": messages, "bytes": messages * 100, "latency_ms": [(5, messages)], "storage_bytes": -1}
    return {**zeros, **names, **figures, "at": at, "direction": direction, "day": at.date(), **fields}


def test_a_report_is_made_with_tables_and_pictures(open_page: OpenPage) -> None:
    page = open_page("/console/reports?name=usage-hour")
    expect(page.locator("#report .tile").first).to_contain_text("Messages in", timeout=60_000)
    expect(page.locator("#report tbody tr").first).to_contain_text("orders")
    drawn = page.locator("#report figure svg path.line").first.get_attribute("d")
    assert drawn is not None
    assert drawn.startswith("M")


def test_a_report_shows_what_lies_in_quarantine(open_page: OpenPage) -> None:
    page = open_page("/console/reports?name=usage-hour")
    card = page.locator("#report section", has=page.get_by_role("heading", name="Quarantine"))
    expect(card.locator("tbody tr")).to_have_count(1, timeout=60_000)
    for said in ("archive/quarantine", "store time before 2000", "orders, partition 0, offset 41"):
        expect(card.locator("tbody tr")).to_contain_text(said)
    page = open_page("/console/reports?name=usage-hour", language="zh")
    expect(page.locator("#report")).to_contain_text("存储时间早于 2000 年", timeout=60_000)


def test_reports_are_usable_narrow_dark_and_in_chinese(open_page: OpenPage) -> None:
    page = open_page("/console/reports?name=usage-hour", narrow=True, theme="dark", language="zh")
    expect(page.locator("#report .tile").first).to_contain_text("生产消息数", timeout=60_000)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_archived_messages_are_found(open_page: OpenPage) -> None:
    page = open_page("/console/archive")
    expect(page.get_by_text("What are you looking for?")).to_be_visible()
    page.get_by_label("Topic").fill("orders")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("#results tbody tr")).to_have_count(10, timeout=30_000)
    page.goto("/console/archive?id=orders-0-3")
    expect(page.locator("#results tbody tr")).to_have_count(1)
    page.locator("#results summary").click()
    expect(page.locator("#results pre")).to_have_text("orders 0 3")
    page.goto("/console/archive?id=nobody")
    expect(page.get_by_role("heading", name="No such message")).to_be_visible()
