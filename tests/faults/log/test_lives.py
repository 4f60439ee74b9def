"""Orders of steps that a killed process can leave behind, each set up exactly: what one life wrote must not mislead the
next."""

import pytest

from braidmq.log.embedded import LogOptions
from braidmq.log.embedded._checkpoint import begin_checkpoint
from braidmq.log.embedded._engine import Engine
from braidmq.log.embedded._frames import PAGE_BYTES, FrameFormat
from braidmq.log.embedded._lock import read_salt
from braidmq.log.embedded._recovery import recover
from braidmq.log.embedded._retention import apply_retention
from braidmq.log.embedded._segment import FOLDER, segment_name
from faults.log.bare import BareLog
from faults.log.batches import BORN_MS, body, of_producer, plain
from faults.log.disks import FaultyDisk, MemoryDisk

INTERVAL = LogOptions(flush="interval", journal_file_bytes=2 * PAGE_BYTES, reserve_bytes=0)


COMMIT = LogOptions(flush="commit", reserve_bytes=0)
DAY_MS = 24 * 60 * 60 * 1000


def reopened(log: BareLog, *, later_ms: int = 0) -> BareLog:
    """The next life, on what lies on the disk now."""
    return BareLog(MemoryDisk(log.disk.picture()), log.engine.options, log.now_ms + later_ms)


def new_log(options: LogOptions) -> BareLog:
    log = BareLog(MemoryDisk(), options)
    log.create((1, 2), 1 << 20)
    return log


def closed_cleanly(frames: int) -> BareLog:
    """The life after one that wrote so many frames, each with a group's offset, and was closed in good order."""
    log = new_log(INTERVAL)
    for count in range(frames):
        log.commit_offset("group", 1, count)
    log.checkpoint(clean=True)
    log = reopened(log)
    assert log.recovery.clean
    return log


def test_the_first_batches_after_a_clean_close_survive_a_kill() -> None:
    for frames in range(1, 5):
        log = closed_cleanly(frames)
        log.append([(1, plain("first"))])
        log.append([(1, plain("second"))])
        served = reopened(log).serve(1).batches
        assert [body(batch) for batch in served] == [body(plain("first")), body(plain("second"))]


def test_a_group_offset_of_a_new_life_is_not_taken_back_by_a_frame_of_an_older_one() -> None:
    for frames in range(1, 5):
        log = closed_cleanly(frames)
        log.commit_offset("group", 1, 10)
        assert reopened(log).group_offset("group", 1) == 10


def test_a_start_is_kept_when_the_journal_is_reused_before_the_checkpoint_that_would_save_it() -> None:
    log = new_log(INTERVAL)
    log.append([(1, plain(f"batch {count}")) for count in range(5)])
    log.delete_records(1, 3)
    log.flush()
    # A checkpoint has begun and is cut off before it reaches the manifest; meanwhile the log goes on.
    begin_checkpoint(log.engine)
    for count in range(4):
        log.append([(2, plain(f"other {count}"))])
        log.flush()
    assert reopened(log).engine.partitions[1].bounds().start == 3


@pytest.mark.parametrize("flush", ["commit", "interval"])
def test_a_start_behind_all_batches_is_kept(flush: str) -> None:
    log = new_log(LogOptions(flush="commit" if flush == "commit" else "interval", reserve_bytes=0))
    log.append([(1, plain("one")), (1, plain("two"))])
    log.delete_records(1, 2)
    again = reopened(log)
    assert again.engine.partitions[1].bounds() == (2, 2, 2)
    assert again.append([(1, plain("three"))])[0].base_offset == 2
    assert [batch.base_offset for batch in reopened(again).serve(1).batches] == [2]


def test_a_file_that_is_left_over_is_gone_for_good_before_a_new_life_writes() -> None:
    """It would be taken for the continuation of what the new life wrote, were the power to fail then."""
    log = new_log(INTERVAL)
    log.append([(1, plain("kept"))])
    log.checkpoint()
    left_over = segment_name(1, 7, 0)
    disk = FaultyDisk(MemoryDisk({**log.disk.picture(), left_over: b"batches of a lost past"}), lambda _: None)
    recover(Engine(disk, FrameFormat(read_salt(disk, bytes)), INTERVAL, lambda: BORN_MS))
    calls = [(call.kind, call.name) for call in disk.calls]
    behind = calls[calls.index(("remove", left_over)) :]
    until_gone = behind[: behind.index(("sync_folder", FOLDER))]
    assert not [name for kind, name in until_gone if kind == "write"]


@pytest.mark.parametrize("options", [COMMIT, INTERVAL])
@pytest.mark.parametrize("is_flushed", [False, True])
def test_a_producer_of_old_messages_is_known_after_a_kill_and_as_long_as_others(
    options: LogOptions, is_flushed: bool
) -> None:
    """What it brought is years old, by its own account; when it was last seen is known to the log alone."""
    log = new_log(options)
    sent = of_producer("once", 7, 0)
    log.append([(1, sent)])
    if is_flushed:
        log.engine.flush_now()
    log = reopened(log, later_ms=1000 * DAY_MS)
    apply_retention(log.engine)
    (again,) = log.append([(1, sent)])
    assert (again.duplicate, again.base_offset) == (True, 0)
    log.now_ms += DAY_MS + 1
    apply_retention(log.engine)
    (anew,) = log.append([(1, sent)])
    assert (anew.duplicate, anew.base_offset) == (False, 1), "it is forgotten when it was silent for a day"
