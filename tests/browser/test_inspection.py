"""Inspections: run, read with what to do, compared with earlier ones."""

import re

from playwright.sync_api import expect

from browser_support import OpenPage
from console_support import Api


def test_before_the_first_inspection_the_page_says_how_to_have_one(open_page: OpenPage) -> None:
    page = open_page("/console/inspection")
    expect(page.get_by_text("Not inspected yet")).to_be_visible()
    expect(page.get_by_text("braid inspect run")).to_be_visible()


def test_an_inspection_is_run_and_says_what_to_do(open_page: OpenPage, api: Api) -> None:
    api.post("/topics", {"name": "orders", "partitions": 1})
    api.send("orders", {"body": "one"})
    api.bury("billing", "orders", 1)
    page = open_page("/console/inspection")
    page.get_by_role("button", name="Inspect now").click()
    expect(page).to_have_url(re.compile("report="))
    finding = page.locator(".finding", has_text="group billing")
    expect(finding).to_contain_text("Warning")
    expect(finding).to_contain_text("What to do:")
    expect(finding.locator("code")).to_contain_text("braid dlq replay")
    page.get_by_role("button", name="Inspect now").click()
    expect(page.locator("table tbody tr")).to_have_count(2)
    page.locator("table tbody a").last.click()
    expect(page.locator(".finding", has_text="group billing")).to_be_visible()


def test_the_page_is_usable_narrow_dark_and_in_chinese(open_page: OpenPage) -> None:
    page = open_page("/console/inspection", narrow=True, theme="dark", language="zh")
    expect(page.get_by_role("button", name="立即巡检")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
