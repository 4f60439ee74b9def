"""How the specs of two Kafka releases become one."""

from typing import Any

import pytest
from kafka_specs import Versions, merge_specs, snake


def field(name: str, versions: str = "0+", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "int32", "versions": versions, **more}


def spec(versions: str, *fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "ThingRequest", "type": "request", "validVersions": versions, "fields": list(fields), **more}


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    (found,) = merge_specs({"ThingRequest": old}, {"ThingRequest": new})
    return found


def names(fields: list[dict[str, Any]]) -> list[str]:
    return [found["name"] for found in fields]


def test_the_range_reaches_from_the_oldest_to_the_newest_version() -> None:
    assert merged(spec("0-9", field("A")), spec("4-11", field("A")))["validVersions"] == "0-11"


def test_a_field_that_went_with_its_versions_is_put_back_in_its_place() -> None:
    old = spec("0-9", field("A"), field("Gone", "0-1"), field("B"))
    new = spec("2-9", field("A"), field("Added", "9+"), field("B"))
    assert names(merged(old, new)["fields"]) == ["A", "Gone", "Added", "B"]


def test_a_field_deeper_down_is_put_back_too() -> None:
    old = spec("0-3", field("Topics", type="[]Topic", fields=[field("Gone", "0"), field("Name")]))
    new = spec("1-3", field("Topics", type="[]Topic", fields=[field("Name")]))
    assert names(merged(old, new)["fields"][0]["fields"]) == ["Gone", "Name"]


def test_a_field_in_a_shared_struct_is_put_back_too() -> None:
    old = spec("0-3", field("A", type="Part"), commonStructs=[{"name": "Part", "fields": [field("Gone", "0")]}])
    new = spec("1-3", field("A", type="Part"), commonStructs=[{"name": "Part", "fields": [field("Name")]}])
    assert names(merged(old, new)["commonStructs"][0]["fields"]) == ["Gone", "Name"]


def test_a_field_that_was_renamed_is_not_there_twice() -> None:
    assert names(merged(spec("0-4", field("Old", "3+")), spec("0-6", field("New", "3+")))["fields"]) == ["New"]


def test_a_preview_that_ended_before_the_new_range_is_forgotten() -> None:
    new = spec("1-2", field("A"))
    assert merged(spec("0", field("A"), field("Preview", "0")), new) == new


def test_what_ended_with_zookeeper_and_what_is_no_message_is_left_out() -> None:
    ended = {"name": "StopReplicaRequest", "type": "request", "validVersions": "none"}
    record = {"name": "VotersRecord", "type": "data", "validVersions": "0", "fields": []}
    assert merge_specs({}, {"StopReplicaRequest": ended, "VotersRecord": record}) == []


@pytest.mark.parametrize(
    ("text", "versions"), [("none", (0, -1)), ("3", (3, 3)), ("0-9", (0, 9)), ("4+", (4, 1 << 15))]
)
def test_ranges_are_read_as_the_specs_write_them(text: str, versions: tuple[int, int]) -> None:
    assert Versions.parse(text) == versions


@pytest.mark.parametrize(
    ("name", "python"),
    [("ThrottleTimeMs", "throttle_time_ms"), ("KRaftVersion", "kraft_version"), ("timeoutMs", "timeout_ms")],
)
def test_names_become_pythons(name: str, python: str) -> None:
    assert snake(name) == python
