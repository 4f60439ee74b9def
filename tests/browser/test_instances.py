"""Instances: what is chosen at the top is what all pages show and change; the others are left alone."""

import pytest
from playwright.sync_api import Page, expect

from browser_support import OpenPage
from console_support import Api

RETAIL = "?instance=retail"
PAGES = (
    "/console",
    "/console/topics",
    "/console/topics/orders",
    "/console/topics/orders?tab=settings",
    "/console/topics/orders?tab=live",
    "/console/groups",
    "/console/groups/readers",
    "/console/groups/readers?tab=subscriptions",
    "/console/groups/readers/reset",
    "/console/groups/readers/reset?step=to&topic=orders",
    "/console/groups/readers/reset?step=preview&to=earliest",
    "/console/messages?topic=orders",
    "/console/messages?by=time&topic=orders&span=all",
    "/console/traces",
    "/console/connections",
    "/console/dead-letters?group=readers",
    "/console/timers",
    "/console/transactions",
    "/console/alarms",
    "/console/inspection",
    "/console/reports",
    "/console/archive",
    "/console/instances",
    "/console/settings",
    "/console/audit",
)
ASTRAY = """() => {
  const names = ["href", "action", "hx-get", "hx-post", "data-chart", "data-tail", "data-leads", "data-favourite"];
  const free = /^\\/console\\/(static|preferences|login|logout|events)\\b/;
  const found = [];
  for (const name of names) for (const each of document.querySelectorAll(`[${name}^="/console"]`)) {
    const address = new URL(each.getAttribute(name), location.href);
    const named = address.searchParams.getAll("instance");
    if (!free.test(address.pathname) && named.length !== 1) found.push(each.outerHTML.slice(0, 200));
  }
  for (const form of document.querySelectorAll("form:not([hx-post]):not([method=post])"))
    if (new FormData(form).getAll("instance").join() !== "retail") found.push(form.outerHTML.slice(0, 200));
  return found;
}"""
"""Addresses and forms of a page that would lose the instance."""


@pytest.fixture(scope="module")
def two(api: Api) -> None:
    """A topic and a group of the same names in two instances, with messages that tell where they are."""
    api.post("/instances", {"name": "retail", "description": "Shops and tills"})
    for where in ("", RETAIL):
        said = "retail" if where else "default"
        api.post(f"/topics{where}", {"name": "orders", "partitions": 1})
        api.post(f"/topics/orders/messages{where}", {"messages": [{"body": f"{said} {nth}"} for nth in range(4)]})
        api.post(f"/groups{where}", {"name": "readers"})
        for delayed in ({"delay_ms": 1_800_000}, {"transaction": {"group": "payers", "immunity_s": 3600}}):
            api.post(f"/topics/orders/messages{where}", {"body": f"{said} later", "keys": [said], **delayed})
    bury(api, "readers", RETAIL)


def bury(api: Api, group: str, where: str) -> None:
    """All messages of the topic come to the group's dead letters."""
    left = 4
    while left:
        for message in api.post(
            f"/groups/{group}/receive{where}", {"topic": "orders", "wait_s": 20, "count_max": left}
        )["messages"]:
            api.post(f"/groups/{group}/bury{where}", {"receipt": message["receipt"]})
            left -= 1


def kept(api: Api, topic: str, instance: str) -> int:
    return int(api.get(f"/topics/{topic}", instance=instance)["messages"])


def choose(page: Page, name: str) -> None:
    page.locator(".instance summary").click()
    page.locator(".instance .menu-list").get_by_role("link", name=name, exact=True).click()


def test_one_instance_is_made_and_deleted_from_its_page(open_page: OpenPage, api: Api) -> None:
    page = open_page("/console/instances")
    page.get_by_role("button", name="New instance").click()
    page.locator("#instance-name").fill("passing")
    page.get_by_label("Description", exact=True).fill("not for long")
    page.get_by_role("button", name="Create the instance").click()
    expect(page.get_by_role("alert")).to_contain_text("The instance passing is made")
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#instances-list tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Delete passing").click()
    page.get_by_role("button", name="Delete the instance").click()
    expect(page.get_by_role("alert").first).to_contain_text("The instance passing is deleted")
    assert [each["name"] for each in api.get("/instances")["items"]] == ["default"]
    assert [each["operation"] for each in api.get("/audit", search="console_")["items"]] == [
        "console_delete_instance",
        "console_create_instance",
    ]


