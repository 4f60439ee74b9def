"""Lists: filter, sort, cut, and only then look closely."""

from collections.abc import Sequence

import pytest

from braidmq.core.desk import PAGE_SIZE_MAX, Page, PageAsk, page_of
from braidmq.model.errors import InvalidRequest

NAMES = ["Orders", "payments", "orders-retry", "refunds"]


class Looked:
    """What was looked at closely."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def page(self, **ask: object) -> Page[str]:
        return page_of(
            NAMES,
            PageAsk(**ask),  # type: ignore[arg-type]
            text=str,
            sorts={"name": str.casefold, "length": len},
            view=self._view,
        )

    def _view(self, names: Sequence[str]) -> list[str]:
        self.names += names
        return list(names)


def test_only_the_things_of_the_page_are_looked_at() -> None:
    looked = Looked()
    page = looked.page(page=2, page_size=1)
    assert (page.items, page.page, page.page_size, page.total) == (["orders-retry"], 2, 1, 4)
    assert looked.names == ["orders-retry"]


def test_search_does_not_mind_the_case() -> None:
    assert Looked().page(search="ORDER").items == ["Orders", "orders-retry"]


def test_a_minus_sorts_the_other_way() -> None:
    assert Looked().page(sort="-length").items[0] == "orders-retry"
    assert Looked().page(sort="-name").items == ["refunds", "payments", "orders-retry", "Orders"]


def test_a_page_behind_the_last_is_empty() -> None:
    page = Looked().page(page=9)
    assert (page.items, page.total) == ([], 4)


@pytest.mark.parametrize(
    "ask", [{"page": 0}, {"page_size": 0}, {"page_size": PAGE_SIZE_MAX + 1}, {"sort": "colour"}, {"sort": "--name"}]
)
def test_pages_that_cannot_be_are_refused(ask: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        Looked().page(**ask)
