"""`braid trace`: the life of a message."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import Call, on_node
from braidmq.cli._names import OfTopic
from braidmq.cli._render import harmless
from braidmq.model.errors import InvalidSetting

_COLUMNS = ("at=at_ms", "step=kind", "topic", "partition", "offset", "group", "client", "value")


@on_node
def command(
    call: Call,
    id: Annotated[str, typer.Argument(metavar="[ID]", help="The message's id.")] = "",
    key: Annotated[str, typer.Option(metavar="KEY", help="All messages of --topic with this key.")] = "",
    topic: OfTopic = None,
) -> None:
    """The life of a message, step by step: by its id, or by --topic and --key."""
    if bool(id) == bool(key):
        raise InvalidSetting("name a message by its ID, or messages by --topic and --key")
    if id:
        _show(call, [call.api.get(path_of("traces", id), topic=topic, instance=call.instance)])
        return
    if topic is None:
        raise InvalidSetting("--key: name its topic with --topic")
    _show(call, call.api.get(path_of("traces"), topic=topic, key=key, instance=call.instance)["items"])


def _show(call: Call, lives: list[Mapping[str, Any]]) -> None:
    if call.output != "table":
        call.rows(lives)
        return
    for life in lives:
        print(f"{harmless(life['id'])}  keys: {harmless(', '.join(life['keys'])) or '-'}")
        call.rows(life["steps"], *_COLUMNS)
