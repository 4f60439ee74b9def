"""Reports and the archive on a node without a pipeline: both say how to have them."""

from playwright.sync_api import expect

from browser_support import OpenPage


def test_reports_say_which_commands_fill_them(open_page: OpenPage) -> None:
    page = open_page("/console/reports")
    expect(page.get_by_text("braid pipeline run --once")).to_be_visible()
    expect(page.get_by_text("braid pipeline report")).to_be_visible()


def test_the_archive_says_how_to_turn_it_on(open_page: OpenPage) -> None:
    page = open_page("/console/archive", language="zh", theme="dark", narrow=True)
    expect(page.get_by_role("heading", name="尚未启用归档")).to_be_visible()
    expect(page.get_by_text("braid up --set archive.default=on")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
