"""Topics: the list and everything that is done to one."""

import re
from collections.abc import Callable

import httpx
from playwright.sync_api import Page, expect

from browser_support import OpenPage
from filler_support import Filler, kafka_member
from running_node import RunningNode, WaitFor


def rows(page: Page, place: str) -> Callable[[], list[str]]:
    return lambda: page.locator(f"{place} tbody tr td.name").all_inner_texts()


def test_without_topics_the_list_shows_the_command_that_makes_one(open_page: OpenPage) -> None:
    page = open_page("/console/topics")
    expect(page.get_by_text("No topics yet")).to_be_visible()
    expect(page.get_by_text("braid topic create orders --partitions 4")).to_be_visible()


def test_a_topic_is_made_in_the_drawer(open_page: OpenPage, filler: Filler) -> None:
    page = open_page("/console/topics")
    page.get_by_role("button", name="New topic").click()
    page.get_by_label("Name", exact=True).fill("payments")
    page.get_by_label("Partitions").fill("3")
    page.get_by_label("Kind", exact=True).last.select_option("fifo")
    page.get_by_label("Keep messages for, in hours").fill("2")
    page.get_by_role("button", name="Create the topic").click()
    expect(page).to_have_url(re.compile("/console/topics/payments$"))
    made = filler.get("/topics/payments")
    assert (made["partitions"], made["kind"], made["retention_ms"]) == (3, "fifo", 7_200_000)


def test_a_name_that_cannot_be_is_refused_in_the_drawer(open_page: OpenPage) -> None:
    page = open_page("/console/topics?new=1")
    page.get_by_label("Name", exact=True).fill("not/a/topic")
    page.get_by_role("button", name="Create the topic").click()
    expect(page.locator("#drawer [role=alert]")).to_contain_text("invalid_name")
    page.get_by_role("button", name="Create the topic").click()
    expect(page.locator("#drawer [role=alert]")).to_have_count(1)


