"""`braid archive`: messages of long ago, found and sent again."""

import base64
from typing import TYPE_CHECKING, Any, Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from braidmq.cli import _errors
from braidmq.cli._pipeline import Place, moment, pairs, progress_bar
from braidmq.cli._render import show_rows
from braidmq.model.errors import InvalidSetting

if TYPE_CHECKING:
    from braidmq.pipeline.archive import Found

_SHOWN_LENGTH: Final = 60


def archive_path(place: Place) -> str:
    from braidmq.pipeline.run import Plan

    return Plan(bootstrap=place.bootstrap, root=place.root).archive_path


def find(
    place: Place,
    *,
    id: str | None,
    key: str | None,
    topic: str | None,
    begin: str | None,
    end: str | None,
    limit: int,
    output: str,
) -> int:
    """Prints what was found; 1 when it is nothing."""
    from braidmq.pipeline import archive

    if id is None and key is None and topic is None:
        raise InvalidSetting("say what to look for: --id, --key or --topic")
    found = archive.find(
        archive_path(place),
        id=id,
        key=key,
        topic=topic,
        start=moment(begin, "--from"),
        end=moment(end, "--to"),
        limit=limit,
    )
    if output == "json":
        for each in found:
            print(msgspec.json.encode(_as_json(each)).decode())
    elif output != "table":
        show_rows([msgspec.to_builtins(_as_json(each)) for each in found], (), output)
    elif found:
        Console().print(_table(found))
    else:
        print("nothing was found")
    return _errors.DONE if found else _errors.FAILED


def _as_json(found: "Found") -> dict[str, Any]:
    """Bodies and headers as text where they are that, else as base64."""
    values = msgspec.structs.asdict(found)
    values["value"] = _text_or_base64(found.value)
    values["key"] = _text_or_base64(found.key)
    values["headers"] = {name: _text_or_base64(value) for name, value in (found.headers or {}).items()}
    if found.repeated_headers is not None:
        values["repeated_headers"] = [[name, _text_or_base64(value)] for name, value in found.repeated_headers]
    return values


def _text_or_base64(value: bytes | None) -> str | dict[str, str] | None:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def _table(found: "list[Found]") -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("stored (UTC)", "topic", "partition", "offset", "id", "keys", "tag", "body"):
        table.add_column(name, justify="right" if name in ("partition", "offset") else "left", no_wrap=True)
    for each in found:
        body = (each.value or b"").decode(errors="replace")
        table.add_row(
            f"{each.store_time:%Y-%m-%d %H:%M:%S}",
            Text(each.topic),
            str(each.partition),
            str(each.offset),
            Text(each.message_id or ""),
            Text(" ".join(each.keys or [])),
            Text(each.tag or ""),
            Text(body[:_SHOWN_LENGTH]),
        )
    return table


def replay(
    place: Place,
    *,
    topic: str,
    into: str,
    begin: str | None,
    end: str | None,
    name: str,
    kafka: list[str],
    dry_run: bool,
) -> int:
    """Sends history to a topic again, with a bar for who waits."""
    from braidmq.pipeline import archive

    if dry_run:
        count = archive.count(archive_path(place), topic=topic, start=moment(begin, "--from"), end=moment(end, "--to"))
        print(f"{count} messages of {topic} would be sent to {into}, less those that were sent before; nothing is sent")
        return _errors.DONE
    with progress_bar(f"{topic} into {into}") as advance:
        done = archive.replay(
            archive_path(place),
            topic=topic,
            into=into,
            bootstrap=place.bootstrap,
            start=moment(begin, "--from"),
            end=moment(end, "--to"),
            progress=advance,
            name=name,
            kafka=pairs(kafka, "--kafka"),
        )
    print(f"{done.sent} messages were sent{f'; {done.already} had been sent before' if done.already else ''}")
    return _errors.DONE