def test_an_instance_that_is_looked_at_is_left_when_it_is_deleted(open_page: OpenPage, api: Api) -> None:
    api.post("/instances", {"name": "leaving"})
    page = open_page("/console/instances?instance=leaving")
    page.get_by_role("button", name="Delete leaving").click()
    page.get_by_role("button", name="Delete the instance").click()
    page.wait_for_url("**/console/instances?instance=default")
    expect(page.locator(".instance-name")).to_have_text("default")


@pytest.mark.usefixtures("two")
def test_topics_of_one_name_show_different_messages(open_page: OpenPage) -> None:
    page = open_page("/console/messages?topic=orders")
    expect(page.locator("#results tbody tr")).to_have_count(4)
    expect(page.locator("#results tbody")).to_contain_text("default 3")
    choose(page, "retail")
    page.wait_for_url("**/console/messages?instance=retail")
    page.get_by_label("Topic").fill("orders")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("#results tbody tr")).to_have_count(4)
    expect(page.locator("#results tbody")).to_contain_text("retail 3")
    expect(page.locator("#results tbody")).not_to_contain_text("default")
    page.locator("#results tbody button").first.click()
    expect(page.locator("#drawer #body-text")).to_contain_text("retail")
    page.locator("#drawer").get_by_role("link", name="orders", exact=True).click()
    expect(page.locator("#content").get_by_text("retail", exact=True)).to_be_visible()


@pytest.mark.usefixtures("two")
def test_every_address_of_every_page_leads_to_the_same_instance(open_page: OpenPage) -> None:
    page = open_page()
    for path in PAGES:
        page.goto(f"{path}{'&' if '?' in path else '?'}instance=retail")
        expect(page.locator(".instance-name")).to_have_text("retail")
        assert page.evaluate(ASTRAY) == [], path


@pytest.mark.usefixtures("two")
def test_a_message_is_sent_to_the_chosen_instance_and_shown_there(open_page: OpenPage, api: Api) -> None:
    before = kept(api, "orders", "default"), kept(api, "orders", "retail")
    page = open_page(f"/console/topics/orders{RETAIL}")
    page.get_by_role("button", name="Send a message").click()
    page.locator("#send-body").fill("by hand, to retail")
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("link", name="Show the message").click()
    expect(page.locator("#results tbody")).to_contain_text("by hand, to retail")
    assert (kept(api, "orders", "default"), kept(api, "orders", "retail")) == (before[0], before[1] + 1)


@pytest.mark.usefixtures("two")
def test_new_messages_are_seen_live_where_they_come(open_page: OpenPage, api: Api) -> None:
    page = open_page(f"/console/topics/orders{RETAIL}&tab=live")
    expect(page.locator("#tail-state")).to_have_text("live")
    api.send("orders", {"body": "to the default one"})
    api.post(f"/topics/orders/messages{RETAIL}", {"body": "to retail"})
    expect(page.locator("#tail-rows")).to_contain_text("to retail")
    expect(page.locator("#tail-rows tr")).to_have_count(1)
    page.locator("#tail-rows a").click()
    expect(page.locator("#results tbody")).to_contain_text("to retail")


@pytest.mark.usefixtures("two")
def test_a_reset_moves_the_group_of_the_chosen_instance_alone(open_page: OpenPage, api: Api) -> None:
    for where in ("", RETAIL):
        api.post(f"/groups/readers/offsets/reset{where}", {"to": "latest", "topics": ["orders"]})
    page = open_page(f"/console/groups/readers{RETAIL}")
    page.get_by_role("link", name="Reset offsets").click()
    page.get_by_role("button", name="Next").click()
    page.get_by_label("At the beginning").check()
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="What would change")).to_be_visible()
    page.get_by_role("button", name="Reset the offsets").click()
    expect(page.get_by_text("The group goes on at the new offsets.")).to_be_visible()
    page.get_by_role("link", name="To the group").click()
    page.wait_for_url("**/console/groups/readers?instance=retail")

    def committed(instance: str) -> list[int]:
        found = api.get("/groups/readers/offsets", topic="orders", instance=instance)
        return [each["committed"] for each in found]

    assert committed("retail") == [0]
    assert committed("default") != [0]


