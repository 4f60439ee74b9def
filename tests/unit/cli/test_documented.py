"""docs/cli.md lists every command and every exit status, and nothing that is not there."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import braidmq.console
from braidmq.cli import _errors
from braidmq.cli._app import build_app
from braidmq.cli.nouns import WORDS

PAGE = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
EMPTY_AND_OTHERS_SAY = (
    "topic create", "group show", "dlq replay", "timer list", "tx list", "pipeline run", "demo", "trace", "consume",
    "produce", "message send", "alarm add", "inspect run", "setting set", "offset reset", "subscription save",
    "archive find", "archive replay", "connection list", "instance create", "report list", "audit", "top",
)  # fmt: skip


@functools.cache
def commands() -> dict[str, Any]:
    """By what is typed behind `braid`."""
    return dict(_walk(get_command(build_app()), ""))


def _walk(group: Any, before: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _walk(command, f"{before}{name} ")
        elif not command.hidden:
            yield f"{before}{name}", command


def expected_rows() -> list[str]:
    """The table as it must be."""
    return [f"| `braid {name}` | {_first_sentence(command)} |" for name, command in commands().items()]


def _first_sentence(command: Any) -> str:
    text = " ".join((command.help or "").split("\n\n")[0].split())
    return re.split(r"(?<=\.) ", text)[0].removesuffix(".")


def test_the_page_lists_every_command_with_what_it_does() -> None:
    listed = [line for line in PAGE.splitlines() if line.startswith("| `braid ")]
    assert listed == expected_rows(), "docs/cli.md must have these rows:\n" + "\n".join(expected_rows())


def test_every_command_that_a_page_of_the_console_shows_is_there() -> None:
    templates = Path(braidmq.console.__file__).parent / "templates"
    shown = {
        (template.name, found[1])
        for template in templates.glob("*.j2")
        for found in re.finditer(r'"braid ((?:[a-z-]+ ?){1,3})', template.read_text())
    }
    assert len(shown) > 15
    unknown = [(page, said) for page, said in shown if not _begins_with_a_command(said.split(), set(commands()))]
    assert unknown == []


def _begins_with_a_command(words: list[str], known: set[str]) -> bool:
    return any(" ".join(words[:count]) in known for count in (1, 2, 3))


def test_every_command_says_what_it_does_and_what_each_option_means() -> None:
    for name, command in commands().items():
        assert command.help, name
        for parameter in command.params:
            assert getattr(parameter, "help", "x"), (name, parameter.name)


def test_the_page_lists_every_exit_status() -> None:
    for value in (
        _errors.DONE, _errors.FAILED, _errors.USAGE, _errors.STORAGE, _errors.NOT_FOUND, _errors.REFUSED,
        _errors.UNREACHABLE, _errors.INTERRUPTED,
    ):  # fmt: skip
        line = next(line for line in (_errors.__doc__ or "").splitlines() if line.startswith(f"| {value} |"))
        assert line in PAGE


@pytest.mark.parametrize("name", EMPTY_AND_OTHERS_SAY)
def test_commands_that_others_name_exist(name: str) -> None:
    assert name in commands()


def test_every_command_that_the_page_shows_exists() -> None:
    known = set(commands())
    nouns = {word.word for word in WORDS}
    for line in re.findall(r"^    (?:.*\| )?braid ([a-z-]+(?: [a-z-]+)?)", PAGE, re.MULTILINE):
        assert line in known or line.split()[0] in known, line
        assert line.split()[0] in nouns


def test_every_command_that_an_inspection_advises_exists() -> None:
    checks = Path(__file__).parents[3] / "src" / "braidmq" / "core" / "inspection"
    named = [
        words for file in checks.glob("*.py") for words in re.findall(r'"braid ([a-z]+) ([a-z-]+)', file.read_text())
    ]
    assert len(named) >= 8
    assert [words for words in named if words[0] not in commands() and " ".join(words) not in commands()] == []


def test_destructive_verbs_have_a_dry_run_and_can_be_told_not_to_ask() -> None:
    verbs = {"delete", "empty", "remove", "reset", "skip", "clone", "replay", "cancel", "rollback", "discard", "unset"}
    found = [name for name in commands() if name.split()[-1] in verbs and not name.startswith("archive")]
    assert len(found) >= 15
    for name in found:
        options = {option for parameter in commands()[name].params for option in parameter.opts}
        assert {"--dry-run", "--yes"} <= options, name


def test_commands_of_a_node_share_their_options() -> None:
    local = {"up", "doctor", "config", "context", "archive", "pipeline", "cheat", "completion", "version"}
    for name, command in commands().items():
        options = {option for parameter in command.params for option in parameter.opts}
        if name.split()[0] not in local:
            assert {"--url", "--context", "--instance", "--output", "-o"} <= options, name


def test_no_option_of_a_command_has_two_meanings() -> None:
    for name, command in commands().items():
        options = [option for parameter in command.params for option in parameter.opts]
        assert len(options) == len(set(options)), (name, options)
