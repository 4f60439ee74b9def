"""Lists as people page through them: filter, sort, cut, and only then look closely.

What is known of every thing (its name, a figure that is at hand) chooses and sorts; what is dear (lag, rates, ends of
logs) is asked for the things of one page only. So a page of ten thousand topics costs a page.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from braidmq.model.errors import InvalidRequest
from braidmq.model.saying import say

PAGE_SIZE: Final = 50
PAGE_SIZE_MAX: Final = 1_000

ThingT = TypeVar("ThingT")
ViewT = TypeVar("ViewT")

Sorts = Mapping[str, Callable[[ThingT], Any]]
"""By what things may be sorted, and what of them is compared. The first is taken where nothing is said."""


class PageAsk(NamedTuple):
    """Which page of which list. `sort` names one of the list's sorts, with `-` before it for the other direction."""

    search: str = ""
    sort: str = ""
    page: int = 1
    page_size: int = PAGE_SIZE


class Page(msgspec.Struct, Generic[ViewT], frozen=True, kw_only=True):
    """A part of a list. `total` is how many there are on all pages."""

    items: list[ViewT]
    page: int
    page_size: int
    total: int


def page_of(
    things: Iterable[ThingT],
    ask: PageAsk,
    *,
    text: Callable[[ThingT], str],
    sorts: Sorts[ThingT],
    view: Callable[[Sequence[ThingT]], list[ViewT]],
) -> Page[ViewT]:
    """The page. `text` is what the search looks in, whatever the case; `view` looks closely at the things of the page.

    Raises InvalidRequest for a sort that does not exist, and for pages that cannot be.
    """
    if not (1 <= ask.page_size <= PAGE_SIZE_MAX and ask.page >= 1):
        raise InvalidRequest(
            say("page begins at 1, and page_size is 1 to {page_size_max}", page_size_max=PAGE_SIZE_MAX)
        )
    wanted = ask.search.casefold()
    found = [thing for thing in things if wanted in text(thing).casefold()]
    descending, name = ask.sort.startswith("-"), ask.sort.removeprefix("-") or next(iter(sorts))
    if name not in sorts:
        raise InvalidRequest(
            say(
                "sort: cannot be {name}; it is one of {choices}, with - for the other way",
                name=repr(name[:64]),
                choices=", ".join(sorts),
            )
        )
    found.sort(key=sorts[name], reverse=descending)
    begin = (ask.page - 1) * ask.page_size
    shown = view(found[begin : begin + ask.page_size])
    return Page(items=shown, page=ask.page, page_size=ask.page_size, total=len(found))
