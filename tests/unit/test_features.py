"""The README's table of features is true: what it names is in the API, in the command and in the console."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.main import get_command

from braidmq.cli._app import build_app as build_command
from braidmq.console._navigation import SECTIONS
from braidmq.console._words import speaker
from braidmq.core.health import Health
from braidmq.protocols.http._app import build_app
from braidmq.protocols.http._services import HttpServices

ROOT = Path(__file__).parents[2]
READMES = {"README.md": "en", "README.zh.md": "zh"}
TABLES = READMES | {"docs/api.md": "en"}


class Feature(NamedTuple):
    """A row of the table."""

    name: str
    operation: str
    command: str
    page: str


def features(page: str) -> list[Feature]:
    """The rows between the two marks, without the heading."""
    table = (ROOT / page).read_text().partition("<!-- features -->\n")[2].partition("<!-- end -->")[0]
    return [Feature(*(cell.strip(" `") for cell in row.strip("|").split("|"))) for row in table.splitlines()[2:]]


@functools.cache
def operations() -> set[str]:
    services = HttpServices("n", "1", Health(), [], list)
    app, _ = build_app(services, body_bytes_max=100)
    paths = app.openapi_schema.to_schema()["paths"]
    return {operation["operationId"] for path in paths.values() for operation in path.values()}


@functools.cache
def commands() -> set[str]:
    return set(_walk(get_command(build_command()), "braid"))


def _walk(group: Any, before: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _walk(command, f"{before} {name}")
        else:
            yield f"{before} {name}"


def pages(language: str) -> set[str]:
    """The titles in the side bar, as its readers see them."""
    say = speaker(language)
    return {say(place.title) for section in SECTIONS for place in section.places}


@pytest.mark.parametrize("page", TABLES)
def test_each_feature_has_an_operation_a_command_and_a_page(page: str) -> None:
    for feature in features(page):
        assert feature.operation in operations(), feature
        assert feature.command in commands(), feature
        assert feature.page in pages(TABLES[page]), feature


@pytest.mark.parametrize("page", TABLES)
def test_each_page_of_the_console_has_a_feature(page: str) -> None:
    assert {feature.page for feature in features(page)} == pages(TABLES[page])


def test_both_languages_tell_of_the_same_features_and_the_same_first_message() -> None:
    english, chinese = (features(readme) for readme in READMES)
    assert [feature[1:3] for feature in english] == [feature[1:3] for feature in chinese]
    assert english == features("docs/api.md")
    programs = [re.findall(r"```python\n.*?```", (ROOT / readme).read_text(), re.DOTALL) for readme in READMES]
    assert programs[0] == programs[1]
