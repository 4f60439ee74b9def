"""Half messages: listed by group and state, and decided by an operator."""

import pytest
from playwright.sync_api import expect

from browser_support import OpenPage
from console_support import Api


def test_without_half_messages_the_page_says_so(open_page: OpenPage) -> None:
    page = open_page("/console/transactions")
    expect(page.get_by_role("heading", name="No half messages")).to_be_visible()
    page.get_by_role("link", name="Parked").click()
    expect(page.get_by_role("heading", name="Nothing is parked")).to_be_visible()


@pytest.fixture(scope="module")
def topic(api: Api) -> str:
    api.post("/topics", {"name": "payments", "partitions": 1})
    return "payments"


def prepare(api: Api, topic: str, group: str) -> str:
    """The half message's id."""
    transaction = {"group": group, "immunity_s": 3600}
    (result,) = api.send(topic, {"body": f"of {group}", "transaction": transaction})
    return str(result["id"])


def test_an_operator_commits_a_half_message(open_page: OpenPage, api: Api, topic: str) -> None:
    message_id = prepare(api, topic, "commit-group")
    page = open_page("/console/transactions?group=commit-group")
    row = page.locator("#halves tbody tr")
    expect(row).to_contain_text("Waiting")
    page.get_by_role("button", name=message_id).click()
    expect(page.locator("#body-text")).to_have_text("of commit-group")
    page.get_by_role("button", name="Commit").click()
    expect(page.get_by_role("alert")).to_contain_text("Committed: the message counts")
    assert api.get("/audit", search="console_commit_half")["total"] == 1
    assert [each["id"] for each in api.get(f"/topics/{topic}/messages", id=message_id)["items"]] == [message_id]
    page.get_by_role("button", name="Close").click()
    expect(row).to_have_count(0)


def test_an_operator_rolls_back_a_half_message(open_page: OpenPage, api: Api, topic: str) -> None:
    message_id = prepare(api, topic, "rollback-group")
    page = open_page("/console/transactions", language="zh", theme="dark", narrow=True)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("button", name=message_id).click()
    page.get_by_role("button", name="回滚").click()
    expect(page.get_by_role("alert")).to_contain_text("已回滚")
    assert api.get(f"/topics/{topic}/messages", id=message_id)["items"] == []
    assert api.get("/halves", group="rollback-group")["items"] == []


def test_half_messages_are_chosen_by_state(open_page: OpenPage, api: Api, topic: str) -> None:
    prepare(api, topic, "state-group")
    page = open_page("/console/transactions?group=state-group")
    page.get_by_label("State").select_option("Committed")
    expect(page.get_by_role("heading", name="No half messages")).to_be_visible()
    page.get_by_label("State").select_option("Waiting")
    expect(page.locator("#halves tbody tr")).to_have_count(1)
