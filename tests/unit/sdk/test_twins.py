"""The blocking clients are what the async ones make."""

import inspect

import pytest
import unasync

from braidmq import sdk

TWINS = ["Admin", "BroadcastConsumer", "Consumer", "Producer", "Received", "Transaction"]


def test_the_blocking_twin_is_up_to_date() -> None:
    assert unasync.outdated(unasync.twins()) == [], "run python tools/unasync.py"


def test_nothing_of_asyncio_is_left_in_the_twin() -> None:
    for path in unasync.TWIN.rglob("*.py"):
        text = path.read_text().replace("send_async", "").replace("unasync", "").replace("../_async", "")
        assert not [word for word in ("async", "await", "Async") if word in text.replace("folder of `_async`", "")], (
            path
        )


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_same_methods_with_the_same_parameters(name: str) -> None:
    blocking, asynchronous = getattr(sdk, name), getattr(sdk, f"Async{name}")
    for member, function in inspect.getmembers(asynchronous, inspect.isfunction):
        twin = member.replace("__a", "__") if member in unasync_names() else {"aclose": "close"}.get(member, member)
        ours = list(inspect.signature(function).parameters)
        assert list(inspect.signature(getattr(blocking, twin)).parameters) == ours, member


def unasync_names() -> set[str]:
    return {"__aenter__", "__aexit__", "__aiter__", "__anext__"}
