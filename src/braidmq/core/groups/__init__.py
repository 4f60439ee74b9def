"""Groups: who shares the work of reading, who gets which part of it, and how far they have come.

`Groups` is the service. The words in which members speak to it are those of `_words`; nothing here knows a wire.
"""

from braidmq.core.groups._groups import Groups, Keeper, check_metadata
from braidmq.core.groups._words import (
    CONSUMER_PROTOCOL,
    METADATA_LENGTH_MAX,
    NO_GENERATION,
    ConsumerGroupView,
    ConsumerMemberView,
    GroupKind,
    GroupLimits,
    GroupState,
    GroupView,
    Join,
    Joined,
    JoinedMember,
    Leaver,
    MemberIdentity,
    MemberView,
    Migration,
    Protocol,
    Pulse,
    PulseAnswer,
    Speech,
    Spoken,
    Sync,
    Synced,
)
from braidmq.core.timing import Clock, LoopClock, Timer

__all__ = [
    "CONSUMER_PROTOCOL",
    "METADATA_LENGTH_MAX",
    "NO_GENERATION",
    "Clock",
    "ConsumerGroupView",
    "ConsumerMemberView",
    "GroupKind",
    "GroupLimits",
    "GroupState",
    "GroupView",
    "Groups",
    "Join",
    "Joined",
    "JoinedMember",
    "Keeper",
    "Leaver",
    "LoopClock",
    "MemberIdentity",
    "MemberView",
    "Migration",
    "Protocol",
    "Pulse",
    "PulseAnswer",
    "Speech",
    "Spoken",
    "Sync",
    "Synced",
    "Timer",
    "check_metadata",
]
