"""`braid support-bundle`: one file with what people who help will ask for.

What cannot be had is named in the file, and does not prevent the rest. Nothing in it is a message, nor a secret:
settings come from the node without them, and the environment is not looked at.
"""

import json
import platform
import sys
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import Call, on_node
from braidmq.cli._progress import bar
from braidmq.cli._times import now_ms
from braidmq.model import BraidError
from braidmq.model.errors import InvalidSetting

LOG_BYTES_MAX: Final = 10 << 20
_LISTS: Final = ("settings", "topics", "groups", "connections", "alarms", "audit")


@on_node
def command(
    call: Call,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Default: braid-support-TIME.zip here.")
    ] = None,
    log: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A log of the node; its last 10 MiB. Repeatable.")
    ] = None,
) -> None:
    """A zip with settings (without secrets), metrics, versions, an inspection, samples of the last hour, lists of
    topics and groups, and logs that were named. No message is in it."""
    for path in log or ():
        if not path.is_file():
            raise InvalidSetting(f"--log: there is no file {path}")
    target = file or Path(f"braid-support-{now_ms()}.zip")
    parts = _parts(call)
    missing: dict[str, str] = {}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle, bar(str(target)) as advance:
        for done, (name, part) in enumerate(parts.items(), 1):
            try:
                bundle.writestr(name, part())
            except BraidError as error:
                missing[name] = error.message
            advance(done, len(parts))
        for number, path in enumerate(log or (), 1):
            bundle.writestr(f"logs/{number}-{path.name}", _end_of(path))
        bundle.writestr("missing.json", _document(missing))
    left_out = f"; not in it: {', '.join(missing)}" if missing else ""
    call.done(f"{target} is written{left_out}", {"file": str(target)})


def _parts(call: Call) -> dict[str, Callable[[], str]]:
    api = call.api
    found: dict[str, Callable[[], str]] = {
        "versions.json": lambda: _document(_versions()),
        "metrics.txt": lambda: api.text("/metrics"),
        "inspection.json": lambda: _document(api.post(path_of("inspections"))),
        "node.json": lambda: _document(api.get("/version")),
        "nodes.json": lambda: _document(api.get(path_of("nodes"))),
        "overview.json": lambda: _document(api.get(path_of("overview"))),
        "samples.json": lambda: _document(api.get(path_of("samples"))),
    }
    for name in _LISTS:
        found[f"{name}.json"] = _listed(call, name)
    return found


def _listed(call: Call, name: str) -> Callable[[], str]:
    def listed() -> str:
        query = {"instance": call.instance} if name in ("topics", "groups") else {}
        items, _ = call.api.all(path_of(name), limit=1000, **query)
        return _document([{**item, "value": "***"} if item.get("secret") else item for item in items])

    return listed


def _versions() -> dict[str, Any]:
    from braidmq import __version__

    packages = {each.name: each.version for each in metadata.distributions()}
    return {
        "braid": __version__,
        "python": sys.version,
        "platform": platform.platform(),
        "packages": dict(sorted(packages.items())),
    }


def _document(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _end_of(path: Path) -> bytes:
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - LOG_BYTES_MAX))
        return log.read(LOG_BYTES_MAX)
