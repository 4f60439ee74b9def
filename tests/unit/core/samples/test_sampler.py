"""What is kept of what is seen."""

from collections.abc import Sequence
from typing import cast

from braidmq.core.samples import GroupSight, Looker, Sampler, Sight, TopicSight
from braidmq.core.timing import LoopClock
from braidmq.model.errors import StoreFailed
from braidmq.store import SampleRow


class Seen:
    """A looker that sees what it is told."""

    def __init__(self, *things: TopicSight | GroupSight) -> None:
        topics = {(each.instance, each.name): each for each in things if isinstance(each, TopicSight)}
        groups = {(each.instance, each.name): each for each in things if isinstance(each, GroupSight)}
        self._things = topics, groups

    async def look(self, *, closely: bool) -> Sight:
        return Sight(1_000, {"lag": 1.0}, *self._things, closely)


class Rows:
    def __init__(self) -> None:
        self.rows: list[SampleRow] = []
        self.fails = False

    async def add(self, samples: Sequence[SampleRow], *, before_ms: int, remove_max: int) -> int:  # noqa: ARG002
        if self.fails:
            raise StoreFailed
        self.rows += samples
        return 0


def sampler(rows: Rows, *things: TopicSight | GroupSight, series_max: int = 100) -> Sampler:
    return Sampler(cast("Looker", Seen(*things)), rows, LoopClock(), series_max=series_max)


def figures(sampler: Sampler) -> dict[str, float]:
    return {metric.name.removeprefix("braid_samples_"): metric.value for metric in sampler.metrics()}


BUSY = [TopicSight(instance="default", name=f"t{nth}", messages_in=float(nth)) for nth in range(1, 6)]
BEHIND = GroupSight(name="billing", lag=1_000)


async def test_only_what_is_busy_is_kept_and_only_when_looked_at_closely() -> None:
    rows = Rows()
    idle = TopicSight(instance="default", name="idle", size_bytes=10)
    watched = sampler(rows, idle, BUSY[0], BEHIND, GroupSight(name="idle"))
    await watched.turn(closely=False)
    assert [row.scope for row in rows.rows] == ["node"]
    await watched.turn(closely=True)
    assert [row.scope for row in rows.rows[1:]] == ["node", "topic/default/t1", "group/billing"]


async def test_groups_of_one_name_in_two_instances_are_kept_apart_and_the_defaults_as_ever() -> None:
    rows = Rows()
    watched = sampler(rows, BEHIND, GroupSight(name="billing", instance="retail", lag=3))
    await watched.turn(closely=True)
    assert [(row.scope, row.figures["lag"]) for row in rows.rows[1:]] == [
        ("group/billing", 1_000),
        ("instance/retail/group/billing", 3),
    ]


async def test_of_too_many_the_busiest_are_kept_and_the_rest_is_counted() -> None:
    rows = Rows()
    watched = sampler(rows, *BUSY, BEHIND, series_max=3)
    await watched.turn(closely=True)
    assert [row.scope for row in rows.rows] == ["node", "group/billing", "topic/default/t5", "topic/default/t4"]
    assert figures(watched)["skipped"] == 3


async def test_a_store_that_fails_costs_samples_and_nothing_else() -> None:
    rows = Rows()
    watched = sampler(rows)
    heard: list[Sight] = []

    async def hear(sight: Sight) -> None:
        heard.append(sight)

    async def fail(_: Sight) -> None:
        raise RuntimeError("inside")

    watched.follow(fail)
    watched.follow(hear)
    rows.fails = True
    await watched.turn()
    assert len(heard) == 1, "who follows hears of it, whatever became of the store and of the others"
    assert figures(watched) == {"kept": 0, "dropped": 1, "skipped": 0}
