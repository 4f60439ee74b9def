"""`braid message`: single messages."""

import contextlib
import sys
from typing import Annotated, Any

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import Call, Limit, noun, on_node
from braidmq.cli._formats import as_json, parsed_format
from braidmq.cli._names import OfTopic, TopicName, group_names, topic_names
from braidmq.cli._outgoing import (
    At,
    Delay,
    Headers,
    Key,
    Keys,
    Partition,
    Sharding,
    Tag,
    Transaction,
    content,
    when,
    without_none,
)
from braidmq.cli._pairs import pairs
from braidmq.cli._times import optional_time_ms
from braidmq.model.errors import InvalidSetting

command = noun("Find, show, send and watch single messages.")

PartitionIndex = Annotated[int, typer.Argument(metavar="PARTITION", min=0, help="The partition.")]
Offset = Annotated[int, typer.Argument(metavar="OFFSET", min=0, help="The offset.")]
_COLUMNS = ("topic", "partition", "offset", "born=born_ms", "id", "keys", "tag", "protocol", "body:text")


@command.command("find")
@on_node
def find(
    call: Call,
    topic: OfTopic = None,
    id: Annotated[str | None, typer.Option(metavar="ID", help="By its id.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="By one of its keys.")] = None,
    begin: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Stored then or later, as 2h.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Stored before then.")] = None,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0, help="Only this partition.")] = None,
    offset: Annotated[int | None, typer.Option(min=0, help="From this offset on.")] = None,
    tag: Annotated[str, typer.Option(metavar="EXPRESSION", help="Tags, such as 'paid || refunded'.")] = "",
    limit: Limit = 50,
) -> None:
    """Find messages of a topic by id, key, time or offset; by id or key also of all topics. Says how far it looked.
    Exit status 1 when there are none."""
    if topic is None and id is None and key is None:
        raise InvalidSetting("say what to look for: --id or --key, or name a --topic")
    query: dict[str, Any] = {"id": id, "key": key, "instance": call.instance}
    if topic is not None:
        query |= {"partition": partition, "offset": offset, "filter": tag}
        query |= {"from_ms": optional_time_ms(begin, "--from"), "until_ms": optional_time_ms(end, "--to")}
    path = path_of("messages") if topic is None else path_of("topics", topic, "messages")
    found, told = _found(call, path, query, limit)
    call.rows(found, *_COLUMNS, empty="nothing was found")
    call.note(told)
    raise typer.Exit(0 if found else 1)


def _found(call: Call, path: str, query: dict[str, Any], limit: int) -> tuple[list[Any], str]:
    """With what the node says of how far it looked."""
    found: list[Any] = []
    cursor = None
    while True:
        answer = call.api.get(path, limit=min(1000, limit - len(found)), cursor=cursor, **query)
        found += answer["items"]
        cursor = answer["cursor"]
        if cursor is None or len(found) >= limit:
            return found, answer["scanned"]["explanation"].replace("go on with the cursor", "--limit goes on")


@command.command("show")
@on_node
def show(call: Call, topic: TopicName, partition: PartitionIndex, offset: Offset) -> None:
    """One message with all that is known of it."""
    found = call.api.get(path_of("topics", topic, "messages", partition, offset), instance=call.instance)
    if call.output == "table":
        found = found | {"headers": {each["name"]: each["value"] for each in found["headers"]}}
    call.one({name: value for name, value in found.items() if value is not None or call.output != "table"})


@command.command("send")
@on_node
def send(
    call: Call,
    topic: TopicName,
    body: Annotated[str, typer.Argument(metavar="BODY", help="The body; - is the input.")],
    key: Key = None,
    keys: Keys = None,
    tag: Tag = None,
    headers: Headers = None,
    sharding_key: Sharding = None,
    partition: Partition = None,
    id: Annotated[str | None, typer.Option(metavar="ID", help="Its id. Default: one is given.")] = None,
    delay: Delay = None,
    at: At = None,
    transaction: Transaction = None,
) -> None:
    """Send one message: now, at a time, or as half of a transaction."""
    message = content(sys.stdin.buffer.read() if body == "-" else body.encode()) | when(delay, at)
    message |= without_none(key=key, tag=tag, sharding_key=sharding_key, partition=partition, id=id)
    message |= {"keys": keys or [], "properties": pairs(headers, "--header")}
    if transaction is not None:
        message["transaction"] = {"group": transaction}
    answer = call.api.post(path_of("topics", topic, "messages"), message, instance=call.instance)
    (result,) = answer["results"]
    if result["error"] is not None:
        print(f"braid: refused: {result['error']['detail']}", file=sys.stderr)
        raise typer.Exit(5)
    call.one({name: value for name, value in result.items() if value is not None})


@command.command("tail")
@on_node
def tail(
    call: Call,
    topic: TopicName,
    tag: Annotated[str, typer.Option(metavar="EXPRESSION", help="Tags, such as 'paid || refunded'.")] = "",
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="End after so many.")] = None,
    format: Annotated[str, typer.Option("--format", "-f", metavar="TEXT", help="As of `braid consume`.")] = (
        r"%p:%o  %k  %v\n"
    ),
) -> None:
    """Watch a topic: new messages as they come, as many as a person can read. Ctrl-C ends it."""
    writer = as_json if call.output == "json" else parsed_format(format)
    seen = 0
    with contextlib.suppress(KeyboardInterrupt):
        for name, item in call.api.events(path_of("topics", topic, "tail"), filter=tag, instance=call.instance):
            if name == "skipped":
                call.note(f"{item} were passed over")
                continue
            sys.stdout.buffer.write(writer(item))
            sys.stdout.buffer.flush()
            seen += 1
            if seen == limit:
                return


@command.command("resend")
@on_node
def resend(
    call: Call,
    topic: TopicName,
    partition: PartitionIndex,
    offset: Offset,
    to: Annotated[
        str | None, typer.Option("--to", metavar="TOPIC", help="Another topic.", autocompletion=topic_names)
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="GROUP", help="To one group alone.", autocompletion=group_names)
    ] = None,
) -> None:
    """Append a copy of a message to its topic or another, or give it to one group."""
    body = without_none(topic=to, group=group)
    path = path_of("topics", topic, "messages", partition, offset, "resend")
    result = call.api.post(path, body, instance=call.instance)
    call.one({name: value for name, value in result.items() if value is not None})
