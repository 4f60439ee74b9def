"""One file for each page. A page is listed here to be served, with the first words of its addresses.

Pages whose addresses begin alike are one part of the console. A part is imported and put together when somebody asks
for one of its addresses: the first page of a node's life does not wait for all the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler


class Part(NamedTuple):
    """Pages that are put together at once: the words that their addresses begin with, and where they are."""

    words: tuple[str, ...]
    pages: tuple[str, ...]
    """Each a file and the controller in it."""


PARTS: Final = (
    Part(("", "charts", "events"), ("overview:OverviewPage",)),
    Part(("alarms",), ("alarms:AlarmsPage",)),
    Part(("archive",), ("archive:ArchivePage",)),
    Part(("audit",), ("audit:AuditPage",)),
    Part(("connections",), ("connections:ConnectionsPage",)),
    Part(("dead-letters",), ("dead_letters:DeadLettersPage",)),
    Part(
        ("groups", "new-group"),
        ("groups:GroupPages", "group_reset:GroupReset", "group_subscriptions:GroupSubscriptions"),
    ),
    Part(("inspection",), ("inspection:InspectionPage",)),
    Part(("instances", "instance-choice", "new-instance"), ("instances:InstancePages",)),
    Part(("messages",), ("messages:MessagesPage",)),
    Part(("reports",), ("reports:ReportsPage",)),
    Part(("settings",), ("settings:SettingsPage",)),
    Part(("timers",), ("timers:TimersPage",)),
    Part(
        ("topics", "new-topic"),
        ("topics:TopicPages", "topic_changes:TopicChanges", "topic_lite:TopicLite", "topic_tail:TopicTail"),
    ),
    Part(("traces",), ("traces:TracesPage",)),
    Part(("transactions",), ("transactions:TransactionsPage",)),
)
ENTRANCE: Final = PARTS[0]
"""The part that also answers for what is in none: the way in, static files, and addresses that do not exist."""

_BY_WORD: Final = {word: part for part in PARTS for word in part.words}


def part_of(word: str) -> Part:
    """The part in which addresses begin with the word."""
    return _BY_WORD.get(word, ENTRANCE)


def pages_of(part: Part) -> "list[ControllerRouterHandler]":
    """Its controllers, imported now."""
    found: list[ControllerRouterHandler] = []
    for page in part.pages:
        module, _, name = page.partition(":")
        found.append(getattr(import_module(f"{__name__}.{module}"), name))
    return found
