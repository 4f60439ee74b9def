"""`braid bench`: measure a running node, or run one of the checkout's own benches by its name."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from braidmq.cli._bench import bench_names, run_bench
from braidmq.cli._call import Call, on_node
from braidmq.cli._progress import bar

if TYPE_CHECKING:
    from braidmq.cli._measuring import Load

command = typer.Typer(
    rich_markup_mode=None, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)

Protocol = Annotated[str, typer.Option(metavar="NAME", help="http, kafka or rocketmq.")]
Topic = Annotated[str, typer.Option(metavar="TOPIC", help="Made where it does not exist; it stays.")]
Partitions = Annotated[int, typer.Option(min=1, max=1000, help="Of a topic that is made.")]
Messages = Annotated[int, typer.Option("--messages", "-n", min=1, max=100_000_000, help="How many.")]
Size = Annotated[int, typer.Option("--size", min=1, max=4_000_000, help="Of each body, in bytes.")]


@command.callback()
def list_benches(context: typer.Context) -> None:
    """Measure a running node: produce, consume, latency. In a checkout, also its own benches by name."""
    if context.invoked_subcommand is not None:
        return
    print("of a running node: produce, consume, latency")
    names = bench_names()
    print(
        f"of this checkout:  {', '.join(names)}"
        if names
        else "of a checkout of the source, as ./braid bench: none here"
    )


@command.command("produce")
@on_node
def produce(
    call: Call,
    protocol: Protocol = "http",
    messages: Messages = 10_000,
    size: Size = 1024,
    batch: Annotated[int, typer.Option(min=1, max=1024, help="Messages in one request.")] = 100,
    in_flight: Annotated[int, typer.Option(min=1, max=256, help="Requests at the same time.")] = 4,
    topic: Topic = "braid-bench",
    partitions: Partitions = 4,
) -> None:
    """How fast messages are kept, and how long a request takes."""
    from braidmq.cli import _measuring

    load = _load(call, protocol, topic, partitions, messages, size)
    with bar(f"produce, {protocol}") as advance:
        work = _measuring.produce(call.api, call.instance, load, batch=batch, in_flight=in_flight, advance=advance)
        call.one(asyncio.run(work))


@command.command("consume")
@on_node
def consume(
    call: Call,
    protocol: Protocol = "http",
    messages: Messages = 10_000,
    topic: Topic = "braid-bench",
    partitions: Partitions = 4,
) -> None:
    """How fast messages are read from the beginning, by a reader without a group."""
    from braidmq.cli import _measuring

    load = _load(call, protocol, topic, partitions, messages, 0)
    with bar(f"consume, {protocol}") as advance:
        found = asyncio.run(_measuring.consume(call.api, call.instance, load, advance=advance))
    size = found.pop("bytes")
    mib_per_s = round(size / found["elapsed_s"] / (1 << 20), 2) if found["elapsed_s"] else 0.0
    call.one(found | {"size_bytes": size // max(1, found["messages"]), "mib_per_s": mib_per_s})


@command.command("latency")
@on_node
def latency(
    call: Call,
    protocol: Protocol = "http",
    messages: Messages = 1_000,
    size: Size = 1024,
    rate: Annotated[float, typer.Option(min=0.1, max=100_000, help="Messages in a second.")] = 100.0,
    topic: Topic = "braid-bench-latency",
) -> None:
    """From before the send to after the receipt, in percentiles; in a topic with one partition."""
    from braidmq.cli import _measuring

    load = _load(call, protocol, topic, 1, messages, size)
    with bar(f"latency, {protocol}") as advance:
        work = _measuring.latency(call.api, call.instance, load, rate=rate, advance=advance)
        call.one(asyncio.run(work))


def _load(call: Call, protocol: str, topic: str, partitions: int, messages: int, size: int) -> "Load":
    from braidmq.cli._measuring import Load

    load = Load(protocol=protocol, topic=topic, partitions=partitions, messages=messages, size_bytes=size)
    load.make_topic(call.api, call.instance)
    return load


def _add_checkout(name: str) -> None:
    """A bench of the checkout; everything behind its name goes to it, also a wish for help."""

    def run(context: typer.Context) -> None:
        raise typer.Exit(run_bench(name, context.args))

    settings = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    command.command(name, hidden=True, context_settings=settings, help=f"Run bench/{name}.py")(run)


for _name in bench_names():
    _add_checkout(_name)
