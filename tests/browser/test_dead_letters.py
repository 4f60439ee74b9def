"""Dead letters: seen with their causes, replayed after a look, exported, deleted after a look."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser_support import OpenPage
from console_support import Api


def test_without_dead_letters_the_page_says_so(open_page: OpenPage) -> None:
    page = open_page("/console/dead-letters")
    expect(page.get_by_role("heading", name="No dead letters")).to_be_visible()


@pytest.fixture
def letters(api: Api, request: pytest.FixtureRequest) -> str:
    """A group of the test's own with four dead letters; its name."""
    name = str(request.node.name)[-40:].replace("_", "-")
    api.post("/topics", {"name": f"t-{name}", "partitions": 1})
    api.send(f"t-{name}", *({"body": f"body {nth}", "keys": [f"key-{nth}"]} for nth in range(4)))
    api.bury(name, f"t-{name}", 4)
    return name


def choose(page: Page, *nths: int) -> None:
    for nth in nths:
        page.locator("#letters [name=place]").nth(nth).check()


def test_letters_are_listed_by_group_with_cause_and_age(open_page: OpenPage, letters: str) -> None:
    page = open_page("/console/dead-letters")
    page.get_by_role("link", name=letters).click()
    expect(page.locator("#letters tbody tr")).to_have_count(4)
    expect(page.locator("#letters tbody tr").first).to_contain_text("given up by a consumer")
    expect(page.locator(".bars li", has_text="Under 1 hour")).to_contain_text("4")
    page.locator("#key").fill("key-2")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#letters tbody tr")).to_have_count(1)


def test_a_replay_is_seen_before_it_is_done(open_page: OpenPage, api: Api, letters: str) -> None:
    page = open_page(f"/console/dead-letters?group={letters}")
    choose(page, 0, 2)
    page.get_by_role("button", name="Replay the chosen").click()
    drawer = page.locator("#drawer")
    expect(drawer.locator("tbody tr")).to_have_count(2)
    expect(drawer.get_by_text("can be replayed")).to_have_count(2)
    assert api.get(f"/topics/t-{letters}")["messages"] == 4
    drawer.get_by_label("To its topic, for all groups").check()
    expect(drawer.locator("tbody tr").first).to_contain_text(f"t-{letters}")
    drawer.get_by_role("button", name="Replay 2").click()
    expect(drawer.get_by_role("status")).to_have_text("2 replayed, 0 failed")
    assert api.get(f"/topics/t-{letters}")["messages"] == 6
    assert letters in [each["name"] for each in api.get("/audit", search="console_replay_dead_letters")["items"]]


def test_all_that_match_are_replayed_to_their_group(open_page: OpenPage, api: Api, letters: str) -> None:
    page = open_page(f"/console/dead-letters?group={letters}&key=key-1")
    page.get_by_role("button", name="Replay all that match").click()
    page.locator("#drawer").get_by_role("button", name="Replay 1").click()
    expect(page.locator("#drawer").get_by_role("status")).to_have_text("1 replayed, 0 failed")
    (again,) = api.get(f"/topics/%25RETRY%25{letters}/messages", partition=0)["items"]
    assert again["keys"] == ["key-1"]


def test_a_replay_of_nothing_is_refused_in_words(open_page: OpenPage, letters: str) -> None:
    page = open_page(f"/console/dead-letters?group={letters}")
    page.get_by_role("button", name="Replay the chosen").click()
    expect(page.get_by_role("alert")).to_contain_text("choose at least one dead letter")


def test_a_choice_is_not_lost_when_the_list_would_look_again(open_page: OpenPage, letters: str) -> None:
    page = open_page(f"/console/dead-letters?group={letters}")
    choose(page, 1)
    page.evaluate("document.body.dispatchEvent(new Event('braid:refresh'))")
    expect(page.locator("#letters [name=place]").nth(1)).to_be_checked()
    page.locator("#letters [name=place]").nth(1).uncheck()
    with page.expect_response("**/console/dead-letters**"):
        page.evaluate("document.body.dispatchEvent(new Event('braid:refresh'))")


def test_letters_are_deleted_after_a_look_at_how_many(open_page: OpenPage, api: Api, letters: str) -> None:
    page = open_page(f"/console/dead-letters?group={letters}")
    page.locator("#letters tbody button").nth(1).click()
    expect(page.locator("#drawer #body-text")).to_have_text("body 1")
    page.get_by_role("button", name="Delete up to this one").click()
    page.get_by_role("button", name="Delete 2").click()
    expect(page.get_by_role("alert")).to_contain_text(f"2 dead letters of {letters} deleted")
    assert len(api.get("/dead-letters", group=letters)["items"]) == 2
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#letters tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Delete all").click()
    page.get_by_role("button", name="Delete 2").click()
    expect(page.get_by_role("alert").first).to_contain_text(f"2 dead letters of {letters} deleted")
    assert api.get("/audit", search="delete_dead_letters")["items"][0]["name"] == letters


def test_letters_are_exported_as_a_file(open_page: OpenPage, letters: str) -> None:
    page = open_page(f"/console/dead-letters?group={letters}")
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON", exact=True).click()
    assert download.value.suggested_filename == f"dead-letters-{letters}.json"
    kept = json.loads(Path(download.value.path()).read_bytes())
    assert [each["message"]["body"] for each in kept] == [f"body {nth}" for nth in range(4)]


def test_the_page_is_usable_narrow_dark_and_in_chinese(open_page: OpenPage, letters: str) -> None:
    page = open_page(f"/console/dead-letters?group={letters}", narrow=True, theme="dark", language="zh")
    expect(page.get_by_role("heading", level=1)).to_have_text("死信")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_causes_are_told_in_the_readers_language(open_page: OpenPage, letters: str) -> None:
    page = open_page(f"/console/dead-letters?group={letters}", language="zh")
    expect(page.locator("#letters tbody tr").first).to_contain_text("投递 1 次后被消费者放弃")
