"""The audit log: who changed what, found by words, by actor and by time."""

from playwright.sync_api import expect

from browser_support import OpenPage
from console_support import Api


def test_changes_are_listed_and_found(open_page: OpenPage, api: Api) -> None:
    api.post("/topics", {"name": "orders", "partitions": 1})
    api.post("/topics", {"name": "payments", "partitions": 1})
    page = open_page("/console/audit")
    expect(page.locator("#audit tbody tr")).to_have_count(2)
    page.get_by_label("Operation or name").fill("payments")
    page.get_by_role("button", name="Filter").click()
    row = page.locator("#audit tbody tr")
    expect(row).to_have_count(1)
    for said in ("HTTP", "127.0.0.1", "create_topic", "payments", "done"):
        expect(row).to_contain_text(said)
    page.get_by_label("Who").fill("kafka")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()


def test_a_span_of_the_readers_own_time_is_asked_for(open_page: OpenPage) -> None:
    page = open_page("/console/audit", theme="dark")
    page.get_by_label("Time", exact=True).select_option("custom")
    page.get_by_label("From", exact=True).fill("2001-01-01T00:00")
    page.get_by_label("Until").fill("2001-01-02T00:00")
    page.get_by_label("Until").press("Tab")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    assert "from_ms=978" in page.url
    expect(page.get_by_label("From", exact=True)).to_have_value("2001-01-01T00:00")


def test_the_page_is_usable_narrow_and_in_chinese(open_page: OpenPage) -> None:
    page = open_page("/console/audit", narrow=True, language="zh")
    expect(page.get_by_role("heading", level=1)).to_have_text("审计")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
