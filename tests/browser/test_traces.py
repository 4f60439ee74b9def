"""Traces: the life of a message as a picture and as a table."""

from playwright.sync_api import expect

from browser_support import OpenPage
from console_support import Api


def test_a_life_is_told_by_id_with_its_durations(open_page: OpenPage, api: Api) -> None:
    api.post("/topics", {"name": "orders", "partitions": 1})
    (result,) = api.send("orders", {"body": "one", "keys": ["order-1"]})
    api.bury("billing", "orders", 1)
    page = open_page("/console/traces")
    expect(page.get_by_text("Whose life do you want to see?")).to_be_visible()
    page.get_by_label("Message id").fill(result["id"])
    page.get_by_role("button", name="Search", exact=True).click()
    steps = page.locator(".life-step")
    expect(steps.first).to_contain_text("Stored")
    expect(steps.filter(has_text="Dead-lettered").first).to_be_visible()
    expect(steps.nth(1).locator("svg rect.stretch")).to_have_count(1)
    expect(page.locator("table tbody tr").first).to_contain_text("Stored")


def test_lives_are_found_by_a_key_of_a_topic(open_page: OpenPage, api: Api) -> None:
    api.post("/topics", {"name": "payments", "partitions": 1})
    api.send("payments", {"body": "one", "keys": ["same"]}, {"body": "two", "keys": ["same"]})
    page = open_page("/console/traces?key=same&topic=payments", theme="dark")
    expect(page.locator("section.card")).to_have_count(2)
    page.goto("/console/traces?key=same")
    expect(page.get_by_role("alert")).to_contain_text("a key is looked for in one topic")


def test_what_nobody_knows_of_is_said_to_be_unknown(open_page: OpenPage) -> None:
    page = open_page("/console/traces?id=NOBODY", language="zh", narrow=True)
    expect(page.get_by_role("alert")).to_contain_text("unknown_message")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
