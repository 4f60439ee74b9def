"""Errors, settings and rules are told in the reader's language; what only exists in English stands beside it."""

import ast
import inspect
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

import braidmq
from braidmq.console._explained import STATUSES, explained, explained_note, explained_status
from braidmq.console._words import allowed, words
from braidmq.core.alarms._rules import DEFAULT_RULES
from braidmq.model import errors
from braidmq.model.errors import BraidError, InvalidName, InvalidRequest, UnknownTopic
from braidmq.model.saying import say
from braidmq.model.topic_settings import TOPIC_SETTINGS
from braidmq.settings._keys import keys

SOURCE = Path(braidmq.__file__).parent
ZH = words("zh")


def kinds() -> Iterator[type[BraidError]]:
    for kind in vars(errors).values():
        if inspect.isclass(kind) and issubclass(kind, BraidError):
            yield kind


def refusals(folder: str) -> Iterator[str]:
    """Sentences without names that are raised there, and all that are said."""
    for source in (SOURCE / folder).glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                given, is_error = node.args[0], issubclass(getattr(errors, node.func.id, object), BraidError)
                if isinstance(given, ast.Constant) and (is_error or node.func.id == "say"):
                    yield str(given.value)


def test_every_kind_of_error_and_its_fix_is_translated() -> None:
    said = {text for kind in kinds() for text in (kind.__doc__, kind.fix) if text}
    assert len(said) > 130
    assert said - set(ZH) == set()


@pytest.mark.parametrize(
    "folder", ["console", "console/pages", "core", "core/desk", "core/alarms", "core/timers", "core/halves", "model"]
)
def test_every_refusal_that_pages_can_meet_is_translated(folder: str) -> None:
    assert set(refusals(folder)) - set(ZH) == set()


def test_every_setting_and_built_in_rule_is_translated() -> None:
    said = {key.description for key in keys().values()} | {each.documentation for each in TOPIC_SETTINGS.values()}
    assert (said | {rule.description for rule in DEFAULT_RULES.values()}) - set(ZH) == set()


def test_what_a_setting_takes_is_told_in_chinese() -> None:
    assert {key.kind.allowed for key in keys().values() if allowed(key.kind.allowed, "zh") == key.kind.allowed} == set()
    assert allowed("a number with ms, s or h from 1ms to 1h", "zh") == "数字加单位（ms, s, h），1ms 到 1h"
    assert allowed("on or off", "en") == "on or off"


def test_a_sentence_with_names_is_said_in_the_readers_language() -> None:
    error = UnknownTopic(say("there is no topic {name}", name="'{0}'"))
    assert error.message == "there is no topic '{0}'"
    assert explained(error, "en").title == "there is no topic '{0}'"
    told = explained(error, "zh")
    assert (told.title, told.particulars) == ("没有主题 '{0}'", "")
    assert told.fix == "请在主题列表中核对名称和实例，或先创建主题。"


def test_whatever_names_a_sentence_has_it_can_be_said() -> None:
    error = InvalidRequest(say("{name}: a whole number is wanted, not {text}", name="page", text="'x'"))
    assert explained(error, "en").title == "page: a whole number is wanted, not 'x'"
    assert explained(error, "zh").title == "page：应为整数，不能为 'x'"


def test_words_of_ours_inside_a_sentence_are_said_too() -> None:
    error = InvalidName(say("a {what} cannot be called {name}", what="topic", name="'topic'"))
    assert explained(error, "zh").title == "主题不能命名为 'topic'"


def test_what_only_exists_in_english_stands_beside_the_kind_of_the_error() -> None:
    error = InvalidRequest("never said {before}")
    assert explained(error, "en").title == "never said {before}"
    told = explained(error, "zh")
    assert (told.title, told.particulars) == ("请求的内容有误，无法处理。", "never said {before}")


def test_notes_of_the_core_are_told_by_their_code() -> None:
    assert explained_note("unknown_topic: gone", "en").title == "unknown_topic: gone"
    assert explained_note("unknown_topic: gone", "zh")[:3] == ("主题不存在。", "unknown_topic", "gone")
    assert explained_note("whatever", "zh").title == "whatever"


def test_errors_of_the_framework_are_told_in_words() -> None:
    assert explained_status(HTTPStatus.NOT_FOUND, "Not Found", "zh").title == "页面不存在。"
    assert set(STATUSES.values()) - set(ZH) == set()
