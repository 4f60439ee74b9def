"""Groups: the list, one looked at closely, and moving it."""

import re

from playwright.sync_api import Page, expect

from browser_support import OpenPage
from filler_support import Filler, kafka_member, rocketmq_members
from running_node import RunningNode, WaitFor


def test_without_groups_the_list_shows_the_command_that_makes_one(open_page: OpenPage) -> None:
    page = open_page("/console/groups")
    expect(page.get_by_text("No groups yet")).to_be_visible()
    expect(page.get_by_text("braid consume orders --group my-group")).to_be_visible()


def test_a_group_is_made_and_changed(open_page: OpenPage, filler: Filler) -> None:
    page = open_page("/console/groups")
    page.get_by_role("button", name="New group").click()
    page.get_by_label("Name", exact=True).fill("billing")
    page.get_by_label("Attempts", exact=True).fill("5")
    page.get_by_text("Ordered: ").click()
    page.get_by_role("button", name="Create the group").click()
    expect(page).to_have_url(re.compile("/console/groups/billing$"))
    made = filler.get("/groups/billing")
    assert (made["attempts_max"], made["ordered"]) == (5, True)
    page.get_by_role("link", name="Settings").last.click()
    page.get_by_role("button", name="Change settings").last.click()
    page.get_by_label("Waits between attempts").fill("1s 5s")
    page.get_by_text("Ordered: ").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("1s 5s")).to_be_visible()
    changed = filler.get("/groups/billing")
    assert (changed["ordered"], changed["settings"]) == (False, {"retry.steps": "1s 5s"})


