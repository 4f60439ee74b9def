"""Messages: found in every way, looked at closely, taken away, sent again."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser_support import OpenPage
from console_support import Api


@pytest.fixture(scope="module")
def sent(api: Api) -> list[dict[str, Any]]:
    """Ninety orders in three partitions, a body of bytes among them; their results."""
    api.post("/topics", {"name": "orders", "partitions": 3})
    orders = [
        {"json": {"order": nth, "note": "<b>bold</b>"}, "keys": [f"order-{nth}"], "tag": "paid" if nth % 2 else "new"}
        for nth in range(89)
    ]
    return api.send("orders", *orders, {"body_base64": "AP/+gA==", "keys": ["bytes"], "partition": 0})


def open_first(page: Page) -> None:
    page.locator("#results tbody button").first.click()
    expect(page.locator("#drawer h2")).to_have_text("Message")


def test_an_empty_page_says_what_to_do(open_page: OpenPage) -> None:
    page = open_page("/console/messages")
    expect(page.get_by_text("What are you looking for?")).to_be_visible()
    expect(page.get_by_text("braid message find --topic orders")).to_be_visible()


@pytest.mark.usefixtures("sent")
def test_the_latest_messages_of_a_topic_are_shown(open_page: OpenPage) -> None:
    page = open_page("/console/messages")
    page.get_by_label("Topic").fill("orders")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page).to_have_url(re.compile("by=latest&topic=orders"))
    expect(page.locator("#results tbody tr")).to_have_count(51)
    expect(page.get_by_text("The latest 51 of 90 messages")).to_be_visible()


def test_what_is_typed_at_the_top_is_an_id_or_a_key(open_page: OpenPage, sent: list[dict[str, Any]]) -> None:
    page = open_page("/console")
    for wanted in (str(sent[7]["id"]), "order-7"):
        page.keyboard.press("/")
        page.keyboard.type(wanted)
        page.keyboard.press("Enter")
        expect(page.locator("#results tbody tr")).to_have_count(1)
        expect(page.locator("#results")).to_contain_text('"order":7')
        page.goto("/console")


@pytest.mark.usefixtures("sent")
def test_a_search_by_time_says_how_far_it_went_and_goes_on(open_page: OpenPage) -> None:
    page = open_page("/console/messages?by=time&topic=orders&span=1h")
    expect(page.locator("#results tbody tr")).to_have_count(50)
    expect(page.get_by_text(re.compile("Looked through .* of 90 messages"))).to_be_visible()
    page.get_by_role("link", name="Go on").click()
    expect(page.locator("#results tbody tr")).to_have_count(40)
    page.get_by_role("link", name="From the beginning").click()
    expect(page.locator("#results tbody tr")).to_have_count(50)


@pytest.mark.usefixtures("sent")
def test_messages_are_chosen_by_place_and_tag(open_page: OpenPage) -> None:
    page = open_page("/console/messages?by=offset&topic=orders")
    page.get_by_label("Partition").fill("1")
    page.get_by_label("From offset").fill("2")
    page.get_by_label("Tag").fill("paid")
    page.get_by_role("button", name="Search", exact=True).click()
    tags = page.locator("#results tbody td:nth-child(6)")
    expect(tags.first).to_have_text("paid")
    assert set(tags.all_inner_texts()) == {"paid"}
    assert all(int(offset) >= 2 for offset in page.locator("#results tbody button").all_inner_texts())


@pytest.mark.usefixtures("sent")
def test_what_cannot_be_is_told_beside_the_form(open_page: OpenPage) -> None:
    page = open_page("/console/messages?by=latest&topic=nowhere")
    expect(page.get_by_role("alert")).to_contain_text("there is no topic 'nowhere'")
    expect(page.get_by_label("Topic")).to_have_value("nowhere")
    page.goto("/console/messages?by=offset&topic=orders&partition=x")
    expect(page.get_by_role("alert")).to_contain_text("partition: a whole number is wanted")


@pytest.mark.usefixtures("sent")
def test_a_body_is_shown_as_json_as_text_and_as_bytes(open_page: OpenPage) -> None:
    page = open_page("/console/messages?by=key&key=order-3")
    open_first(page)
    expect(page.locator("#body-json")).to_contain_text('"note": "<b>bold</b>"')
    page.get_by_role("tab", name="Hex").click()
    expect(page.locator("#body-hex")).to_contain_text("7b 22 6f 72")
    expect(page.locator("#body-json")).to_be_hidden()
    page.get_by_role("tab", name="Text").click()
    expect(page.locator("#body-text")).to_have_text('{"order":3,"note":"<b>bold</b>"}')
    expect(page.locator("#drawer .life-step").first).to_contain_text("Stored")


@pytest.mark.usefixtures("sent")
def test_a_body_that_is_no_text_is_shown_as_bytes_alone(open_page: OpenPage) -> None:
    page = open_page("/console/messages?by=key&key=bytes")
    expect(page.locator("#results")).to_contain_text("bytes, not text")
    open_first(page)
    expect(page.get_by_role("tab")).to_have_count(1)
    expect(page.locator("#body-hex")).to_contain_text("00 ff fe 80")


@pytest.mark.usefixtures("sent")
def test_a_message_is_downloaded_as_it_is(open_page: OpenPage) -> None:
    page = open_page("/console/messages?by=key&key=order-3")
    open_first(page)
    with page.expect_download() as body:
        page.get_by_role("link", name="Download the body").click()
    assert Path(body.value.path()).read_bytes() == b'{"order":3,"note":"<b>bold</b>"}'
    with page.expect_download() as whole:
        page.get_by_role("link", name="Download as JSON").click()
    assert json.loads(Path(whole.value.path()).read_bytes())["keys"] == ["order-3"]


@pytest.mark.usefixtures("sent")
def test_a_message_is_sent_again_to_another_topic(open_page: OpenPage, api: Api) -> None:
    api.post("/topics", {"name": "orders-again", "partitions": 1})
    page = open_page("/console/messages?by=key&key=order-5&topic=orders")
    open_first(page)
    page.locator("#to-topic").fill("orders-again")
    page.get_by_role("button", name="Send again").click()
    expect(page.get_by_role("alert")).to_contain_text("Sent again to orders-again")
    (again,) = api.get("/topics/orders-again/messages", partition=0)["items"]
    assert again["keys"] == ["order-5"]


@pytest.mark.usefixtures("sent")
def test_a_message_is_sent_again_to_one_group(open_page: OpenPage, api: Api) -> None:
    api.post("/groups", {"name": "billing"})
    page = open_page("/console/messages?by=key&key=order-6&topic=orders")
    open_first(page)
    page.get_by_label("To one group alone").check()
    page.locator("#to-group").fill("billing")
    page.get_by_role("button", name="Send again").click()
    expect(page.get_by_role("alert")).to_contain_text("Given to the group billing again")
    (again,) = api.get("/topics/%25RETRY%25billing/messages", partition=0)["items"]
    assert again["keys"] == ["order-6"]


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize(("language", "theme"), [("zh", "light"), ("en", "dark")])
def test_the_page_is_usable_on_a_narrow_screen(open_page: OpenPage, language: str, theme: str) -> None:
    page = open_page("/console/messages?by=latest&topic=orders", narrow=True, language=language, theme=theme)
    expect(page.get_by_role("heading", level=1)).to_have_text("消息查询" if language == "zh" else "Messages")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.locator("#results tbody button").first.click()
    expect(page.locator("#drawer h3").first).to_contain_text("消息体" if language == "zh" else "Body")
