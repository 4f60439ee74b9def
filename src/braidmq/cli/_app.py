"""All commands with their options and help. What each does lies in the module of its name, imported when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from braidmq.cli._data_commands import archive_app, pipeline_app
from braidmq.cli._options import (
    ConfigFile,
    Data,
    Flush,
    Http,
    Kafka,
    Output,
    RocketMQ,
    RocketMQGrpc,
    Sets,
    load_settings,
    wants_json,
)
from braidmq.settings import READY_FILE_VARIABLE

app = typer.Typer(
    help="BraidMQ: Kafka, RocketMQ, MQTT and HTTP on one durable log.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
config_app = typer.Typer(help="Look at settings and check them.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(config_app, name="config")
app.add_typer(pipeline_app, name="pipeline")
app.add_typer(archive_app, name="archive")

ReadyFile = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        envvar=READY_FILE_VARIABLE,
        help="Write the bound addresses there, as JSON, once the node is ready.",
    ),
]


@app.command()
def up(
    data: Data = None,
    config: ConfigFile = None,
    flush: Flush = None,
    http: Http = None,
    kafka: Kafka = None,
    rocketmq: RocketMQ = None,
    rocketmq_grpc: RocketMQGrpc = None,
    sets: Sets = None,
    ready_file: ReadyFile = None,
    pipeline: Annotated[bool, typer.Option("--pipeline", help="Run the data pipeline beside the node.")] = False,
) -> None:
    """Start a node here, in the foreground. Ctrl-C stops it.

    Exit status: 0 stopped, 1 failed, 2 wrong usage or setting, 3 storage full, damaged or failed.
    """
    named = {"data": ("node.data", data), "flush": ("log.flush", flush)}
    loaded = load_settings(config, sets, **named, **_listeners(http, kafka, rocketmq, rocketmq_grpc))
    from braidmq.cli._up import run_node  # the whole node: not before the settings are known to be right

    raise typer.Exit(run_node(loaded.settings, ready_file, with_pipeline=pipeline))


def _listeners(
    http: str | None, kafka: str | None, rocketmq: str | None, rocketmq_grpc: str | None
) -> dict[str, tuple[str, str | None]]:
    return {
        "http": ("http.listen", http),
        "kafka": ("kafka.listen", kafka),
        "rocketmq": ("rocketmq.listen", rocketmq),
        "rocketmq-grpc": ("rocketmq_grpc.listen", rocketmq_grpc),
    }


@app.command()
def doctor(
    data: Data = None,
    config: ConfigFile = None,
    http: Http = None,
    kafka: Kafka = None,
    rocketmq: RocketMQ = None,
    rocketmq_grpc: RocketMQGrpc = None,
    sets: Sets = None,
    output: Output = "table",
) -> None:
    """Check whether this machine is fit to run a node, and say what to do where it is not.

    Exit status 1 when a check fails.
    """
    from braidmq.cli._doctor import run_doctor

    as_json = wants_json(output)
    loaded = load_settings(config, sets, data=("node.data", data), **_listeners(http, kafka, rocketmq, rocketmq_grpc))
    raise typer.Exit(run_doctor(loaded.settings, as_json=as_json))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(
    context: typer.Context, name: Annotated[str, typer.Argument(help="Such as log. Without a name: the list.")] = ""
) -> None:
    """Run a bench of this checkout; everything behind the name goes to it."""
    from braidmq.cli._bench import run_bench

    raise typer.Exit(run_bench(name, context.args))


@app.command()
def version() -> None:
    """The version of this software."""
    from braidmq import __version__

    print(f"braid {__version__}")


@config_app.command("show")
def config_show(config: ConfigFile = None, sets: Sets = None, output: Output = "table") -> None:
    """Every setting with its value and where that came from. Passwords are not shown."""
    from braidmq.cli._config import show

    as_json = wants_json(output)
    show(load_settings(config, sets), as_json=as_json)


@config_app.command("check")
def config_check(file: Annotated[Path, typer.Argument(metavar="FILE", help="Settings in TOML.")]) -> None:
    """Check a file of settings; nothing is started. Exit status 2 when it is wrong."""
    from braidmq.settings import load

    load(file=file)
    print(f"{file}: ok")


@config_app.command("reference")
def config_reference() -> None:
    """All settings as a Markdown page."""
    from braidmq.settings import reference_page

    print(reference_page(), end="")