def test_search_kind_sort_and_internal_topics_are_in_the_address(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("list-a", messages=5)
    filler.topic("list-b", messages=50)
    filler.topic("list-c", kind="delay")
    page = open_page("/console/topics?search=list-")
    assert rows(page, "#topics-list")() == ["list-a", "list-b", "list-c delay"]
    page.get_by_role("link", name="Kept").click()
    page.get_by_role("link", name="Kept").click()
    expect(page).to_have_url(re.compile("sort=-messages"))
    # The list is sorted by figures that may be ten seconds old, and refreshes by itself.
    expect(page.locator("#topics-list tbody tr").first).to_contain_text("list-b", timeout=20_000)
    page.get_by_label("Kind").select_option("delay")
    expect(page.locator("#topics-list tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile("kind=delay"))
    page.goto("/console/topics?search=nothing-like-it")
    expect(page.get_by_text("No topic matches")).to_be_visible()
    page.get_by_text("Internal topics", exact=True).click()
    expect(page).to_have_url(re.compile("internal=true"))


def test_the_list_refreshes_by_itself(open_page: OpenPage, filler: Filler) -> None:
    page = open_page("/console/topics?search=appears")
    filler.topic("appears-later")
    page.evaluate("document.body.dispatchEvent(new Event('braid:refresh'))")
    expect(page.get_by_role("link", name="appears-later")).to_be_visible()


def test_favourites_are_kept_in_the_side_bar(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("loved")
    page = open_page("/console/topics?search=loved")
    page.get_by_role("button", name="Favourite: loved").click()
    page.goto("/console")
    page.locator("#favourites").get_by_role("link", name="loved").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("loved")


def test_a_topic_shows_its_figures_and_charts(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("looked-at", messages=7)
    filler.group("reader-of-it", "looked-at")
    page = open_page("/console/topics/looked-at")
    expect(page.locator(".tile", has_text="Messages kept")).to_contain_text("7")
    expect(page.locator(".chart canvas")).to_have_count(2)
    page.get_by_role("navigation", name="Parts of the topic").get_by_role("link", name="Groups").click()
    expect(page.get_by_role("link", name="reader-of-it")).to_be_visible()


def test_an_uneven_topic_is_told_by_its_partitions(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("uneven", partitions=4)
    filler.fill("uneven", 30, partition=2)
    page = open_page("/console/topics/uneven?tab=partitions", theme="dark")
    expect(page.get_by_text("keys may be unevenly spread")).to_be_visible()
    assert page.locator(".bar .fill").nth(2).get_attribute("width") == "100.0"
    assert page.locator(".bar .fill").nth(0).get_attribute("width") == "0.0"


def test_a_setting_is_changed_after_a_preview_and_taken_back(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("settled")
    page = open_page("/console/topics/settled?tab=settings")
    page.get_by_role("button", name="Change retention.ms", exact=True).click()
    page.get_by_label("New value").fill("3600000")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#drawer .change")).to_contain_text("3600000")
    assert filler.get("/topics/settled")["settings"].get("retention.ms") != "3600000"
    page.get_by_role("button", name="Change it").click()
    row = page.locator("tr", has=page.get_by_role("button", name="Change retention.ms", exact=True))
    expect(row).to_contain_text("this topic")
    assert filler.get("/topics/settled")["retention_ms"] == 3_600_000
    page.get_by_role("button", name="Change retention.ms", exact=True).click()
    page.get_by_text("Take it back").click()
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Change it").click()
    expect(row).not_to_contain_text("this topic")


def test_a_setting_that_cannot_be_is_refused_by_the_preview(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("unsettled")
    page = open_page("/console/topics/unsettled?tab=settings")
    page.get_by_role("button", name="Change retention.ms", exact=True).click()
    page.get_by_label("New value").fill("for long")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#drawer [role=alert]")).to_contain_text("retention.ms")
    expect(page.locator("#drawer [role=alert]")).to_be_in_viewport()


def test_partitions_are_added_after_a_preview(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("growing", partitions=1)
    page = open_page("/console/topics/growing")
    page.get_by_text("More").click()
    page.get_by_role("button", name="Partitions and kind").click()
    page.get_by_label("Partitions").fill("4")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#drawer .change").first).to_contain_text("4")
    assert filler.get("/topics/growing")["partitions"] == 1
    page.get_by_role("button", name="Change it").click()
    expect(page.get_by_text("4 partitions")).to_be_visible()


def test_a_message_is_sent_from_the_form_as_it_was_written(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("written", partitions=1)
    page = open_page("/console/topics/written")
    page.get_by_role("button", name="Send a message").click()
    page.get_by_label("Body", exact=True).fill('{"order": "<b>17</b>"}')
    page.get_by_label("Tag").fill("paid")
    page.get_by_label("Keys").fill("order-17 order-18")
    page.get_by_label("Sharding key").fill("account-9")
    page.get_by_label("Properties").fill("region=north\nchannel=a=b")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("The message is kept at partition 0, offset 0.")).to_be_in_viewport()
    link = page.get_by_role("link", name="Show the message").get_attribute("href") or ""
    assert link.startswith("/console/messages?")
    assert "offset=0" in link
    kept = filler.get("/topics/written/messages/0/0")
    assert kept["body"] == '{"order": "<b>17</b>"}'
    assert (kept["tag"], kept["keys"], kept["key"]) == ("paid", ["order-17", "order-18"], "account-9")
    properties = {each["name"]: each["value"] for each in kept["headers"]}
    assert (properties["region"], properties["channel"]) == ("north", "a=b")


def test_a_delayed_message_waits_under_a_timer(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("patient")
    page = open_page("/console/topics/patient")
    page.get_by_role("button", name="Send a message").click()
    page.get_by_label("Body", exact=True).fill("later")
    page.get_by_label("Delay, in seconds").fill("3600")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("The message waits for its time.")).to_be_visible()
    assert len(filler.get("/timers", topic="patient")["items"]) == 1


def test_the_live_tail_shows_new_messages_on_top_pauses_and_filters(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("watched", messages=3, partitions=1)
    page = open_page("/console/topics/watched?tab=live")
    expect(page.locator("#tail-state")).to_have_text("live")
    expect(page.get_by_text("Waiting for messages")).to_be_visible()
    filler.fill("watched", body="<script>alert(1)</script>", tag="paid")
    first = page.locator("#tail-rows tr").first
    expect(first).to_contain_text("<script>alert(1)</script>")
    filler.fill("watched", body="second")
    expect(first).to_contain_text("second")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#tail-state")).to_contain_text("paused")
    filler.fill("watched", body="held back")
    expect(page.locator("#tail-rows tr")).to_have_count(2)
    page.get_by_role("button", name="Go on").click()
    expect(first).to_contain_text("held back")
    page.get_by_label("Filter").fill("refunded")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#tail-state")).to_have_text("live")
    filler.fill("watched", body="not wanted", tag="paid")
    filler.fill("watched", body="wanted", tag="refunded")
    expect(page.locator("#tail-rows tr")).to_have_count(1)
    expect(first).to_contain_text("wanted")


def test_a_topic_is_emptied_after_a_preview(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("emptied", messages=9, partitions=1)
    page = open_page("/console/topics/emptied")
    page.get_by_text("More").click()
    page.get_by_role("button", name="Empty the topic").click()
    page.get_by_text("Messages of one partition before an offset").click()
    page.get_by_label("Partition", exact=True).fill("0")
    page.get_by_label("First offset that stays").fill("4")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("This would delete 4 messages for good:")).to_be_visible()
    assert filler.get("/topics/emptied")["messages"] == 9
    page.get_by_role("button", name="Delete the messages").click()
    expect(page.get_by_text("4 messages were deleted.")).to_be_visible()
    assert filler.get("/topics/emptied")["messages"] == 5


def test_a_topic_is_only_deleted_by_who_types_its_name(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("doomed", messages=6)
    filler.group("left-behind", "doomed")
    page = open_page("/console/topics/doomed")
    page.get_by_text("More").click()
    page.get_by_role("button", name="Delete the topic").click()
    lost = page.locator("#drawer .facts")
    expect(lost).to_contain_text("6")
    expect(lost).to_contain_text("left-behind")
    again = page.get_by_label("Type the name of the topic to delete it")
    again.fill("doome")
    page.locator("#drawer").get_by_role("button", name="Delete the topic").click()
    expect(page.locator("#drawer [role=alert]")).to_contain_text("type the topic's name")
    assert filler.get("/topics/doomed")["messages"] == 6
    again.fill("doomed")
    page.locator("#drawer").get_by_role("button", name="Delete the topic").click()
    expect(page).to_have_url(re.compile("/console/topics$"))
    assert filler.client.get("/topics/doomed").status_code == 404


def test_what_the_console_changes_is_in_the_audit_log_and_previews_are_not(
    open_page: OpenPage, filler: Filler, wait_for: WaitFor
) -> None:
    filler.topic("audited", partitions=1)
    page = open_page("/console/topics/audited")
    page.get_by_text("More").click()
    page.get_by_role("button", name="Partitions and kind").click()
    page.get_by_label("Partitions").fill("2")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Change it").click()
    expect(page.get_by_text("2 partitions")).to_be_visible()

    def operations() -> list[str]:
        return [each["operation"] for each in filler.get("/audit", search="audited")["items"]]

    wait_for(lambda: "console_change_topic" in operations())
    assert operations() == ["console_change_topic", "create_topic"], "forms and previews change nothing"


def test_a_change_from_another_site_is_refused(node: RunningNode, filler: Filler) -> None:
    filler.topic("protected", messages=1)
    with httpx.Client(base_url=node.url, follow_redirects=True) as client:
        assert client.get(f"/console/login?token={node.console_token}").is_success
        answer = client.post("/console/topics/protected/delete", data={"name_again": "protected"})
    assert answer.status_code == 403
    assert filler.get("/topics/protected")["messages"] == 1


def test_a_topic_that_there_is_not_is_told_on_a_page(open_page: OpenPage) -> None:
    page = open_page("/console/topics/never-made")
    expect(page.get_by_text("there is no topic 'never-made'")).to_be_visible()


def test_retry_topics_with_odd_names_have_pages(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("%RETRY%odd", messages=1, partitions=1)
    page = open_page("/console/topics?internal=true&search=RETRY")
    page.get_by_role("link", name="%RETRY%odd").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("%RETRY%odd")
    expect(page.locator(".chart canvas")).to_have_count(2)


def test_readers_on_kafka_are_shown_with_the_topic(
    open_page: OpenPage, filler: Filler, node: RunningNode, wait_for: WaitFor
) -> None:
    filler.topic("read-by-kafka", messages=4)
    with kafka_member(node, "kafka-readers", "read-by-kafka", wait_for):
        page = open_page("/console/topics/read-by-kafka?tab=groups")
        row = page.locator("tr", has_text="kafka-readers")
        expect(row).to_contain_text("Kafka")
        expect(row).to_contain_text("reading")


def test_topics_are_read_in_chinese_and_on_a_narrow_screen(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("narrow-one", messages=2)
    page = open_page("/console/topics?search=narrow-one", language="zh", narrow=True)
    expect(page.get_by_role("heading", level=1)).to_have_text("主题")
    for path in ("/console/topics/narrow-one", *(f"/console/topics/narrow-one?tab={tab}" for tab in TABS)):
        page.goto(path)
        expect(page.get_by_role("button", name="发送消息")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path


TABS = ("partitions", "groups", "producers", "settings", "live")


def test_lite_topics_have_a_tab_on_their_topics_page_and_go_from_there(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("meters", partitions=1, kind="lite", settings={"lite.topic.expiration": "60"})
    for name, count in (("meter-1", 3), ("gate-1", 1)):
        filler.topic(f"%LITE%meters|{name}", partitions=1)
        filler.fill(f"%LITE%meters%7C{name}".replace("%LITE%", "%25LITE%25"), count)
    page = open_page("/console/topics/meters")
    page.get_by_role("link", name="Lite topics").click()
    assert rows(page, "#topic-lite")() == ["gate-1", "meter-1"]
    page.get_by_placeholder("Find lite topics by name").fill("meter")
    page.keyboard.press("Enter")
    expect(page.locator("#topic-lite tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile("tab=lite"))
    page.get_by_role("button", name="Details of meter-1").click()
    drawer = page.locator("#drawer")
    expect(drawer).to_contain_text("Lite topic of meters")
    expect(drawer).to_contain_text("Nobody who is connected to this node subscribes to it.")
    drawer.get_by_label("Type the name").fill("gate-1")
    drawer.get_by_role("button", name="Delete the lite topic").click()
    expect(drawer.locator("[role=alert]")).to_contain_text("exactly as it is shown")
    drawer.get_by_label("Type the name").fill("meter-1")
    drawer.get_by_role("button", name="Delete the lite topic").click()
    expect(page).to_have_url(re.compile("/console/topics/meters\\?tab=lite$"))
    assert rows(page, "#topic-lite")() == ["gate-1"]
    page.get_by_role("button", name="Details of gate-1").click()
    page.locator("#drawer").get_by_role("link", name="%LITE%meters|gate-1").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("%LITE%meters|gate-1")
    page.locator(".breadcrumb-line").get_by_role("link", name="meters").click()
    page.locator(".tabs").get_by_role("link", name="Subscribers").click()
    expect(page.get_by_text("Nobody subscribes")).to_be_visible()
    page.goto("/console/topics/list-a")
    expect(page.get_by_role("link", name="Lite topics")).to_have_count(0)
