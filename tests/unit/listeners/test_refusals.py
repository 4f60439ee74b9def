"""Clients that are refused are told of in few lines, and all of them are counted."""

import logging

import pytest

from braidmq.logger import FACTS, get_logger
from braidmq.protocols.refusals import Refusals
from kafka_support import until


def told(caplog: pytest.LogCaptureFixture) -> list[int]:
    """How many refused clients each line tells of."""
    return [
        getattr(record, FACTS)["refused"] for record in caplog.records if record.getMessage() == "too many connections"
    ]


@pytest.fixture(autouse=True)
def listening(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)


async def test_the_first_is_told_at_once_and_those_after_it_together(caplog: pytest.LogCaptureFixture) -> None:
    refusals = Refusals(get_logger("test"), "too many connections", pause_s=0.05)
    for number in range(1_000):
        refusals.note(open=number)
    assert told(caplog) == [1]
    await until(lambda: len(told(caplog)) > 1)
    assert told(caplog) == [1, 999]
    assert getattr(caplog.records[-1], FACTS)["open"] == 999
    refusals.note(open=5)
    refusals.close()
    assert sum(told(caplog)) == 1_001
    refusals.close()
    assert sum(told(caplog)) == 1_001, "nothing is told twice"
