"""The lines that a node writes about itself: for people, and for programs."""

import json
import logging
import sys
from collections.abc import Iterator

import pytest

from braidmq.cli._logging import TextLines, set_up_logging
from braidmq.logger import get_logger
from braidmq.settings import LoggingSettings

LOGGER = get_logger("braidmq.tests")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def fail() -> None:
    raise ValueError("from below")


def test_a_line_for_people_tells_when_how_bad_what_and_the_facts(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(LoggingSettings(level="info"))
    LOGGER.debug("unheard")
    LOGGER.info("ready", count=3, folder="/data", said="a b", text="x=1\nforged [error]", empty="")
    logging.getLogger("some.library").warning("it is %s", "late")
    first, second = capsys.readouterr().err.splitlines()
    moment, _, rest = first.partition(" ")
    assert (len(moment), moment[10], moment[-1]) == (24, "T", "Z")
    assert rest.startswith("[info   ] ready ")
    assert rest.endswith(" count=3 folder=/data said='a b' text='x=1\\nforged [error]' empty=")
    assert second.endswith("[warning] it is late")


def test_a_line_for_programs_is_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(LoggingSettings(format="json"))
    LOGGER.warning("odd", names=("a", "b"), error=ValueError("what"), text="\ud800\n", level="mine")
    (line,) = capsys.readouterr().err.splitlines()
    found = json.loads(line)
    assert found.pop("timestamp")[:2] == "20"
    assert found == {"event": "odd", "level": "warning", "names": ["a", "b"], "error": "what", "text": "\ud800\n"}


@pytest.mark.parametrize("form", ["console", "json"])
def test_an_error_is_told_with_its_traceback(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(LoggingSettings(format=form))  # type: ignore[arg-type]
    try:
        fail()
    except ValueError as error:
        LOGGER.exception("handled", number=1)
        caught = error
    LOGGER.error("told later", exc_info=caught)
    LOGGER.error("without one")
    told = capsys.readouterr().err
    assert told.count("in fail") == 2
    assert told.count("ValueError: from below") == 2
    assert len(told.splitlines()) == 3 or form == "console"


def test_libraries_are_quiet_about_what_the_node_says_itself(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging(LoggingSettings(level="debug"))
    logging.getLogger("uvicorn.error").info("Uvicorn running")
    logging.getLogger("other").info("heard")
    assert capsys.readouterr().err.count("\n") == 1


def test_only_a_terminal_is_given_colours() -> None:
    record = logging.LogRecord("x", logging.WARNING, "", 0, "odd", (), None)
    assert "\033[33m" in TextLines(coloured=True).format(record)
    assert "\033" not in TextLines(coloured=False).format(record)
    assert not sys.stderr.isatty()
