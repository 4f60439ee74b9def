"""What is said about dead letters, and what is asked of them."""

from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from braidmq.core.desk.message_views import MessageView
from braidmq.core.desk.sending import ErrorView
from braidmq.core.retry import ReplayTo
from braidmq.model.saying import Saying

PLACES_MAX: Final = 1_000


class PlaceView(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a dead letter lies among those of its group."""

    partition: Annotated[int, Meta(ge=0, examples=[0])]
    offset: Annotated[int, Meta(ge=0, examples=[7])]


class DeadLetterView(msgspec.Struct, frozen=True, kw_only=True):
    """A message that its group could not work on."""

    group: Annotated[str, Meta(examples=["billing"])]
    place: PlaceView
    origin_topic: Annotated[str, Meta(examples=["orders"])]
    origin_id: str
    attempts: Annotated[int, Meta(examples=[17], description="How often it was delivered in vain.")]
    cause: Annotated[str, Meta(examples=["delivered 17 times in vain, which is all that its group allows"])]
    said: Annotated[Saying, Meta(description="The cause as a pattern and what fills it in.")]
    died_ms: Annotated[int, Meta(examples=[1760000000000])]
    age_ms: Annotated[int, Meta(examples=[60000])]
    message: MessageView


class DeadLetterPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some dead letters, the oldest of each group first. A page may be short although `cursor` says that there are
    more."""

    items: list[DeadLetterView]
    cursor: str | None


class DeadGroupView(msgspec.Struct, frozen=True, kw_only=True):
    """A group that has dead letters."""

    group: Annotated[str, Meta(examples=["billing"])]
    letters: Annotated[int, Meta(examples=[12])]


class DeadGroups(msgspec.Struct, frozen=True, kw_only=True):
    """All groups that have dead letters, those with most of them first."""

    items: list[DeadGroupView]


class AgeView(msgspec.Struct, frozen=True, kw_only=True):
    """How many dead letters are so old: at least the age, and younger than the next."""

    from_age_ms: Annotated[int, Meta(examples=[3_600_000])]
    letters: Annotated[int, Meta(examples=[12])]


class DeadAges(msgspec.Struct, frozen=True, kw_only=True):
    """Dead letters by their age, the youngest first. `complete` is false where there are too many groups to look at."""

    items: list[AgeView]
    complete: bool


class DeadFilterAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which dead letters: all that agree with everything that is said."""

    topic: Annotated[str | None, Meta(examples=["orders"], description="Where they came from.")] = None
    key: Annotated[str | None, Meta(examples=["order-17"])] = None
    id: str | None = None
    from_ms: Annotated[int | None, Meta(description="When they died: from this time on.")] = None
    until_ms: Annotated[int | None, Meta(description="When they died: before this time.")] = None


class ReplayAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which dead letters of a group are to be given out again, and to whom: their group alone, or their topic."""

    group: Annotated[str, Meta(examples=["billing"])]
    places: Annotated[list[PlaceView], Meta(max_length=PLACES_MAX)] = []
    all: Annotated[bool, Meta(description="All that the filter wants, so many in one answer; the cursor goes on.")] = (
        False
    )
    filter: DeadFilterAsk = DeadFilterAsk()
    to: ReplayTo = ReplayTo.GROUP
    limit: Annotated[int, Meta(ge=1, le=PLACES_MAX)] = PLACES_MAX
    cursor: str | None = None


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one dead letter, or would: where it is now, or why it is nowhere but where it was."""

    place: PlaceView
    message_id: str | None
    topic: Annotated[str | None, Meta(examples=["%RETRY%billing"])]
    partition: int | None = None
    offset: int | None = None
    error: ErrorView | None = None


class ReplayView(msgspec.Struct, frozen=True, kw_only=True):
    """One result for each dead letter. With `cursor` the replay of all goes on."""

    results: list[ReplayResult]
    cursor: str | None
    dry_run: bool


class DeleteAsk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Up to which dead letter, with it, those of its partition go; or that all go."""

    group: Annotated[str, Meta(examples=["billing"])]
    last: PlaceView | None = None
    all: bool = False


class DeletedView(msgspec.Struct, frozen=True, kw_only=True):
    """How many went, or would."""

    deleted: Annotated[int, Meta(examples=[12])]
    dry_run: bool


class ExportFormat(StrEnum):
    """How an export is written."""

    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"
