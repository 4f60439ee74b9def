"""What forms send is read as it is meant, or refused by the name of its field."""

import pytest

from braidmq.console._form_fields import properties, whole
from braidmq.console.pages.topic_changes import outgoing
from braidmq.model.errors import InvalidRequest


@pytest.mark.parametrize(("said", "value"), [("", None), (" 12 ", 12), ("-3", -3)])
def test_whole_numbers_are_read_and_empty_fields_are_none(said: str, value: int | None) -> None:
    assert whole({"count": said}, "count") == value


@pytest.mark.parametrize("said", ["1.5", "x", "--3", "\u0663", "9" * 30])
def test_what_is_no_whole_number_is_refused(said: str) -> None:
    with pytest.raises(InvalidRequest, match="count"):
        whole({"count": said}, "count")


def test_properties_stand_in_lines() -> None:
    assert properties({"properties": "a=1\r\n\r\n b = x=y "}, "properties") == {"a": "1", "b": "x=y"}
    with pytest.raises(InvalidRequest, match="name=value"):
        properties({"properties": "novalue"}, "properties")


def test_a_message_without_a_body_is_a_tombstone_and_an_empty_one_is_not() -> None:
    assert outgoing({"body": "", "tombstone": "yes"}).body is None
    assert outgoing({"body": ""}).body == ""


@pytest.mark.parametrize("field", ["delay_s", "partition"])
def test_numbers_below_nothing_are_refused(field: str) -> None:
    with pytest.raises(InvalidRequest, match=field):
        outgoing({"body": "x", field: "-1"})
