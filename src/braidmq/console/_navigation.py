"""The pages, in the order in which the side bar shows them."""

from typing import Final, NamedTuple


class Place(NamedTuple):
    """One entry of the side bar. `title` is English; it is said in the reader's language where it is shown."""

    name: str
    title: str
    icon: str

    @property
    def path(self) -> str:
        return "/console" if self.name == "overview" else f"/console/{self.name}"


class Section(NamedTuple):
    title: str
    places: tuple[Place, ...]


SECTIONS: Final = (
    Section("", (Place("overview", "Overview", icon="layout-dashboard"),)),
    Section(
        "Messaging",
        (
            Place("topics", "Topics", icon="stack-2"),
            Place("groups", "Groups", icon="users-group"),
            Place("messages", "Messages", icon="mail-search"),
            Place("traces", "Traces", icon="timeline"),
            Place("connections", "Connections", icon="plug-connected"),
        ),
    ),
    Section(
        "Exceptions",
        (
            Place("dead-letters", "Dead letters", icon="mail-x"),
            Place("timers", "Timers", icon="clock-play"),
            Place("transactions", "Transactions", icon="arrows-split-2"),
        ),
    ),
    Section(
        "Operations",
        (
            Place("alarms", "Alarms", icon="bell"),
            Place("inspection", "Inspection", icon="stethoscope"),
            Place("reports", "Reports", icon="report-analytics"),
            Place("archive", "Archive", icon="archive"),
            Place("instances", "Instances", icon="building"),
            Place("settings", "Settings", icon="adjustments"),
            Place("audit", "Audit", icon="history"),
        ),
    ),
)


def place_path(name: str) -> str:
    """Where an entry of the side bar leads; the overview for a name that is none."""
    known = {place.name: place.path for section in SECTIONS for place in section.places}
    return known.get(name, known["overview"])
