"""The way into the console."""

import re

from playwright.sync_api import Page, expect

from browser_support import OpenPage
from running_node import RunningNode


def test_a_stranger_is_asked_for_the_token(open_page: OpenPage) -> None:
    page = open_page("/console", log_in=False)
    expect(page).to_have_url(re.compile("/console/login"))
    expect(page.get_by_label("Token")).to_be_focused()


def test_a_wrong_token_is_refused_and_says_so(open_page: OpenPage) -> None:
    page = open_page("/console", log_in=False)
    log_in(page, "wrong")
    expect(page.get_by_role("alert")).to_have_text("This is not the token of this node.")


def test_the_token_leads_back_to_the_page_that_was_asked_for(open_page: OpenPage, node: RunningNode) -> None:
    page = open_page("/console", log_in=False)
    log_in(page, node.console_token)
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    page.goto("/console")
    expect(page).to_have_url(re.compile("/console/login"))


def test_the_printed_address_leads_straight_in(open_page: OpenPage, node: RunningNode) -> None:
    printed = next(word for word in node.out.split() if "/console/login?token=" in word)
    page = open_page(printed, log_in=False)
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    assert node.console_token not in page.url


def test_language_and_theme_are_kept(open_page: OpenPage) -> None:
    page = open_page("/console")
    page.get_by_label("Language").click()
    page.get_by_role("link", name="中文").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("总览")
    page.locator(".top-tools details.menu summary").nth(1).click()
    page.get_by_role("link", name="深色").click()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")
    expect(page.locator("html")).to_have_attribute("lang", "zh")


def test_the_theme_follows_the_system_until_somebody_chooses(open_page: OpenPage) -> None:
    expect(open_page("/console", theme="dark").locator("html")).to_have_attribute("data-bs-theme", "dark")
    expect(open_page("/console", theme="light").locator("html")).to_have_attribute("data-bs-theme", "light")


def test_the_slash_key_goes_to_the_search_box(open_page: OpenPage) -> None:
    page = open_page("/console")
    page.keyboard.press("/")
    expect(page.get_by_placeholder("Find a message by id or key")).to_be_focused()


def test_on_a_narrow_screen_the_menu_opens_by_a_button(open_page: OpenPage) -> None:
    page = open_page("/console", narrow=True)
    expect(page.get_by_role("link", name="Topics")).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    expect(page.get_by_role("link", name="Topics")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def log_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
