"""Kafka's own message specs: out of the jars, merged, and in the words that the generator writes.

The specs ship inside every kafka-clients jar. No single release holds every version: 3.9 is the last one that still has
the old ones, 4.x has the new. So lower bounds come from the old jar, everything else from the new one, and the few
fields that were deleted together with the versions that had them are put back in their places.
"""

import json
import re
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = "common/message/"
COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
NEVER = 1 << 15
MESSAGES_INSIDE_MESSAGES = {"ConsumerProtocolSubscription", "ConsumerProtocolAssignment"}
"""What classic consumers put into JoinGroup and SyncGroup: opaque to a broker, but admin tools show it."""

Spec = dict[str, Any]


class Versions(NamedTuple):
    """A range as the specs write it; empty where last comes before first."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> "Versions":
        if text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), NEVER)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))

    def overlaps(self, other: "Versions") -> bool:
        return self.first <= other.last and other.first <= self.last


def read_specs(jar: Path) -> dict[str, Spec]:
    """All messages of a jar by name."""
    with zipfile.ZipFile(jar) as archive:
        names = [name for name in archive.namelist() if name.startswith(FOLDER) and name.endswith(".json")]
        specs = [json.loads(COMMENT.sub("", archive.read(name).decode())) for name in sorted(names)]
    return {spec["name"]: spec for spec in specs}


def merge_specs(old: dict[str, Spec], new: dict[str, Spec]) -> list[Spec]:
    """Every message that the codec knows, in the widest range of versions. What ended with ZooKeeper is left out."""
    known = [
        spec
        for name, spec in new.items()
        if (spec["type"] != "data" or name in MESSAGES_INSIDE_MESSAGES) and spec["validVersions"] != "none"
    ]
    return [_merged(old[spec["name"]], spec) if spec["name"] in old else spec for spec in known]


def _merged(old: Spec, new: Spec) -> Spec:
    """A range that lies wholly before the new one was a preview that nobody may use any more: the new one stands."""
    before, now = Versions.parse(old["validVersions"]), Versions.parse(new["validVersions"])
    if not before.overlaps(now):
        return new
    merged = dict(new)
    merged["validVersions"] = f"{min(before.first, now.first)}-{max(before.last, now.last)}"
    merged["fields"] = _merged_fields(old["fields"], new["fields"], now)
    merged["commonStructs"] = _merged_structs(old, new, now)
    return merged


def _merged_structs(old: Spec, new: Spec, now: Versions) -> list[Spec]:
    before = {struct["name"]: struct for struct in old.get("commonStructs", [])}
    return [
        {**struct, "fields": _merged_fields(before[struct["name"]]["fields"], struct["fields"], now)}
        if struct["name"] in before
        else struct
        for struct in new.get("commonStructs", [])
    ]


def _merged_fields(old: list[Spec], new: list[Spec], now: Versions) -> list[Spec]:
    """The new fields, and behind their old neighbours those that only versions before `now` had."""
    before = {field["name"]: field for field in old}
    merged = [_merged_field(before.get(field["name"]), field, now) for field in new]
    names = {field["name"] for field in new}
    for place, field in enumerate(old):
        if field["name"] in names:
            continue
        if Versions.parse(field["versions"]).last < now.first:
            merged.insert(_place_behind(merged, old[:place]), field)
    return merged


def _merged_field(old: Spec | None, new: Spec, now: Versions) -> Spec:
    if old is None or "fields" not in old or "fields" not in new:
        return new
    return {**new, "fields": _merged_fields(old["fields"], new["fields"], now)}


def _place_behind(merged: list[Spec], predecessors: list[Spec]) -> int:
    """Behind the nearest predecessor that is still there. The order of fields is the order on the wire."""
    places = {field["name"]: place for place, field in enumerate(merged)}
    return max((places[field["name"]] + 1 for field in predecessors if field["name"] in places), default=0)


def snake(name: str) -> str:
    """`ThrottleTimeMs` and `KRaftVersion` as Python writes them."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.replace("KRaft", "Kraft")).lower()
