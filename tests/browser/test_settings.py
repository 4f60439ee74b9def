"""Settings: found, changed after a look, and never over somebody else's change."""

from playwright.sync_api import Page, expect

from browser_support import OpenPage
from console_support import Api


def open_setting(page: Page, key: str) -> None:
    page.locator("#settings").get_by_role("button", name=key, exact=True).click()
    expect(page.locator("#drawer h2")).to_have_text(key)


def test_settings_show_their_value_and_where_it_comes_from(open_page: OpenPage) -> None:
    page = open_page("/console/settings")
    page.locator("[data-search]").fill("http.listen")
    page.keyboard.press("Enter")
    expect(page.locator("#settings tbody tr", has_text="http.listen").first).to_contain_text("--http")
    page.goto("/console/settings?only=changed")
    assert "alarms.evaluate" not in page.locator("#settings").inner_text()
    open_setting(page, "http.listen")
    expect(page.locator("#drawer")).to_contain_text("This setting is fixed while the node runs.")


def test_a_setting_is_changed_after_a_look_and_forgotten_again(open_page: OpenPage, api: Api) -> None:
    page = open_page("/console/settings?search=trace.events")
    open_setting(page, "trace.events")
    page.get_by_label("Value for all nodes").select_option("off")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".change")).to_contain_text("off")
    assert api.get("/settings/trace.events")["value"] == "on"
    page.get_by_role("button", name="Set for all nodes").click()
    expect(page.get_by_role("alert")).to_contain_text("trace.events is off for all nodes")
    changed = api.get("/settings/trace.events")
    assert (changed["value"], changed["origin"]) == ("off", "central")
    assert api.get("/audit", search="save_setting")["items"][0]["name"] == "trace.events"
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#settings tbody tr").first).to_contain_text("centre")
    open_setting(page, "trace.events")
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("alert")).to_contain_text("what each node was started with")
    assert api.get("/settings/trace.events")["value"] == "on"


def test_a_value_that_cannot_be_is_refused_before_anything_changes(open_page: OpenPage, api: Api) -> None:
    page = open_page("/console/settings?search=alarms.smtp_port", theme="dark")
    open_setting(page, "alarms.smtp_port")
    page.get_by_label("Value for all nodes").fill("many")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("a number from 1 to 65535")
    assert api.get("/settings/alarms.smtp_port")["central"] is None


def test_a_change_over_somebody_elses_is_refused_and_told(open_page: OpenPage, api: Api) -> None:
    page = open_page("/console/settings?search=alarms.smtp_port", language="zh", narrow=True)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    open_setting(page, "alarms.smtp_port")
    page.get_by_label("所有节点使用的值").fill("2525")
    page.get_by_role("button", name="预览").click()
    expect(page.locator(".change")).to_contain_text("2525")
    api.put("/settings/alarms.smtp_port", {"value": "587"})
    page.get_by_role("button", name="对所有节点生效").click()
    expect(page.get_by_role("alert")).to_contain_text("changed_meanwhile")
    assert api.get("/settings/alarms.smtp_port")["value"] == "587"
