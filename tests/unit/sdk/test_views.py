"""The answers that administrators get are those that the node gives, field by field."""

import inspect
from types import ModuleType

import msgspec
import pytest

from braidmq.core import audit, central, history, live
from braidmq.core.alarms import _alarms, _rules
from braidmq.core.desk import (
    clients,
    dead_letter_views,
    groups,
    halves,
    instances,
    lite,
    messages,
    offsets,
    overview,
    questions,
    subscriptions,
    timers,
    topic_views,
    traces,
)
from braidmq.core.inspection import _inspection
from braidmq.core.samples import _samples
from braidmq.sdk import views

MODULES: list[ModuleType] = [
    _alarms, _inspection, _rules, _samples, audit, central, clients, dead_letter_views, groups, halves, history,
    instances, lite, live, messages, offsets, overview, questions, subscriptions, timers, topic_views, traces,
]  # fmt: skip
OTHER_NAMES = {"NodeSetting": central.SettingView, "TopicSetting": topic_views.SettingView}


def _of_node(name: str) -> type[msgspec.Struct] | None:
    found = OTHER_NAMES.get(name) or next((vars(each)[name] for each in MODULES if name in vars(each)), None)
    return found if inspect.isclass(found) and issubclass(found, msgspec.Struct) else None


PAIRS = [(name, kind) for name in views.__all__ if (kind := _of_node(name)) is not None]


def test_nearly_all_are_compared() -> None:
    assert len(PAIRS) > 50


@pytest.mark.parametrize(("name", "kind"), PAIRS, ids=[name for name, _ in PAIRS])
def test_a_view_has_the_fields_of_the_nodes_struct(name: str, kind: type[msgspec.Struct]) -> None:
    ours = {field.encode_name for field in msgspec.structs.fields(getattr(views, name))}
    assert ours == {field.encode_name for field in msgspec.structs.fields(kind)}
