"""Checks of the node, its disk and its topics."""

from collections.abc import AsyncIterator
from typing import Final

from braidmq.core.inspection._scene import Scene
from braidmq.model import BraidError, Topic
from braidmq.model.finding import Finding, fail, ok, warn
from braidmq.model.names import DEAD_LETTER_TOPIC_PREFIX, RETRY_TOPIC_PREFIX, is_internal
from braidmq.model.saying import say

GIB: Final = 1 << 30
DISK_WARN_PERCENT: Final = 80
DISK_FAIL_PERCENT: Final = 95
SYNC_SLOW_MS: Final = 20.0
JOURNAL_FILES_WARN: Final = 8
CLOCK_STEP_MS: Final = 1_000
SILENT_MS: Final = 24 * 3_600_000
BALANCED_MIN_BYTES: Final = 16 << 20
UNBALANCED_FACTOR: Final = 4
SHOWN_MAX: Final = 100
"""How many things one check names."""

_HOUSE_PREFIXES: Final = (RETRY_TOPIC_PREFIX, DEAD_LETTER_TOPIC_PREFIX)


async def check_disk(scene: Scene) -> AsyncIterator[Finding]:
    total, free = (scene.sight.node.get(f"disk_{which}_bytes", 0.0) for which in ("total", "free"))
    if scene.disk.has_failed or scene.disk.is_full:
        what = "the disk has failed: messages are refused"
        if not scene.disk.has_failed:
            what = "the disk is full: messages are refused"
        advice = "look at the node's log, mend the disk, and start the node again" if scene.disk.has_failed else _ROOM
        yield fail("disk", say(what), advice, subject="node", command="braid doctor")
    elif total > 0:
        taken = 100 * (1 - free / total)
        found = say(
            "{taken} % of the disk are taken, {free} GiB are free", taken=f"{taken:.0f}", free=f"{free / GIB:.1f}"
        )
        if taken >= DISK_WARN_PERCENT:
            make = fail if taken >= DISK_FAIL_PERCENT else warn
            yield make("disk", found, _ROOM, subject="node", command="braid topic list --sort -size")
        else:
            yield ok("disk", found)


_ROOM: Final = "make room, or shorten the retention of large topics: a full disk refuses writes"


async def check_sync(scene: Scene) -> AsyncIterator[Finding]:
    if not scene.disk.group_commits:
        return
    mean_ms = scene.disk.sync_us_total / scene.disk.group_commits / 1000
    found = say("a sync takes {mean} ms on average", mean=f"{mean_ms:.2f}")
    if mean_ms > SYNC_SLOW_MS:
        yield warn("sync time", found, "use a faster disk: every acknowledgement waits for a sync", subject="node")
    else:
        yield ok("sync time", found)


async def check_journal(scene: Scene) -> AsyncIterator[Finding]:
    files = scene.disk.journal_bytes / max(scene.disk.journal_file_bytes, 1)
    found = say("the journal takes {size} MiB", size=f"{scene.disk.journal_bytes / (1 << 20):.0f}")
    if files > JOURNAL_FILES_WARN:
        advice = "checkpoints do not keep up: use a faster disk, or raise log.journal_file_bytes"
        yield warn("journal", found, advice, subject="node")
    else:
        yield ok("journal", found)


async def check_damage(scene: Scene) -> AsyncIterator[Finding]:
    if scene.disk.damaged_ranges:
        found = say("{count} ranges of offsets cannot be read any more", count=scene.disk.damaged_ranges)
        advice = "see the node's log for the places; what is archived can be sent again"
        yield fail("damage", found, advice, subject="node", command="braid archive replay")


async def check_clock(scene: Scene) -> AsyncIterator[Finding]:
    step_ms = scene.clock_steps_ms
    if abs(step_ms) >= CLOCK_STEP_MS:
        pattern = "the machine's clock was set back by {step} s"
        if step_ms > 0:
            pattern = "the machine's clock was set forward by {step} s"
        found = say(pattern, step=f"{abs(step_ms) / 1000:.1f}")
        advice = "let a time service steer the clock: delays, retention and times of messages go by it"
        yield warn("clock", found, advice, subject="node")
    else:
        yield ok("clock", say("the clock has run evenly"))