def test_the_filters_choose_groups_with_lag_without_members_and_paused(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("filtered", messages=5)
    filler.group("f-behind", "filtered")
    filler.post("/groups", {"name": "f-idle"})
    filler.post("/groups", {"name": "f-paused"})
    filler.post("/groups/f-paused/pause")
    page = open_page("/console/groups?search=f-")
    names = page.locator("#groups-list tbody tr td.name")
    expect(names).to_have_count(3)
    page.get_by_role("link", name="With lag").click()
    expect(names).to_have_text(["f-behind"])
    page.get_by_role("link", name="Paused").click()
    expect(names).to_have_text(["f-paused"])
    expect(page).to_have_url(re.compile("only=paused"))
    page.get_by_role("link", name="Without members").click()
    expect(names).to_have_count(3)


def test_lag_is_shown_by_partition_with_bars_and_charts(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("laggard", partitions=2)
    filler.fill("laggard", 8, partition=0)
    filler.fill("laggard", 2, partition=1)
    filler.group("slow", "laggard")
    page = open_page("/console/groups/slow")
    expect(page.locator(".tile", has_text="Lag")).to_contain_text("10")
    bars = page.locator("#group-offsets .bar .fill")
    assert [bars.nth(nth).get_attribute("width") for nth in range(2)] == ["100.0", "25.0"]
    expect(page.locator(".chart canvas")).to_have_count(2)


def test_members_on_kafka_are_shown_with_what_they_were_assigned(
    open_page: OpenPage, filler: Filler, node: RunningNode, wait_for: WaitFor
) -> None:
    filler.topic("membered", messages=4)
    with kafka_member(node, "crew", "membered", wait_for):
        page = open_page("/console/groups/crew?tab=members")
        row = page.locator("#group-members tbody tr")
        expect(row).to_contain_text("crew-client")
        expect(row).to_contain_text("membered: 0, 1")
        page.goto("/console/groups/crew?tab=subscriptions")
        expect(page.locator("#group-wishes")).to_contain_text("membered")


def test_members_that_want_different_things_are_warned_of(
    open_page: OpenPage, filler: Filler, node: RunningNode
) -> None:
    filler.topic("disputed", messages=2)
    with rocketmq_members(node, "at-odds", "disputed", {"one": "paid", "two": "sent"}):
        page = open_page("/console/groups/at-odds")
        expect(page.get_by_text("Members of this group do not want the same")).to_be_visible()
        page.get_by_role("link", name="Show the differences").click()
        section = page.locator("section", has_text="Members want different things of disputed")
        expect(section.locator("tr", has_text="tag paid")).to_contain_text("one")
        expect(section.locator("tr", has_text="tag sent")).to_contain_text("two")
        page.goto("/console/groups/at-odds?tab=members")
        expect(page.locator("#group-members .protocol-rocketmq")).to_have_count(2)


def test_a_group_is_paused_and_resumed(open_page: OpenPage, filler: Filler) -> None:
    filler.post("/groups", {"name": "resting"})
    page = open_page("/console/groups/resting")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("The group is paused: its members are given nothing.")).to_be_visible()
    assert filler.get("/groups/resting")["paused"] is True
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert filler.get("/groups/resting")["paused"] is False


def test_the_reset_wizard_shows_what_it_will_do_and_does_it(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("moved", partitions=2)
    filler.fill("moved", 6, partition=0)
    filler.fill("moved", 4, partition=1)
    filler.topic("not-moved", messages=5, partitions=1)
    filler.group("mover", "moved")
    filler.group("mover", "not-moved")
    page = open_page("/console/groups/mover")
    page.get_by_role("link", name="Reset offsets").click()
    expect(page.locator("[aria-current=step]")).to_have_text("Which topics")
    page.get_by_role("checkbox", name="not-moved").uncheck()
    page.get_by_role("button", name="Next").click()
    expect(page.locator("[aria-current=step]")).to_have_text("Go on where")
    page.get_by_text("Shifted").click()
    page.get_by_label("Messages to shift by").fill("3")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("[aria-current=step]")).to_have_text("Preview")
    assert cells(page) == [
        ["moved", "0", "0", "3", "6", "3", "would move"],
        ["moved", "1", "0", "3", "4", "1", "would move"],
    ]
    assert set(filler.committed("mover").values()) == {0}
    page.get_by_role("button", name="Reset the offsets").click()
    expect(page.locator("[aria-current=step]")).to_have_text("Done")
    expect(page.get_by_text("The group goes on at the new offsets.")).to_be_visible()
    assert filler.committed("mover") == {("moved", 0): 3, ("moved", 1): 3, ("not-moved", 0): 0}


def test_the_wizard_does_not_take_no_topic_for_all_topics(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("unchosen", messages=2, partitions=1)
    filler.group("chooses-none", "unchosen")
    page = open_page("/console/groups/chooses-none/reset")
    page.get_by_role("checkbox", name="unchosen").uncheck()
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("choose at least one")).to_be_visible()


def test_the_wizard_goes_back_with_what_was_chosen(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("chosen", messages=5, partitions=2)
    filler.group("chooser", "chosen")
    page = open_page("/console/groups/chooser/reset?step=preview&topic=chosen&partitions=1&to=shift&shift=1")
    expect(page.locator("#wizard tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Back").click()
    expect(page.get_by_role("radio", name="Shifted")).to_be_checked()
    expect(page.get_by_label("Messages to shift by")).to_have_value("1")
    page.get_by_role("link", name="Back").click()
    expect(page.get_by_label("Partitions")).to_have_value("1")


def test_a_group_goes_to_a_time_that_is_chosen_in_the_readers_own_zone(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("timed", messages=4, partitions=1)
    filler.group("timely", "timed")
    page = open_page("/console/groups/timely/reset?step=to")
    page.get_by_role("radio", name="At a time").check()
    page.get_by_label("Time", exact=True).fill("2099-01-01T00:00:00")
    page.get_by_role("button", name="Preview").click()
    expect(page).to_have_url(re.compile(r"time_ms=40709\d{8}"))
    assert cells(page)[0][3] == "4"


def test_a_group_goes_where_another_is(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("followed", messages=6, partitions=1)
    filler.group("leader", "followed")
    filler.group("follower", "followed")
    filler.post("/groups/leader/offsets/reset", {"to": "offset", "value": 4})
    page = open_page("/console/groups/follower/reset?step=to")
    page.get_by_role("radio", name="Like another group").check()
    page.get_by_label("Group", exact=True).fill("leader")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Reset the offsets").click()
    expect(page.get_by_text("The group goes on at the new offsets.")).to_be_visible()
    assert filler.committed("follower") == {("followed", 0): 4}


def test_the_backlog_is_skipped_after_a_preview(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("skipped", messages=12, partitions=1)
    filler.group("skipper", "skipped")
    page = open_page("/console/groups/skipper")
    page.get_by_text("More").click()
    page.get_by_role("link", name="Skip the backlog").click()
    expect(page.locator(".card-line", has_text="What would change")).to_contain_text("12")
    page.get_by_role("button", name="Reset the offsets").click()
    expect(page.get_by_text("The group goes on at the new offsets.")).to_be_visible()
    assert filler.committed("skipper") == {("skipped", 0): 12}


def test_a_reset_under_live_members_is_warned_of_and_refused(
    open_page: OpenPage, filler: Filler, node: RunningNode, wait_for: WaitFor
) -> None:
    filler.topic("held", messages=4, partitions=1)
    filler.group("holders", "held")
    with kafka_member(node, "holders", "held", wait_for):
        page = open_page("/console/groups/holders/reset?step=preview&to=latest")
        expect(page.get_by_text("stop them first, or the reset is refused")).to_be_visible()
        expect(page.locator("#wizard tbody tr")).to_contain_text("group_not_empty")
        expect(page.get_by_role("button", name="Reset the offsets")).to_be_disabled()
    page.get_by_role("link", name="Look again").click()
    expect(page.get_by_role("button", name="Reset the offsets")).to_be_enabled()


def test_a_reset_that_is_refused_after_its_preview_says_so_and_stays(
    open_page: OpenPage, filler: Filler, node: RunningNode, wait_for: WaitFor
) -> None:
    filler.topic("taken", messages=4, partitions=1)
    filler.group("takers", "taken")
    page = open_page("/console/groups/takers/reset?step=preview&to=latest")
    with kafka_member(node, "takers", "taken", wait_for):
        page.get_by_role("button", name="Reset the offsets").click()
        expect(page.get_by_role("alert")).to_contain_text("group_not_empty")
        expect(page.locator("[aria-current=step]")).to_have_text("Preview")


def test_a_group_is_deleted_after_a_preview(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("kept-on", messages=2, partitions=1)
    filler.group("leaving", "kept-on")
    page = open_page("/console/groups/leaving")
    page.get_by_text("More").click()
    page.get_by_role("button", name="Delete the group").click()
    expect(page.locator("#drawer .facts")).to_contain_text("kept-on")
    page.locator("#drawer").get_by_role("button", name="Delete the group").click()
    expect(page).to_have_url(re.compile("/console/groups$"))
    assert filler.client.get("/groups/leaving").status_code == 404


def test_groups_are_read_in_chinese_in_the_dark_and_on_a_narrow_screen(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("in-chinese", messages=3)
    filler.group("chinese", "in-chinese")
    page = open_page("/console/groups", language="zh", theme="dark", narrow=True)
    expect(page.get_by_role("heading", level=1)).to_have_text("消费组")
    for path in ("", "?tab=members", "?tab=subscriptions", "?tab=settings", "/reset", "/reset?step=to", SKIP):
        page.goto(f"/console/groups/chinese{path}")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
    expect(page.get_by_role("button", name="确认重置")).to_be_visible()


SKIP = "/reset?step=preview&to=latest"


def cells(page: Page) -> list[list[str]]:
    found = page.locator("#wizard tbody tr").all()
    return [row.locator("td").all_inner_texts() for row in found]


def test_a_subscription_is_added_changed_and_removed(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("settled")
    filler.post("/groups", {"name": "settlers"})
    page = open_page("/console/groups/settlers?tab=subscriptions")
    drawer, rows = page.locator("#drawer"), page.locator("#group-subscriptions tbody tr")
    page.get_by_role("button", name="Add a subscription").click()
    drawer.get_by_label("Topic").fill("settled")
    drawer.get_by_label("Filter").select_option("By tag")
    drawer.get_by_label("Expression").fill("paid || refunded")
    drawer.get_by_role("button", name="Save").click()
    expect(rows).to_contain_text("paid || refunded")
    page.get_by_role("button", name="Change settled *").click()
    drawer.get_by_label("Filter").select_option("By an SQL expression")
    drawer.get_by_label("Expression").fill("amount >")
    drawer.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    drawer.get_by_label("Expression").fill("amount > 100")
    drawer.get_by_role("button", name="Save").click()
    expect(rows).to_contain_text("amount > 100")
    (kept,) = filler.get("/subscriptions", group="settlers")["items"]
    assert (kept["topic"], kept["filter_kind"], kept["expression"]) == ("settled", "sql", "amount > 100")
    page.get_by_role("button", name="Remove settled *").click()
    expect(drawer.get_by_text("amount > 100")).to_be_visible()
    drawer.get_by_role("button", name="Remove the subscription").click()
    expect(page.get_by_role("heading", name="No subscription is kept for this group")).to_be_visible()
    assert filler.get("/subscriptions", group="settlers")["total"] == 0


def test_subscriptions_are_edited_in_chinese_and_on_a_phone(open_page: OpenPage, filler: Filler) -> None:
    filler.topic("settled-zh")
    filler.post("/groups", {"name": "settlers-zh"})
    page = open_page("/console/groups/settlers-zh?tab=subscriptions", language="zh", theme="dark", narrow=True)
    page.get_by_role("button", name="新增订阅关系").click()
    page.locator("#drawer").get_by_label("主题").fill("settled-zh")
    page.locator("#drawer").get_by_role("button", name="保存").click()
    expect(page.locator("#group-subscriptions tbody tr")).to_contain_text("全部消息")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
