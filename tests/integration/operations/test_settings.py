"""Settings from the centre: shown, checked, obeyed at once, and kept."""

from typing import Any

import httpx
import pytest

from braidmq.model.errors import UnknownTopic
from braidmq.node import Node
from braidmq.settings import AlarmsSettings, PublishSettings, Settings, effective, keys, known_origins
from braidmq.settings._central import PUSHED
from inside_node import StartNode


async def put(api: httpx.AsyncClient, key: str, value: str, **headers: str) -> httpx.Response:
    return await api.put(f"/settings/{key}", json={"value": value}, headers=headers)


async def test_every_setting_is_shown_with_type_default_value_and_origin(api: httpx.AsyncClient) -> None:
    listed = {each["key"]: each for each in (await api.get("/settings")).json()["items"]}
    assert set(listed) == set(keys())
    assert listed["log.flush"] | {"description": ""} == {
        "key": "log.flush",
        "value": "interval",
        "origin": "program",
        "default": "commit",
        "type": "commit or interval",
        "description": "",
        "changeable": False,
        "secret": False,
        "central": None,
        "changed_by": "",
        "changed_ms": 0,
        "etag": '"0"',
    }


async def test_secrets_are_never_shown(start_node: StartNode) -> None:
    node = await start_node(alarms=AlarmsSettings(smtp_password="hunter2"))  # noqa: S106 - shown nowhere is the point
    async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/api/v1") as api:
        listed = await api.get("/settings")
        assert "hunter2" not in listed.text
        assert (await api.get("/settings/alarms.smtp_password")).json()["value"] == "***"
        refused = await put(api, "alarms.smtp_password", "hunter3")
        assert (refused.status_code, refused.json()["code"]) == (409, "setting_fixed")


async def test_a_change_is_obeyed_at_once_and_a_restart_keeps_it(start_node: StartNode) -> None:
    node = await start_node()
    async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/api/v1") as api:
        for key, value in (
            ("trace.events", "off"),
            ("publish.body_bytes_max", "2KiB"),
            ("timers.delay_max_s", "1h"),
            ("query.share_percent", "7"),
            ("cursors.waiting_max", "9"),
            ("topics.partitions", "3"),
            ("topics.auto_create", "off"),
            ("halves.checks_max", "2"),
            ("halves.remember_s", "1min"),
            ("groups.lock_lease_s", "40"),
            ("inspection.every_s", "2min"),
            ("audit.keep_s", "1d"),
        ):
            answer = await put(api, key, value)
            assert (answer.status_code, answer.json()["origin"]) == (200, "central"), answer.text
    await obeys(node)
    await node.stop()
    again = await start_node()
    await obeys(again)


async def obeys(node: Node) -> None:
    assert node.trace.on is False
    assert node.timers.delay_max_ms == 3_600_000
    assert node.cursors.limits.waiting_max == 9
    assert node.settings.inspection.every_s == 120
    assert node.desk.audit.keep_ms == 86_400_000
    assert node.publisher.limits.body_bytes_max == 2_048
    assert (node.halves.limits.checks_max, node.halves.limits.remember_ms) == (2, 60_000)
    assert node.locks.lease_ms == 40_000
    with pytest.raises(UnknownTopic, match=r"topics\.auto_create"):
        await node.topics.ensure("made-by-being-used")
    topic = await node.topics.create(f"t{node.catalog.revision}")
    assert len(topic.partition_numbers) == 3


async def test_without_the_central_value_the_node_goes_by_its_own_again(start_node: StartNode) -> None:
    node = await start_node(publish=PublishSettings(body_bytes_max=5_000))
    async with httpx.AsyncClient(base_url=f"http://{node.addresses['http'][0]}/api/v1") as api:
        await put(api, "publish.body_bytes_max", "2KiB")
        gone = (await api.delete("/settings/publish.body_bytes_max")).json()
    assert (gone["value"], gone["origin"], gone["central"]) == ("5kB", "program", None)
    assert node.publisher.limits.body_bytes_max == 5_000


async def test_a_value_that_cannot_be_is_refused_with_the_reason(api: httpx.AsyncClient) -> None:
    wrong = await put(api, "trace.events", "sometimes")
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_setting")
    assert "it is on or off" in wrong.json()["detail"]
    assert (await put(api, "log.flush", "commit")).json()["code"] == "setting_fixed"
    assert (await put(api, "no.such", "x")).json()["code"] == "unknown_setting"
    assert (await api.get("/settings/no.such")).status_code == 404


async def test_of_two_who_have_read_the_same_the_second_is_refused(api: httpx.AsyncClient) -> None:
    tag = (await api.get("/settings/trace.events")).headers["etag"]
    first = await put(api, "trace.events", "off", **{"If-Match": tag})
    assert first.status_code == 200
    second = await put(api, "trace.events", "on", **{"If-Match": tag})
    assert (second.status_code, second.json()["code"]) == (412, "changed_meanwhile")
    third = await put(api, "trace.events", "on", **{"If-Match": first.headers["etag"]})
    assert third.status_code == 200
    stale = await api.delete("/settings/trace.events", headers={"If-Match": tag})
    assert stale.status_code == 412


async def test_a_change_is_in_the_audit_log(api: httpx.AsyncClient) -> None:
    await put(api, "trace.events", "off")
    entry = (await api.get("/audit")).json()["items"][0]
    assert (entry["operation"], entry["name"], entry["resource"], entry["outcome"]) == (
        "save_setting",
        "trace.events",
        "setting",
        "done",
    )


@pytest.mark.parametrize(
    ("origin", "counts"),
    [("--set", False), ("environment BRAID_X", False), ("/etc/braid.toml", True), ("default", True)],
)
def test_a_flag_and_the_environment_beat_the_centre_which_beats_the_file_and_the_default(
    origin: str, counts: bool
) -> None:
    settings = Settings()
    origins: dict[str, Any] = known_origins(settings) | {"trace.events": origin}
    now = effective(settings, origins, {"trace.events": "off"})
    assert now.settings.trace.events == ("off" if counts else "on")
    assert now.origins["trace.events"] == ("central" if counts else origin)


def test_what_a_node_does_not_know_or_take_is_passed_over() -> None:
    central = {"from.tomorrow": "x", "trace.events": "sometimes", "log.flush": "interval"}
    assert effective(Settings(), known_origins(Settings()), central).settings == Settings()


def test_no_password_can_be_set_from_the_centre_and_all_that_can_exists() -> None:
    assert set(keys()) >= PUSHED
    assert not any(keys()[path].secret for path in PUSHED)


async def test_a_change_that_is_only_tried_is_checked_and_changes_nothing(api: httpx.AsyncClient) -> None:
    tried = await api.put("/settings/trace.events", params={"dry_run": "true"}, json={"value": "off"})
    assert (tried.status_code, tried.json()["central"], tried.json()["value"]) == (200, "off", "on")
    assert (await api.get("/settings/trace.events")).json()["central"] is None
    wrong = await api.put("/settings/trace.events", params={"dry_run": "true"}, json={"value": "perhaps"})
    assert wrong.json()["code"] == "invalid_setting"
