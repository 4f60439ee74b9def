"""Asking for samples: steps, gaps, and what is left out."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braidmq.core.samples import SampleAsk, Samples
from braidmq.core.samples._samples import _points
from braidmq.core.telemetry import Flow, Ledger, Trouble, Usage
from braidmq.core.timing import LoopClock
from braidmq.model.errors import InvalidRequest
from braidmq.model.telemetry import ACKNOWLEDGED, IN, NORMAL
from braidmq.store import SampleRow


class Kept:
    """Rows in memory."""

    def __init__(self, rows: Sequence[SampleRow]) -> None:
        self._rows = rows

    async def read(self, scope: str, from_ms: int, until_ms: int, limit: int) -> list[SampleRow]:
        return [row for row in self._rows if row.scope == scope and from_ms <= row.at_ms < until_ms][:limit]

    async def read_many(self, scopes: Sequence[str], from_ms: int, until_ms: int, limit: int) -> list[SampleRow]:
        return [row for row in self._rows if row.scope in scopes and from_ms <= row.at_ms < until_ms][:limit]


ROWS = [SampleRow("node", at_ms, {"lag": float(at_ms // 1_000)}) for at_ms in (0, 1_000, 2_000, 60_000, 61_000)]


async def points(**ask: Any) -> list[tuple[int, float]]:
    samples = Samples(Kept(ROWS), LoopClock())
    view = await samples.query(SampleAsk(names=("lag",), from_ms=0, until_ms=100_000)._replace(**ask))
    return view.series[0].points


async def test_a_step_is_the_average_or_the_maximum_and_gaps_stay_gaps() -> None:
    assert await points(step_s=10) == [(0, 1.0), (60_000, 60.5)]
    assert await points(step_s=10, how="maximum") == [(0, 2.0), (60_000, 61.0)]
    assert len(await points()) == 5
    assert await points(names=("nothing",)) == []


async def test_names_beyond_the_limit_and_two_things_at_once_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        await points(names=tuple(str(nth) for nth in range(65)))
    with pytest.raises(InvalidRequest):
        await points(topic="a", group="b")


@given(
    st.lists(st.tuples(st.integers(0, 10_000), st.floats(0, 1e9)), unique_by=lambda each: each[0]), st.integers(1, 500)
)
def test_every_step_lies_within_its_samples_and_none_is_made_up(found: list[tuple[int, float]], step_ms: int) -> None:
    found.sort()
    averages, maxima = _points(found, step_ms, "average"), _points(found, step_ms, "maximum")
    assert [at_ms for at_ms, _ in averages] == sorted({at_ms - at_ms % step_ms for at_ms, _ in found})
    for (begun_ms, average), (_, maximum) in zip(averages, maxima, strict=True):
        values = [value for at_ms, value in found if at_ms - at_ms % step_ms == begun_ms]
        assert maximum == max(values)
        assert min(values) * (1 - 1e-9) <= average <= max(values) * (1 + 1e-9)


async def test_a_ledger_counts_everything_once_whoever_takes_the_minutes() -> None:
    usage = Usage(LoopClock())

    def count(messages: int) -> None:
        cell = usage.cell((IN, "kafka", "", NORMAL, 7, None))
        cell.messages += messages
        cell.size_bytes += 10 * messages
        usage.cell((ACKNOWLEDGED, "", "billing", NORMAL, -1, ("retail", "orders"))).dead += 1

    count(3)
    usage.take()
    count(4)
    for ledger in (await usage.ledger(), usage.totals()):
        assert dict(ledger.by_protocol) == {(IN, "kafka"): Flow(7, 70)}
        assert dict(ledger.by_group) == {("retail", "billing"): Trouble(0, 2)}
    assert (await usage.ledger()).by_number[IN, 7] == Flow(7, 70)
    usage.take()
    usage.forget(lambda number: number == 7)
    assert dict((await usage.ledger()).by_number) == {}
    assert dict(Ledger().by_number) == {}


async def test_the_last_hour_of_many_topics_is_found_by_their_names() -> None:
    clock = LoopClock()
    now_ms = clock.now_ms()
    rows = [
        SampleRow("topic/default/orders", now_ms - 60_000, {"messages_in": 2.0}),
        SampleRow("topic/default/orders", now_ms - 7_200_000, {"messages_in": 9.0}),
        SampleRow("topic/other/orders", now_ms - 60_000, {"messages_in": 9.0}),
        SampleRow("group/orders", now_ms - 60_000, {"messages_in": 9.0}),
    ]
    rows.append(SampleRow("instance/retail/group/orders", now_ms - 60_000, {"messages_in": 7.0}))
    there = await Samples(Kept(rows), clock).last_hour("messages_in", groups=["orders"], instance="retail")
    assert there == {"orders": [(now_ms - 60_000, 7.0)]}
    found = await Samples(Kept(rows), clock).last_hour("messages_in", topics=["orders", "idle"])
    assert found == {"orders": [(now_ms - 60_000, 2.0)]}
    assert await Samples(Kept(rows), clock).last_hour("messages_in") == {}
