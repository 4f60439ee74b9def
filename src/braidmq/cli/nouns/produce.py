"""`braid produce`: messages from a pipe, line by line, or from a template.

Lines are read by a thread of their own, so that a slow pipe is sent as it comes, and a fast one in batches.
"""

import queue
import sys
import threading
import time
from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer

from braidmq.cli._api import path_of
from braidmq.cli._call import Call, on_node
from braidmq.cli._names import TopicName
from braidmq.cli._outgoing import At, Delay, Headers, Key, Keys, Partition, Sharding, Tag, content, when, without_none
from braidmq.cli._pairs import pairs
from braidmq.cli._progress import Advance, bar
from braidmq.cli._templates import Template, parsed, plain
from braidmq.cli._times import span_ms
from braidmq.model.errors import InvalidSetting

BATCH_MAX: Final = 500
BATCH_BYTES: Final = 1 << 20
WAIT_S: Final = 0.05
"""How long a line waits for others to be sent with."""
LINES_MAX: Final = 5_000


@on_node
def command(
    call: Call,
    topic: TopicName,
    body: Annotated[
        str | None, typer.Option("--body", "-b", metavar="TEMPLATE", help="The body. Default: each line of the input.")
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=100_000_000, help="How many of --body.")] = 1,
    every: Annotated[str | None, typer.Option(metavar="SPAN", help="One of --body in so long, such as 100ms.")] = None,
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-K", metavar="TEXT", help="What ends the key of each line.")
    ] = None,
    key: Key = None,
    keys: Keys = None,
    tag: Tag = None,
    headers: Headers = None,
    sharding_key: Sharding = None,
    partition: Partition = None,
    delay: Delay = None,
    at: At = None,
    whole: Annotated[bool, typer.Option("--whole", help="The whole input is one message.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Words in {{ }} are left as they are.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Print where each message is.")] = False,
) -> None:
    """Send messages. Words in --body, --key, --keys, --tag and --header: {{count}}, {{random 1 100}}, {{pick a b}},
    {{now}}, {{now_ms}}, {{uuid}}. Exit status 1 when one was refused."""
    if body is None and (count != 1 or every is not None):
        raise InvalidSetting("--count and --every are for --body; lines of the input are as many as they are")
    made = plain if raw else parsed
    beside = _Beside(
        texts={name: made(value) for name, value in without_none(key=key, tag=tag, sharding_key=sharding_key).items()},
        keys=[made(each) for each in keys or ()],
        headers={name: made(value) for name, value in pairs(headers, "--header").items()},
        fixed=when(delay, at) | without_none(partition=partition),
    )
    messages = _lines(beside, key_separator, whole) if body is None else _made(beside, made(body), count, every)
    _send_all(call, topic, messages, total=None if body is None else count, show=show)


class _Beside:
    """What every message has beside its body."""

    def __init__(
        self, *, texts: dict[str, Template], keys: list[Template], headers: dict[str, Template], fixed: dict[str, Any]
    ) -> None:
        self._texts = texts
        self._keys = keys
        self._headers = headers
        self._fixed = fixed

    def message(self, number: int, body: bytes) -> dict[str, Any]:
        found = content(body) | self._fixed | {name: made(number) for name, made in self._texts.items()}
        if self._keys:
            found["keys"] = [made(number) for made in self._keys]
        if self._headers:
            found["properties"] = {name: made(number) for name, made in self._headers.items()}
        return found


def _made(beside: _Beside, body: Template, count: int, every: str | None) -> Iterator[dict[str, Any] | None]:
    """None says that what there is may be sent."""
    pause_s = span_ms(every, "--every") / 1000 if every is not None else 0.0
    for number in range(1, count + 1):
        yield beside.message(number, body(number).encode())
        if pause_s:
            yield None
            if number < count:
                time.sleep(pause_s)


def _lines(beside: _Beside, separator: str | None, whole: bool) -> Iterator[dict[str, Any] | None]:
    if sys.stdin.isatty():
        print("braid: one message in each line; Ctrl-D ends", file=sys.stderr)
    if whole:
        yield beside.message(1, sys.stdin.buffer.read())
        return
    number = 0
    for line in _read_lines():
        if line is None:
            yield None
            continue
        number += 1
        key, found, body = line.partition(separator.encode()) if separator else (b"", b"", line)
        message = beside.message(number, body if found else line)
        yield message | ({"key": key.decode(errors="replace")} if found else {})


def _read_lines() -> Iterator[bytes | None]:
    """The lines of the input, and None whenever none has come for a moment."""
    lines: queue.Queue[bytes | None] = queue.Queue(LINES_MAX)

    def read() -> None:
        for line in sys.stdin.buffer:
            lines.put(line.removesuffix(b"\n").removesuffix(b"\r"))
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=WAIT_S)
        except queue.Empty:
            yield None
            continue
        if line is None:
            return
        yield line


def _send_all(
    call: Call, topic: str, messages: Iterator[dict[str, Any] | None], *, total: int | None, show: bool
) -> None:
    counted = {"sent": 0, "refused": 0}
    with bar(f"to {topic}") as advance:
        for batch in _batches(messages):
            _send(call, topic, batch, counted, show=show)
            _tell(advance, counted, total)
    if sys.stderr.isatty():
        call.note(f"{counted['sent']} messages were sent to {topic}")
    if counted["refused"]:
        raise typer.Exit(1)


def _tell(advance: Advance, counted: dict[str, int], total: int | None) -> None:
    advance(counted["sent"] + counted["refused"], total)


def _batches(messages: Iterator[dict[str, Any] | None]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for message in messages:
        if message is not None:
            batch.append(message)
            size += len(message.get("body") or message.get("body_base64") or "")
        if batch and (message is None or len(batch) >= BATCH_MAX or size >= BATCH_BYTES):
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _send(call: Call, topic: str, batch: list[dict[str, Any]], counted: dict[str, int], *, show: bool) -> None:
    answer = call.api.post(path_of("topics", topic, "messages"), {"messages": batch}, instance=call.instance)
    for result in answer["results"]:
        if result["error"] is not None:
            counted["refused"] += 1
            print(f"braid: refused: {result['error']['detail']}", file=sys.stderr)
        else:
            counted["sent"] += 1
            if show:
                print(result["timer"] or f"{result['partition']} {result['offset']} {result['id']}", flush=True)
