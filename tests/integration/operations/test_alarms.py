"""Alarms on a node that works: rules, what fires, who is told, and silences."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from alarm_sinks import MailSink, WebSink, mail_sink, web_sink
from braidmq.core.alarms import Notices
from braidmq.node import Node
from braidmq.settings import AlarmsSettings
from inside_node import StartNode

LAG = {"name": "lag", "kind": "lag", "threshold": 5}


@pytest.fixture
async def web() -> AsyncIterator[WebSink]:
    async with web_sink() as sink:
        yield sink


@pytest.fixture
async def mail() -> AsyncIterator[MailSink]:
    async with mail_sink() as sink:
        yield sink


def hurried(node: Node) -> None:
    """Retries without pauses."""
    node.desk.alarms._notices._back_off_s = (0.01,)


async def fall_behind(node: Node, lag: int) -> None:
    """The group billing is so many messages behind in the topic orders."""
    from braidmq.log import GroupOffset
    from braidmq.model import DEFAULT_INSTANCE, Message
    from braidmq.records import batch_messages

    topic = node.catalog.topic(DEFAULT_INSTANCE, "orders") or await node.topics.create("orders", partitions=1)
    number = topic.partition_numbers[0]
    end = node.log.bounds(number).end
    if end < lag:
        await node.log.append([(number, batch_messages([Message(body=b"x")] * (lag - end)))])
    committed = max(node.log.bounds(number).end - lag, 0)
    await node.log.commit_offsets("billing", {number: GroupOffset(offset=committed)})
    await node.lags.look()


async def alarms(api: httpx.AsyncClient, **ask: Any) -> list[dict[str, Any]]:
    answer = await api.get("/alarms", params=ask)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def until_told(api: httpx.AsyncClient, count: int, **ask: Any) -> dict[str, Any]:
    """The latest alarm, once so many notices of it have an outcome."""
    async with asyncio.timeout(10):
        while True:
            found = await alarms(api, **ask)
            if found and len(found[0]["notices"]) >= count:
                return found[0]
            await asyncio.sleep(0.01)


async def test_a_rule_fires_tells_a_web_address_and_ends(node: Node, api: httpx.AsyncClient, web: WebSink) -> None:
    made = await api.post("/alarms/rules", json=LAG | {"notify": [web.url], "severity": "critical"})
    assert (made.status_code, made.json()["measures"]) == (201, "messages that a group has not come to")
    await fall_behind(node, 10)
    await node.desk.sampler.turn()
    alarm = await until_told(api, 1, state="firing")
    assert (alarm["rule"], alarm["subject"], alarm["value"], alarm["severity"]) == (
        "lag",
        "group billing",
        10,
        "critical",
    )
    assert alarm["notices"][0] | {"at_ms": 0} == {"target": web.url, "at_ms": 0, "outcome": "sent", "attempts": 1}
    assert (await api.get("/alarms/rules/lag")).json()["firing"] == 1
    await node.desk.sampler.turn()
    await fall_behind(node, 0)
    await node.desk.sampler.turn()
    ended = await until_told(api, 2, state="ended")
    assert (ended["id"], ended["state"]) == (alarm["id"], "ended")
    assert ended["ended_ms"] >= ended["fired_ms"]
    assert [each["event"] for each in web.received] == ["firing", "ended"]
    assert web.received[0]["text"] == "the group billing is 10 messages behind"
    assert await alarms(api, state="firing") == []


async def test_a_server_that_fails_is_asked_again_and_one_that_refuses_is_not(
    node: Node, api: httpx.AsyncClient, web: WebSink
) -> None:
    hurried(node)
    await api.post("/alarms/rules", json=LAG | {"notify": [web.url]})
    web.statuses = [500, 503]
    outcomes = (await api.post("/alarms/rules/lag/test")).json()["outcomes"]
    assert [(each["outcome"], each["attempts"]) for each in outcomes] == [("sent", 3)]
    web.statuses = [404]
    outcomes = (await api.post("/alarms/rules/lag/test")).json()["outcomes"]
    assert [(each["outcome"], each["attempts"]) for each in outcomes] == [("the server answered 404", 1)]
    web.statuses = [500] * 3
    outcomes = (await api.post("/alarms/rules/lag/test")).json()["outcomes"]
    assert [(each["outcome"], each["attempts"]) for each in outcomes] == [("the server answered 500", 3)]


async def test_nobody_there_is_an_outcome_too(node: Node, api: httpx.AsyncClient) -> None:
    hurried(node)
    await api.post("/alarms/rules", json=LAG | {"notify": ["http://127.0.0.1:1/hook", "ops@example.com"]})
    outcomes = (await api.post("/alarms/rules/lag/test")).json()["outcomes"]
    assert outcomes[0]["outcome"].startswith("ConnectError")
    assert outcomes[1]["outcome"] == "no mail server is set (alarms.smtp_host)"


async def test_mail_is_sent_and_a_refused_address_is_told(start_node: StartNode, mail: MailSink) -> None:
    node = await start_node(alarms=AlarmsSettings(smtp_host="127.0.0.1", smtp_port=mail.port, smtp_from="braid@x.org"))
    async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/api/v1") as api:
        await api.post("/alarms/rules", json=LAG | {"notify": ["ops@example.com", "refused@example.com"]})
        outcomes = (await api.post("/alarms/rules/lag/test")).json()["outcomes"]
    assert [each["outcome"] for each in outcomes] == ["sent", "the mail server refused the address"]
    assert [target for target, _ in mail.mails] == ["ops@example.com"]
    assert "Subject: [test] lag" in mail.mails[0][1]
    assert "From: braid@x.org" in mail.mails[0][1]


async def test_a_server_that_never_answers_holds_up_nothing(node: Node, api: httpx.AsyncClient) -> None:
    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(never, "127.0.0.1", 0)
    notices = Notices(node.desk._mail_server, lambda: 0, back_off_s=(0.0,), timeout_s=0.1)
    node.desk.alarms._notices = notices
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    await api.post("/alarms/rules", json=LAG | {"notify": [url]})
    await fall_behind(node, 10)
    async with asyncio.timeout(5):
        await node.desk.sampler.turn()
    assert len(await alarms(api, state="firing")) == 1
    told = await until_told(api, 1)
    assert "Timeout" in told["notices"][0]["outcome"]
    server.close()


async def test_a_silence_keeps_people_untold_until_it_ends(node: Node, api: httpx.AsyncClient, web: WebSink) -> None:
    await api.post("/alarms/rules", json=LAG | {"notify": [web.url]})
    silence = {"reason": "we know", "until_ms": int(time.time() * 1000) + 60_000, "subject": "group bill*"}
    made = (await api.post("/alarms/silences", json=silence)).json()
    assert [each["reason"] for each in (await api.get("/alarms/silences")).json()["items"]] == ["we know"]
    await fall_behind(node, 10)
    await node.desk.sampler.turn()
    assert [each["silenced"] for each in await alarms(api, state="firing")] == [True]
    assert (await api.delete(f"/alarms/silences/{made['id']}")).status_code == 204
    assert (await api.delete(f"/alarms/silences/{made['id']}")).json()["code"] == "unknown_silence"
    await fall_behind(node, 0)
    await node.desk.sampler.turn()
    await until_told(api, 1)
    assert [each["event"] for each in web.received] == ["ended"]


async def test_what_fires_is_known_after_a_restart_and_nobody_is_told_twice(
    start_node: StartNode, web: WebSink
) -> None:
    node = await start_node()
    async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/api/v1") as api:
        await api.post("/alarms/rules", json=LAG | {"notify": [web.url]})
        await fall_behind(node, 10)
        await node.desk.sampler.turn()
        first = await until_told(api, 1)
    await node.stop()
    node = await start_node()
    async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/api/v1") as api:
        await fall_behind(node, 10)
        await node.desk.sampler.turn()
        assert [each["id"] for each in await alarms(api, state="firing")] == [first["id"]]
        assert [each["event"] for each in web.received] == ["firing"]
        await api.delete("/alarms/rules/lag")
        await node.desk.sampler.turn()
        assert [each["state"] for each in await alarms(api)] == ["ended"], "without its rule it is over"


async def test_rules_of_the_house_are_there_can_be_changed_and_deleted(api: httpx.AsyncClient) -> None:
    listed = (await api.get("/alarms/rules")).json()["items"]
    names = {each["rule"]["name"]: each["is_default"] for each in listed}
    wanted = {"disk-nearly-full", "storage-failed", "inconsistent-subscription", "growing-dead-letters"}
    assert wanted <= {name for name, is_default in names.items() if is_default}
    disk = next(each["rule"] for each in listed if each["rule"]["name"] == "disk-nearly-full")
    changed = await api.put("/alarms/rules/disk-nearly-full", json=disk | {"threshold": 50})
    assert (changed.json()["rule"]["threshold"], changed.json()["is_default"]) == (50, False)
    assert (await api.delete("/alarms/rules/disk-nearly-full")).status_code == 204
    assert (await api.get("/alarms/rules/disk-nearly-full")).json()["code"] == "unknown_rule"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"notify": ["not an address"]}, "notify"),
        ({"notify": ["ftp://x/y"]}, "notify"),
        ({"kind": "weather"}, "kind"),
        ({"threshold": -1}, "threshold"),
        ({"name": "a/b"}, "name"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_a_rule_that_cannot_be_is_refused_by_its_field(
    api: httpx.AsyncClient, wrong: dict[str, Any], said: str
) -> None:
    answer = await api.post("/alarms/rules", json=LAG | wrong)
    assert answer.status_code == 400
    assert said in answer.text


async def test_a_silence_of_the_past_and_a_rule_that_exists_are_refused(api: httpx.AsyncClient) -> None:
    past = await api.post("/alarms/silences", json={"reason": "x", "until_ms": 1})
    assert (past.status_code, past.json()["code"]) == (400, "invalid_request")
    await api.post("/alarms/rules", json=LAG)
    again = await api.post("/alarms/rules", json=LAG)
    assert (again.status_code, again.json()["code"]) == (409, "already_exists")
    nobody = await api.post("/alarms/rules/lag/test")
    assert "tells nobody" in nobody.json()["detail"]
