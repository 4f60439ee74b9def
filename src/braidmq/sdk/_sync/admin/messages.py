# Made by tools/unasync.py from ../_async: change it there.
"""Messages: found and sent again; dead letters, delayed ones, halves, and the lives of messages."""

from braidmq.model import FilterKind, HalfState
from braidmq.sdk._requests import given, new_key
from braidmq.sdk._results import SendResult
from braidmq.sdk._sync.admin._asking import Asking
from braidmq.sdk._targets import path_of
from braidmq.sdk.values import Message
from braidmq.sdk.views import (
    DeadAges,
    DeadFilterAsk,
    DeadGroups,
    DeadLetterPage,
    DeadLetterView,
    DeletedView,
    EndedView,
    Found,
    HalfPage,
    HalfView,
    LifeView,
    LivesView,
    PlaceView,
    PulledView,
    ReplayView,
    TimerPage,
    TimerView,
)


class MessageOperations(Asking):
    """A part of `Admin`: see there."""

    def list_dead_letters(
        self,
        *,
        group: str | None = None,
        topic: str | None = None,
        key: str | None = None,
        id: str | None = None,
        from_ms: int | None = None,
        until_ms: int | None = None,
        cursor: str | None = None,
        limit: int = 50,
        base64: bool = False,
    ) -> DeadLetterPage:
        """Dead letters of a group, or of all."""
        return self._transport.ask(
            DeadLetterPage,
            "GET",
            path_of("dead-letters"),
            query={
                "group": group,
                "topic": topic,
                "key": key,
                "id": id,
                "from_ms": from_ms,
                "until_ms": until_ms,
                "cursor": cursor,
                "limit": limit,
                "base64": base64,
                "instance": self._instance,
            },
        )

    def list_dead_letter_groups(self) -> DeadGroups:
        """Which groups have dead letters, and how many."""
        query = {"instance": self._instance}
        return self._transport.ask(DeadGroups, "GET", path_of("dead-letters", "groups"), query=query)

    def describe_dead_letter_ages(self, *, group: str | None = None) -> DeadAges:
        """How old the dead letters of a group are, or of all."""
        query = {"group": group, "instance": self._instance}
        return self._transport.ask(DeadAges, "GET", path_of("dead-letters", "ages"), query=query)

    def show_dead_letter(self, group: str, partition: int, offset: int) -> DeadLetterView:
        """One dead letter by its place."""
        path = path_of("dead-letters", group, partition, offset)
        return self._transport.ask(DeadLetterView, "GET", path, query={"instance": self._instance})

    def replay_dead_letters(
        self,
        group: str,
        *,
        places: list[PlaceView] | None = None,
        all: bool = False,
        filter: DeadFilterAsk | None = None,
        to: str = "group",
        limit: int = 1000,
        cursor: str | None = None,
        dry_run: bool = False,
    ) -> ReplayView:
        """Give dead letters out again, with a result for each."""
        return self._transport.ask(
            ReplayView,
            "POST",
            path_of("dead-letters", "replay"),
            query={"dry_run": dry_run, "instance": self._instance},
            body=given(
                {
                    "group": group,
                    "places": places,
                    "all": all,
                    "filter": filter,
                    "to": to,
                    "limit": limit,
                    "cursor": cursor,
                }
            ),
            key=new_key(),
        )

    def delete_dead_letters(
        self, group: str, *, last: PlaceView | None = None, all: bool = False, dry_run: bool = False
    ) -> DeletedView:
        """Forget dead letters up to one of them, or all."""
        return self._transport.ask(
            DeletedView,
            "POST",
            path_of("dead-letters", "delete"),
            query={"dry_run": dry_run, "instance": self._instance},
            body=given({"group": group, "last": last, "all": all}),
            key=new_key(),
        )

    def export_dead_letters(self, *, group: str | None = None, format: str = "ndjson") -> bytes:
        """All dead letters of a group, or of all groups, as a file: ndjson, json or csv."""
        query = {"group": group, "format": format, "instance": self._instance}
        return self._transport.send("GET", path_of("dead-letters", "export"), query=query)

    def commit_half(self, handle: str, *, group: str | None = None, asked: bool = False) -> EndedView:
        """The message counts."""
        return self._transport.ask(
            EndedView,
            "POST",
            path_of("halves", handle, "commit"),
            body=given({"group": group, "asked": asked}),
            key=new_key(),
        )

    def roll_back_half(self, handle: str, *, group: str | None = None, asked: bool = False) -> EndedView:
        """The message does not count."""
        return self._transport.ask(
            EndedView,
            "POST",
            path_of("halves", handle, "rollback"),
            body=given({"group": group, "asked": asked}),
            key=new_key(),
        )

    def list_halves(
        self,
        *,
        group: str | None = None,
        state: HalfState | None = None,
        topic: str | None = None,
        parked: bool = False,
        cursor: str | None = None,
        limit: int = 50,
    ) -> HalfPage:
        """Half messages by the time of their preparation."""
        return self._transport.ask(
            HalfPage,
            "GET",
            path_of("halves"),
            query={
                "group": group,
                "state": state,
                "topic": topic,
                "parked": parked,
                "cursor": cursor,
                "limit": limit,
                "instance": self._instance,
            },
        )

    def show_half(self, handle: str, *, base64: bool = False) -> HalfView:
        """A half message with its content."""
        return self._transport.ask(HalfView, "GET", path_of("halves", handle), query={"base64": base64})

    def release_half(self, handle: str, topic: str) -> None:
        """Append a committed message whose topic is gone to another topic."""
        self._transport.ask(
            type(None),
            "POST",
            path_of("halves", handle, "release"),
            query={"instance": self._instance},
            body=given({"topic": topic}),
            key=new_key(),
        )

    def discard_half(self, handle: str) -> None:
        """Give up a committed message whose topic is gone."""
        self._transport.ask(type(None), "POST", path_of("halves", handle, "discard"), key=new_key())

    def find_messages(
        self,
        name: str,
        *,
        id: str | None = None,
        key: str | None = None,
        from_ms: int | None = None,
        until_ms: int | None = None,
        partition: int | None = None,
        offset: int | None = None,
        filter: str = "",
        filter_kind: FilterKind = FilterKind.TAG,
        limit: int = 50,
        cursor: str | None = None,
        base64: bool = False,
    ) -> Found:
        """Find messages of a topic by id, key, time, or from an offset on."""
        return self._transport.ask(
            Found,
            "GET",
            path_of("topics", name, "messages"),
            query={
                "id": id,
                "key": key,
                "from_ms": from_ms,
                "until_ms": until_ms,
                "partition": partition,
                "offset": offset,
                "filter": filter,
                "filter_kind": filter_kind,
                "limit": limit,
                "cursor": cursor,
                "base64": base64,
                "instance": self._instance,
            },
        )

    def find_messages_everywhere(
        self,
        *,
        id: str | None = None,
        key: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        base64: bool = False,
    ) -> Found:
        """Find messages of all topics by id or key."""
        return self._transport.ask(
            Found,
            "GET",
            path_of("messages"),
            query={
                "id": id,
                "key": key,
                "limit": limit,
                "cursor": cursor,
                "base64": base64,
                "instance": self._instance,
            },
        )

    def show_message(self, name: str, partition: int, offset: int, *, base64: bool = False) -> Message:
        """One message by its place."""
        return self._transport.ask(
            Message,
            "GET",
            path_of("topics", name, "messages", partition, offset),
            query={"base64": base64, "instance": self._instance},
        )

    def pull_messages(
        self,
        name: str,
        partition: int,
        *,
        offset: int | None = None,
        limit: int = 50,
        wait_s: float = 0.0,
        filter: str = "",
        filter_kind: FilterKind = FilterKind.TAG,
        base64: bool = False,
    ) -> PulledView:
        """Messages from an offset on; waits for them where there are none yet."""
        return self._transport.ask(
            PulledView,
            "GET",
            path_of("topics", name, "partitions", partition, "messages"),
            query={
                "offset": offset,
                "limit": limit,
                "wait_s": wait_s,
                "filter": filter,
                "filter_kind": filter_kind,
                "base64": base64,
                "instance": self._instance,
            },
            wait_s=wait_s,
        )

    def resend_message(
        self, name: str, partition: int, offset: int, *, topic: str | None = None, group: str | None = None
    ) -> SendResult:
        """Append a copy of a message to a topic, or give it to one group."""
        return self._transport.ask(
            SendResult,
            "POST",
            path_of("topics", name, "messages", partition, offset, "resend"),
            query={"instance": self._instance},
            body=given({"topic": topic, "group": group}),
            key=new_key(),
        )

    def list_timers(
        self,
        *,
        topic: str | None = None,
        from_ms: int | None = None,
        until_ms: int | None = None,
        parked: bool = False,
        cursor: str | None = None,
        limit: int = 50,
    ) -> TimerPage:
        """Delayed messages by their time."""
        return self._transport.ask(
            TimerPage,
            "GET",
            path_of("timers"),
            query={
                "topic": topic,
                "from_ms": from_ms,
                "until_ms": until_ms,
                "parked": parked,
                "cursor": cursor,
                "limit": limit,
                "instance": self._instance,
            },
        )

    def show_timer(self, handle: str, *, base64: bool = False) -> TimerView:
        """A delayed message with its content."""
        return self._transport.ask(TimerView, "GET", path_of("timers", handle), query={"base64": base64})

    def cancel_timer(self, handle: str, *, dry_run: bool = False) -> TimerView:
        """Cancel a delayed message; what it was."""
        return self._transport.ask(TimerView, "DELETE", path_of("timers", handle), query={"dry_run": dry_run})

    def release_timer(self, handle: str, topic: str) -> None:
        """Deliver a parked message to a topic after all."""
        self._transport.ask(
            type(None),
            "POST",
            path_of("timers", handle, "release"),
            query={"instance": self._instance},
            body=given({"topic": topic}),
            key=new_key(),
        )

    def trace_message(self, id: str, *, topic: str | None = None) -> LifeView:
        """The life of one message, by its id."""
        return self._transport.ask(
            LifeView, "GET", path_of("traces", id), query={"topic": topic, "instance": self._instance}
        )

    def trace_messages_of_key(self, topic: str, key: str) -> LivesView:
        """The lives of a topic's messages with a key."""
        return self._transport.ask(
            LivesView, "GET", path_of("traces"), query={"topic": topic, "key": key, "instance": self._instance}
        )
