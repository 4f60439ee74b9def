"""Messages to send: the options that say what is beside the body, and the form that the node takes them in."""

import base64
from typing import Annotated, Any

import typer

from braidmq.cli._times import now_ms, span_ms, time_ms
from braidmq.model.errors import InvalidSetting

Key = Annotated[str | None, typer.Option("--key", "-k", metavar="KEY", help="The key: order, spread and compaction.")]
Keys = Annotated[list[str] | None, typer.Option("--keys", metavar="KEY", help="To be found by; repeatable.")]
Tag = Annotated[str | None, typer.Option("--tag", metavar="TAG", help="The tag that groups filter by.")]
Headers = Annotated[
    list[str] | None, typer.Option("--header", "-H", metavar="NAME=VALUE", help="A property; repeatable.")
]
Sharding = Annotated[
    str | None, typer.Option("--sharding-key", metavar="KEY", help="Messages with the same one are in order.")
]
Partition = Annotated[int | None, typer.Option("--partition", "-p", min=0, help="The partition. Default: by the key.")]
Delay = Annotated[str | None, typer.Option("--delay", metavar="SPAN", help="Deliver after so long, such as 10s or 2h.")]
At = Annotated[str | None, typer.Option("--at", metavar="TIME", help="Deliver at this time.")]
Transaction = Annotated[
    str | None,
    typer.Option("--transaction", metavar="GROUP", help="As half of a transaction of these producers: see `braid tx`."),
]


def content(body: bytes) -> dict[str, Any]:
    """The body as text where it is that, else as base64."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}


def when(delay: str | None, at: str | None) -> dict[str, Any]:
    """When it is delivered. Raises InvalidSetting."""
    if delay is not None and at is not None:
        raise InvalidSetting("take one of --delay and --at")
    if delay is not None:
        return {"delay_ms": span_ms(delay, "--delay")}
    if at is None:
        return {}
    due_ms = time_ms(at, "--at")
    if due_ms < now_ms():
        raise InvalidSetting(f"--at: {at!r} has passed; name a time that is to come, such as 2026-11-16T08:00:00")
    return {"deliver_at_ms": due_ms}


def without_none(**fields: Any) -> dict[str, Any]:
    """What was said."""
    return {name: value for name, value in fields.items() if value is not None}
