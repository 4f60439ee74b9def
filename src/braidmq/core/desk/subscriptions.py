"""Who is subscribed to what, as operators say it, and where members of one group want different things."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from braidmq.core.desk._pages import Page, PageAsk, Sorts, page_of
from braidmq.core.filters import sql_filter, tag_expression_filter
from braidmq.core.members import Members
from braidmq.model import DEFAULT_INSTANCE, FilterKind, Subscription
from braidmq.model.errors import InvalidFilter, UnknownSubscription
from braidmq.model.saying import say
from braidmq.store import Catalog


class SubscriptionView(msgspec.Struct, frozen=True, kw_only=True):
    """A group's wish: messages of a topic, with an event code, that its filter chooses."""

    group: Annotated[str, Meta(examples=["settlement"])]
    topic: Annotated[str, Meta(examples=["orders"])]
    event_code: Annotated[str, Meta(examples=["*"])]
    filter_kind: FilterKind
    expression: Annotated[str, Meta(examples=["paid || refunded"])]


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What some members of a group want of a topic."""

    wish: Annotated[str, Meta(examples=["tag paid", "nothing"])]
    members: list[str]


class DifferenceView(msgspec.Struct, frozen=True, kw_only=True):
    """Members of one group that do not want the same of a topic: messages are lost for some of them."""

    topic: str
    wishes: list[Wish]


class SubscriptionsDesk:
    """Subscriptions of all instances, and what live members want."""

    def __init__(self, catalog: Catalog, members: Members) -> None:
        self._catalog = catalog
        self._members = members

    def page(
        self, ask: PageAsk, *, group: str = "", topic: str = "", instance: str = DEFAULT_INSTANCE
    ) -> Page[SubscriptionView]:
        """Of a group, of a topic, of both, or all. Raises InvalidRequest."""
        found = self._catalog.subscriptions(instance, group=group or None, topic=topic or None)
        return page_of(
            found,
            ask,
            text=lambda each: f"{each.group} {each.topic} {each.event_code} {each.expression}",
            sorts=_SORTS,
            view=_views,
        )

    async def save(self, subscription: Subscription) -> SubscriptionView:
        """Make or replace it. Raises InvalidName, InvalidFilter, UnknownGroup."""
        _check_filter(subscription.filter_kind, subscription.expression)
        return _view(await self._catalog.save_subscription(subscription))

    async def delete(
        self,
        group: str,
        topic: str,
        *,
        event_code: str = "*",
        instance: str = DEFAULT_INSTANCE,
        dry_run: bool = False,
    ) -> SubscriptionView:
        """As it was. Raises UnknownSubscription."""
        for each in self._catalog.subscriptions(instance, group=group, topic=topic):
            if each.event_code == event_code:
                if not dry_run:
                    await self._catalog.delete_subscription(instance, group, topic, event_code)
                return _view(each)
        raise UnknownSubscription(
            say(
                "the group {group} is not subscribed to {topic} with the event code {event_code}",
                group=repr(group),
                topic=repr(topic),
                event_code=repr(event_code),
            ),
            fix="Check group, topic and event code against the list of subscriptions.",
        )

    def differences(self, group: str) -> list[DifferenceView]:
        """Where live members of the group do not want the same."""
        return [
            DifferenceView(
                topic=each.topic,
                wishes=[Wish(wish=wish, members=list(members)) for wish, members in each.wishes.items()],
            )
            for each in self._members.differences(group)
        ]


def _check_filter(kind: FilterKind, expression: str) -> None:
    if kind is FilterKind.ALL and expression:
        raise InvalidFilter("who wants all messages names no expression")
    if kind is FilterKind.TAG:
        tag_expression_filter(expression)
    if kind in (FilterKind.SQL, FilterKind.HEADER):
        sql_filter(expression)


def _views(subscriptions: Sequence[Subscription]) -> list[SubscriptionView]:
    return [_view(each) for each in subscriptions]


def _view(subscription: Subscription) -> SubscriptionView:
    return SubscriptionView(
        group=subscription.group,
        topic=subscription.topic,
        event_code=subscription.event_code,
        filter_kind=subscription.filter_kind,
        expression=subscription.expression,
    )


_SORTS: Final[Sorts[Subscription]] = {
    "group": lambda each: (each.group, each.topic, each.event_code),
    "topic": lambda each: (each.topic, each.group, each.event_code),
}
