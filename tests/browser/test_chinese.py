"""Chinese to the end: no page of a node, empty or full of the demo's payments, shows an English sentence.

Names, messages and commands are what people made or type, and stay; so does what is marked as English, the particulars
of errors that only exist in it.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from browser_support import OpenPage
from console_support import Api
from running_node import RunningNode

pytestmark = pytest.mark.timeout(300)

PLACES = (
    "/console",
    "/console/topics",
    "/console/topics?search=nothing-like-it",
    "/console/groups",
    "/console/groups?only=paused",
    "/console/messages",
    "/console/messages?by=id&id=unheard-of",
    "/console/traces",
    "/console/connections",
    "/console/connections?search=nothing-like-it",
    "/console/dead-letters",
    "/console/timers",
    "/console/timers?parked=true",
    "/console/transactions",
    "/console/transactions?parked=true",
    "/console/alarms",
    "/console/alarms?view=ended",
    "/console/alarms?view=rules",
    "/console/alarms?view=silences",
    "/console/inspection",
    "/console/reports",
    "/console/archive",
    "/console/instances",
    "/console/settings",
    "/console/audit",
    "/console/login",
)
REFUSED = (
    "/console/nowhere",
    "/console/topics?page=x",
    "/console/topics?page=0",
    "/console/topics?sort=colour",
    "/console/topics?kind=odd",
    "/console/topics?instance=nowhere",
    "/console/topics/nowhere",
    "/console/groups/nowhere",
    "/console/messages?by=time&topic=nowhere",
    "/console/messages?by=offset&topic=nowhere&offset=x",
    "/console/messages/nowhere/0/0/detail",
    "/console/traces?id=unheard-of",
    "/console/traces?key=x",
    "/console/timers?within=9",
    "/console/timers/not-a-handle/detail",
    "/console/transactions?state=odd",
    "/console/audit?span=odd",
    "/console/alarms?view=odd",
    "/console/alarms/rules/nowhere",
    "/console/settings/no.such",
    "/console/instances/default/delete",
)
TOPIC = ("", "?tab=partitions", "?tab=groups", "?tab=producers", "?tab=settings", "?tab=live")
TOPIC_DRAWERS = ("/send", "/shape", "/empty", "/delete", "/setting?setting=retention.ms")
GROUP = ("", "?tab=members", "?tab=subscriptions", "?tab=settings", "/reset", "/reset?step=to")
GROUP_MORE = ("/reset?step=preview&to=earliest", "/settings", "/delete", "/subscription")
DRAWERS = (
    "/console/new-topic",
    "/console/new-group",
    "/console/new-instance",
    "/console/instance-choice",
    "/console/alarms/rules/new",
    "/console/alarms/rules/disk-nearly-full",
    "/console/alarms/silences/new",
)
SHOWN = """() => {
  const theirs = 'code, pre, kbd, script, style, time, .mono, [lang="en"], .protocol, td.name, .clip, .name-text';
  const texts = [];
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const at = nodes.currentNode;
    if (!at.parentElement.closest(theirs) && at.textContent.trim()) texts.push(at.textContent.trim());
  }
  for (const name of ['aria-label', 'title', 'placeholder', 'alt'])
    for (const each of document.querySelectorAll(`[${name}]`))
      if (!each.closest('.mono, .clip')) texts.push(each.getAttribute(name));
  return [...texts, document.title];
}"""
LABELS = """() => [...document.querySelectorAll('h1, h2, h3, th, dt, label, legend, .tile-label, .btn, .tabs a')]
  .filter((each) => !each.querySelector('input, select, code, .mono, .instance-name'))
  .map((each) => each.textContent.trim())"""
CODE = re.compile(r"`[^`]*`")
SENTENCE = re.compile(r"[A-Za-z']{2,}(?: [A-Za-z']{2,})+")
"""Two English words, one behind the other."""
CHINESE = re.compile(r"[\u4e00-\u9fff]")
TERMS = frozenset({"braid up", "Apache Kafka", "Kafka broker", "PORT as HOST"})
WORDS = frozenset({"", "BraidMQ", "HTTP", "ID", "JSON", "Kafka", "Key", "Keys", "RocketMQ", "RocketMQ 5", "p50", "p99"})
NAME = re.compile(r"[a-z]+(?:-[a-z]+)+|[0-9A-F]{16,}|[a-z_]+(?:\.[a-z_]+)+")
"""Of a thing that a title names."""


def english(page: Page, paths: Iterable[str]) -> list[str]:
    """Sentences, titles and labels that are shown in English, with where."""
    found = []
    for path in paths:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status < 500, path
        texts = [(text, CODE.sub("", text)) for text in page.evaluate(SHOWN)]
        found += [f"{path}: {text}" for text, said in texts if set(SENTENCE.findall(said)) - TERMS]
        found += [f"{path}: {label}" for label in page.evaluate(LABELS) if not is_chinese(label)]
    return found


def is_chinese(label: str) -> bool:
    return bool(CHINESE.search(label) or label in WORDS or NAME.fullmatch(label))


@pytest.fixture(scope="module")
def paid(api: Api, node: RunningNode) -> list[str]:
    """The demo's payments; and the addresses of things among them."""
    arguments = ("demo", "--minutes", "0", "--messages", "60", "--yes", "--url", node.url)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("BRAID_")}
    subprocess.run([sys.executable, "-m", "braidmq", *arguments], check=True, timeout=120, env=inherited)
    api.post("/inspections")
    letter, timer, half = (api.get(path)["items"][0] for path in ("/dead-letters", "/timers", "/halves"))
    place = f"/console/dead-letters/{letter['group']}/{letter['place']['partition']}/{letter['place']['offset']}"
    message = api.get("/topics/demo-ledger/messages", partition=0)["items"][0]
    return [
        f"{place}/detail",
        f"/console/dead-letters/{letter['group']}/delete",
        f"/console/dead-letters?group={letter['group']}",
        f"/console/timers/{timer['handle']}/detail",
        f"/console/transactions/{half['handle']}/detail",
        f"/console/messages/demo-ledger/0/{message['offset']}/detail",
        f"/console/traces?id={quote(message['id'])}",
        "/console/messages?topic=demo-payments",
        "/console/messages?by=time&topic=demo-payments",
        *(f"/console/topics/demo-payments{part}" for part in (*TOPIC, *TOPIC_DRAWERS)),
        *(f"/console/groups/demo-fraud-check{part}" for part in (*GROUP, *GROUP_MORE)),
    ]


def test_empty_pages(open_page: OpenPage) -> None:
    assert english(open_page(language="zh"), (*PLACES, *DRAWERS)) == []


def test_pages_that_refuse(open_page: OpenPage) -> None:
    assert english(open_page(language="zh"), REFUSED) == []


def test_what_is_refused_is_told_in_chinese_and_what_to_do(open_page: OpenPage) -> None:
    page = open_page("/console/topics/nowhere", language="zh")
    expect(page.get_by_role("heading", level=1)).to_have_text("未找到")
    expect(page.locator("#content")).to_contain_text("实例 'default' 中没有主题 'nowhere'")
    expect(page.locator("#content")).to_contain_text("请在主题列表中核对名称和实例，或先创建主题。")


def test_full_pages(open_page: OpenPage, paid: list[str]) -> None:
    assert english(open_page(language="zh"), (*PLACES, *paid)) == []


def test_settings_of_every_section_of_the_node(open_page: OpenPage, api: Api) -> None:
    keys = [each["key"] for each in api.get("/settings", page_size=200)["items"]]
    assert len(keys) > 50
    assert english(open_page(language="zh"), (f"/console/settings/{quote(key)}" for key in keys[::9])) == []
