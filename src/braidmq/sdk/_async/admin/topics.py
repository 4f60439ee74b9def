"""Topics."""

from braidmq.model import TopicKind
from braidmq.sdk._async.admin._asking import AsyncAsking
from braidmq.sdk._requests import given, new_key
from braidmq.sdk._targets import path_of
from braidmq.sdk.views import (
    LiteSubscription,
    LiteTopicDeleted,
    LiteTopicDetail,
    LiteTopicItem,
    MessagesDeleted,
    Page,
    PartitionView,
    ProducerView,
    TopicDeleted,
    TopicDetail,
    TopicGroup,
    TopicItem,
    TopicSetting,
)


class AsyncTopicOperations(AsyncAsking):
    """A part of `AsyncAdmin`: see there."""

    async def list_topics(
        self,
        *,
        search: str = "",
        sort: str = "",
        page: int = 1,
        page_size: int = 50,
        kind: TopicKind | None = None,
        internal: bool = False,
    ) -> Page[TopicItem]:
        """All topics; sorted by name, partitions, messages, size, rate_in, rate_out or lag."""
        return await self._transport.ask(
            Page[TopicItem],
            "GET",
            path_of("topics"),
            query={
                "search": search,
                "sort": sort,
                "page": page,
                "page_size": page_size,
                "kind": kind,
                "internal": internal,
                "instance": self._instance,
            },
        )

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int | None = None,
        kind: TopicKind = TopicKind.MIXED,
        settings: dict[str, str] | None = None,
        dry_run: bool = False,
    ) -> TopicDetail:
        """Make a topic."""
        return await self._transport.ask(
            TopicDetail,
            "POST",
            path_of("topics"),
            query={"instance": self._instance, "dry_run": dry_run},
            body=given({"name": name, "partitions": partitions, "kind": kind, "settings": settings}),
            key=new_key(),
        )

    async def describe_topic(self, name: str) -> TopicDetail:
        """One topic."""
        return await self._transport.ask(
            TopicDetail, "GET", path_of("topics", name), query={"instance": self._instance}
        )

    async def change_topic(
        self,
        name: str,
        *,
        partitions: int | None = None,
        kind: TopicKind | None = None,
        settings: dict[str, str | None] | None = None,
        dry_run: bool = False,
    ) -> TopicDetail:
        """Add partitions, change the kind or settings."""
        return await self._transport.ask(
            TopicDetail,
            "PATCH",
            path_of("topics", name),
            query={"instance": self._instance, "dry_run": dry_run},
            body=given({"partitions": partitions, "kind": kind, "settings": settings}),
        )

    async def delete_topic(self, name: str, *, dry_run: bool = False) -> TopicDeleted:
        """Delete a topic with all its messages."""
        return await self._transport.ask(
            TopicDeleted, "DELETE", path_of("topics", name), query={"instance": self._instance, "dry_run": dry_run}
        )

    async def list_topic_settings(self, name: str) -> list[TopicSetting]:
        """Settings as they count."""
        return await self._transport.ask(
            list[TopicSetting], "GET", path_of("topics", name, "settings"), query={"instance": self._instance}
        )

    async def list_partitions(self, name: str) -> list[PartitionView]:
        """Partitions of a topic."""
        return await self._transport.ask(
            list[PartitionView], "GET", path_of("topics", name, "partitions"), query={"instance": self._instance}
        )

    async def list_topic_groups(self, name: str) -> list[TopicGroup]:
        """Groups that read a topic."""
        return await self._transport.ask(
            list[TopicGroup], "GET", path_of("topics", name, "groups"), query={"instance": self._instance}
        )

    async def list_producers(self, name: str) -> list[ProducerView]:
        """Who is known to send."""
        return await self._transport.ask(
            list[ProducerView], "GET", path_of("topics", name, "producers"), query={"instance": self._instance}
        )

    async def delete_messages(
        self,
        name: str,
        *,
        before: dict[int, int] | None = None,
        before_time_ms: int | None = None,
        dry_run: bool = False,
    ) -> MessagesDeleted:
        """Forget the beginning of a topic, up to an offset or a time."""
        return await self._transport.ask(
            MessagesDeleted,
            "POST",
            path_of("topics", name, "delete-messages"),
            query={"instance": self._instance, "dry_run": dry_run},
            body=given({"before": before, "before_time_ms": before_time_ms}),
            key=new_key(),
        )

    async def list_lite_topics(
        self, name: str, *, search: str = "", sort: str = "", page: int = 1, page_size: int = 50
    ) -> Page[LiteTopicItem]:
        """Lite topics of a topic; sorted by name, messages, size, lag or readers."""
        return await self._transport.ask(
            Page[LiteTopicItem],
            "GET",
            path_of("topics", name, "lite-topics"),
            query={
                "search": search,
                "sort": sort,
                "page": page,
                "page_size": page_size,
                "instance": self._instance,
            },
        )

    async def describe_lite_topic(self, name: str, lite: str) -> LiteTopicDetail:
        """One lite topic."""
        return await self._transport.ask(
            LiteTopicDetail, "GET", path_of("topics", name, "lite-topics", lite), query={"instance": self._instance}
        )

    async def delete_lite_topic(self, name: str, lite: str, *, dry_run: bool = False) -> LiteTopicDeleted:
        """Delete a lite topic with all its messages; the next message makes it anew."""
        return await self._transport.ask(
            LiteTopicDeleted,
            "DELETE",
            path_of("topics", name, "lite-topics", lite),
            query={"instance": self._instance, "dry_run": dry_run},
        )

    async def list_lite_subscriptions(
        self, name: str, *, search: str = "", sort: str = "", page: int = 1, page_size: int = 50
    ) -> Page[LiteSubscription]:
        """Who subscribes to lite topics of a topic; sorted by name, client_id or group."""
        return await self._transport.ask(
            Page[LiteSubscription],
            "GET",
            path_of("topics", name, "lite-subscriptions"),
            query={
                "search": search,
                "sort": sort,
                "page": page,
                "page_size": page_size,
                "instance": self._instance,
            },
        )