@pytest.mark.usefixtures("two")
def test_dead_letters_of_the_chosen_instance_are_replayed_there(open_page: OpenPage, api: Api) -> None:
    page = open_page("/console/dead-letters")
    expect(page.get_by_role("heading", name="No dead letters")).to_be_visible()
    before = kept(api, "orders", "default"), kept(api, "orders", "retail")
    choose(page, "retail")
    page.get_by_role("link", name="readers").click()
    expect(page.locator("#letters tbody tr")).to_have_count(4)
    page.locator("#letters [name=place]").first.check()
    page.get_by_role("button", name="Replay the chosen").click()
    drawer = page.locator("#drawer")
    drawer.get_by_label("To its topic, for all groups").check()
    expect(drawer.locator("tbody tr").first).to_contain_text("orders")
    drawer.get_by_role("button", name="Replay 1").click()
    expect(drawer.get_by_role("status")).to_have_text("1 replayed, 0 failed")
    assert (kept(api, "orders", "default"), kept(api, "orders", "retail")) == (before[0], before[1] + 1)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(("path", "place"), [("/console/timers", "#timers"), ("/console/transactions", "#halves")])
def test_what_waits_is_listed_in_its_own_instance(open_page: OpenPage, path: str, place: str) -> None:
    for instance in ("default", "retail"):
        page = open_page(f"{path}?instance={instance}")
        expect(page.locator(f"{place} tbody tr")).to_have_count(1)
        page.locator(f"{place} tbody button").click()
        expect(page.locator("#drawer #body-text")).to_have_text(f"{instance} later")


@pytest.mark.usefixtures("two")
def test_a_topic_that_is_made_or_deleted_is_so_in_the_chosen_instance(open_page: OpenPage, api: Api) -> None:
    api.post("/topics", {"name": "passing"})
    page = open_page(f"/console/topics{RETAIL}")
    page.get_by_role("button", name="New topic").click()
    page.locator("#topic-name").fill("passing")
    page.get_by_role("button", name="Create the topic").click()
    page.wait_for_url("**/console/topics/passing?instance=retail")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Delete the topic").click()
    page.get_by_label("Type the name").fill("passing")
    page.locator("#drawer").get_by_role("button", name="Delete the topic").click()
    page.wait_for_url("**/console/topics?instance=retail")
    expect(page.locator("#topics-list tbody tr")).to_have_count(1)
    assert kept(api, "passing", "default") == 0


@pytest.mark.usefixtures("two")
def test_a_favourite_remembers_its_instance(open_page: OpenPage) -> None:
    page = open_page(f"/console/topics{RETAIL}")
    page.get_by_role("button", name="Favourite: orders").click()
    page.goto("/console/topics")
    expect(page.get_by_role("button", name="Favourite: orders")).to_have_attribute("aria-pressed", "false")
    page.locator("#favourites").get_by_role("link", name="orders · retail").click()
    expect(page.locator(".instance-name")).to_have_text("retail")


@pytest.mark.usefixtures("two")
def test_language_and_theme_are_changed_without_losing_the_instance(open_page: OpenPage) -> None:
    page = open_page(f"/console/topics{RETAIL}")
    page.get_by_label("Language").click()
    page.get_by_role("link", name="中文").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("主题")
    expect(page.locator(".instance-name")).to_have_text("retail")


def test_an_instance_that_is_not_there_is_told_and_left(open_page: OpenPage) -> None:
    page = open_page("/console/topics?instance=nowhere")
    expect(page.locator("#content")).to_contain_text("there is no instance 'nowhere'")
    page.get_by_role("link", name="To the overview").click()
    page.wait_for_url("**/console")
    expect(page.locator(".instance-name")).to_have_text("default")


@pytest.mark.usefixtures("two")
def test_who_logs_in_again_comes_back_to_the_instance(open_page: OpenPage) -> None:
    page = open_page(f"/console/topics{RETAIL}", log_in=False)
    expect(page.locator("[name=back]")).to_have_value("/console/topics?instance=retail")


@pytest.mark.usefixtures("two")
def test_commands_that_pages_show_are_for_the_instance(open_page: OpenPage) -> None:
    page = open_page(f"/console/topics/orders{RETAIL}")
    expect(page.get_by_text("braid consume orders --from beginning --instance retail")).to_be_visible()


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_choice_is_usable_narrow_and_in_chinese(open_page: OpenPage, theme: str) -> None:
    page = open_page(f"/console/instances{RETAIL}", narrow=True, theme=theme, language="zh")
    expect(page.get_by_role("heading", level=1)).to_have_text("实例")
    page.locator(".instance summary").click()
    expect(page.get_by_role("link", name="全部实例")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