async def check_risky_settings(scene: Scene) -> AsyncIterator[Finding]:
    if scene.settings.get("log.flush") == "interval":
        every = scene.settings.get("log.flush_interval_ms", "")
        found = say(
            "log.flush is interval: a loss of power may take what was acknowledged in the last {every}", every=every
        )
        advice = "set log.flush to commit where an acknowledged message must never be lost"
        yield warn("settings", found, advice, subject="log.flush", command="braid up --set log.flush=commit")
    if scene.settings.get("topics.auto_create") == "on":
        yield ok("settings", say("topics.auto_create is on: a misspelt name makes a topic"))


async def check_held(scene: Scene) -> AsyncIterator[Finding]:
    for topic, size_bytes in sorted(scene.held_bytes.items(), key=lambda each: -each[1])[:SHOWN_MAX]:
        found = say("{size} GiB beyond the retention wait for the archive", size=f"{size_bytes / GIB:.2f}")
        advice = "start the pipeline's archive job, or do not require the archive of this topic"
        yield warn("retention", found, advice, subject=f"topic {topic}", command="braid pipeline run")


async def check_topics(scene: Scene) -> AsyncIterator[Finding]:
    """Topics that nobody reads, or that nobody writes any more although somebody reads them."""
    read = {number for _, number in scene.lags.seen}
    shown = 0
    for (instance, name), sight in scene.sight.topics.items():
        topic = scene.catalog.topic(instance, name)
        if topic is None or is_internal(name) or name.startswith(_HOUSE_PREFIXES) or shown >= SHOWN_MAX:
            continue
        is_read = bool(read.intersection(topic.partition_numbers)) or sight.messages_out > 0
        subject = f"topic {name}"
        if not is_read and (count := _messages(scene, topic)):
            shown += 1
            advice = "let somebody read it, or delete it where nobody needs it"
            command = f"braid topic show {name}"
            yield warn(
                "topics without readers",
                say("{count} messages that no group reads", count=count),
                advice,
                subject=subject,
                command=command,
            )
        elif is_read and sight.silent_ms > SILENT_MS:
            shown += 1
            hours = f"{sight.silent_ms / 3_600_000:.0f}"
            found = say("nothing has come for {hours} hours, and groups read it", hours=hours)
            yield warn("topics without writers", found, "look whether its producers run", subject=subject)


async def check_dead_letters(scene: Scene) -> AsyncIterator[Finding]:
    shown = 0
    for topic in scene.catalog.topics():
        if shown < SHOWN_MAX and topic.name.startswith(DEAD_LETTER_TOPIC_PREFIX) and (count := _messages(scene, topic)):
            shown += 1
            group = topic.name.removeprefix(DEAD_LETTER_TOPIC_PREFIX)
            yield warn(
                "dead letters",
                say("{count} messages were given up, and nobody has sent them again", count=count),
                "look at their causes, mend those, and replay or delete them",
                subject=f"group {group}",
                command=f"braid dlq replay --group {group} --dry-run",
            )


async def check_balance(scene: Scene) -> AsyncIterator[Finding]:
    shown = 0
    for (instance, name), sight in scene.sight.topics.items():
        topic = scene.catalog.topic(instance, name)
        if topic is None or sight.size_bytes < BALANCED_MIN_BYTES or len(topic.partition_numbers) < 2:
            continue
        sizes = [_size_bytes(scene, number) for number in topic.partition_numbers]
        mean = sum(sizes) / len(sizes)
        # Of two partitions, the larger has at most twice the mean.
        if shown < SHOWN_MAX and max(sizes) > min(UNBALANCED_FACTOR, len(sizes) * 0.9) * mean:
            shown += 1
            share = f"{100 * max(sizes) / sum(sizes):.0f}"
            found = say(
                "partition {partition} holds {share} % of the topic", partition=sizes.index(max(sizes)), share=share
            )
            advice = "choose keys that spread: messages of one key stay in one partition"
            yield warn(
                "unbalanced partitions", found, advice, subject=f"topic {name}", command=f"braid topic show {name}"
            )


def _messages(scene: Scene, topic: Topic) -> int:
    try:
        bounds = [scene.log.bounds(number) for number in topic.partition_numbers]
    except BraidError:
        return 0  # it went away meanwhile
    return sum(each.end - each.start for each in bounds)


def _size_bytes(scene: Scene, number: int) -> int:
    try:
        return scene.log.size_bytes(number)
    except BraidError:
        return 0  # it went away meanwhile
