"""What people write and read: templates, formats, times, tables."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from braidmq.cli._formats import parsed_format
from braidmq.cli._render import harmless, show_one, show_rows
from braidmq.cli._templates import parsed, plain
from braidmq.cli._times import now_ms, shown_span, span_ms, time_ms
from braidmq.model.errors import InvalidSetting

# Templates.


def test_a_template_counts_and_makes_up() -> None:
    template = parsed('{"n":{{count}},"r":{{ random 3 3 }},"p":"{{pick a a}}","id":"{{uuid}}","at":"{{now}}"}')
    found = json.loads(template(7))
    assert (found["n"], found["r"], found["p"], len(found["id"])) == (7, 3, "a", 36)
    assert abs(int(parsed("{{now_ms}}")(1)) - now_ms()) < 5_000
    assert json.loads(template(8))["id"] != found["id"]


@pytest.mark.parametrize("word", ["", "x", "random", "random 1", "random a b", "count 1", "__import__('os')", "pick"])
def test_an_unknown_word_is_refused_with_those_that_there_are(word: str) -> None:
    with pytest.raises(InvalidSetting, match="random 1 100"):
        parsed("{{" + word + "}}")


@given(st.text())
def test_text_without_words_stays_as_it_is(text: str) -> None:
    assert plain(text)(1) == text
    without = text.replace("{{", "")
    assert parsed(without)(1) == without


# Formats.

MESSAGE = {
    "topic": "t", "partition": 1, "offset": 2, "id": "i", "tag": None, "key": None, "key_base64": "/w==",
    "body": "b", "body_base64": None, "size_bytes": 1, "born_ms": 5,
    "headers": [{"name": "n", "value": "v", "value_base64": None}, {"name": "m", "value": None, "value_base64": None}],
}  # fmt: skip


def test_a_format_names_every_part_of_a_message() -> None:
    written = parsed_format(r"%t %p %o %k %v %h %T %i %g %s %%\t\n")(MESSAGE)
    assert written == b"t 1 2 \xff b n=v,m= 5 i  1 %\t\n"


def test_a_letter_that_says_nothing_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="%x says nothing; there are %t"):
        parsed_format("%x")


# Times.


@pytest.mark.parametrize(
    ("text", "length_ms"),
    [("5ms", 5), ("2s", 2_000), ("3m", 180_000), ("3min", 180_000), ("1h", 3_600_000), ("2d", 172_800_000)],
)
def test_spans_have_a_unit(text: str, length_ms: int) -> None:
    assert span_ms(text, "--x") == length_ms


def test_times_are_of_the_day_or_so_long_ago() -> None:
    assert time_ms("2026-11-16", "--x") == 1_794_787_200_000
    assert time_ms("2026-11-16T01:00:00+01:00", "--x") == 1_794_787_200_000
    assert time_ms("1794787200000", "--x") == 1_794_787_200_000
    assert abs(time_ms("1h", "--x") - (now_ms() - 3_600_000)) < 5_000
    assert abs(time_ms("now", "--x") - now_ms()) < 5_000
    for wrong in ("yesterday", "", "5", "1w"):
        with pytest.raises(InvalidSetting, match="--x"):
            time_ms(wrong, "--x")


def test_spans_are_shown_with_their_largest_unit() -> None:
    assert [shown_span(each) for each in (0, 999, 1_500, 90_000, 7_200_000)] == ["0ms", "999ms", "1.5s", "1.5m", "2h"]


# Tables and documents.


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert harmless(text).isprintable()


def test_a_table_is_aligned_also_where_characters_are_wide(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": "付款", "lag": 5, "size_bytes": 2048}, {"name": "b", "lag": 12_000, "size_bytes": 1}]
    show_rows(rows, ("name", "lag", "size=size_bytes"), "table")
    assert capsys.readouterr().out == (
        "name    lag     size\n"
        "付款      5  2.0 KiB\n"
        "b     12000      1 B\n"
    )  # fmt: skip


def test_a_document_says_all_that_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    item = {"name": "a", "inner": {"list": [1, None]}, "text": "é\x1b"}
    show_one(item, "json")
    assert json.loads(capsys.readouterr().out) == item
    show_one(item, "yaml")
    assert yaml.safe_load(capsys.readouterr().out) == item
    show_one(item, "csv")
    assert capsys.readouterr().out.splitlines()[0] == "name,inner,text"
    show_one(item, "table")
    assert "\x1b" not in capsys.readouterr().out
