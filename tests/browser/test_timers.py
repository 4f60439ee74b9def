"""Delayed messages: listed by their time, cancelled, and released where their topic is gone."""

from playwright.sync_api import expect

from browser_support import OpenPage
from console_support import Api
from running_node import WaitFor


def test_without_delayed_messages_the_page_says_so(open_page: OpenPage) -> None:
    page = open_page("/console/timers")
    expect(page.get_by_text("No message waits for its time")).to_be_visible()
    page.get_by_role("link", name="Parked").click()
    expect(page.get_by_role("heading", name="Nothing is parked")).to_be_visible()


def test_a_delayed_message_is_shown_and_cancelled(open_page: OpenPage, api: Api) -> None:
    api.post("/topics", {"name": "reminders", "partitions": 1})
    first, _ = api.send(
        "reminders", {"body": "soon", "delay_ms": 1_800_000}, {"body": "later", "delay_ms": 90 * 3_600_000}
    )
    page = open_page("/console/timers")
    rows = page.locator("#timers tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("in 30 minutes")
    page.get_by_label("Due").select_option("Within an hour")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name=first["id"]).click()
    expect(page.locator("#body-text")).to_have_text("soon")
    page.get_by_role("button", name="Cancel the message").click()
    expect(page.get_by_role("alert")).to_contain_text("The delayed message to reminders is cancelled")
    assert [each["message_id"] for each in api.get("/timers")["items"]] != [first["id"]]
    assert len(api.get("/timers")["items"]) == 1


def test_a_parked_message_is_released_to_another_topic(open_page: OpenPage, api: Api, wait_for: WaitFor) -> None:
    api.post("/topics", {"name": "gone", "partitions": 1})
    api.post("/topics", {"name": "instead", "partitions": 1})
    api.send("gone", {"body": "orphan", "delay_ms": 1_000})
    api.delete("/topics/gone")
    wait_for(lambda: bool(api.get("/timers", parked="true")["items"]), 30)
    page = open_page("/console/timers?parked=true", language="zh", theme="dark", narrow=True)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.locator("#timers tbody button").click()
    page.get_by_label("目标主题").fill("instead")
    page.get_by_role("button", name="释放").click()
    expect(page.get_by_role("alert")).to_contain_text("已释放到 instead")
    wait_for(lambda: api.get("/topics/instead")["messages"] == 1, 20)
