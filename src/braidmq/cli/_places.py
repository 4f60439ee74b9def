"""Options of the commands that read the tables of the pipeline, and where these lie."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from braidmq.cli._given import load_settings

if TYPE_CHECKING:
    from braidmq.cli._pipeline import Place

Bootstrap = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Where to read. Default: the Kafka port of the settings.")
]
TablesPath = Annotated[
    str | None,
    typer.Option("--path", metavar="DIR", help="Where the tables lie. Default: DATA/pipeline"),
]
KafkaSets = Annotated[
    list[str] | None, typer.Option("--kafka", metavar="KEY=VALUE", help="A setting of the Kafka client; repeatable.")
]
Begin = Annotated[str | None, typer.Option("--from", metavar="TIME", help="Stored then or later, such as 2026-11-16.")]
End = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Stored before then.")]


def place(
    data: str | None, config: Path | None, sets: list[str] | None, path: str | None, bootstrap: str | None
) -> "Place":
    """Where a command reads, and where its tables lie; an empty bootstrap is that of one that reads no topic."""
    from braidmq.cli._pipeline import place_of

    return place_of(load_settings(config, sets, data=("node.data", data)).settings, bootstrap, path)
