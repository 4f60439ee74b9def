"""Alarms: what fires, rules that are made, changed, tested and deleted, and silences."""

from playwright.sync_api import expect

from browser_support import OpenPage
from console_support import Api
from running_node import WaitFor


def test_where_nothing_is_wrong_the_page_says_so(open_page: OpenPage) -> None:
    page = open_page("/console/alarms")
    expect(page.get_by_role("heading", name="Nothing is wrong")).to_be_visible()
    page.get_by_role("link", name="Rules").click()
    expect(page.locator("#alarms tbody tr")).to_have_count(5)
    page.get_by_role("link", name="Silences").click()
    expect(page.get_by_role("heading", name="Nothing is silenced")).to_be_visible()
    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("heading", name="Nothing was wrong")).to_be_visible()


def test_a_rule_is_made_changed_and_deleted(open_page: OpenPage, api: Api) -> None:
    page = open_page("/console/alarms?view=rules")
    page.get_by_role("button", name="New rule").click()
    drawer = page.locator("#drawer")
    drawer.get_by_label("Name").fill("orders-behind")
    drawer.get_by_label("Wrong when more than").fill("500")
    drawer.get_by_label("Scope").fill("orders-*")
    drawer.get_by_label("Webhooks").fill("https://hooks.example/a\nhttps://hooks.example/b")
    drawer.get_by_label("E-mail").fill("ops@example.com")
    drawer.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("The rule orders-behind is made")
    made = api.get("/alarms/rules/orders-behind")["rule"]
    assert (made["kind"], made["threshold"], made["scope"]) == ("lag", 500, "orders-*")
    assert made["notify"] == ["https://hooks.example/a", "https://hooks.example/b", "ops@example.com"]
    drawer.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="orders-behind").click()
    drawer.get_by_label("Looks at").select_option("Node not ready")
    expect(drawer.get_by_label("Wrong when more than")).to_be_hidden()
    drawer.get_by_label("In force").uncheck()
    drawer.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("The rule orders-behind is saved")
    changed = api.get("/alarms/rules/orders-behind")["rule"]
    assert (changed["kind"], changed["enabled"]) == ("not_ready", False)
    drawer.get_by_role("button", name="Delete the rule").click()
    expect(page.get_by_role("alert").first).to_contain_text("The rule orders-behind is deleted")
    assert "orders-behind" not in [each["rule"]["name"] for each in api.get("/alarms/rules")["items"]]


def test_a_rule_that_cannot_be_is_refused_in_words(open_page: OpenPage) -> None:
    page = open_page("/console/alarms")
    page.get_by_role("button", name="New rule").click()
    page.locator("#rule-name").fill("wrong")
    page.locator("#mails").fill("nobody")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("it is an http or https address, or a mail address")


def test_a_test_notification_says_what_became_of_it(open_page: OpenPage, api: Api) -> None:
    rule = {"name": "told", "kind": "not_ready", "notify": ["http://127.0.0.1:9/nobody-listens"]}
    api.put("/alarms/rules/told", rule)
    page = open_page("/console/alarms?view=rules", theme="dark")
    page.get_by_role("button", name="told", exact=True).click()
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_role("alert")).to_contain_text("http://127.0.0.1:9/nobody-listens: ", timeout=30_000)


def test_what_fires_is_shown_and_silenced(open_page: OpenPage, api: Api, wait_for: WaitFor) -> None:
    api.post("/topics", {"name": "orders", "partitions": 1})
    api.send("orders", {"body": "one"}, {"body": "two"})
    api.post("/groups/slow/receive", {"topic": "orders", "count_max": 1})
    api.put("/alarms/rules/behind", {"name": "behind", "kind": "lag", "threshold": 0, "severity": "critical"})
    wait_for(lambda: bool(api.get("/alarms", state="firing")["items"]), 60)
    page = open_page("/console/alarms")
    row = page.locator("#alarms tbody tr").first
    expect(row).to_contain_text("Critical")
    expect(row).to_contain_text("group slow")
    row.get_by_role("button", name="Silence").click()
    expect(page.locator("#silence-subject")).to_have_value("group slow")
    page.get_by_label("Reason").fill("known, and being mended")
    page.locator("#drawer").get_by_role("button", name="Silence").click()
    expect(page.get_by_role("alert")).to_contain_text("Silenced")
    (silence,) = api.get("/alarms/silences")["items"]
    assert (silence["rule"], silence["subject"]) == ("behind", "group slow")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("link", name="Silences").click()
    page.get_by_role("button", name="End now").click()
    expect(page.get_by_role("alert")).to_contain_text("The silence is ended")
    assert api.get("/alarms/silences")["items"] == []


def test_the_page_is_usable_narrow_and_in_chinese(open_page: OpenPage) -> None:
    page = open_page("/console/alarms?view=rules", narrow=True, language="zh")
    expect(page.get_by_role("heading", level=1)).to_have_text("告警")
    expect(page.get_by_role("navigation", name="告警").get_by_role("link", name="规则")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
